import { requireArguments } from '../../primitives/checks/arguments.ts';
import type { Bool } from '../../primitives/functors/value.ts';
import { reduceByKey } from '../../primitives/reduce-by-key.ts';
import { inStretches } from '../stretches.ts';
import { aggregatesOfGroups, aTable, someNames, whereOptions } from './argument-kinds.ts';
import { denseGroups, densePlan } from './dense-groups.ts';
import type { DeviceTable } from './device-table.ts';
import { tableError } from './errors.ts';
import { type GroupCodes, type GroupedRows, groupCodes, sortByCodes, sortByKeys } from './group-keys.ts';
import { travelling } from './group-payload.ts';
import { type RankedAggregate, rankedColumns, requireRanked } from './group-ranks.ts';
import { type GroupTotals, type TotalAggregate, totalsOfGroups } from './group-totals.ts';
import type { HostColumn, HostTable } from './host-table.ts';
import { type QuestionPart, viewsOf } from './part.ts';
import { type Where, withChosen } from './selection.ts';
import { columnOf } from './table.ts';
import { elementOf, monoidOf, tableOf } from './totals.ts';
import { countsWhere, rowsWhere, textOf, valueOperand } from './values.ts';

const MAX_KEYS = 4;

/** An aggregate that can be computed for groups of rows. Rows in which `of` is null are ignored. */
export type GroupAggregate = TotalAggregate | RankedAggregate;

export type GroupAggregates = { readonly [name: string]: GroupAggregate };

/**
 * Computes aggregates of groups of rows. A group is all rows with equal values in the key columns. All nulls are equal,
 * all NaNs are equal, and −0 equals 0.
 *
 * The result is a host table with a row for every group. It has the key columns, then a column for each aggregate. Rows
 * are in ascending order of the keys, with nulls last. Counts are u32; sums of integers are i64 or decimals; sums of
 * f32, and averages, are f64.
 *
 * If the bounds of the keys allow fewer than 2^32 groups, each row gets the number of its group, and rows are sorted by
 * this number. Otherwise rows are sorted key by key. Then adjacent rows of the same group are reduced.
 *
 * A query for only counts, sums and averages needs no sort if the bounds of the keys allow at most about 4 million
 * groups. The values of each group are then added without a sort (`weightedHistogram`), values of f32 in fixed point of
 * 64 bits. That requires that the largest magnitude of the column is at most 2^39 times the smallest above 0. If a sum may
 * not be exact in f64, at most 2^16 groups are allowed. If these conditions do not hold, rows are sorted.
 *
 * Medians, quantiles and the k-th smallest and largest values are those of {@link aggregate}, of every group, and null
 * where a group has no such value. Medians of numbers, and `quantileCont`, are f64; the others are values of the column.
 * Rows are sorted once for each expression that is asked for, by its values and then by the keys.
 *
 * - Work O(rows · bits of the keys), span O(bits · log rows). Deterministic. After a sort, sums are computed as by
 *   {@link aggregate}.
 *
 * @throws {@link TableError} `tables/keys` for no key or more than four; `tables/aggregate` and the other errors of
 * {@link aggregate}.
 * @example
 * const table = createTable(ctx, {
 *   zone: { type: 'u32', values: Uint32Array.of(7, 3, 7) },
 *   fare: { type: 'i32', values: Int32Array.of(10, 20, 30) },
 * });
 * const of = column('fare');
 * const groups = await groupBy(table, ['zone'], { mean: { kind: 'avg', of }, middle: { kind: 'median', of } });
 * [groups.zone.values, groups.mean.values, groups.middle.values];
 * // [Uint32Array [3, 7], Float64Array [20, 20], Float64Array [20, 20]]
 */
export async function groupBy(
  table: DeviceTable,
  keys: readonly string[],
  aggregates: GroupAggregates,
  options: { readonly where?: Where } = {},
): Promise<HostTable> {
  const kinds = { table: aTable, keys: someNames, aggregates: aggregatesOfGroups, options: whereOptions };
  requireArguments('groupBy', { table, keys, aggregates, options }, kinds);
  if (keys.length === 0 || keys.length > MAX_KEYS) {
    throw tableError('keys', 'Rows must be grouped by one to four columns.', {
      expected: '1 to 4 keys',
      got: keys.length,
    });
  }
  return withChosen(table, options.where, (rows) => groupsOf(table, keys, aggregates, countsWhere(rows, undefined)));
}

async function groupsOf(
  table: DeviceTable,
  keys: readonly string[],
  aggregates: GroupAggregates,
  chosen: QuestionPart<Bool>,
): Promise<HostTable> {
  const columns = keys.map((name) => columnOf(table, name));
  const codes = groupCodes(columns, chosen);
  const [totals, ranked]: [TotalEntry[], RankedEntry[]] = [[], []];
  for (const [name, each] of Object.entries(aggregates)) {
    if (isRanked(each)) ranked.push([name, each]);
    else totals.push([name, each]);
  }
  const operands = new Map(ranked.map(([, { of }]) => [textOf(of), valueOperand(table, of)]));
  for (const [, each] of ranked) requireRanked(each, operands.get(textOf(each.of))!);
  const found = new Map(Object.entries(await totalsByGroup(table, keys, totals, chosen, codes)));
  for (const [text, operand] of operands) {
    const asked = ranked.filter(([, { of }]) => textOf(of) === text);
    const rows = { table, keys: columns, chosen, codes };
    const made = await rankedColumns(
      rows,
      operand,
      asked.map(([, each]) => each),
    );
    for (const [i, [name]] of asked.entries()) found.set(name, made[i]!);
  }
  return Object.fromEntries([...keys, ...Object.keys(aggregates)].map((name) => [name, found.get(name)!]));
}

type TotalEntry = readonly [string, TotalAggregate];
type RankedEntry = readonly [string, RankedAggregate];

function isRanked(aggregate: GroupAggregate): aggregate is RankedAggregate {
  return !['count', 'sum', 'avg', 'min', 'max'].includes(aggregate.kind);
}

/** The keys of the groups, and the aggregates that one pass over the grouped rows computes. */
async function totalsByGroup(
  table: DeviceTable,
  keys: readonly string[],
  entries: readonly TotalEntry[],
  chosen: QuestionPart<Bool>,
  codes: GroupCodes | undefined,
): Promise<HostTable> {
  const columns = keys.map((name) => columnOf(table, name));
  const operands = entries.map(([, each]) => (each.of === undefined ? undefined : valueOperand(table, each.of)));
  const dense = codes && densePlan(table.rows, codes, entries, operands);
  if (dense !== undefined) return denseGroups(table, keys, codes!, entries, dense);
  const along =
    codes &&
    travelling(
      entries.map(([, { of }]) => of),
      operands,
    );
  const grouped = (): GroupedRows =>
    codes === undefined
      ? sortByKeys(table, columns, rowsWhere(table, chosen))
      : sortByCodes(table, codes, along?.payload);
  let made: Pick<Reduced, 'grouped' | 'totals'> | undefined;
  const groups = table.context.scope(() => {
    const sorted = grouped();
    const moved = along === undefined ? operands : operands.map((each) => each && along.moved(sorted.rows));
    made = { grouped: sorted, totals: totalsOfGroups(table.rows, entries, moved) };
    return reduceGroups(table, sorted, made.totals, along === undefined);
  });
  return readGroups(table, keys, entries, { groups, ...made! });
}

type Entries = readonly TotalEntry[];

function reduceGroups(
  { context }: DeviceTable,
  grouped: GroupedRows,
  totals: GroupTotals,
  byRow: boolean,
): { readonly keys: GroupedRows['keys']; readonly values: never } {
  const monoid = monoidOf(totals.totals);
  const { types, part } = elementOf(totals.totals);
  const { rows } = grouped;
  const views = viewsOf(context, rows.length, types, part, byRow ? rows : undefined);
  return reduceByKey(grouped.keys, tableOf(monoid, views), monoid as never, { context }) as never;
}

interface Reduced {
  readonly groups: { readonly keys: GroupedRows['keys']; readonly values: never };
  readonly grouped: GroupedRows;
  readonly totals: GroupTotals;
}

async function readGroups(
  table: DeviceTable,
  keys: readonly string[],
  entries: Entries,
  reduced: Reduced,
): Promise<HostTable> {
  const { groups, grouped, totals } = reduced;
  const read = (await table.context.read(groups)) as {
    readonly keys: Uint32Array;
    readonly values: { [total: string]: unknown };
  };
  table.context.dispose(groups);
  const words = totals.totals.map((_, k) => arraysOf(read.values[`t${k}`]));
  const found = words[0]![0]!.length;
  const hasRest = grouped.rest !== undefined && found > 0 && read.keys[found - 1] === grouped.rest;
  const count = hasRest ? found - 1 : found;
  const keyColumns = await inStretches(grouped.decode(read.keys, count));
  const columns = keys.map((name, k): [string, HostColumn] => [name, keyColumns[k]!]);
  for (const [k, [name]] of entries.entries()) columns.push([name, await inStretches(totals.finish(k, words, count))]);
  return Object.fromEntries(columns);
}

function arraysOf(read: unknown): (Uint32Array | Int32Array | Float32Array)[] {
  return ArrayBuffer.isView(read) ? [read as Uint32Array] : Object.values(read as object).flatMap(arraysOf);
}
