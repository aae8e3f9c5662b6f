import { type Flaw, type Kind, where } from '../../primitives/checks/kinds.ts';
import { nearestName, remedyFor } from '../../primitives/checks/suggest.ts';
import { memoized } from '../../primitives/ir/memo.ts';
import type { Pixels } from './pixels.ts';
import type { Statistic, StatisticColumn, StatisticFamily, StatisticRecords, ValueShares } from './statistic-kinds.ts';
import { STATISTICS } from './statistics.ts';

/** Exact statistics of the cells of each zone that have data, as columns with one row per zone. */
export interface ZoneStatistics {
  /** Minimum and maximum of the values. NaN if no cell of the zone has data. */
  readonly minimum: Float64Array;
  readonly maximum: Float64Array;
  /** The f64 nearest to the exact mean of the cells that have data. It is rounded once, not computed from `sum`. */
  readonly mean: Float64Array;
  /**
   * The f64 nearest to the exact sum, rounded half to even, also for subnormal sums. Scaled values,
   * `stored · scale + offset`, are summed exactly. NaN if no cell has data, or if both infinities occur.
   */
  readonly sum: Float64Array;
}

/**
 * Statistics that a list named, by these names and in this order, as columns with one row per zone. Numbers of cells and
 * of values are integers, and `count` and `nodata` are areas by fractions; all others are NaN where no cell of the zone has data. `frac` has a row for each pair of a zone
 * and a value.
 */
export type NamedStatistics<N extends string = string, P extends Pixels = 'center'> = {
  readonly [name in N]: ColumnOf<name, P>;
};

type ColumnOf<N extends string, P extends Pixels> = string extends N
  ? StatisticColumn
  : N extends 'cells' | 'variety'
    ? BigUint64Array
    : N extends 'count' | 'nodata'
      ? AreaOrNumber<P>
      : N extends 'frac'
        ? ValueShares
        : Float64Array;

type AreaOrNumber<P extends Pixels> = P extends 'fractional' ? Float64Array : BigUint64Array;

/** Which statistics a job asks for: those of {@link ZoneStatistics}, none, or those that a list names. */
export type ChosenStatistics = boolean | readonly string[];

/** The statistics of a result, by what the job asked for. */
export type StatisticsOf<S extends ChosenStatistics, P extends Pixels = 'center'> = S extends readonly (infer N extends
  string)[]
  ? NamedStatistics<N, P>
  : S extends true
    ? ZoneStatistics
    : undefined;

/** The names of the statistics of {@link ZoneStatistics}, by their fields. */
export const NAME_OF_FIELD: { readonly [field in keyof ZoneStatistics]: string } = {
  minimum: 'min',
  maximum: 'max',
  mean: 'mean',
  sum: 'sum',
};

/** The fields of {@link ZoneStatistics}, in the order of CSV and JSON. */
export const STATISTIC_FIELDS = Object.keys(NAME_OF_FIELD) as readonly (keyof ZoneStatistics)[];

/** The names of the statistics of {@link ZoneStatistics}. */
export const DEFAULT_NAMES: readonly string[] = Object.values(NAME_OF_FIELD);

/** A record with a value for each statistic of {@link ZoneStatistics}. */
export function perStatistic<T>(of: (field: keyof ZoneStatistics) => T): {
  readonly [field in keyof ZoneStatistics]: T;
} {
  return Object.fromEntries(STATISTIC_FIELDS.map((field) => [field, of(field)])) as never;
}

/** The records of {@link ZoneStatistics}. */
export const DEFAULT_STATISTICS: StatisticRecords = perStatistic((field) => statisticNamed(NAME_OF_FIELD[field])!);

/** The records of a list of names that `someStatisticNames` has accepted, by these names. */
export const statisticsNamed: (names: readonly string[]) => StatisticRecords = memoized((names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, statisticNamed(name)!])),
);

/** The statistic of a name such as `mean` or `quantile(0.9)`. Undefined if there is none. */
function statisticNamed(text: string): Statistic | undefined {
  const { name, parameter } = wordsOf(text);
  const record = STATISTICS.find((each) => each.name === name);
  if (record === undefined) return undefined;
  if (!isFamily(record)) return parameter === undefined ? record : undefined;
  const number = parameter !== undefined && /^(\d+\.?\d*|\.\d+)$/.test(parameter) ? Number(parameter) : Number.NaN;
  return number >= 0 && number <= 1 ? record.of(number) : undefined;
}

function isFamily(record: Statistic | StatisticFamily): record is StatisticFamily {
  return 'parameter' in record;
}

/** Those of some names of statistics that need weights. */
export function weightedAmong(names: readonly string[]): readonly string[] {
  const needsWeights = (record: Statistic): boolean => 'folds' in record && record.folds.includes('weights');
  return names.filter((name) => needsWeights(statisticNamed(name)!));
}

/** The word before the parentheses, and what stands in them. */
function wordsOf(text: string): { readonly name: string; readonly parameter: string | undefined } {
  const [, name, parameter] = /^([^()]*)\(([^()]*)\)$/.exec(text) ?? [];
  return { name: name ?? text, parameter };
}

/** What lists can name, with the parameters of families (`quantile(q)`), and what it is. */
export const STATISTICS_DESCRIBED: readonly (readonly [name: string, meaning: string])[] = STATISTICS.map((record) => [
  isFamily(record) ? `${record.name}(${record.parameter})` : record.name,
  record.meaning,
]);

/** What is wrong with a name of a statistic. Undefined if there is such a statistic. */
function flawOfName(text: string): Pick<Flaw, 'expected' | 'remedy'> | undefined {
  if (statisticNamed(text) !== undefined) return undefined;
  const { name, parameter } = wordsOf(text);
  const record = STATISTICS.find((each) => each.name === name);
  const instead = REFUSED.get(name);
  if (instead !== undefined) return { expected: 'a statistic that is offered', remedy: instead };
  if (record === undefined) {
    const quantile = quantileMeant(text);
    if (quantile !== undefined) return { expected: 'the name of a statistic', remedy: `Did you mean ${quantile}?` };
    const bare = STATISTICS.map((each) => each.name);
    const meant = nearestName(MEANT.get(name.toLowerCase()) ?? name, bare);
    const written = STATISTICS_DESCRIBED.map(([each]) => each);
    const others = `Choose from ${written.join(', ')}.`;
    return { expected: 'the name of a statistic', remedy: remedyFor(written[bare.indexOf(meant ?? '')], others) };
  }
  if (!isFamily(record)) return { expected: `${name} without parentheses`, remedy: `Write ${name}.` };
  const percent = Number(parameter ?? Number.NaN);
  const meant = percent > 1 && percent <= 100 ? percent / 100 : undefined;
  const remedy = meant === undefined ? `Write it as ${name}(0.9).` : `Did you mean ${name}(${meant})?`;
  return { expected: `${name} of a number from 0 to 1, such as ${name}(0.9)`, remedy };
}

/** The quantile that other programs name so: `percentile_90`, `p90`, `pct(90)`, `percentile_cont(0.9)`, `quantile_90`. */
function quantileMeant(text: string): string | undefined {
  const pattern = /^(p|pct|perc|percentile|quantile)(_disc|_cont|)[ _(]*(\d+\.?\d*|\.\d+)[ %)]*$/;
  const [, word, kind, number] = pattern.exec(text.toLowerCase()) ?? [];
  if (number === undefined || Number(number) > 100) return undefined;
  const mayBeShare = number.includes('.') || word === 'quantile' || kind !== '';
  const share = Number(number) <= 1 && mayBeShare ? Number(number) : Number(`${number}e-2`);
  return `quantile${kind === '_disc' ? '_disc' : ''}(${share})`;
}

/** Statistics of other programs that are not offered, with what to do. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  [
    'weighted_frac',
    'Count a raster that is 1 where the value is, and else 0: its weighted_mean is the share of that value.',
  ],
]);

/** Names that other programs have for statistics. */
const MEANT: ReadonlyMap<string, string> = new Map(
  Object.entries({
    minimum: 'min',
    maximum: 'max',
    average: 'mean',
    avg: 'mean',
    total: 'sum',
    std: 'stdev',
    sd: 'stdev',
    stddev: 'stdev',
    var: 'variance',
    majority: 'mode',
    unique: 'variety',
    percentile: 'quantile',
  }),
);

/** Accepts a list of names of statistics, each once. */
const someStatisticNames: Kind = (given, path) => {
  if (!Array.isArray(given) || given.length === 0) return { path, part: given, expected: 'names of statistics' };
  for (const [at, name] of given.entries()) {
    const place = { path: `${path}[${at}]`, part: name as unknown };
    if (typeof name !== 'string') return { ...place, expected: 'the name of a statistic' };
    const flaw = flawOfName(name);
    if (flaw !== undefined) return { ...place, ...flaw, code: 'zonal/statistic' };
    if (given.indexOf(name) === at) continue;
    return { ...place, expected: 'named only once', code: 'zonal/statistic', remedy: `Name ${name} once.` };
  }
  return undefined;
};

/** Accepts what {@link ChosenStatistics} may be. */
export const aChoiceOfStatistics: Kind = (given, path, homes) =>
  (Array.isArray(given) ? someStatisticNames : aFlagOrNames)(given, path, homes);

const aFlagOrNames = where('a boolean, or names of statistics', (given) => typeof given === 'boolean');
