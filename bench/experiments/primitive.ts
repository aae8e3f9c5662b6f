import type { Column, Table } from '../../primitives/columns/column.ts';
import type { At, Case, ElementType, HostColumn, HostColumns, HostResult } from '../harness/experiment.ts';

/** Any of the columns of numbers: an experiment that takes several types takes one of them at a time. */
export type Numbers = Column<'u32'>;

/** One primitive, with what it is in plain JavaScript. */
export interface Primitive {
  readonly name: string;
  readonly types?: readonly ElementType[];
  readonly inputs: (one: Case) => HostColumns;
  readonly run: (columns: Readonly<Record<'x' | 'keys' | 'order', Numbers>>, at: At) => Table;
  readonly plain: (inputs: Readonly<Record<'x' | 'keys' | 'order', never>>, one: Case) => HostResult;
  readonly bytes: (one: Case, result: readonly HostColumn[]) => number;
  /** Whether it adds, so that f32 may come out otherwise in another order. */
  readonly adds?: boolean;
}
