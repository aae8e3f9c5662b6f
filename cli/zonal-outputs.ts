import { basename } from 'node:path';
import type { Zones } from '../algorithms/geometry/polygons.ts';
import type { RasterGrid } from '../algorithms/geometry/raster.ts';
import type { Note } from '../algorithms/notes.ts';
import type { AnyHistogram, NamedStatistics } from '../algorithms/zonal/index.ts';
import { isDefault } from '../algorithms/zonal/statistic-columns.ts';
import { NAME_OF_FIELD, perStatistic } from '../algorithms/zonal/zone-statistics.ts';
import type { WrittenZones } from '../formats/polygons/write/layer-writer.ts';
import type { ZoneAttribute } from '../formats/polygons/zone-attributes.ts';
import { zonalCsv } from '../formats/results/zonal-csv.ts';
import { type RasterFacts, type RowsOf, zonalJson, zonalJsonByRaster } from '../formats/results/zonal-json.ts';
import { histogramTable } from '../formats/results/zonal-table.ts';
import { largestOf, smallestOf } from '../primitives/host/extremes.ts';
import type { ZonalOptions } from './zonal-arguments.ts';
import { arrowOutput, statisticsOutput, type Write, wideOutput } from './zonal-tables.ts';

/** The histogram of a raster, or of the surface of several. */
export interface Counted {
  readonly histogram: AnyHistogram;
  /** Extent for the map. */
  readonly grid: RasterGrid;
}

/** What is known before counting. */
export interface ZonalRunFacts {
  /** Paths of the rasters. */
  readonly rasters: readonly string[];
  readonly zones: Zones;
  /** The zones as a layer has them. */
  readonly features: WrittenZones;
  readonly attributes: readonly ZoneAttribute[] | undefined;
  readonly backend: string;
}

/** Writes the outputs of one histogram, when it has been counted. */
export async function writeHistogram(
  options: ZonalOptions,
  { histogram, grid }: Counted,
  { rasters, zones, features, attributes, backend, notes }: ZonalRunFacts & { readonly notes: readonly Note[] },
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
  const picture = plot === undefined ? '' : await drawn(options, zones, { histogram, grid }, titleOf(rasters));
  if (out !== undefined && format === 'arrow') {
    const output = arrowOutput(out, write);
    await output.add(histogramTable(histogram, { attributes }));
    await output.end();
  } else if (out !== undefined) await write(out, format === 'csv' ? zonalCsv(histogram, csv) : zonalJson(written, run));
  if (stats !== undefined) {
    const output = statisticsOutput(stats, { ...csv, zones: features }, write);
    await output.add({}, written);
    await output.end();
  }
  if (plot !== undefined) await write(plot, [picture]);
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
 * Begins outputs in which each raster has its own rows, with its path and band in the columns `raster` and `band`, where
 * there are several. Rows are written as soon as a raster has been counted, so that memory does not grow with the number of
 * rasters. With `prefixes`, statistics are columns of one table instead; see {@link wideOutput}.
 */
export function writeByRaster(
  options: ZonalOptions,
  facts: ZonalRunFacts & {
    readonly rasterFacts: readonly RasterFacts[];
    readonly prefixes: readonly string[] | undefined;
  },
  write: Write,
): RasterOutputs {
  const { out, stats, plot, format, quoteFormulas, memoryBytes } = options;
  const { zones, features, attributes, prefixes } = facts;
  const json = zonalJsonByRaster({
    ...facts,
    zones: options.zones,
    paths: facts.rasters,
    rasters: facts.rasterFacts,
    binning: options.binning,
  });
  const arrow = out !== undefined && format === 'arrow' ? arrowOutput(out, write) : undefined;
  const statistics =
    stats === undefined
      ? undefined
      : prefixes === undefined
        ? statisticsOutput(stats, { zones: features, attributes, quoteFormulas }, write)
        : wideOutput(stats, prefixes, { zones: features, attributes, quoteFormulas }, memoryBytes, write);
  const pictures: string[] = [];
  let isFirst = true;
  return {
    async add(of, counted) {
      const histogram = withWritten(counted.histogram, options);
      const rows = { quoteFormulas, ...of, attributes, header: isFirst };
      if (plot !== undefined)
        pictures.push(
          await drawn(options, zones, counted, titleOf(of.raster === undefined ? facts.rasters : [of.raster], of.band)),
        );
      await arrow?.add(histogramTable(histogram, rows));
      if (out !== undefined && format === 'csv') await write(out, zonalCsv(histogram, rows));
      if (out !== undefined && format === 'json') await write(out, json.rows(histogram, of));
      await statistics?.add(of, histogram);
      isFirst = false;
    },
    async end(notes) {
      await arrow?.end();
      if (out !== undefined && format === 'json') await write(out, json.end(notes));
      await statistics?.end();
      if (plot === undefined) return;
      const { stackPlots } = await import('../formats/charts/zonal-plot.ts');
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

async function drawn(
  options: ZonalOptions,
  { polygons }: Zones,
  { histogram, grid }: Counted,
  title: string,
): Promise<string> {
  // Importing the code for charts takes a quarter of a second, so it is imported only when needed.
  const { zonalPlot } = await import('../formats/charts/zonal-plot.ts');
  return zonalPlot({
    histogram,
    polygons,
    grid,
    statistic: options.plotStatistic,
    title: `${title} by ${options.zoneOptions.layer ?? basename(options.zones)}`,
  });
}
