import type { MeasuredOn } from '../shared/measured.ts';
import type { Operation } from './tables-paper-operations.ts';

/**
 * Minimum milliseconds of one operation. `milliseconds` is for the prepared operation on the device, and `plain` for
 * plain JavaScript on one thread.
 */
export interface MeasuredOperation {
  readonly name: string;
  readonly group: Operation['group'];
  readonly milliseconds: number;
  readonly plain: number;
}

/** Minimum milliseconds of each method that lists the active cells of a grid. One in `among` cells is active. */
export interface MeasuredLists {
  readonly among: number;
  readonly active: number;
  readonly milliseconds: { readonly [way: string]: number };
}

/** The file of measurements that one machine writes. */
export interface MeasuredTables extends MeasuredOn {
  readonly records: number;
  readonly cells: number;
  readonly operations: readonly MeasuredOperation[];
  readonly lists: readonly MeasuredLists[];
}
