import type { Column, Table } from '../../primitives/columns/column.ts';
import type { At, Case, ElementType, HostColumn, HostColumns, HostResult } from '../harness/experiment.ts';

/**
 * Stands for a column of any numeric type. An experiment that supports several element types runs separately for each.
 */
export type Numbers = Column<'u32'>;

/** One primitive, and its equivalent in plain JavaScript. */
export interface Primitive {
  readonly name: string;
  readonly types?: readonly ElementType[];
  readonly inputs: (one: Case) => HostColumns;
  readonly run: (columns: Readonly<Record<'x' | 'keys' | 'order', Numbers>>, at: At) => Table;
  readonly plain: (inputs: Readonly<Record<'x' | 'keys' | 'order', never>>, one: Case) => HostResult;
  readonly bytes: (one: Case, result: readonly HostColumn[]) => number;
  /** Whether the primitive adds, so that its f32 results depend on the order of the sums. */
  readonly adds?: boolean;
}
