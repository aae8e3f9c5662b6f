import { type AnyHistogram, aHistogram } from '../../algorithms/zonal/types.ts';
import { requireArguments, requireOptions } from '../../primitives/checks/arguments.ts';
import { aFlag, aText, aWhole, type FieldKinds } from '../../primitives/checks/kinds.ts';
import { csvAttributes, requireAttributes, someAttributes } from '../polygons/attribute-cells.ts';
import type { ZoneAttribute } from '../polygons/zone-attributes.ts';
import { CSV_OPTIONS, type CsvOptions, fieldWriter } from '../text/csv-quote.ts';
import { inChunks } from '../text/text-chunks.ts';
import { binCounts, OUTSIDE, type Tabled, tableColumns } from './zonal-statistics.ts';

/** Options of the tables of a zonal histogram, so that one table can hold several rasters. */
export interface ZonalCsvOptions extends CsvOptions {
  /** Name of the raster, which every row then has in a first column `raster`. Default: there is no such column. */
  readonly raster?: string | undefined;
  /** Number of the band, which every row then has in a column `band`. Default: there is no such column. */
  readonly band?: number | undefined;
  /** Attributes of the zones, as `readZones` gives them: columns after `zone`. Default: none. */
  readonly attributes?: readonly ZoneAttribute[] | undefined;
  /** Whether the header is written. Default true. */
  readonly header?: boolean | undefined;
}

const ZONAL_CSV_OPTIONS: FieldKinds<ZonalCsvOptions> = {
  ...CSV_OPTIONS,
  raster: aText,
  band: aWhole(1),
  attributes: someAttributes,
  header: aFlag,
};

/**
 * Writes the histograms of all zones as CSV in long form, with one row per bin and the header `zone,lower,upper,count`.
 *
 * Zones are in input order. For each zone, its non-empty bins are listed in ascending order. Up to three rows follow:
 * one for cells without data (`zone,nodata,,n`), one for cells below the first edge (`zone,below,,n`) and one for cells
 * above the last edge (`zone,above,,n`). A row whose count would be 0 is left out. The counts of a zone add up to the
 * number of its cells. By fractions, counts are areas in cells. A zone without cells has no row in this table, but it has a row in the table of
 * {@link statisticsCsv}.
 *
 * Fields are quoted as in RFC 4180. Lines end with a line feed, which `sort`, `diff` and `awk` require. Numbers have as
 * few digits as needed to restore the f64. The text is generated in chunks of about 64 KiB, so that a large result is
 * never in memory as one string.
 *
 * @example
 * const triangle = '{ "type": "Polygon", "coordinates": [[[8.6, 46.3], [8.7, 46.3], [8.7, 46.4]]] }';
 * const { zones } = parseZones(triangle);
 * const raster = await openGeoTiff('examples/relief.tif');
 * const binning = { kind: 'even', low: 0, high: 3000, width: 1500 } as const;
 * const histogram = await zonalHistogram(ctx, { zones, raster, binning });
 * await raster.close();
 * [...zonalCsv(histogram)].join('').split('\n')[1]; // '0,0,1500,2132'
 */
export function zonalCsv(histogram: AnyHistogram, options: ZonalCsvOptions = {}): Generator<string, void, undefined> {
  requireArguments('zonalCsv', { histogram }, { histogram: aHistogram });
  requireOptions('zonalCsv', ZONAL_CSV_OPTIONS, options);
  return inChunks(histogramRows(histogram, options));
}

/**
 * Writes the statistics of all zones as CSV, with one row per zone and the header `zone,cells,nodata,min,max,mean,sum`.
 *
 * `cells` is the number of cells in a zone, and `nodata` is the number of its cells without data. `min`, `max`, `mean`
 * and `sum` are computed from the cells with data; they are empty if there are no such cells. Every zone has a row; for
 * zones outside the raster, `cells` is 0. If the job named statistics, the columns after `zone` are these, in the order of
 * the list, as in `zone,count,mean`. By fractions, `count` stands before `nodata`, and both are areas. `frac` has a column `frac_VALUE` for each value that any zone has.
 *
 * @throws ArgumentError `zonal/no-statistics` if the histogram has no statistics; `zonal/value-columns` if `frac` would have
 * more than 16,384 columns.
 * @example
 * const triangle = '{ "type": "Polygon", "coordinates": [[[8.6, 46.3], [8.7, 46.3], [8.7, 46.4]]] }';
 * const { zones } = parseZones(triangle);
 * const raster = await openGeoTiff('examples/relief.tif');
 * const binning = { kind: 'even', low: 0, high: 3000, width: 1500 } as const;
 * const histogram = await zonalHistogram(ctx, { zones, raster, binning, statistics: true });
 * await raster.close();
 * [...statisticsCsv(histogram)].join('').split('\n')[1].slice(0, 11); // '0,7260,1474'
 */
export function statisticsCsv(
  histogram: AnyHistogram,
  options: ZonalCsvOptions = {},
): Generator<string, void, undefined> {
  requireArguments('statisticsCsv', { histogram }, { histogram: aHistogram });
  requireOptions('statisticsCsv', ZONAL_CSV_OPTIONS, options);
  return inChunks(statisticsRows([histogram], options));
}

/** The header of a table with these columns behind those of zones, and what comes before them in each row. */
function tableOf(
  names: readonly string[],
  columns: readonly string[],
  options: ZonalCsvOptions,
): { readonly header: string; readonly rowOf: (zone: number) => string } {
  const { raster, band, attributes = [], header = true } = options;
  const quote = fieldWriter(options);
  const first = [...(raster === undefined ? [] : ['raster']), ...(band === undefined ? [] : ['band']), 'zone'];
  requireAttributes(attributes, [...first, ...columns], names.length);
  const line = [...first, ...attributes.map(({ name }) => name), ...columns].map(quote).join();
  const before = `${raster === undefined ? '' : `${quote(raster)},`}${band === undefined ? '' : `${band},`}`;
  const textOf = csvAttributes(attributes, options);
  return { header: header ? `${line}\n` : '', rowOf: (zone) => `${before}${quote(names[zone]!)}${textOf(zone)}` };
}

/** Lines are joined up to this length before they are passed on, which saves a third of the time. */
const CHARACTERS_AT_ONCE = 4096;

function* histogramRows(histogram: AnyHistogram, options: ZonalCsvOptions): Generator<string> {
  const { names, bins, exact } = histogram;
  const counts = binCounts(histogram);
  const { header, rowOf } = tableOf(names, ['lower', 'upper', 'count'], options);
  const { zone: zones } = bins;
  const { lower, upper } = exact?.values ? { lower: exact.values, upper: exact.values } : bins;
  let text = header;
  let bin = 0;
  for (const zone of names.keys()) {
    const field = rowOf(zone);
    for (; zones[bin] === zone; bin++) {
      text += `${field},${lower[bin]},${upper[bin]},${counts.bins[bin]}\n`;
      if (text.length < CHARACTERS_AT_ONCE) continue;
      yield text;
      text = '';
    }
    for (const kind of OUTSIDE) {
      if (histogram[kind][zone] !== 0n) text += `${field},${kind},,${counts[kind][zone]}\n`;
    }
  }
  yield text;
}

/** A row for each zone, with the statistics of all `tables`, which have the same zones. */
export function* statisticsRows(tables: readonly Tabled[], options: ZonalCsvOptions): Generator<string> {
  const { names } = tables[0]!;
  const columns = tables.flatMap(tableColumns);
  const columnNames = columns.flatMap((column) => column.names);
  const { header, rowOf } = tableOf(names, columnNames, options);
  yield header;
  for (const zone of names.keys()) {
    const values = columns.flatMap((column) => column.at(zone).map(fieldOf));
    yield `${[rowOf(zone), ...values].join()}\n`;
  }
}

/** A number in a table: empty if it is not a number. */
function fieldOf(value: number | bigint): string {
  return Number.isNaN(value) ? '' : String(value);
}
