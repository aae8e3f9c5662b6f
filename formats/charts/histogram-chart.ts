import { chartElement, loadPlot } from './plot-packages.ts';
import { countText, HAIRLINE, HALO, INK, MARGIN, MUTED, NARROW } from './zonal-plot/page.ts';

/** Default colour of bars. In print and for colour-blind readers, the colour is distinguishable from a dark line. */
export const BAR = '#4878a8';

export interface HistogramBar {
  readonly lower: number;
  readonly upper: number;
  readonly count: number;
  readonly color: string;
}

/** Data and appearance of a histogram. */
export interface HistogramChart {
  readonly height: number;
  readonly bars: readonly HistogramBar[];
  /** Start of the horizontal axis. Default 0. */
  readonly start?: number | undefined;
  /** End of the horizontal axis. */
  readonly end: number;
  /** Label of the horizontal axis. */
  readonly label: string;
  /** Approximate number of ticks on each axis. The vertical axis has fewer ticks if all counts are small. */
  readonly ticks: { readonly x: number; readonly y: number };
  /** A value, such as the mean, that is marked by a vertical line with a name. There is no line if `x` is NaN. */
  readonly named?: { readonly x: number; readonly name: string } | undefined;
  /** Values that are marked by faint vertical lines. */
  readonly limits?: readonly number[];
}

/**
 * Draws a histogram as an SVG `<g>` element, as wide as a drawing with one chart is without its margins.
 *
 * @throws PackageError `package/missing` if the optional packages `@observablehq/plot` and `linkedom` are not
 * installed.
 */
export async function histogramChart(given: HistogramChart): Promise<string> {
  const { height, bars, start = 0, end, label, ticks, named, limits = [] } = given;
  const { Plot, document } = await loadPlot();
  const { axisX, axisY, gridY, plot, rect, ruleX, ruleY, text } = Plot;
  const max = bars.reduce((max, { count }) => Math.max(max, count), 1);
  const countTicks = Math.min(ticks.y, max);
  const names = named === undefined || Number.isNaN(named.x) ? [] : [named];
  const chart = plot({
    document,
    width: NARROW - 2 * MARGIN,
    height,
    marginTop: 20,
    marginLeft: 52,
    marginRight: 8,
    marginBottom: 40,
    x: { domain: [start, end], label: null },
    y: { domain: [0, max], label: null },
    marks: [
      gridY({ ticks: countTicks, stroke: HAIRLINE, strokeOpacity: 1 }),
      axisY({ ticks: countTicks, tickSize: 0, color: MUTED, tickFormat: countText }),
      axisX({ ticks: ticks.x, tickSize: 3, color: MUTED, label, labelAnchor: 'center', labelArrow: 'none' }),
      rect(bars, { x1: 'lower', x2: 'upper', y1: 0, y2: 'count', fill: 'color', inset: 0.5 }),
      ruleX(limits, { stroke: MUTED, strokeDasharray: '3,3' }),
      ruleX(names, { x: 'x', stroke: HALO, strokeWidth: 3.5, strokeOpacity: 0.85 }),
      ruleX(names, { x: 'x', stroke: INK }),
      text(names, {
        x: 'x',
        text: 'name',
        frameAnchor: 'top',
        lineAnchor: 'bottom',
        dy: -4,
        fill: INK,
        fontWeight: 600,
      }),
      ruleY([0], { stroke: MUTED }),
    ],
  });
  return chartElement(chart, 11);
}
