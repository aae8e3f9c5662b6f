import { inStretches } from '../algorithms/stretches.ts';
import { createTable, type DeviceTable, disposeTable, type HostColumn } from '../algorithms/tables/index.ts';
import { wideOf } from '../algorithms/tables/integers.ts';
import { mapPart, viewsOf } from '../algorithms/tables/part.ts';
import { hostColumn } from '../algorithms/tables/rows.ts';
import { countsWhere, flagsOf, orderedValues, valueOperand } from '../algorithms/tables/values.ts';
import type { Column } from '../primitives/columns/column.ts';
import { narrowed } from './table-columns.ts';
import type { TypedExpression } from './table-plan.ts';

/** A table to which computed columns have been added. */
export interface ComputedColumns {
  readonly table: DeviceTable;
  readonly columns: ReadonlyMap<TypedExpression, readonly [name: string, column: HostColumn]>;
  /** Frees the device memory of the computed columns. */
  free(): void;
}

/**
 * Computes expressions for all rows of a table. The results are used as keys of groups, or as values that the host adds
 * up.
 */
export async function computeColumns(
  table: DeviceTable,
  expressions: readonly TypedExpression[],
): Promise<ComputedColumns> {
  if (expressions.length === 0) return { table, columns: new Map(), free: () => undefined };
  const all = await Promise.all(expressions.map((each) => computeColumn(table, each)));
  const columns = new Map(all.map((column, i) => [expressions[i]!, [`\u0000computed ${i}`, column] as const]));
  const added = createTable(
    table.context,
    Object.fromEntries([...columns.values()].map(([name, column]) => [name, narrowed(column)])),
  );
  const both = { ...table, columns: { ...table.columns, ...added.columns } };
  return { table: both, columns, free: () => disposeTable(added) };
}

async function computeColumn(table: DeviceTable, { of, field }: TypedExpression): Promise<HostColumn> {
  const { context, rows } = table;
  const operand = valueOperand(table, of);
  const words = mapPart('computed', orderedValues(operand).integers.part, (value) => {
    const { lo, hi } = wideOf(value);
    return [lo, hi];
  });
  const [low, high] = viewsOf(context, rows, ['u32', 'u32'], words) as [Column<'u32'>, Column<'u32'>];
  const valid = flagsOf(table, countsWhere(undefined, operand));
  const read = await context.read({ low, high, valid });
  const kind = field.type as 'i64' | 'decimal' | 'f32' | 'f64';
  const scale = field.type === 'decimal' ? field.scale : 0;
  const made = hostColumn(
    { kind, dictionary: [], scale },
    [read.low, new Int32Array(read.high.buffer, read.high.byteOffset, rows)],
    read.valid as unknown as Uint8Array,
  );
  return inStretches(made);
}
