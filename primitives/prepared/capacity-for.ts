import type { Column } from '../columns/column.ts';

/**
 * The capacity for which the library prepares its own pipelines for a column: the next power of two, so that columns of
 * similar length share one.
 */
export function capacityFor({ capacity }: Column): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, capacity)));
}
