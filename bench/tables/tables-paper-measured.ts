import type { Operation } from './tables-paper-operations.ts';

/**
 * Minimum milliseconds of one operation in two ways: prepared on the device, and as a loop in plain JavaScript
 * (`plain`) on one thread.
 */
export interface MeasuredOperation {
  readonly name: string;
  readonly group: Operation['group'];
  readonly milliseconds: number;
  readonly plain: number;
}

/** Minimum milliseconds of each method to list the active cells, where one in `among` cells is active. */
export interface MeasuredLists {
  readonly among: number;
  readonly active: number;
  readonly milliseconds: { readonly [way: string]: number };
}

/** The file of measurements that one machine writes. */
export interface MeasuredTables {
  readonly label: string;
  readonly machine: string;
  readonly date: string;
  readonly commit: string;
  readonly records: number;
  readonly cells: number;
  readonly operations: readonly MeasuredOperation[];
  readonly lists: readonly MeasuredLists[];
}
