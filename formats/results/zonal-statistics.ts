import { columnsByName, isDefault } from '../../algorithms/zonal/statistic-columns.ts';
import type { StatisticColumn, ValueShares } from '../../algorithms/zonal/statistic-kinds.ts';
import type { AnyHistogram, ExactIntegers } from '../../algorithms/zonal/types.ts';
import { ArgumentError } from '../../primitives/checks/errors.ts';

/** What tables of statistics need of a histogram. */
export interface Tabled extends Pick<AnyHistogram, 'names' | 'cells' | 'nodata' | 'areas' | 'statistics'> {
  readonly exact?: Pick<ExactIntegers, 'statistics'> | undefined;
  /** Stands before the names of its statistics, in a table that has those of several histograms. */
  readonly prefix?: string | undefined;
}

/** The statistics of a zonal histogram by their names. Throws if they were not computed. */
function statisticsOf({ statistics }: Tabled): [name: string, column: StatisticColumn][] {
  if (statistics !== undefined) return columnsByName(statistics);
  throw new ArgumentError('zonal/no-statistics', 'The histogram was counted without statistics.', {
    remedy: 'Count with statistics: true.',
  });
}

/** A statistic of each zone, to the digit where it is an integer of 64 bits. */
export function statisticOf(
  { exact }: Tabled,
  name: string,
  column: Float64Array | BigUint64Array,
): (zone: number) => number | bigint {
  const digits = exact?.statistics[name];
  return (zone) => (digits === undefined || Number.isNaN(column[zone]) ? column[zone]! : digits[zone]!);
}

/** One or more columns of the table of statistics. */
export interface TableColumns {
  readonly names: readonly string[];
  readonly type: 'f64' | 'i64' | 'u64';
  /** The numbers of a zone. NaN is an empty field. */
  at(zone: number): readonly (number | bigint)[];
}

/**
 * The statistics of a table: those that the job named, or the numbers of cells and the statistics of jobs without a list.
 *
 * @throws ArgumentError `zonal/no-statistics` if there are none.
 */
export function tabledStatistics(histogram: Tabled): [name: string, column: StatisticColumn][] {
  const columns = statisticsOf(histogram);
  return isDefault(histogram.statistics!) ? [...cellColumns(histogram), ...columns] : columns;
}

/**
 * The columns of the table of statistics. A statistic of each value has a column for each value that any zone has.
 *
 * @throws ArgumentError `zonal/no-statistics` if there are none, `zonal/value-columns` if there are too many values.
 */
export function tableColumns(histogram: Tabled): TableColumns[] {
  const { prefix = '' } = histogram;
  return tabledStatistics(histogram).map(([name, column]) => {
    if (isOfValues(column)) return valueColumns(`${prefix}${name}`, column);
    const own = statisticOf(histogram, name, column);
    return { names: [`${prefix}${name}`], type: typeOf(histogram, name, column), at: (zone) => [own(zone)] };
  });
}

/** The columns of the numbers of cells. By fractions, those with data and those without are areas. */
export function cellColumns({ cells, nodata, areas }: Tabled): [name: string, column: StatisticColumn][] {
  if (areas === undefined) return Object.entries({ cells, nodata });
  return Object.entries({ cells, count: areas.count, nodata: areas.nodata });
}

/** The kinds of rows beside those of bins. */
export const OUTSIDE = ['nodata', 'below', 'above'] as const;

/** What bins, and the rows beside them, count: cells, or by fractions areas. */
export function binCounts({ bins, nodata, below, above, areas }: AnyHistogram): {
  readonly [kind in 'bins' | 'nodata' | 'below' | 'above']: BigUint64Array | Float64Array;
} {
  return areas ?? { bins: bins.count, nodata, below, above };
}

function typeOf({ exact }: Tabled, name: string, column: Float64Array | BigUint64Array): TableColumns['type'] {
  const digits = exact?.statistics[name];
  if (digits !== undefined) return digits instanceof BigInt64Array ? 'i64' : 'u64';
  return column instanceof BigUint64Array ? 'u64' : 'f64';
}

/** Maximum number of columns of a statistic of each value. Spreadsheets show as many. */
const MAX_COLUMNS = 16_384;

function valueColumns(name: string, column: ValueShares): TableColumns {
  const places = new Map<number | bigint, number>();
  for (const value of (column.exact ?? column.value).toSorted()) if (!places.has(value)) addPlace(name, places, value);
  const rowsOf = rowsByZone(column);
  return {
    names: [...places.keys()].map((value) => `${name}_${value}`),
    type: 'f64',
    at(zone) {
      const [from, to] = rowsOf(zone);
      // A zone with data has 0 for the values that it lacks.
      const isKnown = from < to && !Number.isNaN(column.share[from]);
      const shares = new Array<number>(places.size).fill(isKnown ? 0 : Number.NaN);
      for (let row = from; row < to; row++) shares[places.get(valueOfRow(column, row))!] = column.share[row]!;
      return shares;
    },
  };
}

function addPlace(name: string, places: Map<number | bigint, number>, value: number | bigint): void {
  if (places.size < MAX_COLUMNS) {
    places.set(value, places.size);
    return;
  }
  throw new ArgumentError('zonal/value-columns', `There are too many values for columns of ${name}.`, {
    expected: `at most ${MAX_COLUMNS} different values`,
    remedy: 'Write JSON, or count unique values, which have rows of their own.',
  });
}

/** Whether a column has a row for each pair of a zone and a value. */
export function isOfValues(column: StatisticColumn): column is ValueShares {
  return 'share' in column;
}

/** The value of a row, to the digit. */
export function valueOfRow({ value, exact }: ValueShares, row: number): number | bigint {
  return exact?.[row] ?? value[row]!;
}

/** The first row of a zone, and the row after its last, in a column of values. */
export function rowsByZone({ zone: zones }: ValueShares): (zone: number) => readonly [from: number, to: number] {
  const firstAtLeast = (zone: number): number => {
    let [low, high] = [0, zones.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (zones[middle]! < zone) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return (zone) => [firstAtLeast(zone), firstAtLeast(zone + 1)];
}

/** The statistic of each zone that a map shows. Throws if it was not computed. */
export function shownStatistic(histogram: AnyHistogram, name: string): Float64Array {
  const [, column] = statisticsOf(histogram).find(([each]) => each === name) ?? [];
  if (column instanceof Float64Array) return column;
  if (column instanceof BigUint64Array) return Float64Array.from(column, Number);
  throw new ArgumentError('zonal/no-statistics', `The histogram was counted without a number ${name} for each zone.`, {
    remedy: `Count with ${name} among the statistics.`,
  });
}
