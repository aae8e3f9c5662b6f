import { type Column, expand, fn, sequence, u32 } from '../../primitives/index.ts';

/** Pairs of regions, and the row of each pair in the result. */
export interface NumberedPairs {
  readonly pair: Uint32Array;
  readonly p: Uint32Array;
  readonly q: Uint32Array;
}

/** Pairs of regions in columns on a device. */
export interface PairColumns {
  readonly p: Column<'u32'>;
  readonly q: Column<'u32'>;
}

/** Interleaves columns into one column of records, because a launch can bind only a few arrays. */
export function interleave<A extends Uint32Array | Int32Array>(...columns: readonly A[]): A {
  const [first] = columns as readonly [A];
  const stride = columns.length;
  const records = new (first.constructor as new (length: number) => A)(Math.max(1, first.length) * stride);
  for (const [field, column] of columns.entries()) {
    for (let row = 0, at = field; row < column.length; row++, at += stride) records[at] = column[row]!;
  }
  return records;
}

/** Rows that are expanded into parts: the row of each part, and the index of the part in its row. */
export interface ExpandedRows {
  readonly row: Column<'u32'>;
  readonly rank: Column<'u32'>;
}

const part = fn('part', { row: u32, rank: u32 }, { row: u32, rank: u32 }, ({ row, rank }) => ({ row, rank }));

/** Expands row i into `counts[i]` parts. `capacity` is the number of all parts. */
export function expandRows(counts: Column<'u32'>, capacity: number): ExpandedRows {
  return expand({ row: sequence(counts.length) }, counts, part, { capacity });
}
