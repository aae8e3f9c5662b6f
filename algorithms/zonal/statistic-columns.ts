import type { Folded, Statistic, StatisticRecords, Stored, ValueCounts } from './statistic-kinds.ts';
import { STATISTICS, type ZoneStatistics } from './statistics.ts';

/** The fields of {@link ZoneStatistics}. */
export const STATISTIC_FIELDS = Object.keys(STATISTICS) as readonly (keyof ZoneStatistics)[];

/** The names of the statistics in CSV, in JSON and in the help of the command. */
export const STATISTIC_NAMES: readonly string[] = STATISTIC_FIELDS.map((field) => STATISTICS[field].name);

/** The names as words of a sentence. */
export const STATISTICS_LISTED: string = `${STATISTIC_NAMES.slice(0, -1).join(', ')} and ${STATISTIC_NAMES.at(-1)}`;

/** A record with a value for each statistic. */
export function perStatistic<T>(of: (field: keyof ZoneStatistics) => T): {
  readonly [field in keyof ZoneStatistics]: T;
} {
  return Object.fromEntries(STATISTIC_FIELDS.map((field) => [field, of(field)])) as never;
}

/** What is known of the values of all zones at the end of a job. */
export interface ZoneValues {
  /** Of zones that have cells with data. */
  readonly folded: ReadonlyMap<number, Folded>;
  /** Undefined if no statistic needs them. */
  readonly values?: ValueCounts | undefined;
  /** The number of cells of a zone that have data. */
  dataOf(zone: number): bigint;
}

/** The columns of some statistics for `zones` zones. */
export function statisticColumns(
  records: StatisticRecords,
  zones: number,
  stored: Stored,
  found: ZoneValues,
): ZoneStatistics {
  const columns = Object.entries(records).map(([field, record]) => [field, columnOf(record, zones, stored, found)]);
  return Object.fromEntries(columns);
}

/** A column of a statistic for `zones` zones. NaN for zones that have no cells with data. */
function columnOf(statistic: Statistic, zones: number, stored: Stored, found: ZoneValues): Float64Array {
  const column = new Float64Array(zones).fill(Number.NaN);
  if ('folds' in statistic) {
    for (const [zone, folded] of found.folded) column[zone] = statistic.of(folded, found.dataOf(zone), stored);
    return column;
  }
  const { zone, value, count } = found.values!;
  for (const [from, to] of runsOf(zone))
    column[zone[from]!] = statistic.ofValues(value.subarray(from, to), count.subarray(from, to));
  return column;
}

/** The first row, and the row after the last, of each run of rows with the same zone. */
function* runsOf(zone: Uint32Array): Generator<readonly [from: number, to: number]> {
  for (let from = 0, to = 0; from < zone.length; from = to) {
    while (zone[to] === zone[from]) to++;
    yield [from, to];
  }
}
