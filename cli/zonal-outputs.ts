import { basename } from 'node:path';
import type { Polygons } from '../algorithms/geometry/polygons.ts';
import type { RasterGrid } from '../algorithms/geometry/raster.ts';
import type { Note } from '../algorithms/notes.ts';
import type { AnyHistogram, NamedStatistics } from '../algorithms/zonal/index.ts';
import { isDefault } from '../algorithms/zonal/statistic-columns.ts';
import { NAME_OF_FIELD, perStatistic } from '../algorithms/zonal/zone-statistics.ts';
import type { TableField } from '../formats/tables/table-file.ts';
import type { RowsWriter } from '../formats/tables/write/text-writers.ts';
import type { FileChunks } from '../formats/text-chunks.ts';
import { UsageError } from '../formats/usage-error.ts';
import { statisticsCsv, zonalCsv } from '../formats/zonal-csv.ts';
import { type RasterFacts, type RowsOf, statisticsJson, zonalJson, zonalJsonByRaster } from '../formats/zonal-json.ts';
import { histogramTable, statisticsTable, type ZonalTable } from '../formats/zonal-table.ts';
import type { ZoneAttribute } from '../formats/zone-attributes.ts';
import { largestOf, smallestOf } from '../primitives/host/extremes.ts';
import { isArrowFile, isJsonFile } from './values.ts';
import type { ZonalOptions } from './zonal-arguments.ts';

/** The histogram of a raster, or of the surface of several. */
export interface Counted {
  readonly histogram: AnyHistogram;
  readonly polygons: Polygons;
  /** Extent for the map. */
  readonly grid: RasterGrid;
}

/** What is known before counting. */
export interface ZonalRunFacts {
  /** Paths of the rasters. */
  readonly rasters: readonly string[];
  readonly attributes: readonly ZoneAttribute[] | undefined;
  readonly backend: string;
}

/** Appends a text to an output. */
type Write = (path: string, chunks: FileChunks) => Promise<void>;

/** Writes the outputs of one histogram, when it has been counted. */
export async function writeHistogram(
  options: ZonalOptions,
  { histogram, polygons, grid }: Counted,
  { rasters, attributes, backend, notes }: ZonalRunFacts & { readonly notes: readonly Note[] },
  write: Write,
): Promise<void> {
  const { out, stats, plot, format, quoteFormulas } = options;
  const written = withWritten(histogram, options);
  const csv = { quoteFormulas, attributes };
  const run = {
    zones: options.zones,
    raster: rasters.length === 1 ? rasters[0]! : rasters,
    backend,
    notes,
    attributes,
  };
  // The plot comes first, because it is computed as a whole and may fail.
  const picture = plot === undefined ? '' : await drawn(options, { histogram, polygons, grid }, titleOf(rasters));
  const writeArrow = async (path: string, table: ZonalTable): Promise<void> => {
    const output = arrowOutput(path, write);
    await output.add(table);
    await output.end();
  };
  if (out !== undefined && format === 'arrow') await writeArrow(out, histogramTable(histogram, { attributes }));
  else if (out !== undefined) await write(out, format === 'csv' ? zonalCsv(histogram, csv) : zonalJson(written, run));
  if (stats !== undefined && isArrowFile(stats)) await writeArrow(stats, statisticsTable(written, { attributes }));
  else if (stats !== undefined && isJsonFile(stats)) {
    const json = statisticsJson(attributes);
    await write(stats, json.rows(written));
    await write(stats, json.end());
  } else if (stats !== undefined) await write(stats, statisticsCsv(written, csv));
  if (plot !== undefined) await write(plot, [picture]);
}

/** An Arrow file, to which tables are appended as record batches. They have the columns of the first. */
function arrowOutput(path: string, write: Write) {
  let first: { readonly fields: readonly TableField[]; readonly writer: RowsWriter } | undefined;
  const append = (chunk: string | Uint8Array): Promise<void> => write(path, [chunk]);
  return {
    async add({ fields, rows }: ZonalTable): Promise<void> {
      if (first === undefined) {
        // Loads the library that writes Arrow.
        const { arrowRows } = await import('../formats/tables/write/arrow-rows.ts');
        first = { fields, writer: arrowRows(fields) };
        await append(first.writer.begin());
      }
      const other = fields.find(({ type }, at) => type !== first!.fields[at]?.type);
      if (other !== undefined) throw otherTypes(other.name);
      await append(first.writer.add(rows));
    },
    end: (): Promise<void> => append(first!.writer.end()),
  };
}

function otherTypes(column: string): UsageError {
  const sentence = `The rasters have different types of cells, so one Arrow file cannot hold their column ${column}.`;
  return new UsageError('zonal/other-types', sentence, { remedy: 'Write CSV or JSON, or a file for each raster.' });
}

/** A histogram without statistics that only the map shows. */
function withWritten(histogram: AnyHistogram, { statistics: names }: ZonalOptions): AnyHistogram {
  const { statistics } = histogram;
  if (statistics === undefined || (names === undefined && isDefault(statistics))) return histogram;
  const named = statistics as NamedStatistics;
  if (names === undefined)
    return { ...histogram, statistics: perStatistic((field) => named[NAME_OF_FIELD[field]]) as never };
  return { ...histogram, statistics: Object.fromEntries(names.map((name) => [name, named[name]!])) };
}

/** Writes the outputs of rasters that are counted by themselves, one after the other. */
export interface RasterOutputs {
  add(of: RowsOf, counted: Counted): Promise<void>;
  end(notes: readonly Note[]): Promise<void>;
}

/**
 * Begins outputs in which each raster has its own rows, with its path and band in the columns `raster` and `band`, where there are several. Rows are written as soon as
 * a raster has been counted, so that memory does not grow with the number of rasters.
 */
export function writeByRaster(
  options: ZonalOptions,
  facts: ZonalRunFacts & { readonly rasterFacts: readonly RasterFacts[] },
  write: Write,
): RasterOutputs {
  const { out, stats, plot, format, quoteFormulas } = options;
  const json = zonalJsonByRaster({
    ...facts,
    zones: options.zones,
    paths: facts.rasters,
    rasters: facts.rasterFacts,
    binning: options.binning,
  });
  const { attributes } = facts;
  const statistics = stats !== undefined && isJsonFile(stats) ? statisticsJson(attributes) : undefined;
  const arrow = {
    out: out !== undefined && format === 'arrow' ? arrowOutput(out, write) : undefined,
    stats: stats !== undefined && isArrowFile(stats) ? arrowOutput(stats, write) : undefined,
  };
  const pictures: string[] = [];
  let isFirst = true;
  return {
    async add(of, counted) {
      const histogram = withWritten(counted.histogram, options);
      const rows = { quoteFormulas, ...of, attributes, header: isFirst };
      if (plot !== undefined)
        pictures.push(
          await drawn(options, counted, titleOf(of.raster === undefined ? facts.rasters : [of.raster], of.band)),
        );
      if (out !== undefined && format === 'arrow') await arrow.out!.add(histogramTable(histogram, rows));
      if (out !== undefined && format === 'csv') await write(out, zonalCsv(histogram, rows));
      if (out !== undefined && format === 'json') await write(out, json.rows(histogram, of));
      if (arrow.stats !== undefined) await arrow.stats.add(statisticsTable(histogram, rows));
      else if (stats !== undefined) {
        await write(stats, statistics?.rows(histogram, of) ?? statisticsCsv(histogram, rows));
      }
      isFirst = false;
    },
    async end(notes) {
      await arrow.out?.end();
      await arrow.stats?.end();
      if (out !== undefined && format === 'json') await write(out, json.end(notes));
      if (stats !== undefined && statistics !== undefined) await write(stats, statistics.end());
      if (plot === undefined) return;
      const { stackPlots } = await import('../formats/zonal-plot.ts');
      await write(plot, [stackPlots(pictures)]);
    },
  };
}

/** A grid as large as all rasters together, for a map of them. */
export function unionOfGrids(rasters: readonly RasterGrid[]): RasterGrid {
  const first = rasters[0]!;
  if (rasters.length === 1) return first;
  const ends = (axis: 'X' | 'Y', side: 'width' | 'height'): number[] =>
    rasters.flatMap((raster) => {
      const origin = raster[`origin${axis}`];
      return [origin, origin + raster[side] * raster[`step${axis}`]];
    });
  const [x, y] = [ends('X', 'width'), ends('Y', 'height')];
  const [left, bottom] = [smallestOf(x), smallestOf(y)];
  const [stepX, stepY] = [Math.abs(first.stepX), Math.abs(first.stepY)];
  const [width, height] = [(largestOf(x) - left) / stepX, (largestOf(y) - bottom) / stepY];
  return { ...first, originX: left, originY: bottom, stepX, stepY, width, height };
}

function titleOf(rasters: readonly string[], band?: number): string {
  const first = basename(rasters[0]!);
  const names = rasters.length === 1 ? first : `${first} and ${rasters.length - 1} more`;
  return band === undefined ? names : `${names}, band ${band},`;
}

async function drawn(options: ZonalOptions, { histogram, polygons, grid }: Counted, title: string): Promise<string> {
  // Importing the code for charts takes a quarter of a second, so it is imported only when needed.
  const { zonalPlot } = await import('../formats/zonal-plot.ts');
  return zonalPlot({
    histogram,
    polygons,
    grid,
    statistic: options.plotStatistic,
    title: `${title} by ${options.zoneOptions.layer ?? basename(options.zones)}`,
  });
}
