import type { Column, Table } from '../../primitives/columns/column.ts';
import type { At, Case, ElementType, HostColumn, HostColumns, HostResult } from '../harness/experiment.ts';

/** A column of any numeric type; experiments with several types run with one of them at a time. */
export type Numbers = Column<'u32'>;

/** One primitive, and its equivalent in plain JavaScript. */
export interface Primitive {
  readonly name: string;
  readonly types?: readonly ElementType[];
  readonly inputs: (one: Case) => HostColumns;
  readonly run: (columns: Readonly<Record<'x' | 'keys' | 'order', Numbers>>, at: At) => Table;
  readonly plain: (inputs: Readonly<Record<'x' | 'keys' | 'order', never>>, one: Case) => HostResult;
  readonly bytes: (one: Case, result: readonly HostColumn[]) => number;
  /** Whether it adds, so that f32 results depend on the order. */
  readonly adds?: boolean;
}
