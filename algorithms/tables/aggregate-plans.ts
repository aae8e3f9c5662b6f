import type { Bool } from '../../primitives/functors/value.ts';
import { ratio } from '../exact-ratio.ts';
import { I64, isWithin, U64 } from './bounds.ts';
import { numberOf } from './decimals.ts';
import type { DeviceTable } from './device-table.ts';
import { countDistinct } from './distinct.ts';
import { tableError } from './errors.ts';
import { floatTotals } from './exact-floats.ts';
import type { Expression } from './expressions.ts';
import type { CellValue, Decimal } from './host-table.ts';
import { domainOf } from './integers.ts';
import { interpolated, type PlaceBetween, placeBetween, ranksOf } from './interpolation.ts';
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
import { countsWhere, isEveryRow, orderedValues, type ValueOperand, valueOperand } from './values.ts';

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

/** Plans how to compute an aggregate over the chosen rows. */
export function planOf(
  table: DeviceTable,
  aggregate: Aggregate,
  chosen: QuestionPart<Bool> | undefined,
): AggregatePlan {
  if (aggregate.kind === 'count' && aggregate.of === undefined) {
    return planCount(table, countsWhere(chosen, undefined), '');
  }
  const operand = valueOperand(table, aggregate.of!);
  const counts = countsWhere(chosen, operand);
  const key = JSON.stringify(aggregate.of, (_, value) => (typeof value === 'bigint' ? `${value}n` : value));
  switch (aggregate.kind) {
    case 'count':
      return planCount(table, counts, key);
    case 'sum':
    case 'avg':
      return planSum(table, aggregate.kind, operand, counts, key);
    case 'min':
    case 'max':
      return planExtremum(table, aggregate.kind, operand, counts, key);
    case 'variance':
      return planVariance(table, operand, counts, key);
    case 'median':
      return planMedian(table, operand, counts);
    case 'quantile': {
      const { fraction } = aggregate;
      requireFraction(fraction);
      return { find: () => findAt(table, operand, counts, (count) => Math.max(0, Math.ceil(fraction * count) - 1)) };
    }
    case 'quantileCont':
      return planInterpolated(table, operand, counts, aggregate.fraction);
    case 'smallest':
    case 'largest': {
      const { k, kind } = aggregate;
      if (!Number.isInteger(k) || k < 1) throw wrongAggregate('k', k, 'a whole number from 1');
      return planPlace(table, operand, counts, { kind, k });
    }
    case 'countDistinct':
      return { find: async () => countDistinct(table, orderedValues(operand).integers, counts) };
    default:
      throw wrongAggregate('kind', (aggregate as { kind: unknown }).kind, 'count, sum, avg, min, max …');
  }
}

function requireFraction(fraction: number): void {
  if (!(fraction >= 0 && fraction <= 1)) throw wrongAggregate('fraction', fraction, 'a number from 0 to 1');
}

function wrongAggregate(what: string, got: unknown, expected: string): Error {
  return tableError('aggregate', `The ${what} of an aggregate is invalid.`, { expected, got });
}

function counting(counts: QuestionPart<Bool>, key: string): readonly Total[] {
  return isEveryRow(counts) ? [] : [named(countTotal(counts), key)];
}

/** Appends `key`, the text of the operand, to the name of a total, so that the name is unique. */
function named(total: Total, key: string): Total {
  return { ...total, name: `${total.name} ${key}` };
}

/**
 * Returns the number of included rows, and the words of an aggregate's other totals. If some rows may be excluded, the
 * first total is the count made by {@link counting}.
 */
function split(
  { rows }: DeviceTable,
  counts: QuestionPart<Bool>,
  words: readonly (readonly number[])[],
): readonly [number, readonly (readonly number[])[]] {
  return isEveryRow(counts) ? [rows, words] : [words[0]![0]!, words.slice(1)];
}

function planCount(table: DeviceTable, counts: QuestionPart<Bool>, key: string): AggregatePlan {
  return { totals: counting(counts, key), finish: (words) => split(table, counts, words)[0] };
}

function planSum(
  table: DeviceTable,
  kind: 'sum' | 'avg',
  operand: ValueOperand,
  counts: QuestionPart<Bool>,
  key: string,
): AggregatePlan {
  if (operand.family === 'f32') {
    const floats = floatTotals(operand, counts, table.rows, false);
    return {
      totals: [...counting(counts, key), ...floats.totals.map((each) => named(each, key))],
      finish: (words) => {
        const [count, totals] = split(table, counts, words);
        if (count === 0) return null;
        return kind === 'sum' ? floats.read(totals).sum() : floats.read(totals).average(count);
      },
    };
  }
  const integers = requireIntegers(kind, operand);
  return {
    totals: [...counting(counts, key), named(sumTotal(integers, counts, table.rows), key)],
    finish: (words) => {
      const [count, [total]] = split(table, counts, words);
      if (count === 0) return null;
      const sum = sumOfWords(total!);
      return kind === 'avg' ? ratio(sum, BigInt(count) * 10n ** BigInt(integers.scale)) : sumCell(operand, sum);
    },
  };
}

type IntegerOperand = ValueOperand & { readonly family: 'integer' };

function requireIntegers(kind: string, operand: ValueOperand): IntegerOperand {
  if (operand.family === 'integer') return operand;
  throw tableError('type', `${kind} does not support this type.`, {
    expected: 'integers, decimals or f32',
    got: describeOperand(operand),
  });
}

function sumCell(operand: ValueOperand, sum: bigint): CellValue {
  const itself = { min: sum, max: sum };
  if (!isWithin(itself, I64) && !isWithin(itself, U64)) {
    throw tableError('overflow', 'A sum does not fit in 64 bits.', { expected: 'at most 2^63 − 1', got: sum });
  }
  const { scale } = operand as IntegerOperand;
  return scale > 0 ? { units: sum, scale } : sum;
}

function planExtremum(
  table: DeviceTable,
  kind: 'min' | 'max',
  operand: ValueOperand,
  counts: QuestionPart<Bool>,
  key: string,
): AggregatePlan {
  const { integers, cellOf } = orderedValues(operand);
  const [domain] = domainOf(integers.bounds);
  return {
    totals: [...counting(counts, key), named(extremumTotal(kind, integers, counts), key)],
    finish: (words) => {
      const [count, [total]] = split(table, counts, words);
      return count === 0 ? null : cellOf(integerOfWords(domain.startsWith('i'), total!));
    },
  };
}

function planVariance(
  table: DeviceTable,
  operand: ValueOperand,
  counts: QuestionPart<Bool>,
  key: string,
): AggregatePlan {
  if (operand.family === 'f32') {
    const floats = floatTotals(operand, counts, table.rows, true);
    return {
      totals: [...counting(counts, key), ...floats.totals.map((each) => named(each, key))],
      finish: (words) => {
        const [count, totals] = split(table, counts, words);
        return count < 2 ? null : floats.read(totals).variance(count);
      },
    };
  }
  const integers = requireIntegers('variance', operand);
  return {
    totals: [...counting(counts, key), ...distanceTotals(integers, counts, table.rows).map((each) => named(each, key))],
    finish: (words) => {
      const [count, totals] = split(table, counts, words);
      if (count < 2) return null;
      // The variance of distances from any number is that of the integers.
      const [sum, squares] = totals.map((total) => integerOfWords(false, total)) as [bigint, bigint];
      const n = BigInt(count);
      return ratio(n * squares - sum * sum, n * (n - 1n) * 10n ** BigInt(2 * integers.scale));
    },
  };
}

/**
 * Finds the value at a place (a rank from 0) among the sorted values of the included rows. Returns null if there is no
 * such place.
 */
async function findAt(
  table: DeviceTable,
  operand: ValueOperand,
  counts: QuestionPart<Bool>,
  placeOf: (count: number) => number,
): Promise<CellValue> {
  const { integers, cellOf } = orderedValues(operand);
  const [found] = await integersAt(table, integers, counts, (count) => {
    const place = placeOf(count);
    return place >= 0 && place < count ? [place] : [];
  });
  return found === undefined ? null : cellOf(found);
}

function planInterpolated(
  table: DeviceTable,
  operand: ValueOperand,
  counts: QuestionPart<Bool>,
  fraction: number,
): AggregatePlan {
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

function planPlace(
  table: DeviceTable,
  operand: ValueOperand,
  counts: QuestionPart<Bool>,
  place: Place & { k: number },
): AggregatePlan {
  const { kind, k } = place;
  const { integers, cellOf } = orderedValues(operand);
  return {
    find: () => findAt(table, operand, counts, (count) => (kind === 'smallest' ? k - 1 : count - k)),
    sought: { integers, counts, place, finish: ([found]) => (found === undefined ? null : cellOf(found)) },
  };
}

function planMedian(table: DeviceTable, operand: ValueOperand, counts: QuestionPart<Bool>): AggregatePlan {
  const { integers, cellOf } = orderedValues(operand);
  const isNumber = operand.family === 'integer' || operand.family === 'f32' || operand.family === 'f64';
  const finish = (found: readonly bigint[]): CellValue => {
    const [low, high] = found.slice(0, isNumber ? 2 : 1).map(cellOf);
    if (low === undefined) return null;
    return high === undefined || found[0] === found[1] ? asMean(low) : middleOf(toNumber(low), toNumber(high));
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
  return typeof cell === 'bigint' || (typeof cell === 'object' && cell !== null) ? toNumber(cell) : cell;
}

function toNumber(cell: CellValue): number {
  return typeof cell === 'object' && cell !== null ? numberOf(cell as Decimal) : Number(cell);
}
