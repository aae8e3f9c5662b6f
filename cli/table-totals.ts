import { I64, isWithin } from '../algorithms/tables/bounds.ts';
import type { CellValue, DeviceTable, GroupAggregate, HostColumn } from '../algorithms/tables/index.ts';
import { valueOperand } from '../algorithms/tables/values.ts';
import { isSet } from '../formats/tables/bits.ts';
import type { TableField } from '../formats/tables/table-file.ts';
import type { TypedExpression } from './table-plan.ts';

/**
 * The sums over a part of a file that may not fit in 64 bits, by their index in `totals`. The host must compute them,
 * because the device would reject them. The sum over the whole file may fit, or only the average may be requested.
 */
export function wideSums(table: DeviceTable, totals: readonly GroupAggregate[]): ReadonlyMap<number, TypedExpression> {
  const wide = new Map<number, TypedExpression>();
  for (const [i, { kind, of }] of totals.entries()) {
    if (kind !== 'sum' || of === undefined) continue;
    const operand = valueOperand(table, of);
    if (operand.family !== 'integer') continue;
    const rows = BigInt(table.rows);
    const { bounds, scale } = operand;
    if (isWithin({ min: rows * bounds.min, max: rows * bounds.max }, I64)) continue;
    const field: TableField = {
      name: '',
      nullable: true,
      ...(scale > 0 ? { type: 'decimal', scale } : { type: 'i64' }),
    };
    wide.set(i, { of, field });
  }
  return wide;
}

/**
 * The total of each group in a part of a file, such as a sum or a count. Decimals are integers in units of their last
 * digit. Undefined if no row of the group has a value.
 */
export type PartTotal = (group: number) => number | bigint | undefined;

/** The total if the whole part is a single group, from a cell. */
export function cellTotal(cell: CellValue): PartTotal {
  const value = typeof cell === 'object' && cell !== null ? cell.units : cell;
  const total = typeof value === 'boolean' ? Number(value) : value;
  return () => (total === null ? undefined : (total as number | bigint));
}

/** The totals of all groups, from a column with one row per group. */
export function columnTotal(column: HostColumn): PartTotal {
  const { validity } = column;
  const values = column.type === 'string' ? column.codes : column.values;
  return (group) => (validity === undefined || isSet(validity, group) ? values[group]! : undefined);
}
