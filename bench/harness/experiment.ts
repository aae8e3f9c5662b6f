import type { Column, Table } from '../../primitives/columns/column.ts';
import type { ColumnTypeOf } from '../../primitives/columns/host-array.ts';
import type { Context } from '../../primitives/context.ts';
import { ArgumentError } from '../../primitives/errors.ts';

/** What the elements of an experiment are. */
export type ElementType = 'u32' | 'i32' | 'f32';

export const ELEMENT_TYPES: readonly ElementType[] = ['u32', 'i32', 'f32'];

/** A column on the host. */
export type HostColumn = Uint32Array | Int32Array | Float32Array;

/** Columns on the host, by name. */
export type HostColumns = { readonly [name: string]: HostColumn };

/** The same columns on a backend. */
export type ColumnsOnBackend<I extends HostColumns> = { readonly [K in keyof I]: Column<ColumnTypeOf<I[K]>> };

/** What an experiment computes, on the host: one column, or a list or record of several in the order in which `run` returns them. */
export type HostResult = HostColumn | readonly HostColumn[] | { readonly [name: string]: HostResult };

/** Which elements, and how many. */
export interface Case {
  readonly n: number;
  readonly type: ElementType;
}

/** A case on a backend. */
export interface At extends Case {
  readonly context: Context;
}

/**
 * Something to be measured: a primitive, a pipeline or an algorithm, over inputs of any size.
 *
 * Only the name, the inputs and what is run are needed. Without `reference`, results are compared with those of the
 * reference backend; without `bytes`, no rate is told; without `plain`, there is no plain loop beside it.
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
  /** One word, by which `--only` chooses it. */
  readonly name: string;
  /** What its elements may be; u32 alone if left out. */
  readonly types?: readonly ElementType[] | undefined;
  /** The same columns in every call: hash the index rather than roll dice. */
  inputs(one: Case): I;
  /** What is made of the inputs before anything is timed; each of them as a column if left out. */
  upload?(inputs: I, at: At): U;
  /**
   * What is measured: a pipeline over columns that lie on a backend, up to stored columns; `materialize` a view. Of an
   * algorithm that waits, a promise of them: there, the time is told by the host's clock alone.
   */
  run(columns: U, at: At): Table | Promise<Table>;
  /** What `run` has to give, byte for byte; undefined leaves it to the reference backend. */
  reference?(inputs: I, one: Case): HostResult | undefined;
  /** Bytes that have to be read and written at least, given the result: the rate is these by the time. */
  bytes?(one: Case, result: readonly HostColumn[]): number;
  /** The same in plain JavaScript over typed arrays, as one would write it without this library. */
  plain?(inputs: I, one: Case): HostResult;
  /** How far a peer's elements may be off, by the larger of 1 and their size; 0 if left out. Backends are held to the byte. */
  tolerance?(one: Case): number;
}

/** Experiments as a file has them: one, several, or a function that makes them of the library. */
export type ExperimentFile<Library = typeof import('../../index.ts')> =
  | Experiment
  | readonly Experiment[]
  | ((library: Library) => Experiment | readonly Experiment[] | Promise<Experiment | readonly Experiment[]>);

/** What the elements of an experiment may be. */
export function typesOf({ types = ['u32'] }: Experiment): readonly ElementType[] {
  return types;
}

/**
 * A result as a list of columns.
 *
 * @throws ArgumentError `bench/result` for what is no column and holds none.
 */
export function columnsOfResult(result: HostResult): readonly HostColumn[] {
  if (ArrayBuffer.isView(result)) return [result as HostColumn];
  if (typeof result === 'object' && result !== null) return Object.values(result).flatMap(columnsOfResult);
  throw new ArgumentError('bench/result', 'An experiment gave something that is no result.', {
    expected: 'a typed array, or a list or record of such',
    got: result === null ? 'null' : typeof result,
  });
}
