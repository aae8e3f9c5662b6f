import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aFlag, aText, aWhole, type FieldKinds, optional, someOptions } from '../../primitives/checks/kinds.ts';
import type { Column } from '../../primitives/columns/column.ts';
import type { Bool } from '../../primitives/functors/value.ts';
import { slice } from '../../primitives/slice.ts';
import { sortByKey } from '../../primitives/sort.ts';
import { aTable, aWhere } from './argument-kinds.ts';
import type { DeviceTable } from './device-table.ts';
import { constantIn, domainOf, type IntegerPart, lessInteger, wideOf } from './integers.ts';
import { integersAt } from './order-statistics.ts';
import { combineParts, mapPart, type QuestionPart, viewsOf } from './part.ts';
import { type Where, withChosen } from './selection.ts';
import { countsWhere, orderedValues, rowsWhere, valueOperand } from './values.ts';

/** Options of {@link topRows}. */
export interface TopRowsOptions {
  /** Name of the column by which rows are ordered. */
  readonly by: string;
  readonly k: number;
  /** Whether to take the rows with the smallest values instead of the largest. Default false. */
  readonly ascending?: boolean;
  readonly where?: Where;
}

const OPTIONS: FieldKinds<TopRowsOptions> = {
  by: aText,
  k: aWhole(0),
  ascending: optional(aFlag),
  where: optional(aWhere),
};

/**
 * The indices of the k rows with the largest (or smallest) values of a column, best first. Among equal values, lower
 * indices come first. Rows in which the value is null are left out. If fewer than k rows remain, the result is shorter.
 *
 * Finds the k-th value digit by digit, as in {@link aggregate}, one digit per pass over the rows. Then sorts only the
 * rows whose value is the k-th or better.
 *
 * - Work O(rows · passes + sorted rows · bits of a key), span O(log rows). Deterministic.
 *
 * Source: Govindaraju et al. 2004, whose method finds the k-th largest number.
 *
 * @throws {@link TableError} `tables/unknown-column`, and the errors of conditions.
 * @example
 * const table = createTable(ctx, { x: { type: 'u32', values: Uint32Array.of(10, 232, 200, 99, 200) } });
 * await ctx.read(await topRows(table, { by: 'x', k: 3 })); // Uint32Array [1, 2, 4]
 */
export async function topRows(table: DeviceTable, options: TopRowsOptions): Promise<Column<'u32'>> {
  requireArguments('topRows', { table, options }, { table: aTable, options: someOptions(OPTIONS) });
  return withChosen(table, options.where, (chosen) => topOf(table, options, chosen));
}

async function topOf(
  table: DeviceTable,
  { by, k, ascending = false }: TopRowsOptions,
  chosen: QuestionPart<Bool> | undefined,
): Promise<Column<'u32'>> {
  const { context } = table;
  const operand = valueOperand(table, { kind: 'column', name: by });
  const { integers } = orderedValues(operand);
  const counts = countsWhere(chosen, operand);
  let found = 0;
  const [bound] = await integersAt(table, integers, counts, (count) => {
    found = Math.min(k, count);
    return found === 0 ? [] : [ascending ? found - 1 : count - found];
  });
  if (bound === undefined) return context.column(new Uint32Array(0));
  return context.scope(() => {
    const ids = rowsWhere(table, upTo(integers, counts, bound, ascending));
    const keys = viewsOf(context, ids.length, ['u32', 'u32'], orderOf(integers, ascending), ids);
    const [lo, hi] = keys as [Column<'u32'>, Column<'u32'>];
    const sorted = sortByKey({ lo, hi }, ids, { context });
    return context.materialize(slice(sorted.values, 0, found));
  });
}

/** Whether a row is included and its value is at least `bound`, the k-th value. If `ascending`, at most `bound`. */
function upTo(
  { part, bounds }: IntegerPart,
  counts: QuestionPart<Bool>,
  bound: bigint,
  ascending: boolean,
): QuestionPart<Bool> {
  const [domain] = domainOf(bounds);
  const isBeyond = combineParts(`beyond ${domain} ${ascending}`, [part, constantIn(domain, bound)], ([value, last]) =>
    ascending ? lessInteger(domain, last!, value!) : lessInteger(domain, value!, last!),
  );
  return combineParts('up to', [counts, isBeyond], ([holds, beyond]) => holds!.and(beyond!.not()));
}

/**
 * Converts each integer to a u64 sort key, low word first. If `ascending`, the keys sort in the order of the integers.
 * Otherwise they sort in the reverse order.
 */
function orderOf(
  { part, bounds }: IntegerPart,
  ascending: boolean,
): QuestionPart<readonly ReturnType<typeof wideOf>['lo'][]> {
  const isSigned = domainOf(bounds)[0] === 'i64' || domainOf(bounds)[0] === 'i32';
  return mapPart(`order ${isSigned} ${ascending}`, part, (value) => {
    const { lo, hi } = wideOf(value);
    const words = [lo, isSigned ? hi.xor(0x80000000) : hi];
    return ascending ? words : words.map((word) => word.not());
  });
}
