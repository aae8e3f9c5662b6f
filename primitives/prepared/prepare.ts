import { wrongArgument } from '../arguments.ts';
import type { Backend, CountRef, DeviceBuffer } from '../backend.ts';
import type { CapacityChecks } from '../capacity-checks.ts';
import {
  Column,
  columnsAs,
  columnsOf,
  commonLength,
  contextOf,
  type DeviceLength,
  Memory,
  mixedContexts,
  type Table,
} from '../columns/column.ts';
import { requireValue } from '../columns/plain-value.ts';
import { alive } from '../columns/program.ts';
import { SymbolicUniform } from '../columns/symbolic.ts';
import type { Context, Recording } from '../context.ts';
import { ArgumentError } from '../errors.ts';
import type { UniformParameter } from '../functors/functor.ts';
import type { ScalarType } from '../functors/ir.ts';
import { bitsOfF32 } from '../functors/semantics.ts';
import { assemble } from '../functors/shapes.ts';
import { isRecord } from '../given.ts';
import { isTableInput, type PreparedArguments, type PreparedInputs, requireInputs, type TableInput } from './inputs.ts';
import { playScript } from './play.ts';
import { type RecordedPipeline, type ResultLength, recordPipeline } from './record-pipeline.ts';
import type { ScriptCall, ScriptInput } from './script.ts';

/**
 * A pipeline that was prepared: a function of its inputs. Dispose of it to give back what it keeps; results that are in use
 * stay.
 */
export interface Prepared<I extends PreparedInputs = PreparedInputs, R extends Table = Table> {
  (args: PreparedArguments<I>): R;
  /** Bytes that it keeps on the device: for results, and from the first call on for what lies between. */
  readonly bytes: number;
  dispose(): void;
  [Symbol.dispose](): void;
}

/** The context that a pipeline is prepared for, as it sees to that. */
export interface PreparingContext {
  readonly context: Context;
  /** The backend itself. */
  readonly backend: Backend;
  readonly checks: CapacityChecks;
  /** A context to record in. */
  createContext(backend: Backend, recording: Recording): Context;
  allocate(words: number): DeviceBuffer;
  /** Gives memory to the scope under way. */
  own(memory: Memory): void;
  release(memory: Memory): void;
  hold(memory: Memory): void;
  letGo(memory: Memory): void;
}

/** Memory for the results of one call. */
export interface ResultSet {
  readonly buffers: readonly DeviceBuffer[];
  /** Buffers that somebody still holds. */
  inUse: number;
  /** Whether nobody had it before. */
  isNew: boolean;
  /** Whether it is released rather than used again. */
  isGivenUp: boolean;
}

/** More elements than any buffer has: what does not change is read as far as the pipeline has it. */
const WHOLE = 2 ** 32;
/** Sets that are made when a pipeline is prepared. */
const SETS = 2;

/** What a prepared pipeline is made of, for loops that call it. */
export interface PreparedParts {
  readonly home: PreparingContext;
  readonly inputs: PreparedInputs;
  readonly recorded: RecordedPipeline;
  readonly ring: ResultRing;
  /** Reads the arguments of a call. */
  read(args: { readonly [name: string]: unknown }): GivenArguments | 'recording';
}

const partsOf = new WeakMap<object, PreparedParts>();

/** The parts of a pipeline that `prepare` made; undefined of anything else. */
export function partsOfPrepared(prepared: unknown): PreparedParts | undefined {
  return typeof prepared === 'function' ? partsOf.get(prepared) : undefined;
}

/** Prepares a pipeline; see {@link Context.prepare}. */
export function preparePipeline<I extends PreparedInputs, R extends Table>(
  home: PreparingContext,
  inputs: I,
  pipeline: (args: PreparedArguments<I>) => R,
): Prepared<I, R> {
  requireInputs(inputs);
  const { context, backend } = home;
  if (context.recording !== undefined) return inline(pipeline);
  const recorded = recordPipeline(context, home.createContext, backend, inputs, pipeline as never);
  const { script } = recorded;
  const ring = createRing(home, recorded);
  for (const { memory } of recorded.constants) home.hold(memory);
  backend.prepareScript?.(script);
  let disposed = false;

  const read = (args: { readonly [name: string]: unknown }): GivenArguments | 'recording' => {
    if (disposed) throw disposedPipeline();
    return readArguments(context, inputs, args);
  };
  const call = (args: PreparedArguments<I>): R => {
    const given = read(args);
    if (given === 'recording') return pipeline(args);
    const returned = returnedInputs(recorded, given);
    const set = ring.take();
    try {
      playScript(backend, script, callOf(recorded, given, set));
    } catch (error) {
      // It may be what the device had no memory for.
      ring.drop(set);
      throw error;
    } finally {
      for (const memory of given.stored) if (!returned.has(memory)) home.release(memory);
    }
    const memories = ring.hand(set);
    memories.forEach(home.own);
    noteChecks(home, recorded, given, memories);
    return tableOf(context, recorded, given, memories) as R;
  };
  const dispose = (): void => {
    if (disposed) return;
    disposed = true;
    backend.forgetScript?.(script);
    ring.dispose();
    for (const { memory } of recorded.constants) home.letGo(memory);
  };
  const prepared = Object.defineProperties(call, {
    bytes: { get: () => (disposed ? 0 : ring.bytes + (backend.scriptBytes?.(script) ?? 0)), enumerable: true },
    dispose: { value: dispose },
    [Symbol.dispose]: { value: dispose },
  }) as Prepared<I, R>;
  partsOf.set(prepared, { home, inputs, recorded, ring, read });
  return prepared;
}

/** What a call works on. */
export function callOf(recorded: RecordedPipeline, given: GivenArguments, { buffers }: ResultSet): ScriptCall {
  return {
    inputs: inputsOf(recorded, given),
    results: buffers,
    block: given.block,
    counts: given.lengths.flatMap((length, word) =>
      typeof length === 'object' ? [{ word, length: countRefOf(length) }] : [],
    ),
  };
}

/** A pipeline that is prepared within another one is part of that. */
function inline<I extends PreparedInputs, R extends Table>(
  pipeline: (args: PreparedArguments<I>) => R,
): Prepared<I, R> {
  const dispose = (): void => {};
  return Object.defineProperties((args: PreparedArguments<I>) => pipeline(args), {
    bytes: { value: 0, enumerable: true },
    dispose: { value: dispose },
    [Symbol.dispose]: { value: dispose },
  }) as Prepared<I, R>;
}

/** Memory for results, handed out and taken back. */
export interface ResultRing {
  readonly bytes: number;
  take(): ResultSet;
  /** Gives a set up: what is in it may be nothing. */
  drop(set: ResultSet): void;
  /** The memory of a set, which comes back once all of it is released. */
  hand(set: ResultSet): Memory[];
  dispose(): void;
}

function createRing(
  { context, backend, allocate }: PreparingContext,
  { script, results }: RecordedPipeline,
): ResultRing {
  const sets = new Set<ResultSet>();
  let free: ResultSet[] = [];
  let disposed = false;
  /** The memory of the count of a result's rows goes with the result. */
  const countOf = new Map<number, number>();
  for (const result of results) {
    const { length } = result;
    if (result.from === 'result' && typeof length === 'object' && 'result' in length && length.result !== result.at) {
      countOf.set(result.at, length.result);
    }
  }
  const release = (set: ResultSet): void => {
    sets.delete(set);
    for (const buffer of set.buffers) backend.release(buffer);
  };
  const make = (): ResultSet => {
    const buffers: DeviceBuffer[] = [];
    try {
      for (const { words } of script.results) buffers.push(allocate(words));
    } catch (error) {
      for (const buffer of buffers) backend.release(buffer);
      throw error;
    }
    const set: ResultSet = { buffers, inUse: 0, isNew: true, isGivenUp: false };
    sets.add(set);
    return set;
  };
  const putBack = (set: ResultSet): void => {
    if (disposed || set.isGivenUp) release(set);
    else {
      set.isNew = false;
      free.push(set);
    }
  };
  for (let i = 0; i < SETS; i++) putBack(make());

  return {
    get bytes() {
      return 4 * sets.size * script.results.reduce((sum, { words }) => sum + words, 0);
    },
    take: (): ResultSet => free.pop() ?? make(),
    drop: release,
    hand(set: ResultSet): Memory[] {
      const memories: Memory[] = [];
      const memoryOf = (at: number): Memory => {
        const count = countOf.get(at);
        memories[at] ??= new Memory(context, set.buffers[at]!, count === undefined ? undefined : memoryOf(count));
        return memories[at];
      };
      set.inUse = set.buffers.length;
      for (const at of set.buffers.keys()) {
        const memory = memoryOf(at);
        memory.giveBack = () => {
          set.inUse--;
          if (set.inUse === 0) putBack(set);
        };
      }
      if (set.buffers.length === 0) putBack(set);
      return memories;
    },
    dispose(): void {
      disposed = true;
      for (const set of free) release(set);
      free = [];
    },
  };
}

/** The arguments of a call. */
export interface GivenArguments {
  /** Columns in the order of the script's inputs. */
  readonly columns: readonly Column[];
  /** Of every table its length; undefined of uniforms. */
  readonly lengths: readonly (number | DeviceLength | undefined)[];
  readonly block: Uint32Array;
  /** Memory of views that were stored for the call. */
  readonly stored: readonly Memory[];
}

function readArguments(
  context: Context,
  inputs: PreparedInputs,
  args: { readonly [name: string]: unknown },
): GivenArguments | 'recording' {
  if (!isRecord(args)) throw wrongArgument('A prepared pipeline', 'args', args, 'a record of its inputs');
  for (const name of Object.keys(args)) if (!Object.hasOwn(inputs, name)) throw unknownArgument(name, inputs);
  const columns: Column[] = [];
  const lengths: (number | DeviceLength | undefined)[] = [];
  const block = new Uint32Array(Object.keys(inputs).length);
  let word = 0;
  for (const [name, declared] of Object.entries(inputs)) {
    const given = Object.hasOwn(args, name) ? args[name] : undefined;
    if (given === undefined) throw missingArgument(name);
    if (isTableInput(declared)) {
      const own = readTable(name, declared, given as Table);
      const length = commonLength(own, 'A prepared pipeline');
      if (typeof length === 'number') block[word] = length;
      columns.push(...own);
      lengths.push(length);
    } else {
      if (given instanceof SymbolicUniform) return 'recording';
      block[word] = wordOf(name, declared, given);
      lengths.push(undefined);
    }
    word++;
  }
  const home = contextOf(columns, 'A prepared pipeline');
  if (home?.recording?.outer === context) return 'recording';
  if (home !== undefined && home !== context) throw mixedContexts('A prepared pipeline');
  const stored: Memory[] = [];
  return { columns: columns.map((column) => storedColumn(context, column, stored)), lengths, block, stored };
}

function storedColumn(context: Context, column: Column, stored: Memory[]): Column {
  if (column.source.kind === 'stored') return column;
  const copy = context.materialize(column);
  if (copy.source.kind === 'stored') stored.push(copy.source.memory);
  return copy;
}

function readTable(name: string, { shape, capacity, storages }: TableInput, table: Table): Column[] {
  const columns = columnsAs(shape, table, (difference) => wrongColumn(name, difference), 'A prepared pipeline', name);
  for (const [leaf, column] of columns.entries()) {
    if (column.capacity > capacity) throw tooManyRows(name, capacity, column.capacity);
    const storage = column.source.kind === 'stored' ? column.source.storage : undefined;
    if (storage !== undefined && storage !== storages[leaf]) {
      throw wrongColumn(name, {
        expected: `elements stored as ${storages[leaf]}`,
        got: `elements stored as ${storage}`,
      });
    }
  }
  if (columns.length === 0) columnsOf(table);
  return columns;
}

function wordOf(name: string, { uniform: { type } }: UniformParameter<ScalarType>, given: unknown): number {
  const sentence = `A prepared pipeline was given a value of another type for its uniform ${name}.`;
  const value = requireValue(type, given, 'prepare/argument', sentence);
  return type === 'f32' ? bitsOfF32(value as number) : Number(value) >>> 0;
}

/** The memory of columns that the pipeline returns as they are. */
function returnedInputs({ results }: RecordedPipeline, { columns }: GivenArguments): Set<Memory> {
  const sources = results.flatMap((result) => (result.from === 'input' ? [columns[result.at]!.source] : []));
  return new Set(sources.flatMap((source) => (source.kind === 'stored' ? [source.memory] : [])));
}

function inputsOf({ script, constants }: RecordedPipeline, { columns }: GivenArguments): ScriptCall['inputs'] {
  const made: ScriptInput[] = columns.map(({ source, capacity }) => {
    if (source.kind === 'view') throw new ArgumentError('column/view', 'A view was not stored.');
    return { buffer: alive(source.memory).buffer, offset: source.offset, capacity };
  });
  for (const { memory, input } of constants) made[input] = { buffer: memory.buffer, offset: 0, capacity: WHOLE };
  return made.slice(0, script.inputs.length);
}

function countRefOf({ memory, word, minus, limit }: DeviceLength): CountRef {
  return { buffer: alive(memory).buffer, word, minus, limit };
}

/** Notes which results derive from rows that may have been lost: before the call, or in it. */
function noteChecks(
  { checks, release }: PreparingContext,
  { sources, script, results, checks: own }: RecordedPipeline,
  { columns, lengths }: GivenArguments,
  memories: readonly Memory[],
): void {
  if (!checks.idle) {
    const given = columns.map(({ source }) => (source.kind === 'stored' ? source.memory.buffer : undefined));
    for (const [at, from] of sources.entries()) {
      const reads = [...from].flatMap((input) => {
        const length = lengths[input - script.inputs.length];
        const buffer =
          input < script.inputs.length ? given[input] : typeof length === 'object' ? length.memory.buffer : undefined;
        return buffer === undefined ? [] : [buffer];
      });
      checks.derive(reads, [memories[at]!.buffer]);
    }
  }
  const returned = new Set(
    results.flatMap((result) => usedResults(result.from === 'result' ? result.at : undefined, result.length)),
  );
  for (const { primitive, count, marked } of own) {
    const memory = memories[count.result]!;
    checks.expect({ memory, word: count.word, minus: count.minus, limit: count.limit }, primitive);
    for (const at of marked) checks.derive([memory.buffer], [memories[at]!.buffer]);
  }
  for (const { count } of own) if (!returned.has(count.result)) release(memories[count.result]!);
}

function usedResults(at: number | undefined, length: ResultLength): number[] {
  const counts = typeof length === 'object' && 'result' in length ? [length.result] : [];
  return at === undefined ? counts : [at, ...counts];
}

export function tableOf(
  context: Context,
  { shape, results }: RecordedPipeline,
  given: GivenArguments,
  memories: readonly Memory[],
): Table {
  const lengths = new Map<ResultLength, number | DeviceLength>();
  const columns = results.map((result) => {
    const known = lengths.get(result.length) ?? lengthOf(result.length, given, memories);
    lengths.set(result.length, known);
    if (result.from === 'input') {
      const { source } = given.columns[result.at]!;
      if (source.kind === 'view') throw new ArgumentError('column/view', 'A view was not stored.');
      return new Column(context, result.type, known, { ...source, offset: source.offset + result.offset });
    }
    const { at, type, storage, offset } = result;
    const memory = memories[at]!;
    return new Column(context, type, known, { kind: 'stored', memory, storage, offset });
  });
  return assemble<Column>(shape, columns) as Table;
}

export function lengthOf(
  length: ResultLength,
  { lengths }: GivenArguments,
  memories: readonly Memory[],
): number | DeviceLength {
  if (typeof length === 'number' || 'memory' in length) return length;
  const { minus, limit } = length;
  if ('result' in length) return { memory: memories[length.result]!, word: length.word, minus, limit };
  const of = lengths[length.table]!;
  if (typeof of === 'number') return Math.min(limit, Math.max(0, of - minus));
  return { ...of, minus: of.minus + minus, limit: Math.min(limit, Math.max(0, of.limit - minus)) };
}

function unknownArgument(name: string, inputs: PreparedInputs): ArgumentError {
  return new ArgumentError('prepare/argument', `A prepared pipeline was given ${name}, which is none of its inputs.`, {
    expected: Object.keys(inputs).join(', '),
    got: name,
  });
}

function missingArgument(name: string): ArgumentError {
  return new ArgumentError('prepare/argument', `A prepared pipeline was not given its input ${name}.`, {
    remedy: 'Pass a table or a number for every input.',
  });
}

function wrongColumn(name: string, difference: { readonly expected?: unknown; readonly got?: unknown }): ArgumentError {
  return new ArgumentError('prepare/column', `A prepared pipeline was given another table for its input ${name}.`, {
    ...difference,
    remedy: 'Prepare the pipeline for these columns: input(shape, capacity, { storage }).',
  });
}

function tooManyRows(name: string, capacity: number, got: number): ArgumentError {
  return new ArgumentError('prepare/capacity', `A prepared pipeline was given too many rows for its input ${name}.`, {
    expected: `at most ${capacity} rows`,
    got,
    remedy: 'Prepare the pipeline for a larger capacity.',
  });
}

function disposedPipeline(): ArgumentError {
  return new ArgumentError('prepare/disposed', 'A prepared pipeline was called after it was disposed of.');
}
