import type { Column } from '../columns/column.ts';

/**
 * The capacity with which the library prepares its own pipelines for a column: the next power of two. Columns of
 * similar length then share a pipeline.
 */
export function capacityFor({ capacity }: Column): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, capacity)));
}
