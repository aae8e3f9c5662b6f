import { createReferenceBackend } from '../../backends/reference/index.ts';
import { ArgumentError } from '../../primitives/checks/errors.ts';
import type { Table } from '../../primitives/columns/column.ts';
import { Context } from '../../primitives/context/context.ts';
import {
  type At,
  type Case,
  columnsOfResult,
  type Experiment,
  type HostColumn,
  type HostColumns,
  type HostResult,
} from './experiment.ts';

/** One experiment for one type and size, with the data that all candidates share. */
export interface Job extends Case {
  readonly experiment: Experiment;
  /** Columns, or what the experiment's `upload` takes. */
  readonly inputs: HostColumns;
  /** The expected result, computed on the first call. */
  expected(): Promise<readonly HostColumn[]>;
  /** The {@link checksum} of the expected result, computed on the first call. */
  expectedSum(): Promise<number>;
}

export function makeJob(experiment: Experiment, one: Case): Job {
  const inputs = requireInputs(experiment, experiment.inputs(one));
  let expected: Promise<readonly HostColumn[]> | undefined;
  let sum: Promise<number> | undefined;
  const job: Job = {
    ...one,
    experiment,
    inputs,
    expected: () => (expected ??= expectedOf(experiment, inputs, one)),
    expectedSum: () => (sum ??= job.expected().then(checksum)),
  };
  return job;
}

function requireInputs({ name, upload }: Experiment, inputs: unknown): HostColumns {
  if (upload !== undefined && !(inputs instanceof Promise)) return inputs as HostColumns;
  const isRecord = typeof inputs === 'object' && inputs !== null && !(inputs instanceof Promise);
  if (isRecord && Object.values(inputs).every(isHostColumn)) return inputs as HostColumns;
  // The ArgumentError thrown below says more than the rejection of this promise, so the rejection is ignored.
  if (inputs instanceof Promise) inputs.catch(() => {});
  throw new ArgumentError('bench/inputs', `The function inputs of experiment ${name} must return columns.`, {
    expected: 'a record of Uint32Array, Int32Array and Float32Array',
    got: inputs instanceof Promise ? 'a promise' : isRecord ? 'a record of something else' : typeof inputs,
  });
}

function isHostColumn(given: unknown): given is HostColumn {
  return given instanceof Uint32Array || given instanceof Int32Array || given instanceof Float32Array;
}

async function expectedOf(experiment: Experiment, inputs: HostColumns, one: Case): Promise<readonly HostColumn[]> {
  const known = experiment.reference?.(inputs, one);
  if (known !== undefined) return columnsOfResult(known);
  await using context = new Context(createReferenceBackend());
  const at = { ...one, context };
  return await readResult(context, await experiment.run(await uploadInputs(experiment, inputs, at), at));
}

/** Moves the inputs of an experiment to a backend. */
export async function uploadInputs(experiment: Experiment, inputs: HostColumns, at: At): Promise<never> {
  if (experiment.upload !== undefined) return (await experiment.upload(inputs, at)) as never;
  const columns = Object.entries(inputs).map(([name, data]) => [name, at.context.column(data)]);
  return Object.fromEntries(columns) as never;
}

/** Reads a result into host memory: its columns in the experiment's order. */
export async function readResult(context: Context, result: Table): Promise<readonly HostColumn[]> {
  return columnsOfResult((await context.read(result)) as HostResult);
}

/**
 * FNV-1a checksum over the 32-bit words of a result. External programs report this checksum instead of their result.
 */
export function checksum(columns: readonly HostColumn[]): number {
  let sum = 2166136261;
  for (const { buffer, byteOffset, length } of columns) {
    const words = new Uint32Array(buffer, byteOffset, length);
    for (let i = 0; i < words.length; i++) sum = Math.imul(sum ^ words[i]!, 16777619);
  }
  return sum >>> 0;
}

/** Describes the first difference between two results; undefined if they agree within the tolerance. */
export function differenceOf(
  got: readonly HostColumn[],
  expected: readonly HostColumn[],
  tolerance: number,
): string | undefined {
  if (got.length !== expected.length) return `${got.length} columns instead of ${expected.length}`;
  for (const [column, wanted] of expected.entries()) {
    const found = got[column]!;
    if (found.length !== wanted.length) return `${found.length} rows instead of ${wanted.length}`;
    const row = tolerance === 0 ? firstOtherBits(found, wanted) : firstFar(found, wanted, tolerance);
    if (row >= 0) return `${found[row]} instead of ${wanted[row]} in row ${row}`;
  }
  return undefined;
}

function firstOtherBits(got: HostColumn, expected: HostColumn): number {
  const [a, b] = [got, expected].map(bitsOf);
  for (let i = 0; i < a!.length; i++) if (a![i] !== b![i]) return i;
  return -1;
}

/**
 * The elements of a column as 32-bit integers. The bits of f32 elements are compared, because a comparison of numbers
 * would accept −0 for 0.
 */
function bitsOf(column: HostColumn): HostColumn {
  if (!(column instanceof Float32Array)) return column;
  return new Uint32Array(column.buffer, column.byteOffset, column.length);
}

function firstFar(got: HostColumn, expected: HostColumn, tolerance: number): number {
  for (let i = 0; i < got.length; i++) {
    const wanted = expected[i]!;
    if (!(Math.abs(got[i]! - wanted) <= tolerance * Math.max(1, Math.abs(wanted)))) return i;
  }
  return -1;
}
