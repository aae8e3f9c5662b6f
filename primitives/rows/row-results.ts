import type { Column, ColumnOwner, Memory } from '../columns/column.ts';
import { alive, destination, extentOf, fuse, type Loader, programOf, storeRows } from '../columns/program.ts';
import type { Store } from '../contract/backend.ts';
import type { U32, Value } from '../functors/value.ts';
import type { ScalarType } from '../ir/ir.ts';
import { type AnyMonoid, monoidProgram } from '../monoid.ts';
import { type FusedScan, fusedScan } from '../scan.ts';

/**
 * Commands for algorithms whose launches cannot be built from primitives. One launch computes several results for each
 * row, and writes each result to any element of a column. With these commands, algorithms need not depend on backends.
 */

/** Says which result of a row is written, and to which element of a stored column. */
export interface ResultStore {
  readonly to: Column;
  /** The position of the stored result among the results of the row. */
  readonly value: number;
  /**
   * The position of the result that holds the index of the element to write. By default, the element has the index of
   * the row.
   */
  readonly index?: number;
  /** The position of the bool result that says whether to write. By default, every row writes. */
  readonly guard?: number;
  /** A constant that is added to the index of the element; 0 by default. */
  readonly shift?: number;
}

interface Rows {
  readonly context: ColumnOwner;
  readonly length: Column['length'];
  /** Computes the results of a row. */
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
  storeRows(context, length, fusion, storesOf(stores));
}

/**
 * Combines the results of all rows with a monoid: the results of a row are one operand. Writes the combination to
 * `into`, starting at word `word`.
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
  context.backend.run({
    kind: 'reduce',
    extent: extentOf(length),
    program: programOf(fusion, context, length),
    monoid: program,
    into: {
      buffer: alive(into).buffer,
      word,
    },
  });
}

/** Scans the rows and writes the results that are emitted at each row. */
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

/**
 * Copies 32-bit words of the host into a stored column, starting at element `from`. The caller may change `words` after
 * the call.
 */
export function writeWords(context: ColumnOwner, column: Column, from: number, words: Uint32Array): void {
  const { buffer, offset } = destination(column);
  context.backend.write(buffer, offset + from, words);
}
