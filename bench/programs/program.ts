import type { Context } from '../../primitives/context/context.ts';
import type { HostTableOf, Table } from '../../primitives/index.ts';
import type { Points } from './points.ts';

/** The arrays that a program is given, by name. */
export type Inputs = { readonly [name: string]: Uint8Array | Uint32Array | Int32Array | Float32Array };

/** Numbers that a program is given, by name: the width of a grid, say. */
export type Sizes = { readonly [name: string]: number };

/** What a program is run on. */
export interface Case {
  readonly name: string;
  readonly inputs: Inputs;
  readonly sizes: Sizes;
}

/** What a program answers. Arrays of all ways to compute it have the same bytes. */
export type Answer = { readonly [name: string]: Uint32Array | Int32Array | Float32Array | Uint8Array };

/**
 * A program as an author writes it with the library, beside careful plain JavaScript on one thread and, in
 * `NAME.cpp`, C++ on two threads. The plain algorithm is written first, and changes only to become faster.
 */
export interface BenchProgram {
  readonly name: string;
  /** The cases. `side` is the number of rows and columns of grids, or the number of points, as the program says. */
  cases(side: number | undefined): Iterable<Case> | AsyncIterable<Case>;
  /** Of a program over points: the case of any points. */
  ofPoints?(points: Points, name?: string): Case;
  /** Makes the plain program: memory is taken here, and the returned function computes the answer anew. */
  plain(one: Case): () => Answer;
  /** Uploads the inputs and returns the library's program. It may return a promise, if the program has to wait. */
  quadrille(context: Context, one: Case): Promise<() => Table | Promise<Table>>;
  /** The name of a C++ source file of this folder that computes the same. */
  readonly cpp?: string;
  /** Whether the library's program waits on its way, and frees what it made. Others are called in a scope. */
  readonly waits?: boolean;
  /** Whether an answer is right although its bytes differ. */
  accepts?(got: HostTableOf<Table>, expected: Answer): boolean;
}

/** Calls the library's program once. */
export async function answerOf(
  context: Context,
  { waits }: BenchProgram,
  run: () => Table | Promise<Table>,
): Promise<Table> {
  return waits === true ? run() : context.scope(run as () => Table);
}
