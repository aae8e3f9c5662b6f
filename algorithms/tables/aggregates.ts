import { requireArguments } from '../../primitives/arguments.ts';
import { type AggregatePlan, type Aggregates, planOf, totalsIn } from './aggregate-plans.ts';
import { aTable, someAggregates, whereOptions } from './argument-kinds.ts';
import type { CellValue } from './host-table.ts';
import { chosenBy, type Where } from './selection.ts';
import type { DeviceTable } from './table.ts';
import { reducedTotals, wordsOfTotals } from './totals.ts';

/**
 * What rows of a table come to, all that are chosen or all: any number of aggregates at once.
 *
 * Counts, sums, averages, variances, minima and maxima come out of one pass over the columns, with the condition in it. Order
 * statistics are found by digits from the top, each in a pass that counts them.
 *
 * - Sums of integers and decimals are exact; one that does not fit in 64 bits is an error. Sums of f32 are compensated and added
 *   up in the canonical tree: the same bits on every backend, with about 48 bits right; past the greatest f32 they are infinite,
 *   and subnormal numbers may be 0 to a GPU.
 * - Averages are the exact sum divided by the count, rounded once, of f32 the compensated one. Variances are those of samples,
 *   of integers exact before they are rounded, of f32 in f32.
 * - The median of numbers is the mean of the two in the middle where there is an even number of them, of other values the lower.
 * - Of no rows: counts are 0, all else is null, as is the variance of one row.
 * - Work O(rows) a pass, span O(log rows). Deterministic.
 *
 * Source: Govindaraju et al. 2004, and Harris and others' reductions in place of their accumulator.
 *
 * @throws {@link TableError} `tables/overflow`, `tables/type`, `tables/unknown-column`, `tables/aggregate` for a fraction or a k
 * that is none.
 * @example
 * const table = createTable(ctx, { x: { type: 'u32', values: Uint32Array.of(10, 24, 37, 99, 192, 200, 200, 232) } });
 * const of = column('x');
 * await aggregate(table, { max: { kind: 'max', of }, mean: { kind: 'avg', of }, third: { kind: 'largest', of, k: 3 } });
 * // { max: 232, mean: 124.25, third: 200 }
 */
export async function aggregate<A extends Aggregates>(
  table: DeviceTable,
  aggregates: A,
  options: { readonly where?: Where } = {},
): Promise<{ readonly [K in keyof A]: CellValue }> {
  const kinds = { table: aTable, aggregates: someAggregates, options: whereOptions };
  requireArguments('aggregate', { table, aggregates, options }, kinds);
  const chosen = chosenBy(table, options.where);
  const plans = Object.entries(aggregates).map(([name, each]): [string, AggregatePlan] => [
    name,
    planOf(table, each, chosen),
  ]);
  const results = reducedTotals(table, totalsIn(plans.map(([, plan]) => plan)));
  const read = await table.context.read(results.columns).finally(() => table.context.dispose(results.columns));
  const totals = wordsOfTotals(results, read);
  const cells: [string, CellValue][] = [];
  for (const [name, plan] of plans) {
    const cell = 'find' in plan ? await plan.find() : plan.finish(plan.totals.map((total) => totals.get(total.name)!));
    cells.push([name, cell]);
  }
  return Object.fromEntries(cells) as { readonly [K in keyof A]: CellValue };
}
