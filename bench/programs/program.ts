import type { Context } from '../../primitives/context/context.ts';
import type { Table } from '../../primitives/index.ts';
import type { Points } from './points.ts';

/** The arrays that a program is given, by name. */
export type Inputs = { readonly [name: string]: Uint8Array | Uint32Array | Int32Array | Float32Array };

/** Numbers that a program is given, by name: the width of a grid, say. */
export type Sizes = { readonly [name: string]: number };

/** What a program is run on. */
export interface Case {
  readonly inputs: Inputs;
  readonly sizes: Sizes;
}

/** What a program answers. Arrays of all ways to compute it have the same bytes. */
export type Answer = { readonly [name: string]: Uint32Array | Int32Array | Float32Array };

/** The library's program, ready to be called on a case. */
export interface Ready {
  /** The columns that calls read, alone or in records. They are freed when no call follows. */
  readonly held: unknown;
  /** It may return a promise, if the program has to wait. */
  run(): Table | Promise<Table>;
}

/**
 * A program as an author writes it with the library, beside careful plain JavaScript on one thread and, in
 * `NAME.cpp`, C++ on two threads. The plain algorithm is written first, and changes only to become faster.
 */
export interface BenchProgram {
  /** One word of small letters and hyphens. */
  readonly name: string;
  /** What a size is: the number of rows and columns of a grid, or the number of points. */
  readonly over: 'grid' | 'points';
  /** The type of most of its inputs. */
  readonly type: 'u32' | 'f32';
  /** The sizes of the figures in `bench/results`. */
  readonly sizes: readonly number[];
  /** The kinds of cases, by names of one word. Each makes the case of a size from 1, the same in every call. */
  readonly kinds: { readonly [kind: string]: (size: number) => Case };
  /** A further case of the figures, from files that only a clone has. */
  ofFiles?(): Promise<Case>;
  /** Of a program over points: the case of any points. */
  ofPoints?(points: Points): Case;
  /** Makes the plain program: memory is taken here, and the returned function computes the answer anew. */
  plain(one: Case): () => Answer;
  /** Uploads the inputs. */
  quadrille(context: Context, one: Case): Ready | Promise<Ready>;
  /** The name of a C++ source file of this folder that computes the same. */
  readonly cpp?: string;
  /** Whether the library's program waits on its way, and frees what it made. Others are called in a scope. */
  readonly waits?: boolean;
}

/** Calls the library's program once. */
export async function answerOf(
  context: Context,
  { waits }: BenchProgram,
  run: () => Table | Promise<Table>,
): Promise<Table> {
  return waits === true ? run() : context.scope(run as () => Table);
}
