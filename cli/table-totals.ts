import { I64, isWithin, multiplyBounds } from '../algorithms/tables/bounds.ts';
import type { CellValue, DeviceTable, Expression, HostColumn, TotalAggregate } from '../algorithms/tables/index.ts';
import { valueOperand } from '../algorithms/tables/values.ts';
import { isSet } from '../formats/tables/bits.ts';
import type { TableField } from '../formats/tables/table-file.ts';
import type { TypedExpression } from './table-plan.ts';

/** An expression whose values, or their squares, the host adds up. */
export interface WideExpression extends TypedExpression {
  readonly isSquare: boolean;
}

/** The expression of which an expression is the square, as variances need it; undefined if it is no square. */
function squared(of: Expression): Expression | undefined {
  return of.kind === 'mul' && of.left === of.right ? of.left : undefined;
}

/**
 * Finds the sums that may not fit in 64 bits, even over one part of a file. Returns a map from the index of a sum in
 * `totals` to the expression that is summed. The host must compute these sums, because the device would reject them.
 * The query may be valid nevertheless: the actual sum may fit, or only the average may be requested.
 */
export function wideSums(table: DeviceTable, totals: readonly TotalAggregate[]): ReadonlyMap<number, WideExpression> {
  const wide = new Map<number, WideExpression>();
  for (const [i, { kind, of }] of totals.entries()) {
    if (kind !== 'sum' || of === undefined) continue;
    const root = squared(of);
    const operand = valueOperand(table, root ?? of);
    if (operand.family !== 'integer') continue;
    const rows = BigInt(table.rows);
    const { scale } = operand;
    const bounds = root === undefined ? operand.bounds : multiplyBounds(operand.bounds, operand.bounds);
    if (isWithin({ min: rows * bounds.min, max: rows * bounds.max }, I64)) continue;
    const field: TableField = {
      name: '',
      nullable: true,
      ...(scale > 0 ? { type: 'decimal', scale } : { type: 'i64' }),
    };
    wide.set(i, { of: root ?? of, field, isSquare: root !== undefined });
  }
  return wide;
}

/**
 * Returns the total of a group in one part of the file, such as a sum or a count. A total of decimals is an integer in
 * units of their last digit. Returns undefined if no row of the group has a value.
 */
export type PartTotal = (group: number) => number | bigint | undefined;

/**
 * Converts a single value to a total that is the same for every group. Without key columns, a part of a file has only
 * one group.
 */
export function cellTotal(cell: CellValue): PartTotal {
  const value = typeof cell === 'object' && cell !== null ? cell.units : cell;
  const total = typeof value === 'boolean' ? Number(value) : value;
  return () => (total === null ? undefined : (total as number | bigint));
}

/** Converts a column with one row per group to the totals of the groups. */
export function columnTotal(column: HostColumn): PartTotal {
  const { validity } = column;
  const values = column.type === 'string' ? column.codes : column.values;
  return (group) => (validity === undefined || isSet(validity, group) ? values[group]! : undefined);
}
