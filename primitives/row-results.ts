import type { Store } from './backend.ts';
import type { Column, Memory } from './columns/column.ts';
import { alive, destination, extentOf, fuse, type Loader, programOf } from './columns/program.ts';
import type { Context } from './context.ts';
import type { ScalarType } from './functors/ir.ts';
import type { U32, Value } from './functors/value.ts';
import { type AnyMonoid, monoidProgram } from './monoid.ts';
import { type FusedScan, fusedScan } from './scan.ts';

/**
 * Commands for algorithms: what the rows of a launch compute goes to columns, several results at once and to any place. So an
 * algorithm that no composition of primitives makes in one launch needs to know nothing of backends.
 */

/** A result of every row on its way to a stored column. */
export interface ResultStore {
  readonly to: Column;
  /** The result that is stored. */
  readonly value: number;
  /** The result that says to which element. Left out, it is the row's own. */
  readonly index?: number;
  /** The result that says whether it is stored. Left out, it always is. */
  readonly guard?: number;
  /** Added to the number of the element. Default 0. */
  readonly shift?: number;
}

interface Rows {
  readonly context: Context;
  readonly length: Column['length'];
  /** The results of a row. */
  readonly row: (index: U32, loader: Loader) => readonly Value<ScalarType>[];
}

/** Computes the results of every row and stores them. */
export function storeResults(
  name: string,
  { context, length, row }: Rows,
  types: readonly ScalarType[],
  stores: readonly ResultStore[],
): void {
  const fusion = fuse(name, [], types, (index, _, loader) => row(index, loader));
  context.backend.forEach(extentOf(length), programOf(fusion, context, length), storesOf(stores));
}

/** Folds the results of all rows, which are the leaves of a monoid, into memory from a word on. */
export function foldResults(
  name: string,
  { context, length, row }: Rows,
  monoid: AnyMonoid,
  into: Memory,
  word: number,
): void {
  const program = monoidProgram(monoid);
  const fusion = fuse(name, [], program.types, (index, _, loader) => row(index, loader));
  context.backend.reduce(extentOf(length), programOf(fusion, context, length), program, {
    buffer: alive(into).buffer,
    word,
  });
}

/** Scans rows and stores what is emitted at each. */
export function scanResults(
  name: string,
  scan: Omit<FusedScan, 'stores' | 'keys'> & { readonly stores: readonly ResultStore[] },
): void {
  fusedScan(name, { ...scan, stores: storesOf(scan.stores) });
}

function storesOf(stores: readonly ResultStore[]): Store[] {
  return stores.map(({ to, shift = 0, ...results }) => {
    const { buffer, offset, capacity } = destination(to);
    return { buffer, offset: offset + shift, capacity: Math.max(0, capacity - shift), ...results };
  });
}

/** Copies words of the host into a stored column, from an element on. The words may be changed at once. */
export function writeWords(context: Context, column: Column, from: number, words: Uint32Array): void {
  const { buffer, offset } = destination(column);
  context.backend.write(buffer, offset + from, words);
}
