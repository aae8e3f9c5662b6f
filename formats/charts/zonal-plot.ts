import type { Polygons } from '../../algorithms/geometry/polygons.ts';
import type { RasterGrid } from '../../algorithms/geometry/raster.ts';
import type { AnyHistogram } from '../../algorithms/zonal/types.ts';
import { shownStatistic } from '../results/zonal-statistics.ts';
import { loadPlot } from './plot-packages.ts';
import { chooseColors } from './zonal-plot/colors.ts';
import { drawHistograms } from './zonal-plot/histograms.ts';
import { drawLegend } from './zonal-plot/legend.ts';
import { drawMap } from './zonal-plot/map.ts';
import { countText, MARGIN, MUTED, placed, svgPage, text, WIDTH } from './zonal-plot/page.ts';

/** Input of a plot. */
export interface ZonalPlot {
  readonly histogram: AnyHistogram;
  /**
   * The polygons of the zones, in the same order as the zones of the histogram. Their coordinates are those of the file
   * with the zones.
   */
  readonly polygons: Polygons;
  /**
   * Grid of the raster. The map shows only the extent of the raster. The longitudes of the raster and of the zones may
   * differ by multiples of 360°.
   */
  readonly grid: RasterGrid;
  readonly title: string;
  /** The statistic that the map shows, one of those of the histogram with a number for each zone. Default `mean`. */
  readonly statistic?: string | undefined;
  /** Maximum number of histograms to draw. The zones with the most cells are drawn. Default 24. */
  readonly facets?: number | undefined;
}

/**
 * Draws a zonal histogram as a standalone SVG: a map in which the colour of a zone shows its mean or another statistic, above a grid of
 * small histograms in the same colours. The colour scale is perceptually uniform and suits colour-blind readers.
 *
 * Geographic coordinates are drawn in an equirectangular projection that is true to scale in the middle of the map.
 * Other coordinates are not projected. The map is cropped to zones with cells; a few zones far from all others are
 * drawn in separate frames. Zones without data are grey.
 *
 * The colour scale normally covers the means of all zones. From 50 zones with data on, the scale covers only the range
 * from the 2nd to the 98th percentile of the means, so that outliers do not make all other zones look alike. If means
 * lie outside this range, the legend has ≤ or ≥ at that end. If fewer than 5 zones have data, or if all means are
 * equal, the scale also covers the bins. If the scale is still a single value, all zones and bars have the same colour.
 *
 * @throws ArgumentError `zonal/no-statistics` if the histogram has no such statistic.
 * @throws PackageError `package/missing` if the optional packages `@observablehq/plot` and `linkedom` are not
 * installed.
 */
export async function zonalPlot({
  histogram,
  polygons,
  grid,
  title,
  statistic = 'mean',
  facets = 24,
}: ZonalPlot): Promise<string> {
  const mean = shownStatistic(histogram, statistic);
  const plotting = await loadPlot();
  const colors = chooseColors(mean, histogram.bins, plotting.Plot, statistic);
  const map = drawMap(polygons, grid, histogram, mean, colors, WIDTH - 2 * MARGIN);
  const bars = drawHistograms(histogram, mean, colors, WIDTH - 2 * MARGIN, facets, plotting);
  const mapTop = 104;
  const mapEnd = mapTop + map.height + (map.insets === 0 ? 0 : 20);
  const barsTop = mapEnd + 50;
  const height = Math.ceil(bars === undefined ? mapEnd + MARGIN : barsTop + bars.height + MARGIN);
  const page = { title, subtitle: subtitle(histogram, statistic), height, width: WIDTH, longest: LONGEST_TITLE };
  return svgPage(page, [
    placed(drawLegend(mean, colors, map.showsNoData), WIDTH - MARGIN, 28),
    placed(map.svg, MARGIN, mapTop),
    ...(map.insets === 0 ? [] : [text(INSETS_NOTE, { x: MARGIN, y: mapEnd, size: 11, fill: MUTED })]),
    ...(bars === undefined
      ? []
      : [
          text(bars.heading, { x: MARGIN, y: barsTop - 14, size: 15, weight: 600 }),
          text(bars.caption, { x: MARGIN, y: barsTop + 6, size: 12, fill: MUTED }),
          `<g transform="translate(${MARGIN}, ${barsTop})">${bars.svg}</g>`,
        ]),
  ]);
}

/** Puts plots from {@link zonalPlot} below each other in one SVG. */
export function stackPlots(plots: readonly string[]): string {
  const heights = plots.map((plot) => Number(/ height="(\d+)"/.exec(plot)![1]));
  const height = heights.reduce((sum, own) => sum + own, 0);
  const tops = heights.map((_, at) => heights.slice(0, at).reduce((sum, own) => sum + own, 0));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}">`,
    ...plots.map((plot, at) =>
      plot
        .replace('<svg ', `<svg y="${tops[at]}" `)
        .replaceAll(/\bquadrille-ramp\b/g, `quadrille-ramp-${at}`)
        .trimEnd(),
    ),
    '</svg>\n',
  ].join('\n');
}

const LONGEST_TITLE = 48;
const INSETS_NOTE = 'Outlying zones are drawn below the map, each frame to a scale of its own.';

function subtitle({ names, cells }: AnyHistogram, statistic: string): string {
  const total = cells.reduce((sum, count) => sum + count, 0n);
  const met = cells.reduce((zones, count) => zones + (count > 0n ? 1 : 0), 0);
  const zones = met === names.length ? countText(met) : `${countText(met)} of ${countText(names.length)}`;
  const hold = names.length === 1 ? 'zone holds' : met === 1 ? 'zones holds' : 'zones hold';
  const shown = statistic === 'mean' ? 'Mean value' : statistic;
  return `${shown} by zone: ${zones} ${hold} ${countText(total)} cells`;
}
