import { requireArguments } from '../../primitives/checks/arguments.ts';
import type { Bool } from '../../primitives/functors/value.ts';
import { type AggregatePlan, type Aggregates, planOf, totalsIn } from './aggregate-plans.ts';
import { aTable, someAggregates, whereOptions } from './argument-kinds.ts';
import type { DeviceTable } from './device-table.ts';
import type { CellValue } from './host-table.ts';
import type { QuestionPart } from './part.ts';
import { type Where, withChosen } from './selection.ts';
import { reducedTotals, wordsOfTotals } from './totals.ts';

/**
 * Computes any number of aggregates over the rows of a table that `options.where` chooses, by default over all rows.
 *
 * Counts, sums, averages, variances, minima and maxima are computed in one pass over the columns, which also evaluates
 * the condition. Order statistics (medians, quantiles, the k-th smallest or largest value) are found digit by digit,
 * highest digit first, with one counting pass per digit.
 *
 * - Sums of integers and decimals are exact; a sum that does not fit in 64 bits is an error. Sums of f32 are f64: the
 *   exact sum, rounded once. Averages are the exact sum divided by the count, and variances are exact sample variances,
 *   each rounded once to f64. Values of f32 are added in fixed point, as integers of as many words as the magnitudes in the
 *   column need, so subnormal numbers count everywhere. Magnitudes that differ more take longer.
 * - With infinite values or NaN, sums and averages follow IEEE 754, and the variance is NaN.
 * - With an even number of rows, the median of numbers is the mean of the middle two; the median of other values is the
 *   lower of the middle two.
 * - `quantile` is always one of the values, the smallest v for which at least `fraction` of the values are at most v.
 *   `quantileCont` interpolates: it is the number at the place `fraction · (n − 1)` among the n sorted values, on the
 *   straight line between the values before and after this place. It is computed exactly and rounded once to f64. It is
 *   for integers, decimals, f32 and f64. For both, the fraction stands for the decimal number that JavaScript prints.
 * - Over no rows, counts are 0 and all other aggregates are null. The variance of one row is null.
 * - Work O(rows) per pass, span O(log rows). Deterministic.
 *
 * Source: Govindaraju et al. 2004. Instead of their accumulator, this function uses parallel reductions (Harris and
 * others).
 *
 * @throws {@link TableError} `tables/overflow`, `tables/type`, `tables/unknown-column`, `tables/aggregate` for an
 * invalid fraction or k.
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
  return withChosen(table, options.where, (chosen) => answered(table, aggregates, chosen));
}

async function answered<A extends Aggregates>(
  table: DeviceTable,
  aggregates: A,
  chosen: QuestionPart<Bool> | undefined,
): Promise<{ readonly [K in keyof A]: CellValue }> {
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
