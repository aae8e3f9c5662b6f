import { ArgumentError } from '../../primitives/checks/errors.ts';
import type { Column, Table } from '../../primitives/columns/column.ts';
import type { ColumnTypeOf } from '../../primitives/columns/host-array.ts';
import type { Context } from '../../primitives/context/context.ts';

/** The element types for which experiments can run. */
export type ElementType = 'u32' | 'i32' | 'f32';

export const ELEMENT_TYPES: readonly ElementType[] = ['u32', 'i32', 'f32'];

/** A column of elements in host memory. */
export type HostColumn = Uint32Array | Int32Array | Float32Array;

/** Columns in host memory, by name. */
export type HostColumns = { readonly [name: string]: HostColumn };

/** A record of columns on a backend, with the names and element types of a record of columns in host memory. */
export type ColumnsOnBackend<I extends HostColumns> = { readonly [K in keyof I]: Column<ColumnTypeOf<I[K]>> };

/**
 * The result of an experiment in host memory: one column, or a list or record of columns, in the order in which `run`
 * returns them.
 */
export type HostResult = HostColumn | readonly HostColumn[] | { readonly [name: string]: HostResult };

/** The element type and the number of elements of one measurement. */
export interface Case {
  readonly n: number;
  readonly type: ElementType;
}

/** A case together with the context of the backend that runs it. */
export interface At extends Case {
  readonly context: Context;
}

/**
 * A primitive, pipeline or algorithm to measure, over inputs of any size.
 *
 * Only the name, the inputs and `run` are required. Without `reference`, results are compared with those of the
 * reference backend; without `bytes`, no rate is reported; without `plain`, there is no comparison with a plain loop.
 *
 * @example
 * const square = fn({ x: u32 }, u32, ({ x }) => x.mul(x));
 * const squares: Experiment<{ x: Uint32Array }> = {
 *   name: 'squares',
 *   inputs: ({ n }) => ({ x: Uint32Array.from({ length: n }, (_, i) => i) }),
 *   run: ({ x }, { context }) => context.materialize(map(square, { x })),
 *   bytes: ({ n }) => 8 * n,
 *   plain: ({ x }) => x.map((value) => Math.imul(value, value)),
 * };
 * squares.inputs({ n: 3, type: 'u32' }).x; // Uint32Array [0, 1, 2]
 */
export interface Experiment<I = HostColumns, U = I extends HostColumns ? ColumnsOnBackend<I> : never> {
  /** A name of one word; `--only` selects experiments by this name. */
  readonly name: string;
  /** Supported element types; only u32 by default. */
  readonly types?: readonly ElementType[] | undefined;
  /**
   * Makes the inputs: columns or, with `upload`, whatever it takes. Every call must return the same inputs, so derive
   * pseudo-random elements from a hash of the index.
   */
  inputs(one: Case): I;
  /**
   * Moves the inputs to the backend before anything is timed; by default, each array becomes a column. It may return a
   * promise. The columns inside its result are freed at the end.
   */
  upload?(inputs: I, at: At): U | Promise<U>;
  /**
   * The measured code: a pipeline over columns on a backend. The result must be stored, so apply `materialize` to
   * views. An asynchronous algorithm returns a promise and is timed by the host's clock only.
   */
  run(columns: U, at: At): Table | Promise<Table>;
  /**
   * The expected result of `run`, byte for byte. If it is undefined, the reference backend computes the expected
   * result.
   */
  reference?(inputs: I, one: Case): HostResult | undefined;
  /** Minimum number of bytes that must be read and written to compute `result`; used for the rate. */
  bytes?(one: Case, result: readonly HostColumn[]): number;
  /** Does the same computation in plain JavaScript over typed arrays, as one would write it without this library. */
  plain?(inputs: I, one: Case): HostResult;
  /**
   * Tolerance for the results of peers, relative to the larger of 1 and the element's magnitude; 0 by default. The
   * results of this library's backends must be equal in every byte.
   */
  tolerance?(one: Case): number;
}

/**
 * The default export of an experiment file: one experiment, a list of experiments, or a function that is given the
 * library and returns experiments.
 */
export type ExperimentFile<Library = typeof import('../../index.ts')> =
  | Experiment
  | readonly Experiment[]
  | ((library: Library) => Experiment | readonly Experiment[] | Promise<Experiment | readonly Experiment[]>);

/** The element types of an experiment. */
export function typesOf({ types = ['u32'] }: Experiment): readonly ElementType[] {
  return types;
}

/**
 * The columns of a result, as a list.
 *
 * @throws ArgumentError `bench/result` if the result is neither a column nor a list or record of columns.
 */
export function columnsOfResult(result: HostResult): readonly HostColumn[] {
  if (ArrayBuffer.isView(result)) return [result as HostColumn];
  if (typeof result === 'object' && result !== null) return Object.values(result).flatMap(columnsOfResult);
  throw new ArgumentError(
    'bench/result',
    'The result of an experiment must be a column, or a list or record of columns.',
    {
      expected: 'a typed array, or a list or record of typed arrays',
      got: result === null ? 'null' : typeof result,
    },
  );
}
