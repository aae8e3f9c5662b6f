import { BAR, histogramChart } from './histogram-chart.ts';
import { chartPage, countText } from './zonal-plot/page.ts';

/** Data of a plot of distances. */
export interface DistancePlot {
  readonly title: string;
  /** Name of the metric with which the distances were computed, such as `l2`. */
  readonly metric: string;
  readonly queries: number;
  readonly count: number;
  /** Number of infinite distances. They are not drawn. */
  readonly infinite: number;
  readonly mean: number | null;
  /** Number of distances in each bin. All bins have the same width. The first bin begins at `start`. */
  readonly histogram: { readonly start: number; readonly width: number; readonly counts: readonly number[] };
}

const CHART_TOP = 96;
const CHART_HEIGHT = 300;

/**
 * Draws the distribution of the distances of neighbours as a standalone SVG: a histogram in which the mean is marked.
 *
 * @throws PackageError `package/missing` if the optional packages `@observablehq/plot` and `linkedom` are not
 * installed.
 */
export async function distancePlot(plot: DistancePlot): Promise<string> {
  return chartPage(plot.title, subtitle(plot), await drawDistances(plot), CHART_TOP, CHART_HEIGHT);
}

function subtitle({ queries, count, infinite }: DistancePlot): string {
  const beyond = infinite === 0 ? '' : `; ${plural(infinite, 'infinite distance')} not shown`;
  return `${plural(count, 'distance')} of ${plural(queries, 'query')}${beyond}`;
}

function plural(count: number, thing: string): string {
  if (count === 1) return `1 ${thing}`;
  return `${countText(count)} ${thing === 'query' ? 'queries' : `${thing}s`}`;
}

function drawDistances({ metric, mean, histogram: { start, width, counts } }: DistancePlot): Promise<string> {
  const bars = counts.map((count, bin) => ({
    lower: start + bin * width,
    upper: start + (bin + 1) * width,
    count,
    color: BAR,
  }));
  return histogramChart({
    height: CHART_HEIGHT,
    bars,
    start,
    end: bars.at(-1)?.upper ?? start + 1,
    label: `distance (${metric})`,
    ticks: { x: 10, y: 6 },
    named: mean === null ? undefined : { x: mean, name: `mean ${Number(mean.toPrecision(3))}` },
  });
}
