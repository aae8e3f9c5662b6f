import { type ArrayBinding, capacityOf, type Extent, type Program, type Store } from '../../../primitives/backend.ts';
import { entryOf, type Local, type Module, type ScalarType, type Statement } from '../../../primitives/functors/ir.ts';
import { type Engine, tooManyBindings } from '../engine.ts';
import { type LinkedProgram, linkProgram } from '../link.ts';
import type { Memory } from '../memory.ts';
import { createParameters, type LengthWords, type Parameters } from '../parameters.ts';
import { forEach } from './for-each.ts';
import { countBindings, placeArrays, type Window, windowsOf } from './windows.ts';

/** A program that a kernel evaluates tile by tile, linked first among the parameters of a command. */
export interface Source {
  readonly parameters: Parameters;
  readonly length: LengthWords;
  readonly program: LinkedProgram;
  /** Ranges of whole tiles whose arrays can be bound. */
  readonly windows: readonly Window[];
  release(): void;
}

/**
 * Links a program for a kernel that binds `others` more buffers and works on tiles of `tile` elements. Where the program
 * needs too many bindings for that, or its arrays are cut within a tile, its results are stored first.
 */
export function prepareSource(engine: Engine, extent: Extent, program: Program, tile: number, others: number): Source {
  const fused = link(engine, extent, program);
  if (fits(engine, fused, tile, others)) return { ...fused, release: () => {} };
  const stored = storeResults(engine, extent, program);
  const linked = link(engine, extent, stored.program);
  if (!fits(engine, linked, tile, others)) {
    throw tooManyBindings(others + countBindings(firstPlacements(linked).values()), engine.limits.storageBuffers);
  }
  return { ...linked, release: stored.release };
}

/** Links a program as it is. */
export function linkSource(engine: Engine, extent: Extent, program: Program): Source {
  return { ...link(engine, extent, program), release: () => {} };
}

type Linked = Omit<Source, 'release'>;

function link({ pool }: Engine, extent: Extent, program: Program): Linked {
  const parameters = createParameters(pool);
  const length = parameters.length(extent);
  const linked = linkProgram('p_', program, parameters, pool, extent);
  return { parameters, length, program: linked, windows: windowsOf(capacityOf(extent), [linked], []) };
}

function firstPlacements({ program, windows }: Linked): ReturnType<typeof placeArrays> {
  return placeArrays(program, windows[0]!);
}

function fits({ limits }: Engine, linked: Linked, tile: number, others: number): boolean {
  const needed = others + countBindings(firstPlacements(linked).values());
  return needed <= limits.storageBuffers && linked.windows.every(({ from }) => from % tile === 0);
}

/** Stores the results of a program; the program returned reads them back. */
export function storeResults(engine: Engine, extent: Extent, program: Program): { program: Program; release(): void } {
  const { pool } = engine;
  const { results } = entryOf(program.module);
  const capacity = capacityOf(extent);
  // One buffer for all results costs one binding; results that fill a binding each are cut at the same places.
  const together = results.length * capacity <= pool.partWords;
  const buffers = (together ? [results.length * capacity] : results.map(() => capacity)).map((words) =>
    pool.allocate(words),
  );
  const columns = results.map(
    (type, i): ArrayBinding => ({
      buffer: buffers[together ? 0 : i]!,
      storage: type === 'bool' ? 'u32' : type,
      offset: together ? i * capacity : 0,
      length: capacity,
    }),
  );
  const stores = columns.map(({ buffer, offset }, value): Store => ({ buffer, offset, capacity, value }));
  forEach(engine, extent, program, stores);
  const arrays = new Map(columns.map((column, i) => [`a${i}`, column]));
  return {
    program: { module: columnsModule(results), arrays, uniforms: new Map() },
    release: () => buffers.forEach((buffer) => void pool.release(buffer)),
  };
}

/** The program that reads an element of every one of some columns of words at its index. */
export function columnsProgram(memories: readonly Memory[], length: number): Program {
  const arrays = memories.map((buffer, i) => [`a${i}`, { buffer, storage: 'u32', offset: 0, length }] as const);
  return { module: columnsModule(memories.map(() => 'u32')), arrays: new Map(arrays), uniforms: new Map() };
}

const columnModules = new Map<string, Module>();

/** The module that reads an element of every column a0, a1, … at its index. */
export function columnsModule(types: readonly ScalarType[]): Module {
  const key = types.join();
  const known = columnModules.get(key);
  if (known !== undefined) return known;
  const index: Local = { kind: 'local', type: 'u32', id: 0 };
  const values = types.map((type, i): Local => ({ kind: 'local', type, id: i + 1 }));
  const reads = values.map((local, i): Statement => ({ kind: 'read', local, array: `a${i}`, index }));
  const body: Statement[] = [...reads, { kind: 'return', values }];
  const module: Module = {
    functions: [{ name: 'columns', parameters: [index], results: types, body, fast: false }],
    arrays: new Map(types.map((type, i) => [`a${i}`, type])),
    uniforms: new Map(),
  };
  columnModules.set(key, module);
  return module;
}
