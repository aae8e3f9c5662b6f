/**
 * Queries on tables: selects, groups, joins and orders rows, and computes aggregates over them.
 *
 * @packageDocumentation
 */

export type { Aggregate, Aggregates } from './aggregate-plans.ts';
export { aggregate } from './aggregates.ts';
export type { Bounds } from './bounds.ts';
export type { DeviceTable, KeyType, TableColumn } from './device-table.ts';
export { TableError } from './errors.ts';
export {
  added,
  and,
  atLeast,
  atMost,
  between,
  type ComparisonOperator,
  type Condition,
  column,
  type Expression,
  equalTo,
  type Given,
  greaterThan,
  inBox,
  inPolygons,
  isNull,
  type LiteralValue,
  lessThan,
  linear,
  literal,
  multiplied,
  not,
  oneOf,
  or,
  subtracted,
  truth,
  unequalTo,
} from './expressions.ts';
export { type GroupAggregate, type GroupAggregates, groupBy } from './group-by.ts';
export type { RankedAggregate } from './group-ranks.ts';
export type { TotalAggregate } from './group-totals.ts';

export type { CellValue, ColumnKind, Decimal, HostColumn, HostColumnBase, HostTable, Validity } from './host-table.ts';
export { type JoinedRows, joinRows } from './join.ts';
export { type PointColumnsOptions, pointColumns, type StepColumn } from './points.ts';
export { type PreparedAggregate, prepareAggregate } from './prepared-aggregate.ts';
export { type ReadRowsOptions, readRows } from './rows.ts';
export {
  complement,
  countSelected,
  intersection,
  type Selection,
  selectedIds,
  selectRows,
  union,
  type Where,
} from './selection.ts';
export { createTable, disposeTable } from './table.ts';
export { type TopRowsOptions, topRows } from './top-rows.ts';
