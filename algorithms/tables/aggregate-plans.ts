import type { Bool } from '../../primitives/functors/value.ts';
import { ratio } from '../exact-ratio.ts';
import { I64, isWithin, U64 } from './bounds.ts';
import { numberOf } from './decimals.ts';
import type { DeviceTable } from './device-table.ts';
import { countDistinct } from './distinct.ts';
import { sumTooLarge, tableError } from './errors.ts';
import { floatTotals } from './exact-floats.ts';
import type { Expression } from './expressions.ts';
import type { CellValue, Decimal } from './host-table.ts';
import { domainOf } from './integers.ts';
import { interpolated, type PlaceBetween, placeBetween, rankAmong, ranksOf } from './interpolation.ts';
import { describeOperand } from './operands.ts';
import { integersAt } from './order-statistics.ts';
import type { QuestionPart } from './part.ts';
import type { Place, SoughtPlan } from './places.ts';
import {
  countTotal,
  distanceTotals,
  extremumTotal,
  integerOfWords,
  sumOfWords,
  sumTotal,
  type Total,
} from './totals.ts';
import {
  countsWhere,
  type IntegerOperand,
  isEveryRow,
  orderedValues,
  requireIntegers,
  textOf,
  type ValueOperand,
  valueOperand,
} from './values.ts';

/** An aggregate over rows of a table. Rows in which `of` is null are ignored. */
export type Aggregate =
  | { readonly kind: 'count'; readonly of?: Expression }
  | {
      readonly kind: 'sum' | 'avg' | 'min' | 'max' | 'variance' | 'median' | 'countDistinct';
      readonly of: Expression;
    }
  /** The smallest value v for which at least `fraction` of the values of `of` are at most v. */
  | { readonly kind: 'quantile'; readonly of: Expression; readonly fraction: number }
  /**
   * The number at the place `fraction · (n − 1)` among the n sorted values of `of`, interpolated between the two values
   * around this place. SQL calls it `percentile_cont`.
   */
  | { readonly kind: 'quantileCont'; readonly of: Expression; readonly fraction: number }
  /** The k-th smallest or largest value, with k from 1. */
  | { readonly kind: 'smallest' | 'largest'; readonly of: Expression; readonly k: number };

export type Aggregates = { readonly [name: string]: Aggregate };

/**
 * How an aggregate is computed. Either one pass over all rows finds `totals`, from which `finish` computes the result,
 * or `find` runs passes for this aggregate alone.
 */
export type AggregatePlan =
  | { readonly totals: readonly Total[]; readonly finish: (words: readonly (readonly number[])[]) => CellValue }
  | { readonly find: () => Promise<CellValue>; readonly sought?: SoughtPlan };

/** The totals that the given plans need. One pass computes all of them. */
export function totalsIn(plans: readonly AggregatePlan[]): readonly Total[] {
  return plans.flatMap((plan) => ('totals' in plan ? plan.totals : []));
}

/** What an aggregate is computed from: its operand, the rows that count, and a text that is unique to the operand. */
interface Asked {
  readonly table: DeviceTable;
  readonly operand: ValueOperand;
  readonly counts: QuestionPart<Bool>;
  readonly key: string;
}

/** Plans how to compute an aggregate over the chosen rows. */
export function planOf(
  table: DeviceTable,
  aggregate: Aggregate,
  chosen: QuestionPart<Bool> | undefined,
): AggregatePlan {
  if (aggregate.kind === 'count' && aggregate.of === undefined) {
    return planTotals({ table, counts: countsWhere(chosen, undefined), key: '' }, [], (count) => count);
  }
  const operand = valueOperand(table, aggregate.of!);
  const asked = { table, operand, counts: countsWhere(chosen, operand), key: textOf(aggregate.of!) };
  switch (aggregate.kind) {
    case 'count':
      return planTotals(asked, [], (count) => count);
    case 'sum':
    case 'avg':
      return planSum(aggregate.kind, asked);
    case 'min':
    case 'max':
      return planExtremum(aggregate.kind, asked);
    case 'variance':
      return planVariance(asked);
    case 'median':
      return planMedian(asked);
    case 'quantile': {
      const { fraction } = aggregate;
      requireFraction(fraction);
      return { find: () => findAt(asked, rankAmong(fraction)) };
    }
    case 'quantileCont':
      return planInterpolated(asked, aggregate.fraction);
    case 'smallest':
    case 'largest': {
      const { k, kind } = aggregate;
      requireK(k);
      return planPlace(asked, { kind, k });
    }
    case 'countDistinct':
      return { find: async () => countDistinct(table, orderedValues(operand).integers, asked.counts) };
  }
}

export function requireFraction(fraction: number): void {
  if (!(fraction >= 0 && fraction <= 1)) throw wrongAggregate('fraction', fraction, 'a number from 0 to 1');
}

export function requireK(k: number): void {
  if (!Number.isInteger(k) || k < 1) throw wrongAggregate('k', k, 'a whole number from 1');
}

function wrongAggregate(what: string, got: unknown, expected: string): Error {
  return tableError('aggregate', `The ${what} of an aggregate is invalid.`, { expected, got });
}

/** Plans a pass that finds totals. `finish` computes the result from the number of rows that count and the totals. */
function planTotals(
  { table, counts, key }: Pick<Asked, 'table' | 'counts' | 'key'>,
  totals: readonly Total[],
  finish: (count: number, words: readonly (readonly number[])[]) => CellValue,
): AggregatePlan {
  const named = (total: Total): Total => ({ ...total, name: `${total.name} ${key}` });
  if (isEveryRow(counts)) return { totals: totals.map(named), finish: (words) => finish(table.rows, words) };
  return {
    totals: [countTotal(counts), ...totals].map(named),
    finish: ([count, ...words]) => finish(count![0]!, words),
  };
}

function planSum(kind: 'sum' | 'avg', asked: Asked): AggregatePlan {
  const { table, operand, counts } = asked;
  if (operand.family === 'f32') {
    const floats = floatTotals(operand, counts, table.rows, false);
    return planTotals(asked, floats.totals, (count, totals) => {
      if (count === 0) return null;
      return kind === 'sum' ? floats.read(totals).sum() : floats.read(totals).average(count);
    });
  }
  const integers = requireIntegers(kind, operand);
  return planTotals(asked, [sumTotal(integers, counts, table.rows)], (count, [total]) => {
    if (count === 0) return null;
    const sum = sumOfWords(total!);
    return kind === 'avg' ? ratio(sum, BigInt(count) * 10n ** BigInt(integers.scale)) : sumCell(integers, sum);
  });
}

function sumCell({ scale }: IntegerOperand, sum: bigint): CellValue {
  const itself = { min: sum, max: sum };
  if (!isWithin(itself, I64) && !isWithin(itself, U64)) throw sumTooLarge(sum);
  return scale > 0 ? { units: sum, scale } : sum;
}

function planExtremum(kind: 'min' | 'max', asked: Asked): AggregatePlan {
  const { integers, cellOf } = orderedValues(asked.operand);
  const [domain] = domainOf(integers.bounds);
  return planTotals(asked, [extremumTotal(kind, integers, asked.counts)], (count, [total]) =>
    count === 0 ? null : cellOf(integerOfWords(domain.startsWith('i'), total!)),
  );
}

function planVariance(asked: Asked): AggregatePlan {
  const { table, operand, counts } = asked;
  if (operand.family === 'f32') {
    const floats = floatTotals(operand, counts, table.rows, true);
    return planTotals(asked, floats.totals, (count, totals) =>
      count < 2 ? null : floats.read(totals).variance(count),
    );
  }
  const integers = requireIntegers('variance', operand);
  return planTotals(asked, distanceTotals(integers, counts, table.rows), (count, totals) => {
    if (count < 2) return null;
    // The variance of distances from any number is that of the integers.
    const [sum, squares] = totals.map((total) => integerOfWords(false, total)) as [bigint, bigint];
    const n = BigInt(count);
    return ratio(n * squares - sum * sum, n * (n - 1n) * 10n ** BigInt(2 * integers.scale));
  });
}

/**
 * Finds the value at a place (a rank from 0) among the sorted values of the included rows. Returns null if there is no
 * such place.
 */
async function findAt({ table, operand, counts }: Asked, placeOf: (count: number) => number): Promise<CellValue> {
  const { integers, cellOf } = orderedValues(operand);
  const [found] = await integersAt(table, integers, counts, (count) => {
    const place = placeOf(count);
    return place >= 0 && place < count ? [place] : [];
  });
  return found === undefined ? null : cellOf(found);
}

function planInterpolated({ table, operand, counts }: Asked, fraction: number): AggregatePlan {
  requireFraction(fraction);
  requireInterpolable(operand);
  const { integers, cellOf } = orderedValues(operand);
  return {
    async find() {
      let place: PlaceBetween | undefined;
      const found = await integersAt(table, integers, counts, (count) => {
        place = count === 0 ? undefined : placeBetween(fraction, count);
        return place === undefined ? [] : ranksOf(place);
      });
      return place === undefined ? null : interpolated(cellOf(found[0]!), cellOf(found.at(-1)!), place.part);
    },
  };
}

/** Throws if values of an operand are not numbers. */
export function requireInterpolable(operand: ValueOperand): void {
  if (['integer', 'f32', 'f64'].includes(operand.family)) return;
  throw tableError('type', 'Only numbers can be interpolated.', {
    expected: 'integers, decimals, f32 or f64',
    got: describeOperand(operand),
    remedy: 'Ask for the quantile without interpolation, which is one of the values.',
  });
}

function planPlace(asked: Asked, place: Place & { k: number }): AggregatePlan {
  const { kind, k } = place;
  const { integers, cellOf } = orderedValues(asked.operand);
  return {
    find: () => findAt(asked, (count) => (kind === 'smallest' ? k - 1 : count - k)),
    sought: {
      integers,
      counts: asked.counts,
      place,
      finish: ([found]) => (found === undefined ? null : cellOf(found)),
    },
  };
}

function planMedian({ table, operand, counts }: Asked): AggregatePlan {
  const { integers, cellOf } = orderedValues(operand);
  const isNumber = operand.family === 'integer' || operand.family === 'f32' || operand.family === 'f64';
  const finish = (found: readonly bigint[]): CellValue => {
    const [low, high] = found.slice(0, isNumber ? 2 : 1).map(cellOf);
    if (low === undefined) return null;
    return high === undefined || found[0] === found[1] ? asMean(low) : middleOf(numberOfCell(low), numberOfCell(high));
  };
  const placesOf = (count: number): number[] => {
    const [low, high] = [(count - 1) >> 1, count >> 1];
    return count === 0 ? [] : low === high ? [low] : [low, high];
  };
  return {
    find: async () => finish(await integersAt(table, integers, counts, placesOf)),
    sought: { integers, counts, place: { kind: 'median' }, finish },
  };
}

/** The number in the middle of two numbers. Halves them first only if their sum is beyond the largest f64. */
export function middleOf(low: number, high: number): number {
  const sum = low + high;
  return Number.isFinite(sum) ? sum / 2 : low / 2 + high / 2;
}

/** Converts a numeric cell to a JavaScript number, for results that are means. */
function asMean(cell: CellValue): CellValue {
  return typeof cell === 'bigint' || (typeof cell === 'object' && cell !== null) ? numberOfCell(cell) : cell;
}

/** A numeric cell as a JavaScript number. */
export function numberOfCell(cell: CellValue): number {
  return typeof cell === 'object' && cell !== null ? numberOf(cell as Decimal) : Number(cell);
}
