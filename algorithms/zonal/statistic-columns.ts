import { anInstance, aRecord, eitherOf, type Kind, optional, someRecord } from '../../primitives/checks/kinds.ts';
import { exactArray } from '../geometry/raster.ts';
import { inCells, UNIT, type ZoneAreas } from './areas.ts';
import type {
  FoldedZones,
  Integers,
  RankStatistic,
  ShareStatistic,
  Statistic,
  StatisticColumn,
  StatisticRecords,
  Stored,
  ValueCounts,
  ValueShares,
  ValueStatistic,
  ValuesOf,
} from './statistic-kinds.ts';
import { NAME_OF_FIELD, type NamedStatistics, STATISTIC_FIELDS, type ZoneStatistics } from './zone-statistics.ts';

/** What is known of the values of all zones at the end of a job. */
export interface ZoneValues {
  /** For each zone, its number of cells, and of those without data. */
  readonly cells: BigUint64Array;
  readonly nodata: BigUint64Array;
  /** By fractions: the areas of these cells. */
  readonly areas?: ZoneAreas | undefined;
  /** Of zones that have cells with data. */
  readonly folded: FoldedZones;
  /** Undefined if no statistic needs them. */
  readonly values?: ValueCounts | undefined;
  /** Undefined if ranks are among `values`. */
  readonly ranks?: RankColumns | undefined;
}

/** The columns of statistics whose ranks were selected. */
export interface RankColumns {
  columnOf(statistic: RankStatistic): ArrayLike<number | bigint>;
}

/** The columns of some statistics; of those that are one of the values, integers of 64 bits to the digit, too. */
export interface StatisticColumns {
  readonly statistics: NamedStatistics;
  /** By their names in CSV and JSON. */
  readonly exact: { readonly [name: string]: Integers };
}

export function statisticColumns(records: StatisticRecords, stored: Stored, found: ZoneValues): StatisticColumns {
  const [statistics, exact]: [Record<string, StatisticColumn>, Record<string, Integers>] = [{}, {}];
  for (const [field, record] of Object.entries(records)) {
    const isExact = record.isValue === true && stored.scaling === undefined;
    const digits = isExact ? exactArray(stored.sample, found.cells.length) : undefined;
    statistics[field] = columnOf(record, stored, found, digits);
    if (digits !== undefined) exact[NAME_OF_FIELD[field as keyof ZoneStatistics] ?? field] = digits;
  }
  return { statistics, exact };
}

/** @param digits - Gets the digits of the values, where there are some. */
function columnOf(
  statistic: Statistic,
  stored: Stored,
  found: ZoneValues,
  digits: Integers | undefined,
): StatisticColumn {
  const { cells, nodata, areas } = found;
  if ('ofCells' in statistic && areas && statistic.ofAreas) {
    const of = statistic.ofAreas;
    return Float64Array.from(areas.data, (data, zone) => inCells(of(data, areas.lacking[zone]!)));
  }
  if ('ofCells' in statistic) return cells.map((count, zone) => statistic.ofCells(count, nodata[zone]!));
  if ('ofEach' in statistic) return sharesOf(statistic, found.values!, areas);
  if ('isCount' in statistic) {
    const numbers = cells.map(() => 0n);
    for (const { zone, values, counts } of valuesByZone(found.values!))
      numbers[zone] = BigInt(statistic.ofValues(values, counts));
    return numbers;
  }
  const column = new Float64Array(cells.length).fill(Number.NaN);
  const put = (zone: number, value: number | bigint): void => {
    column[zone] = Number(value);
    if (digits !== undefined && !Number.isNaN(value)) digits[zone] = value as bigint;
  };
  // By fractions: nothing is known of values whose shares are together below their unit.
  const isKnown = (zone: number): boolean => areas === undefined || areas.data[zone]! > 0n;
  if ('folds' in statistic) {
    const dataOf = (zone: number): bigint => areas?.data[zone] ?? cells[zone]! - nodata[zone]!;
    const unit = areas === undefined ? 1n : UNIT;
    for (const [zone, folded] of found.folded) put(zone, statistic.of(folded, dataOf(zone), stored, unit));
  } else if ('ofRanked' in statistic && found.ranks !== undefined) {
    const ranked = found.ranks.columnOf(statistic);
    for (let zone = 0; zone < ranked.length; zone++) if (isKnown(zone)) put(zone, ranked[zone]!);
  } else {
    const of = 'ofRanked' in statistic ? rankedOf(statistic) : (statistic as ValueStatistic).ofValues;
    for (const { zone, values, counts } of valuesByZone(found.values!))
      if (isKnown(zone)) put(zone, of(values, counts));
  }
  return column;
}

/** Finds the values at the ranks of a statistic among the values of a zone. */
function rankedOf({ ranksOf, ofRanked }: RankStatistic): ValueStatistic['ofValues'] {
  return (values, counts) => {
    const count = Number(sumOf(counts));
    let [at, passed] = [0, Number(counts[0])];
    const found = ranksOf(count).map((rank) => {
      while (passed <= rank) passed += Number(counts[++at]);
      return values[at]!;
    });
    return ofRanked(found, count);
  };
}

function sharesOf({ ofEach }: ShareStatistic, found: ValueCounts, areas: ZoneAreas | undefined): ValueShares {
  const share = new Float64Array(found.zone.length);
  for (const { zone, from, counts } of valuesByZone(found)) {
    const data = areas?.data[zone] ?? sumOf(counts);
    for (let i = 0; i < counts.length; i++) {
      const count = counts[i]! > 0n ? counts[i]! : 0n;
      share[from + i] = data > 0n ? ofEach(count, data) : Number.NaN;
    }
  }
  return { zone: found.zone, value: found.value, exact: found.exact, share };
}

interface ValuesOfZone {
  readonly zone: number;
  /** The row of its first value. */
  readonly from: number;
  readonly values: ValuesOf;
  /** Numbers of cells; by fractions their areas. */
  readonly counts: Counts;
}

type Counts = BigUint64Array | BigInt64Array;

function sumOf(counts: Counts): bigint {
  let sum = 0n;
  for (const count of counts) sum += count;
  return sum;
}

function* valuesByZone({ zone, value, exact: digits, count, area }: ValueCounts): Generator<ValuesOfZone> {
  for (let from = 0, to = 0; from < zone.length; from = to) {
    while (zone[to] === zone[from]) to++;
    const [values, counts] = [(digits ?? value).subarray(from, to), (area ?? count).subarray(from, to)];
    yield { zone: zone[from]!, from, values, counts };
  }
}

/** The columns of the statistics of a result, by their names in CSV and JSON. */
export function columnsByName(statistics: object): [name: string, column: StatisticColumn][] {
  if (!isDefault(statistics)) return Object.entries<StatisticColumn>(statistics as never);
  return STATISTIC_FIELDS.map((field) => [NAME_OF_FIELD[field], statistics[field]]);
}

/** Whether the statistics of a result are those of jobs without a list. */
export function isDefault(statistics: object): statistics is ZoneStatistics {
  return STATISTIC_FIELDS.every((field) => Object.hasOwn(statistics, field));
}

const aColumn: Kind = eitherOf(
  'a column of a statistic',
  anInstance(Float64Array, BigUint64Array),
  aRecord<ValueShares>({
    zone: anInstance(Uint32Array),
    value: anInstance(Float64Array),
    exact: optional(anInstance(BigInt64Array, BigUint64Array)),
    share: anInstance(Float64Array),
  }),
);

/** Accepts records whose fields are columns of a kind. */
export function columnsOf(kind: Kind): Kind {
  return (given, path, homes) => {
    const flaw = someRecord(given, path, homes);
    if (flaw !== undefined) return flaw;
    for (const [name, column] of Object.entries(given as object)) {
      const wrong = kind(column, `${path}.${name}`, homes);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  };
}

/** Accepts the statistics of a result. */
export const someStatistics: Kind = columnsOf(aColumn);
