import type { Column } from '../columns/column.ts';

/** The capacity that a pipeline of the library's own is prepared with for a column: shared by columns up to half as long. */
export function capacityFor({ capacity }: Column): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, capacity)));
}
