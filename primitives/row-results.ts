import type { Column, Memory } from './columns/column.ts';
import { alive, destination, extentOf, fuse, type Loader, programOf } from './columns/program.ts';
import type { Context } from './context.ts';
import type { Store } from './contract/backend.ts';
import type { U32, Value } from './functors/value.ts';
import type { ScalarType } from './ir/ir.ts';
import { type AnyMonoid, monoidProgram } from './monoid.ts';
import { type FusedScan, fusedScan } from './scan.ts';

/**
 * Commands for algorithms: a launch computes several results a row and writes them to any elements of columns. With
 * these, an algorithm can issue a launch that no composition of primitives makes, without knowing the backends.
 */

/** Writes one result of every row to a stored column. */
export interface ResultStore {
  readonly to: Column;
  /** Index of the result to store. */
  readonly value: number;
  /** Index of the result that says which element to write; by default the row's own. */
  readonly index?: number;
  /** Index of the result that says whether to write; by default always. */
  readonly guard?: number;
  /** Added to the index of the element; 0 by default. */
  readonly shift?: number;
}

interface Rows {
  readonly context: Context;
  readonly length: Column['length'];
  /** The results of a row. */
  readonly row: (index: U32, loader: Loader) => readonly Value<ScalarType>[];
}

/** Computes the results of every row and writes them. */
export function storeResults(
  name: string,
  { context, length, row }: Rows,
  types: readonly ScalarType[],
  stores: readonly ResultStore[],
): void {
  const fusion = fuse(name, [], types, (index, _, loader) => row(index, loader));
  context.backend.forEach(extentOf(length), programOf(fusion, context, length), storesOf(stores));
}

/**
 * Folds the results of all rows, which are the leaves of a monoid, and writes the combination to memory, starting at a
 * word.
 */
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

/** Scans rows and writes the results emitted at each row. */
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

/** Copies host words into a stored column, starting at an element. The words may be changed after the call. */
export function writeWords(context: Context, column: Column, from: number, words: Uint32Array): void {
  const { buffer, offset } = destination(column);
  context.backend.write(buffer, offset + from, words);
}
