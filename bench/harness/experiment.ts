import type { Column, Table } from '../../primitives/columns/column.ts';
import type { ColumnTypeOf } from '../../primitives/columns/host-array.ts';
import type { Context } from '../../primitives/context.ts';
import { ArgumentError } from '../../primitives/errors.ts';

/** The element types of experiments. */
export type ElementType = 'u32' | 'i32' | 'f32';

export const ELEMENT_TYPES: readonly ElementType[] = ['u32', 'i32', 'f32'];

/** A column on the host. */
export type HostColumn = Uint32Array | Int32Array | Float32Array;

/** Columns on the host, by name. */
export type HostColumns = { readonly [name: string]: HostColumn };

/** The same columns on a backend. */
export type ColumnsOnBackend<I extends HostColumns> = { readonly [K in keyof I]: Column<ColumnTypeOf<I[K]>> };

/**
 * The result of an experiment on the host: one column, or a list or record of several, in the order in which `run`
 * returns them.
 */
export type HostResult = HostColumn | readonly HostColumn[] | { readonly [name: string]: HostResult };

/** The element type and the number of elements. */
export interface Case {
  readonly n: number;
  readonly type: ElementType;
}

/** A case on a backend. */
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
export interface Experiment<I extends HostColumns = HostColumns, U = ColumnsOnBackend<I>> {
  /** One word, used to select it with `--only`. */
  readonly name: string;
  /** The element types that it supports; only u32 by default. */
  readonly types?: readonly ElementType[] | undefined;
  /** Must return the same columns in every call: hash the index instead of using random numbers. */
  inputs(one: Case): I;
  /** Prepares the inputs before anything is timed; by default, each becomes a column. */
  upload?(inputs: I, at: At): U;
  /**
   * The code to measure: a pipeline over columns on a backend, up to stored columns; `materialize` views. An algorithm
   * that waits returns a promise; its time is then measured only by the host's clock.
   */
  run(columns: U, at: At): Table | Promise<Table>;
  /** The expected result of `run`, byte for byte; undefined to use the reference backend. */
  reference?(inputs: I, one: Case): HostResult | undefined;
  /** Bytes that must at least be read and written, given the result; used for the rate. */
  bytes?(one: Case, result: readonly HostColumn[]): number;
  /** The same in plain JavaScript over typed arrays, as one would write it without this library. */
  plain?(inputs: I, one: Case): HostResult;
  /**
   * Tolerance for the elements of peers, relative to the larger of 1 and their magnitude; 0 by default. Backends must
   * agree to the byte.
   */
  tolerance?(one: Case): number;
}

/** The export of an experiment file: one experiment, several, or a function that makes them from the library. */
export type ExperimentFile<Library = typeof import('../../index.ts')> =
  | Experiment
  | readonly Experiment[]
  | ((library: Library) => Experiment | readonly Experiment[] | Promise<Experiment | readonly Experiment[]>);

/** The element types of an experiment. */
export function typesOf({ types = ['u32'] }: Experiment): readonly ElementType[] {
  return types;
}

/**
 * A result as a list of columns.
 *
 * @throws ArgumentError `bench/result` for anything that neither is nor contains columns.
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
