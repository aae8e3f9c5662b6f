import type { HostColumn } from '../../algorithms/tables/host-table.ts';
import type { AnyHistogram } from '../../algorithms/zonal/types.ts';
import { requireAttributes } from '../polygons/attribute-cells.ts';
import type { ZoneAttribute } from '../polygons/zone-attributes.ts';
import { fieldOfColumn, type TableField } from '../tables/table-file.ts';
import { textColumn } from '../tables/text-column.ts';
import { nullsOf } from '../tables/write/cell-text.ts';
import type { Rows } from '../tables/write/text-writers.ts';
import { binCounts, OUTSIDE, type TableColumns, type Tabled, tableColumns } from './zonal-statistics.ts';

/** A table with types, for formats that have them. */
export interface ZonalTable {
  readonly fields: readonly TableField[];
  readonly rows: Rows;
}

/** What rows of a table have in common, and the attributes of their zones. */
export interface ZonalRows {
  /** Name of the raster, in a first column `raster`. Undefined: there is no such column. */
  readonly raster?: string | undefined;
  /** Number of the band, in a column `band`. Undefined: there is no such column. */
  readonly band?: number | undefined;
  readonly attributes?: readonly ZoneAttribute[] | undefined;
}

/** The table of `statisticsCsv`: a row for each zone. What is blank there is null. */
export function statisticsTable(histogram: AnyHistogram, options: ZonalRows = {}): ZonalTable {
  return rowsOfZones(histogram.names, tableColumns(histogram), Uint32Array.from(histogram.names.keys()), options);
}

/** About how many cells a part of a wide table has. */
const CELLS_AT_ONCE = 2 ** 20;

/** A table with the statistics of all `tables`, which have the same zones, in parts of some zones. */
export function* wideTables(tables: readonly Tabled[], options: ZonalRows): Generator<ZonalTable> {
  const { names } = tables[0]!;
  const columns = tables.flatMap(tableColumns);
  const across = columns.reduce((sum, some) => sum + some.names.length, 0);
  const rows = Math.ceil(CELLS_AT_ONCE / across);
  for (let from = 0; from === 0 || from < names.length; from += rows) {
    const zones = Uint32Array.from({ length: Math.min(rows, names.length - from) }, (_, at) => from + at);
    yield rowsOfZones(names, columns, zones, options);
  }
}

function rowsOfZones(
  names: readonly string[],
  columns: readonly TableColumns[],
  zones: Uint32Array,
  options: ZonalRows,
): ZonalTable {
  const statistics = columns.flatMap((some) => numberColumns(some, zones));
  return tableOf(names, zones, statistics, options);
}

/**
 * The table of `zonalCsv`: a row for each bin, whose `kind` is `bin`. In rows of cells without data, below and above the
 * bins, `kind` is `nodata`, `below` or `above`, and the edges are null. By fractions, counts are areas in cells.
 */
export function histogramTable(histogram: AnyHistogram, options: ZonalRows = {}): ZonalTable {
  const { names, bins, exact } = histogram;
  const [zones, kinds, places, counts]: [number[], number[], number[], (number | bigint)[]] = [[], [], [], []];
  const counted = binCounts(histogram);
  const add = (zone: number, kind: number, place: number, count: number | bigint): void => {
    zones.push(zone);
    kinds.push(kind);
    places.push(place);
    counts.push(count);
  };
  let bin = 0;
  for (const zone of names.keys()) {
    for (; bins.zone[bin] === zone; bin++) add(zone, 0, bin, counted.bins[bin]!);
    for (const [at, kind] of OUTSIDE.entries()) {
      if (histogram[kind][zone] !== 0n) add(zone, at + 1, -1, counted[kind][zone]!);
    }
  }
  const edge = (edges: ArrayLike<number | bigint>): HostColumn =>
    numberColumn(
      exact?.values === undefined ? 'f64' : exact.values instanceof BigInt64Array ? 'i64' : 'u64',
      places.map((place) => (place === -1 ? Number.NaN : edges[place]!)),
    );
  const columns: NamedColumn[] = [
    ['kind', { type: 'string', codes: Uint32Array.from(kinds), dictionary: ['bin', ...OUTSIDE] }],
    ['lower', edge(exact?.values ?? bins.lower)],
    ['upper', edge(exact?.values ?? bins.upper)],
    ['count', histogram.areas ? areas(counts) : { type: 'u64', values: BigUint64Array.from(counts as bigint[]) }],
  ];
  return tableOf(names, Uint32Array.from(zones), columns, options);
}

const areas = (cells: readonly (number | bigint)[]): HostColumn => ({
  type: 'f64',
  values: Float64Array.from(cells as number[]),
});

type NamedColumn = readonly [name: string, column: HostColumn];

/** A table whose row i is one of zone `zones[i]`. */
function tableOf(
  names: readonly string[],
  zones: Uint32Array,
  columns: readonly NamedColumn[],
  { raster, band, attributes = [] }: ZonalRows,
): ZonalTable {
  const first: NamedColumn[] = raster === undefined ? [] : [['raster', sameText(raster, zones.length)]];
  if (band !== undefined) first.push(['band', { type: 'u32', values: new Uint32Array(zones.length).fill(band) }]);
  first.push(['zone', textColumn(Array.from(zones, (zone) => names[zone]!))]);
  requireAttributes(
    attributes,
    [...first, ...columns].map(([name]) => name),
    names.length,
  );
  const own = attributes.map(({ name, column }): NamedColumn => [name, rowsOf(column, zones)]);
  const all = [...first, ...own, ...columns];
  return {
    fields: all.map(([name, column]) => fieldOfColumn(name, column)),
    rows: { rows: zones.length, columns: Object.fromEntries(all) },
  };
}

function sameText(text: string, rows: number): HostColumn {
  return { type: 'string', codes: new Uint32Array(rows), dictionary: [text] };
}

function numberColumns({ names, type, at }: TableColumns, zones: Uint32Array): NamedColumn[] {
  const rows = Array.from(zones, at);
  return names.map((name, i) => [
    name,
    numberColumn(
      type,
      rows.map((row) => row[i]!),
    ),
  ]);
}

/** A column in which NaN is null. It may always have nulls, so that those of several rasters have one type. */
function numberColumn(type: 'f64' | 'i64' | 'u64', values: readonly (number | bigint)[]): HostColumn {
  const validity = bitsOf(values.length, (row) => !Number.isNaN(values[row]));
  const whole = (value: number | bigint): bigint => (typeof value === 'bigint' ? value : 0n);
  if (type === 'i64') return { type, values: BigInt64Array.from(values, whole), validity };
  if (type === 'u64') return { type, values: BigUint64Array.from(values, whole), validity };
  return { type, values: Float64Array.from(values, Number), validity };
}

/** Some rows of a column, which may stand in several places. */
function rowsOf(column: HostColumn, rows: Uint32Array): HostColumn {
  const isNull = nullsOf(column);
  const validity = column.validity && bitsOf(rows.length, (row) => !isNull(rows[row]!));
  if (column.type === 'string') return { ...column, codes: rows.map((row) => column.codes[row]!), validity };
  const { values } = column;
  const own = new (values.constructor as new (length: number) => typeof values)(rows.length);
  for (const [at, row] of rows.entries()) own[at] = values[row]!;
  return { ...column, values: own, validity } as HostColumn;
}

function bitsOf(rows: number, isSet: (row: number) => boolean): Uint32Array {
  const bits = new Uint32Array(Math.ceil(rows / 32));
  for (let row = 0; row < rows; row++) if (isSet(row)) bits[row >> 5]! |= 1 << (row & 31);
  return bits;
}
