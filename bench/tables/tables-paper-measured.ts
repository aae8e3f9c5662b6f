import type { Operation } from './tables-paper-operations.ts';

/** Milliseconds of one operation: prepared on the device, and in a plain loop on one thread. */
export interface MeasuredOperation {
  readonly name: string;
  readonly group: Operation['group'];
  readonly milliseconds: number;
  readonly plain: number;
}

/** Milliseconds of the ways to list one in every `among` cells. */
export interface MeasuredLists {
  readonly among: number;
  readonly active: number;
  readonly milliseconds: { readonly [way: string]: number };
}

/** The contents of the file of measurements. */
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
