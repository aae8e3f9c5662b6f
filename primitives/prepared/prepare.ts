import { requireValue, wrongArgument } from '../checks/arguments.ts';
import { ArgumentError } from '../checks/errors.ts';
import { isRecord } from '../checks/given.ts';
import {
  Column,
  type ColumnOwner,
  columnsAs,
  commonLength,
  type DeviceLength,
  type Memory,
  type Recording,
  storageOf,
  type Table,
} from '../columns/column.ts';
import { contextOf, mixedContexts, recordingFor } from '../columns/current-context.ts';
import { type Grid, gridText, sameGrid } from '../columns/grid.ts';
import { alive, extentOf } from '../columns/program.ts';
import { SymbolicUniform } from '../columns/symbolic.ts';
import type { CapacityChecks } from '../context/capacity-checks.ts';
import type { ContextMemory } from '../context/memory.ts';
import type { Backend, CountRef, DeviceBuffer } from '../contract/backend.ts';
import type { UniformParameter } from '../functors/functor.ts';
import { assemble } from '../functors/shapes.ts';
import { wordOfValue } from '../ir/evaluate.ts';
import type { ScalarType } from '../ir/ir.ts';
import { isTableInput, type PreparedArguments, type PreparedInputs, requireInputs, type TableInput } from './inputs.ts';
import { playScript } from './play.ts';
import { type RecordedPipeline, type ResultLength, recordPipeline } from './record-pipeline.ts';
import { createRing, type ResultRing, type ResultSet } from './result-ring.ts';
import type { Script, ScriptCall, ScriptInput } from './script.ts';

/**
 * A prepared pipeline, which is called with its arguments. Dispose of it to free its memory; results that are in use
 * stay valid.
 */
export interface Prepared<I extends PreparedInputs = PreparedInputs, R extends Table = Table> {
  (args: PreparedArguments<I>): R;
  /** Bytes of device memory that the pipeline holds for results and intermediate columns. */
  readonly bytes: number;
  dispose(): void;
  [Symbol.dispose](): void;
}

/** What preparing a pipeline needs of a context. */
export interface PreparingContext {
  readonly memory: ContextMemory;
  /** The backend of the context, without the wrapper that watches commands. */
  readonly backend: Backend;
  readonly checks: CapacityChecks;
  /** Creates a context in which the commands of a pipeline are recorded. */
  createContext(backend: Backend, recording: Recording): ColumnOwner;
}

/**
 * A capacity larger than any buffer. Captured columns are bound with this capacity, so that only the recorded bounds
 * apply.
 */
const WHOLE = 2 ** 32;
/** Number of sets of result memory that are allocated when a pipeline is prepared, and kept for later calls. */
const SETS = 2;

/** The internal parts of a prepared pipeline, for loops that call it repeatedly. */
export interface PreparedParts {
  readonly home: PreparingContext;
  readonly inputs: PreparedInputs;
  readonly recorded: RecordedPipeline;
  readonly ring: ResultRing;
  /** Checks the arguments of a call. Returns `recording` if the call is being recorded as part of another pipeline. */
  read(args: { readonly [name: string]: unknown }): GivenArguments | 'recording';
  /**
   * Keeps the memory of the pipeline until `endLoop` is called, even if the pipeline is disposed of. `script` is the
   * loop's script for one round.
   */
  beginLoop(script: Script): void;
  endLoop(): void;
}

const partsOf = new WeakMap<object, PreparedParts>();

/** The internal parts of a pipeline that `prepare` returned; undefined for any other value. */
export function partsOfPrepared(prepared: unknown): PreparedParts | undefined {
  return typeof prepared === 'function' ? partsOf.get(prepared) : undefined;
}

/**
 * Prepares a pipeline; see {@link Context.prepare}. `sets` is the number of sets of result memory that are kept for
 * later calls.
 */
export function preparePipeline<I extends PreparedInputs, R extends Table>(
  home: PreparingContext,
  inputs: I,
  pipeline: (args: PreparedArguments<I>) => R,
  sets: number = SETS,
): Prepared<I, R> {
  requireInputs(inputs);
  const { memory, backend } = home;
  const { context } = memory;
  if (context.recording !== undefined || recordingFor(context) !== undefined) return inline(pipeline);
  const recorded = recordPipeline(context, home.createContext, backend, inputs, pipeline as never);
  const { script } = recorded;
  const ring = createRing(memory, backend, recorded, sets);
  try {
    backend.prepareScript?.(script);
  } catch (error) {
    ring.dispose();
    throw error;
  }
  for (const constant of recorded.constants) memory.hold(constant.memory.allocation);
  const countsAround = recorded.results.flatMap(({ length }) =>
    typeof length === 'object' && 'memory' in length ? [length.memory] : [],
  );
  for (const count of countsAround) count.dependents++;
  /**
   * All scripts that the backend has played for this pipeline: the script of ordinary calls, and the scripts of
   * loops.
   */
  const played = new Set([script]);
  let loops = 0;
  let disposed = false;

  const read = (args: { readonly [name: string]: unknown }): GivenArguments | 'recording' => {
    if (disposed) throw disposedPipeline();
    return readArguments(memory, inputs, args);
  };
  const call = (args: PreparedArguments<I>): R => {
    const given = read(args);
    if (given === 'recording') return pipeline(args);
    const returned = returnedInputs(recorded, given);
    try {
      const set = playInto(given);
      const memories = ring.hand(set);
      memories.forEach(memory.own);
      keepCounts(memory, recorded, given, memories);
      noteChecks(home, recorded, given, memories);
      return tableOf(context, recorded, given, memories) as R;
    } finally {
      for (const each of given.stored) if (!returned.has(each)) memory.release(each);
    }
  };
  const playInto = (given: GivenArguments): ResultSet => {
    const set = ring.take();
    try {
      playScript(backend, script, callOf(recorded, given, set));
      return set;
    } catch (error) {
      // The device may have run out of memory while it wrote this set, so the set must not be reused.
      ring.drop(set);
      throw error;
    }
  };
  const free = (): void => {
    for (const each of played) backend.forgetScript?.(each);
    ring.dispose();
    countsAround.forEach(memory.endDependence);
    for (const constant of recorded.constants) memory.letGo(constant.memory.allocation);
  };
  const dispose = (): void => {
    if (disposed) return;
    disposed = true;
    if (loops === 0) free();
  };
  const bytesOf = (each: Script): number => backend.scriptBytes?.(each) ?? 0;
  const prepared = Object.defineProperties(call, {
    bytes: {
      get: () => (disposed ? 0 : [...played].reduce((sum, each) => sum + bytesOf(each), ring.bytes)),
      enumerable: true,
    },
    dispose: { value: dispose },
    [Symbol.dispose]: { value: dispose },
  }) as Prepared<I, R>;
  const beginLoop = (ofLoop: Script): void => {
    played.add(ofLoop);
    loops++;
  };
  const endLoop = (): void => {
    loops--;
    if (disposed && loops === 0) free();
  };
  partsOf.set(prepared, { home, inputs, recorded, ring, read, beginLoop, endLoop });
  return prepared;
}

/** The buffers, lengths and uniforms for one call of a script. */
export function callOf(recorded: RecordedPipeline, given: GivenArguments, { buffers }: ResultSet): ScriptCall {
  return {
    inputs: inputsOf(recorded, given),
    results: buffers,
    block: given.block,
    counts: given.lengths.flatMap((length, word) =>
      typeof length === 'object' ? [{ word, length: extentOf(length) as CountRef }] : [],
    ),
  };
}

/**
 * Returns the pipeline without preparing it, for use inside an outer pipeline that is being prepared: the commands
 * become part of the outer pipeline.
 */
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

/** The arguments of a call, after they were checked. */
export interface GivenArguments {
  /** The columns of all table arguments, in the order of the script's inputs. */
  readonly columns: readonly Column[];
  /** For every argument, the length of its table; undefined for uniforms. */
  readonly lengths: readonly (number | DeviceLength | undefined)[];
  readonly block: Uint32Array;
  /**
   * Memory that was allocated for this call to store argument views (columns that have no memory of their own). This
   * memory is released after the call.
   */
  readonly stored: readonly Memory[];
}

function readArguments(
  { context, release }: ContextMemory,
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
      const length = commonLength(own, `a prepared pipeline as ${name}`);
      if (typeof length === 'number') block[word] = length;
      for (const column of own) columns.push(column);
      lengths.push(length);
    } else {
      if (given instanceof SymbolicUniform) return 'recording';
      block[word] = wordOf(name, declared, given);
      lengths.push(undefined);
    }
    word++;
  }
  const home = contextOf(columns, 'A prepared pipeline');
  if (home?.recording?.outer === context || recordingFor(context) !== undefined) return 'recording';
  if (home !== undefined && home !== context) throw mixedContexts('A prepared pipeline');
  const stored: Memory[] = [];
  try {
    return { columns: columns.map((column) => storedColumn(context, column, stored)), lengths, block, stored };
  } catch (error) {
    stored.forEach(release);
    throw error;
  }
}

function storedColumn(context: ColumnOwner, column: Column, stored: Memory[]): Column {
  if (column.source.kind === 'stored') return column;
  const copy = context.materialize(column);
  if (copy.source.kind === 'stored') stored.push(copy.source.memory);
  return copy;
}

function readTable(name: string, { shape, capacity, grid, storages }: TableInput, table: Table): Column[] {
  const columns = columnsAs(shape, table, (difference) => wrongColumn(name, difference), 'A prepared pipeline', name);
  for (const [leaf, column] of columns.entries()) {
    if (column.capacity > capacity) throw tooManyRows(name, capacity, column.capacity);
    if (grid !== undefined) requireSameGrid(name, grid, column);
    const storage = column.source.kind === 'stored' ? column.source.storage : storageOf(column.type);
    if (storage !== storages[leaf]) {
      throw wrongColumn(name, {
        expected: `elements stored as ${storages[leaf]}`,
        got: `elements stored as ${storage}`,
      });
    }
  }
  return columns;
}

/** Requires that an argument has the shape of its input, or no shape but as many rows. */
function requireSameGrid(name: string, grid: Grid, { grid: own, length }: Column): void {
  if (own === undefined ? length === grid.rows * grid.columns : sameGrid(own, grid)) return;
  const got = own === undefined ? (typeof length === 'number' ? `${length} rows` : 'a device count') : gridText(own);
  throw new ArgumentError('grid/shapes', `Argument ${name} of a prepared pipeline has another shape than its input.`, {
    expected: gridText(grid),
    got,
    remedy: 'Prepare a pipeline for each shape.',
  });
}

function wordOf(name: string, { uniform: { type } }: UniformParameter<ScalarType>, given: unknown): number {
  const sentence = `Uniform ${name} of a prepared pipeline was given a value of the wrong type.`;
  const remedy =
    given instanceof Column
      ? `If only the device has it, declare it as input(${type}, 1) and pass it to functors as array(${type}).`
      : undefined;
  return wordOfValue(type, requireValue(type, given, 'prepare/argument', sentence, remedy));
}

/** The memory of argument columns that the pipeline returns unchanged. It must not be released after the call. */
function returnedInputs({ results }: RecordedPipeline, { columns }: GivenArguments): Set<Memory> {
  const sources = results.flatMap((result) => (result.from === 'input' ? [columns[result.at]!.source] : []));
  return new Set(sources.flatMap((source) => (source.kind === 'stored' ? [source.memory] : [])));
}

function inputsOf({ constants }: RecordedPipeline, { columns }: GivenArguments): ScriptCall['inputs'] {
  const made: ScriptInput[] = columns.map(({ source, capacity }) => {
    if (source.kind === 'view') throw new ArgumentError('column/view', 'A view was not stored before a prepared call.');
    return { buffer: alive(source.memory).buffer, offset: source.offset, capacity };
  });
  for (const { memory, input } of constants) made[input] = { buffer: memory.buffer, offset: 0, capacity: WHOLE };
  return made;
}

/**
 * Registers capacity checks for the results of a call: checks of the arguments, and checks of primitives inside the
 * pipeline.
 */
function noteChecks(
  { checks, memory: { release } }: PreparingContext,
  recorded: RecordedPipeline,
  given: GivenArguments,
  memories: readonly Memory[],
): void {
  const { results, checks: own } = recorded;
  if (!checks.idle) {
    const read = buffersRead(recorded, given);
    for (const [at, from] of recorded.sources.entries()) {
      const reads = [...from].flatMap((input) => read.get(input) ?? []);
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

/**
 * If results share a row count with arguments or captured columns, makes the results dependents of the count. The count
 * is then freed with the last of its dependents.
 */
export function keepCounts(
  { endDependence }: ContextMemory,
  { results }: RecordedPipeline,
  given: GivenArguments,
  memories: readonly Memory[],
): void {
  for (const { from, at, length } of results) {
    if (from !== 'result' || typeof length === 'number' || 'result' in length) continue;
    const now = lengthOf(length, given, memories);
    const { allocation } = memories[at]!;
    const { count } = allocation;
    if (typeof now === 'number' || now.memory === count) continue;
    allocation.count = now.memory;
    now.memory.dependents++;
    if (count !== undefined) endDependence(count);
  }
}

/**
 * The buffers that a call reads, by input index of the script. The index `inputs.length + word` stands for the buffer
 * of a table length that only the device knows.
 */
export function buffersRead(
  { script, constants }: RecordedPipeline,
  { columns, lengths }: GivenArguments,
): Map<number, DeviceBuffer> {
  const buffers = new Map<number, DeviceBuffer>();
  for (const [input, { source }] of columns.entries()) {
    if (source.kind === 'stored') buffers.set(input, source.memory.buffer);
  }
  for (const { memory, input } of constants) buffers.set(input, memory.buffer);
  for (const [word, length] of lengths.entries()) {
    if (typeof length === 'object') buffers.set(script.inputs.length + word, length.memory.buffer);
  }
  return buffers;
}

function usedResults(at: number | undefined, length: ResultLength): number[] {
  const counts = typeof length === 'object' && 'result' in length ? [length.result] : [];
  return at === undefined ? counts : [at, ...counts];
}

export function tableOf(
  context: ColumnOwner,
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
      if (source.kind === 'view')
        throw new ArgumentError('column/view', 'A view was not stored before a prepared call.');
      const from = { ...source, offset: source.offset + result.offset };
      return new Column(context, result.type, known, from, result.grid);
    }
    const { at, type, storage, offset, grid } = result;
    const memory = memories[at]!;
    return new Column(context, type, known, { kind: 'stored', memory, storage, offset }, grid);
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
  return new ArgumentError('prepare/argument', `A prepared pipeline has no input ${name}.`, {
    expected: Object.keys(inputs).join(', '),
    got: name,
  });
}

function missingArgument(name: string): ArgumentError {
  return new ArgumentError('prepare/argument', `A prepared pipeline is missing its input ${name}.`, {
    remedy: 'Pass a table for every input(…), and a number for every uniform(…).',
  });
}

function wrongColumn(name: string, difference: { readonly expected?: unknown; readonly got?: unknown }): ArgumentError {
  return new ArgumentError('prepare/column', `The columns given to a prepared pipeline do not fit its input ${name}.`, {
    ...difference,
    remedy: 'Pass such columns, or declare the input for the other kind: input(shape, capacity, { storage }).',
  });
}

function tooManyRows(name: string, capacity: number, got: number): ArgumentError {
  return new ArgumentError('prepare/capacity', `Input ${name} of a prepared pipeline was given too many rows.`, {
    expected: `at most ${capacity} rows`,
    got,
    remedy: 'Prepare the pipeline for a larger capacity.',
  });
}

function disposedPipeline(): ArgumentError {
  return new ArgumentError('prepare/disposed', 'A prepared pipeline must not be called after it was disposed of.', {
    remedy: 'Dispose of it after its last call, or prepare it again.',
  });
}
