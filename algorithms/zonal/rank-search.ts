import type { Fraction } from '../exact-ratio.ts';
import { interpolated } from '../tables/interpolation.ts';
import { UNIT } from './areas.ts';
import type { LackingAreas } from './share-rows.ts';
import type { RankStatistic } from './statistic-kinds.ts';

/** A value of a zone that was found. */
export interface RankedValue {
  /** Its ordered word, or another number with the order of the values. */
  readonly word: number;
  /** The number of cells with smaller values, and of those with this value. */
  readonly before: number;
  readonly count: number;
}

/** A value that is sought among those of a zone. */
export interface Target {
  /** Whether it is not below `word`. The zone has `below` cells whose values are below `word`. */
  isFrom(below: number, word: number): boolean;
  /** Whether the values next to it may be asked for later. */
  readonly hasNext: boolean;
  /** Its rank, if it is the value of a cell of a known rank. */
  readonly rank?: number;
}

/** The value of the cell of a rank, from 0. */
export function rankTarget(rank: number): Target {
  return { isFrom: (below) => below <= rank, hasNext: false, rank };
}

/** Finds the values for the statistics of a zone. */
export interface RankSearch {
  /** What is sought next. Nothing when all statistics are known. */
  open(): readonly Target[];
  /** Takes a value that was found, for a target or beside one. */
  found(value: RankedValue, target?: Target): void;
  resultOf(statistic: RankStatistic): number | bigint;
}

/** The values of a zone. */
export interface SearchedValues {
  /** Number of cells with data. */
  readonly count: number;
  /** Whether larger words mean smaller values. */
  readonly isReversed: boolean;
  /** The value of a word. */
  numberOf(word: number): number | bigint;
}

/** @param lacking - By fractions: what cells lack to whole ones. */
export function createRankSearch(
  statistics: readonly RankStatistic[],
  values: SearchedValues,
  lacking: LackingAreas | undefined,
): RankSearch {
  const known: RankedValue[] = [];
  const at = (rank: number): RankedValue | undefined =>
    known.find(({ before, count }) => before <= rank && rank < before + count);
  return lacking === undefined
    ? byCells(statistics, values, known, at)
    : byAreas(statistics, values, known, at, lacking);
}

type Known = (rank: number) => RankedValue | undefined;

function byCells(
  statistics: readonly RankStatistic[],
  { count, isReversed, numberOf }: SearchedValues,
  known: RankedValue[],
  at: Known,
): RankSearch {
  const ranksOf = (statistic: RankStatistic): readonly number[] =>
    statistic.ranksOf(count).map((rank) => (isReversed ? count - 1 - rank : rank));
  return {
    open() {
      const ranks = new Set(statistics.flatMap(ranksOf).filter((rank) => at(rank) === undefined));
      return Array.from(ranks)
        .sort((a, b) => a - b)
        .map(rankTarget);
    },
    found: (value) => void known.push(value),
    resultOf: (statistic) =>
      statistic.ofRanked(
        ranksOf(statistic).map((rank) => numberOf(at(rank)!.word)),
        count,
      ),
  };
}

/**
 * Searches by the areas of cells. Cells of equal values share their area evenly. Cell k of n, in ascending order, has the
 * place k · (its area) + (n − 1) · (the area of all cells before it), and a quantile lies at its share of the last place.
 *
 * Source: the places are those of exactextract, after https://stats.stackexchange.com/a/13223.
 */
function byAreas(
  statistics: readonly RankStatistic[],
  { count, isReversed, numberOf }: SearchedValues,
  known: RankedValue[],
  at: Known,
  lacking: LackingAreas,
): RankSearch {
  const all = BigInt(count) * UNIT - lacking.all;
  const last = BigInt(count - 1);
  const searches = statistics.map(({ byArea: { share, isDiscrete } }) => {
    // Places and areas turn around with the values, and so does on which side a tie is.
    const own = isReversed ? { ...share, numerator: share.denominator - share.numerator } : share;
    const limit = { numerator: own.numerator * all, denominator: own.denominator };
    const target = areaTarget(limit, isDiscrete === isReversed, !isDiscrete, count, lacking);
    return { target, isDiscrete, place: { ...limit, numerator: limit.numerator * last } };
  });
  const searchOf = new Map(statistics.map((each, i) => [each, searches[i]!]));
  const own = new Map<Target, RankedValue>();
  const stepOf = ({ target, isDiscrete, place }: (typeof searches)[number]): Target | Between => {
    const value = own.get(target);
    if (value === undefined) return target;
    const { first, end } = placesOf(value, last, lacking);
    if (isDiscrete || (!isBelow(place, first) && !isBelow(end, place))) return { low: value, high: value, part: NONE };
    if (isBelow(place, first)) {
      const low = at(value.before - 1);
      if (low === undefined) return rankTarget(value.before - 1);
      return { low, high: value, part: partOf(place, placesOf(low, last, lacking).end, first) };
    }
    const high = at(value.before + value.count);
    if (high === undefined) return rankTarget(value.before + value.count);
    return { low: value, high, part: partOf(place, end, placesOf(high, last, lacking).first) };
  };
  return {
    open: () => (all > 0n ? searches.map(stepOf).filter((step) => 'isFrom' in step) : []),
    found(value, target) {
      known.push(value);
      if (target !== undefined) own.set(target, value);
    },
    resultOf(statistic) {
      if (all <= 0n) return Number.NaN;
      const { low, high, part } = stepOf(searchOf.get(statistic)!) as Between;
      if (low === high) return numberOf(low.word);
      const rest = { ...part, numerator: part.denominator - part.numerator };
      const [least, most] = [numberOf(low.word), numberOf(high.word)];
      return isReversed ? interpolated(most, least, rest) : interpolated(least, most, part);
    },
  };
}

/** A place between two values. */
interface Between {
  readonly low: RankedValue;
  readonly high: RankedValue;
  readonly part: Fraction;
}

const NONE: Fraction = { numerator: 0n, denominator: 1n };

/** The largest value such that the area of all cells with smaller values is below a limit, or just reaches it. */
function areaTarget(
  limit: Fraction,
  mayReach: boolean,
  hasNext: boolean,
  count: number,
  lacking: LackingAreas,
): Target {
  const cells = Number(limit.numerator / (limit.denominator * UNIT));
  return {
    isFrom(below, word) {
      if (below >= count) return false;
      // Whole cells mostly decide.
      if (below - lacking.least < cells) return true;
      if (below - lacking.most > cells + 1) return false;
      const area = { numerator: BigInt(below) * UNIT - lacking.below(word), denominator: 1n };
      return mayReach ? !isBelow(limit, area) : isBelow(area, limit);
    },
    hasNext,
  };
}

/** The places of the first and the last cell with a value, in units. `last` is the number of all cells but one. */
function placesOf(
  { word, before, count }: RankedValue,
  last: bigint,
  lacking: LackingAreas,
): { readonly first: Fraction; readonly end: Fraction } {
  const [cells, lackingBelow] = [BigInt(count), lacking.below(word)];
  const area = cells * UNIT - (lacking.below(word + 1) - lackingBelow);
  const first = BigInt(before) * area + last * (BigInt(before) * UNIT - lackingBelow) * cells;
  const end = first + (cells - 1n) * (area + last * area);
  return { first: { numerator: first, denominator: cells }, end: { numerator: end, denominator: cells } };
}

function isBelow(a: Fraction, b: Fraction): boolean {
  return a.numerator * b.denominator < b.numerator * a.denominator;
}

/** Which part of the way from a place to another a place between them is. */
function partOf(place: Fraction, from: Fraction, to: Fraction): Fraction {
  const distance = (a: Fraction, b: Fraction): Fraction => ({
    numerator: b.numerator * a.denominator - a.numerator * b.denominator,
    denominator: a.denominator * b.denominator,
  });
  const [passed, whole] = [distance(from, place), distance(from, to)];
  return { numerator: passed.numerator * whole.denominator, denominator: passed.denominator * whole.numerator };
}
