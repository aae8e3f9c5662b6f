import { requireFunction } from '../checks/arguments.ts';
import { ArgumentError } from '../checks/errors.ts';
import { describeGiven, isRecord } from '../checks/given.ts';
import {
  Column,
  type ColumnOwner,
  columnsOf,
  type DeviceLength,
  Memory,
  type Recording,
  shapeOf,
  type Table,
  viewColumn,
  withColumns,
} from '../columns/column.ts';
import type { Grid } from '../columns/grid.ts';
import { elementsPerWord } from '../columns/host-array.ts';
import { notingMemory } from '../columns/program.ts';
import { memoriesIn, promisesIn } from '../columns/reachable.ts';
import { SymbolicUniform, symbolicLength } from '../columns/symbolic.ts';
import { fuseColumns } from '../columns/views.ts';
import type { Backend, DeviceBuffer } from '../contract/backend.ts';
import { assemble, leafTypes, type Shape } from '../functors/shapes.ts';
import { derivations } from './derivations.ts';
import { isTableInput, type PreparedInputs } from './inputs.ts';
import { createRecordingBackend, type RecordingBackend, waits } from './recording-backend.ts';
import type { Script, ScriptBuffer } from './script.ts';

/** A recorded pipeline: its commands (the script), and where to find the columns of its result. */
export interface RecordedPipeline {
  readonly script: Script;
  readonly shape: Shape;
  readonly results: readonly ResultColumn[];
  /** The memory of captured columns, each with the index of the script input that stands for the memory. */
  readonly constants: readonly { readonly memory: Memory; readonly input: number }[];
  /** Capacity checks of the primitives that were recorded with a capacity. */
  readonly checks: readonly RecordedCheck[];
  /** For every result buffer, the indices of the inputs from which its contents derive. */
  readonly sources: readonly ReadonlySet<number>[];
}

/** The buffer and the length of one column of the result. The buffer is a result buffer or an input. */
export interface ResultColumn {
  readonly from: 'result' | 'input';
  readonly at: number;
  readonly type: Column['type'];
  readonly storage: 'u32' | 'i32' | 'f32' | 'u8' | 'i8' | 'u16' | 'i16';
  readonly offset: number;
  readonly length: ResultLength;
  readonly grid: Grid | undefined;
}

/**
 * The length of a result column: a number, the length of a table argument, a row count in a word of a result buffer, or
 * a device length outside the pipeline.
 */
export type ResultLength =
  | number
  | { readonly table: number; readonly minus: number; readonly limit: number }
  | { readonly result: number; readonly word: number; readonly minus: number; readonly limit: number }
  | DeviceLength;

/**
 * A capacity check of a recorded primitive: where the row count is stored, and which result buffers derive from the
 * count.
 */
export interface RecordedCheck {
  readonly primitive: string;
  readonly count: { readonly result: number; readonly word: number; readonly minus: number; readonly limit: number };
  readonly marked: readonly number[];
}

/** A capacity check that was requested while the pipeline was being recorded. */
interface ExpectedCapacity {
  readonly length: DeviceLength;
  readonly primitive: string;
  /** Number of steps that were recorded before the check was requested. */
  readonly step: number;
}

/**
 * Records a pipeline: runs its function once, on columns without memory, and collects the commands that the function
 * issues.
 */
export function recordPipeline(
  outer: ColumnOwner,
  createContext: (backend: Backend, recording: Recording) => ColumnOwner,
  model: Backend,
  inputs: PreparedInputs,
  pipeline: (args: never) => Table,
): RecordedPipeline {
  requireFunction('prepare', 'pipeline', pipeline);
  const backend = createRecordingBackend(model, Object.keys(inputs).length);
  const expected: ExpectedCapacity[] = [];
  const recording = createContext(backend, {
    outer,
    expectCapacity(length, primitive) {
      // The hold keeps the row count's memory allocated until the end of each call, because the row count is checked
      // after the call.
      length.memory.allocation.holds++;
      expected.push({ length, primitive, step: backend.steps.length });
    },
  });
  const block = new Memory(recording, backend.block);
  const args = symbolicArguments(recording, backend, block, inputs);
  const memories = new Map<DeviceBuffer, Memory>();
  const table = notingMemory(memories, () =>
    recording.scope(() => {
      const returned = pipeline(args as never);
      requireSynchronous(returned);
      return recording.materialize(withoutConstants(returned));
    }),
  );
  const tables = Object.values(inputs).flatMap((declared, word) => (isTableInput(declared) ? [word] : []));
  try {
    return finish(backend, memories, block, tables, table, expected);
  } finally {
    // Frees the recorded memory. Otherwise, row counts outside the pipeline would count this memory as a dependent,
    // and would never be freed.
    for (const memory of memoriesIn(columnsOf(table))) if (memory.context === recording) recording.free(memory);
  }
}

/**
 * Replaces captured columns in a result by copies, because callers dispose of results but must not dispose of captured
 * columns.
 */
function withoutConstants(table: Table): Table {
  if (!(table instanceof Column || isRecord(table))) throw noTable(table);
  const columns = columnsOf(table, 'prepare', 'result').map((column) => {
    const { source, type, length, context, grid } = column;
    if (source.kind === 'view' || 'role' in source.memory.buffer) return column;
    return viewColumn(context, type, length, fuseColumns({ name: 'copy', kind: 'prepare' }, [column]), 0, grid);
  });
  return withColumns(table, columns);
}

function noTable(returned: unknown): ArgumentError {
  return new ArgumentError('column/type', 'The function given to prepare must return columns.', {
    expected: 'a column or a record of columns',
    got: describeGiven(returned),
    remedy: 'Return the columns that a call should give.',
  });
}

/** The placeholders that a pipeline's function receives as arguments while the pipeline is recorded. */
function symbolicArguments(
  recording: ColumnOwner,
  backend: RecordingBackend,
  block: Memory,
  inputs: PreparedInputs,
): { readonly [name: string]: unknown } {
  const args = Object.entries(inputs).map(([name, declared], word) => {
    if (!isTableInput(declared)) return [name, new SymbolicUniform(declared.uniform.type, word)];
    const { shape, capacity, grid, storages } = declared;
    const length = grid === undefined ? symbolicLength(block, word, capacity) : capacity;
    const columns = leafTypes(shape).map((type, leaf) => {
      const storage = storages[leaf]!;
      const memory = new Memory(recording, backend.input(Math.ceil(capacity / elementsPerWord(storage))));
      return new Column(recording, type, length, { kind: 'stored', memory, storage, offset: 0 }, grid);
    });
    return [name, assemble<Column>(shape, columns)];
  });
  return Object.fromEntries(args);
}

/**
 * Completes a recording. Finds the buffers that must outlive a call: the results, the row counts of the results, and
 * the row counts of capacity checks.
 */
function finish(
  backend: RecordingBackend,
  memories: ReadonlyMap<DeviceBuffer, Memory>,
  block: Memory,
  tables: readonly number[],
  table: Table,
  expected: readonly ExpectedCapacity[],
): RecordedPipeline {
  const results: ScriptBuffer[] = [];
  const resultOf = (buffer: ScriptBuffer): number => {
    if (buffer.role !== 'result') {
      buffer.role = 'result';
      buffer.at = results.push(buffer) - 1;
    }
    return buffer.at;
  };
  const isRecorded = ({ buffer }: Memory): boolean => 'role' in buffer;
  const lengthOf = (length: Column['length']): ResultLength => {
    if (typeof length === 'number') return length;
    const { memory, word, minus, limit } = length;
    if (memory === block) return { table: word, minus, limit };
    return isRecorded(memory) ? { result: resultOf(memory.buffer as ScriptBuffer), word, minus, limit } : length;
  };
  const columns = columnsOf(table).map(({ type, length, source, grid }): ResultColumn => {
    if (source.kind === 'view') throw waits();
    const { memory, storage, offset } = source;
    const common = { type, storage, offset, length: lengthOf(length), grid };
    const buffer = memory.buffer as ScriptBuffer;
    if (buffer.role === 'input') return { ...common, from: 'input', at: buffer.at };
    return { ...common, from: 'result', at: resultOf(buffer) };
  });
  const derived = derivations(backend, expected);
  const checks = expected.flatMap(({ primitive, length }, check): RecordedCheck[] => {
    const marked = results.filter((buffer) => derived.get(buffer)?.checks.has(check));
    if (marked.length === 0) return [];
    const { word, minus, limit } = length;
    const count = { result: resultOf(length.memory.buffer as ScriptBuffer), word, minus, limit };
    return [{ primitive, count, marked: marked.map(({ at }) => at) }];
  });
  return {
    script: { steps: withoutMemoryOf(backend, results), inputs: backend.inputs, results, tables, block: backend.block },
    shape: shapeOf(table),
    results: columns,
    constants: [...backend.constants].map(([buffer, { at }]) => ({ memory: memories.get(buffer)!, input: at })),
    checks,
    sources: results.map((buffer) => derived.get(buffer)?.inputs ?? new Set<number>()),
  };
}

/**
 * All recorded steps, except the steps that allocate and release result memory, because callers provide this memory.
 */
function withoutMemoryOf({ steps }: RecordingBackend, results: readonly DeviceBuffer[]): Script['steps'] {
  return steps.filter(
    (step) => !((step.kind === 'allocate' || step.kind === 'release') && results.includes(step.buffer)),
  );
}

/**
 * Throws if a pipeline returns a promise. The promise would wait for the device, but no command runs while a pipeline
 * is prepared.
 */
function requireSynchronous(returned: unknown): void {
  const promises = promisesIn(returned);
  if (promises.size === 0) return;
  // The promises reject as well, because they cannot wait for the device. These rejections are ignored: the error below
  // reports the mistake.
  for (const promise of promises.values()) promise.then(undefined, () => {});
  const [path] = promises.keys();
  throw new ArgumentError('prepare/waits', 'The function given to prepare must not be asynchronous.', {
    expected: 'a function that returns columns',
    got: path === '' ? 'a promise' : `a promise as ${path} of its result`,
    remedy:
      'Return the columns and read them after the call. Give expand() and unfold() a capacity, so that they do not wait.',
  });
}
