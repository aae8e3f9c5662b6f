import {
  capacityOf,
  type Extent,
  type MonoidProgram,
  type Program,
  type ScanCommand,
  type ScanForm,
  type Store,
} from '../../../../primitives/contract/backend.ts';
import { read, record } from '../../../../primitives/functors/recorder.ts';
import { wrapModule } from '../../../../primitives/functors/wrap-module.ts';
import { entryOf, type Module, oneOf, type ScalarType } from '../../../../primitives/ir/ir.ts';
import { memoized } from '../../../../primitives/ir/memo.ts';
import { type Bindings, createBindings } from '../../launches/bindings.ts';
import type { Engine } from '../../launches/engine.ts';
import { type BoundProgram, emitProgram, type LinkedProgram, linkProgram, programKey } from '../../launches/link.ts';
import { resultType, type Shader } from '../../wgsl/emit-wgsl.ts';
import type { KernelSource } from '../shared/source.ts';
import { allocateColumns } from '../shared/stored-source.ts';
import { type BoundStore, bindStoresAt, emitStores, linkStores, storesKey } from '../shared/stores.ts';
import { bindProgram, type IndexRange, type LinkedStore, windowsOf } from '../shared/windows.ts';

/**
 * The consumer of a scan's prefixes: the emit program, which receives the index and the exclusive and inclusive prefix,
 * and the stores of its results.
 */
export interface Sink {
  readonly emit: LinkedProgram;
  readonly stores: readonly LinkedStore[];
}

export function linkSink({ parameters }: KernelSource, extent: Extent, emit: Program, stores: readonly Store[]): Sink {
  return {
    emit: linkProgram('e_', emit, parameters, extent),
    stores: linkStores(stores, parameters, extent),
  };
}

/** The program and sink (consumer of the prefixes) of a scan, with the bindings for one window (range of indices). */
export interface BoundScan {
  readonly bindings: Bindings;
  /** The program and the emit program. */
  readonly programs: readonly [program: BoundProgram, emit: BoundProgram];
  readonly stores: readonly BoundStore[];
  readonly key: string;
  /**
   * WGSL of the program's functions. If something is stored, the WGSL includes `emitted(i, exclusive, inclusive) ->
   * Emitted`, which runs the emit program, and `keep(i, emitted)`, which stores its results.
   */
  code(shader: Shader): string;
}

/**
 * The sink of a scan (consumer of its prefixes), and windows (ranges of indices). For each window, one launch can bind
 * the sink and the scan's program.
 */
export interface PlacedSink {
  readonly sink: Sink;
  readonly windows: readonly IndexRange[];
}

/**
 * Splits a sink (consumer of a scan's prefixes) into as few sinks as possible, each with some of the stores. One launch
 * must be able to bind a sink, the program and `others` more buffers. Returns undefined if this is impossible even with
 * one store per sink, or if a window does not start at a multiple of `tile`.
 */
export function placeSinks(
  engine: Engine,
  capacity: number,
  source: KernelSource,
  { emit, stores }: Sink,
  tile: number,
  others: number,
): readonly PlacedSink[] | undefined {
  const place = (some: readonly LinkedStore[]): PlacedSink | undefined =>
    placeSink(engine, capacity, source, { emit, stores: some }, tile, others);
  const placed: PlacedSink[] = [];
  let last = place([]);
  for (const store of stores) {
    const wider = last === undefined ? undefined : place([...last.sink.stores, store]);
    if (wider === undefined && last !== undefined && last.sink.stores.length > 0) placed.push(last);
    last = wider ?? place([store]);
    if (last === undefined) return undefined;
  }
  return last === undefined ? undefined : [...placed, last];
}

function placeSink(
  engine: Engine,
  capacity: number,
  source: KernelSource,
  sink: Sink,
  tile: number,
  others: number,
): PlacedSink | undefined {
  const windows = windowsOf(capacity, [source.program, sink.emit], sink.stores);
  if (windows.some(({ from }) => from % tile !== 0)) return undefined;
  const fits = windows.every((window) => {
    const { bindings } = bindAll(source, sink, window);
    return bindings.size + others <= engine.limits.storageBuffers;
  });
  return fits ? { sink, windows } : undefined;
}

function bindAll(
  { program, parameters }: KernelSource,
  { emit, stores }: Sink,
  window: IndexRange,
): { bindings: Bindings; from: BoundProgram; beside: BoundProgram; bound: BoundStore[] } {
  const bindings = createBindings(parameters);
  const from = bindProgram(program, window, bindings);
  const beside = bindProgram(emit, window, bindings);
  return { bindings, from, beside, bound: bindStoresAt(stores, window, bindings) };
}

/**
 * Binds a scan's program and sink (consumer of the prefixes) for a window, and writes the offsets of the bound arrays
 * and stores to the parameters.
 */
export function bindScan(source: KernelSource, sink: Sink, window: IndexRange): BoundScan {
  const { bindings, from, beside, bound } = bindAll(source, sink, window);
  return {
    bindings,
    programs: [from, beside],
    stores: bound,
    key: `${programKey(from)} ${programKey(beside)} ${storesKey(bound)}`,
    code: (shader) => `${emitProgram(from, shader)}
${bound.length === 0 ? '' : emitEmission(emitProgram(beside, shader), sink.emit, bound)}`,
  };
}

function emitEmission(program: string, emit: LinkedProgram, bound: readonly BoundStore[]): string {
  const { parameters, results } = entryOf(emit.module);
  const leaves = (parameters.length - 1) / 2;
  const args = ['x', 'y'].flatMap((state) => Array.from({ length: leaves }, (_, leaf) => `${state}.a${leaf}`));
  return `${program}
alias Emitted = ${resultType('e_', 'entry', results)};
fn emitted(i: u32, x: S, y: S) -> Emitted { return e_entry(${['i', ...args].join(', ')}); }
fn keep(i: u32, r: Emitted) {
${emitStores(bound, results)}
}`;
}

/** WGSL of `consume(i, exclusive, inclusive)`, which runs the emit program for an element and stores the results. */
export function emitConsume(stores: readonly BoundStore[]): string {
  return `fn consume(i: u32, x: S, y: S) { ${stores.length === 0 ? '' : 'keep(i, emitted(i, x, y));'} }`;
}

/**
 * The rows for which a sink (consumer of a scan's prefixes) stores results: none, the rows whose flag is set (in a
 * compaction), or all.
 */
export type KeptRows = 'none' | 'flagged' | 'all';

export function keptRows({ stores }: Sink, form: ScanForm | undefined): KeptRows {
  if (stores.length === 0) return 'none';
  return form?.kind === 'compact' && stores.every(({ guard }) => guard === form.selected) ? 'flagged' : 'all';
}

/**
 * A scan that is split into two commands: a scan that stores its prefixes in temporary columns, and a program that
 * reads these columns.
 */
export interface SplitScan {
  readonly first: Pick<ScanCommand, 'emit' | 'stores'>;
  readonly second: Program;
  release(): void;
}

/** Splits a scan whose program and sink (consumer of the prefixes) need too many bindings for one launch. */
export function splitScan({ pool }: Engine, extent: Extent, { types }: MonoidProgram, emit: Program): SplitScan {
  const leaves = [...types, ...types];
  const { columns, stores, release } = allocateColumns(pool, leaves, capacityOf(extent));
  const arrays = new Map(columns.map((column, i) => [`${PREFIX}${i}`, column]));
  return {
    first: { emit: { module: passingModule(leaves), arrays: new Map(), uniforms: new Map() }, stores },
    second: {
      module: readingModule(emit.module),
      arrays: new Map([...emit.arrays, ...arrays]),
      uniforms: emit.uniforms,
    },
    release,
  };
}

/** Start of the names of the temporary columns. No other array has such a name. */
const PREFIX = 'prefix of a split scan ';

/** A module that returns its parameters except the index. */
function passingModule(leaves: readonly ScalarType[]): Module {
  return oneOf(record({ name: 'pass', parameters: ['u32', ...leaves], results: leaves }, ([, ...values]) => values));
}

/** A module that calls the entry of an emit module with an index and the prefixes that are stored for this index. */
const readingModule = memoized((module: Module): Module => {
  const { name, parameters, results } = entryOf(module);
  const leaves = parameters.slice(1).map(({ type }) => type);
  return wrapModule(module, {
    name: `${name} of stored prefixes`,
    parameters: ['u32'],
    results,
    arrays: new Map(leaves.map((type, i) => [`${PREFIX}${i}`, type])),
    body: ([index], entry) => entry([index!, ...leaves.map((type, i) => read(`${PREFIX}${i}`, type, index!))]),
  });
});
