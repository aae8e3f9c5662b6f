import { type Column, gather, type SortKeys, sequence, sortByKey } from '../primitives/index.ts';

/** A sort key of rows, and its number of bits. Fewer bits need fewer passes of a radix sort. */
export interface OrderKey {
  readonly key: SortKeys;
  readonly bits: number;
}

/** Number of bits that integers up to `max` need. `max` is below 2³². */
export function bitsUpTo(max: number): number {
  return 32 - Math.clz32(max);
}

/**
 * Row indices in ascending order of several keys. The last key is the most significant one. Rows equal in all keys keep
 * their order.
 *
 * @param order - Initial order of the rows. Default: 0, 1, 2 …
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
