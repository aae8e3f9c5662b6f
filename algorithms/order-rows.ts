import { type Column, gather, type SortKeys, sequence, sortByKey } from '../primitives/index.ts';

/** A key that rows are sorted by, and the most that it is: fewer bits are fewer passes of a sort. */
export interface OrderKey {
  readonly key: SortKeys;
  readonly bits: number;
}

/** Bits of whole numbers up to `max`, below 2³². */
export function bitsUpTo(max: number): number {
  return 32 - Math.clz32(max);
}

/**
 * Row numbers in ascending order of several keys, the first of which decides last. Rows that are equal in all keep their order.
 *
 * @param order - Row numbers to begin with, where the rows are in some order already; as they are where left out.
 */
export function orderRows(rows: Column['length'], keys: readonly OrderKey[], order?: Column<'u32'>): Column<'u32'> {
  let sorted = order;
  for (const { key, bits } of keys) {
    if (bits === 0) continue;
    const ordered = sorted === undefined ? key : gather(key, sorted);
    sorted = sortByKey(ordered, sorted ?? sequence(rows as number), { bits: { from: 0, to: bits } }).values;
  }
  return sorted ?? sequence(rows as number);
}
