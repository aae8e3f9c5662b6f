import type { AnyHistogram } from '../../../algorithms/zonal/types.ts';
import { largestOf } from '../../../primitives/host/extremes.ts';
import { chartElement, type Plotting } from '../plot-packages.ts';
import { type BarSet, barsOf } from './bars.ts';
import { type Colors, meanText } from './colors.ts';
import type { Drawing } from './map.ts';
import { countText, HAIRLINE, HALO, INK, MUTED, niceStep, niceTicks, printable, shorten, valueText } from './page.ts';

/** A grid of small histograms, with a heading and a caption. */
export interface Histograms extends Drawing {
  readonly heading: string;
  readonly caption: string;
}

const MAX_COLUMNS = 6;
/** Height of the bars divided by the width of a histogram. The height in pixels is at most TALLEST. */
const SHAPE = 0.435;
const TALLEST = 320;
const LINE_HEIGHT = 12;
const ROW_GAP = 20;
const AXIS_HEIGHT = 30;
const TICK_WIDTH = 80;
const TICK_HEIGHT = 40;

/**
 * Draws the histograms of the `facets` zones with the most cells. The histograms are side by side and have the same
 * axes. Returns undefined if no zone has cells in bins.
 */
export function drawHistograms(
  histogram: AnyHistogram,
  means: Float64Array,
  colors: Colors,
  width: number,
  facets: number,
  plotting: Plotting,
): Histograms | undefined {
  const ranked = rankZones(histogram);
  const bars = barsOf(histogram, ranked.slice(0, facets));
  if (bars.zones.length === 0) return undefined;
  const chart = drawBars(bars, labelsOf(histogram, means, bars, colors), colors, width, plotting);
  return {
    ...chart,
    heading: headingOf(bars.zones.length, ranked.length),
    caption: captionOf(bars, colors, histogram.areas ? 'the area that carries' : 'the cells that carry'),
  };
}

/** The zones that have cells in bins, in descending order of `cells`, which also counts cells outside the bins. */
function rankZones({ bins, cells, areas }: AnyHistogram): number[] {
  const zones = [...new Set(bins.zone)].filter((zone) => areas?.count[zone] !== 0);
  return zones.sort((a, b) => Number(cells[b]! - cells[a]!) || a - b);
}

function headingOf(shown: number, all: number): string {
  if (shown === all) return shown === 1 ? 'Histogram' : 'Histograms';
  return `Histograms of the ${countText(shown)} zones with the most cells, of ${countText(all)}`;
}

function captionOf({ even, merged }: BarSet, { name, isValue }: Colors, whole: string): string {
  const height = even ? `share of ${whole} data` : `share of ${whole} data, per unit of value`;
  const bars = merged ? 'Neighbouring bins are drawn as one bar. ' : '';
  const line = isValue ? `The line marks the ${name}.` : '';
  return `Height: ${height}. ${bars}${line}`.trimEnd();
}

function drawBars(
  bars: BarSet,
  labels: readonly Label[],
  colors: Colors,
  width: number,
  { Plot, document }: Plotting,
): Drawing {
  const { axisX, axisY, gridY, plot, rect, ruleX, ruleY, text } = Plot;
  const rects = rectsOf(bars, colors);
  const lines = labels.some(({ outside }) => outside !== '') ? 3 : 2;
  const above = lines * LINE_HEIGHT + ROW_GAP;
  const columns = columnsOf(bars);
  const barHeight = Math.min(TALLEST, Math.round((SHAPE * width) / columns));
  const rows = Math.ceil(labels.length / columns);
  const height = rows * (barHeight + above) + AXIS_HEIGHT;
  const xTicks = Math.max(4, Math.round(width / columns / TICK_WIDTH));
  const yTicks = Math.max(3, Math.round(barHeight / TICK_HEIGHT));
  const facet = { fx: 'column', fy: 'row' } as const;
  const line = (number: number) =>
    ({ ...facet, frameAnchor: 'top-left', lineAnchor: 'bottom', dy: -5 - LINE_HEIGHT * (lines - number) }) as const;
  const chart = plot({
    document,
    width,
    height,
    marginTop: above,
    marginBottom: AXIS_HEIGHT,
    marginLeft: 40,
    marginRight: 2,
    x: { domain: [bars.low, bars.high], label: null, inset: 1 },
    y: { domain: [0, largestOf(rects.map(({ height }) => height))], label: null },
    // If there is only one column, padding would only make the column narrower.
    fx: { axis: null, paddingInner: columns === 1 ? 0 : 0.14, paddingOuter: 0 },
    fy: { axis: null, paddingInner: rows === 1 ? 0 : above / (barHeight + above), paddingOuter: 0 },
    marks: [
      gridY({ ticks: yTicks, stroke: HAIRLINE, strokeOpacity: 1 }),
      axisY({ ticks: yTicks, tickSize: 0, color: MUTED, ...(bars.even ? { tickFormat: '.0%' } : {}) }),
      axisX(niceTicks(bars.low, bars.high, xTicks), { tickSize: 3, color: MUTED, tickFormat: tickText(bars, xTicks) }),
      rect(rects, { ...facet, x1: 'lower', x2: 'upper', y1: 0, y2: 'height', fill: 'color', inset: 0.25 }),
      // The dark line has a light outline, so that it is visible on dark bars.
      ruleX(labels, { ...facet, x: 'mean', stroke: HALO, strokeWidth: 3.5, strokeOpacity: 0.85 }),
      ruleX(labels, { ...facet, x: 'mean', stroke: INK, strokeWidth: 1 }),
      ruleY([0], { stroke: MUTED }),
      text(labels, { ...line(1), text: 'name', fontSize: 11, fontWeight: 600, fill: INK }),
      text(labels, { ...line(2), text: 'figures', fontSize: 9.5, fill: MUTED }),
      text(labels, { ...line(3), text: 'outside', fontSize: 9.5, fill: MUTED }),
    ],
  });
  return { svg: chartElement(chart, 10), height };
}

const LONGEST_NAME = 22;

function columnsOf({ zones }: BarSet): number {
  return Math.min(MAX_COLUMNS, zones.length);
}

function tickText({ low, high }: BarSet, ticks: number): (value: number) => string {
  const step = niceStep((high - low) / ticks);
  return (value) => valueText(value, step);
}

interface Label {
  readonly column: number;
  readonly row: number;
  /** The statistic of the zone; undefined if it lies outside the axis or is no value. */
  readonly mean: number | undefined;
  readonly name: string;
  readonly figures: string;
  /** Text that states which percentage of the cells with data lies outside the bins; empty if hardly any does. */
  readonly outside: string;
}

function labelsOf({ names, cells }: AnyHistogram, means: Float64Array, bars: BarSet, colors: Colors): Label[] {
  const columns = columnsOf(bars);
  const longestName = Math.floor((LONGEST_NAME * MAX_COLUMNS) / columns);
  return bars.zones.map(({ zone, share }, index) => {
    const mean = means[zone]!;
    const outside = 1 - share.reduce((sum, part) => sum + part, 0);
    return {
      column: index % columns,
      row: Math.floor(index / columns),
      mean: colors.isValue && mean >= bars.low && mean <= bars.high ? mean : undefined,
      name: shorten(printable(names[zone]!), longestName),
      figures: `${colors.name} ${meanText(mean, colors)} · ${countText(cells[zone]!)} cells`,
      outside: outside > 5e-4 ? `${(outside * 100).toFixed(1)}% outside the bins` : '',
    };
  });
}

interface Rect {
  readonly column: number;
  readonly row: number;
  readonly lower: number;
  readonly upper: number;
  readonly height: number;
  readonly color: string;
}

function rectsOf(bars: BarSet, colors: Colors): Rect[] {
  const { zones, even } = bars;
  const columns = columnsOf(bars);
  return zones.flatMap(({ lower, upper, share }, index) =>
    share.map((part, bar) => ({
      column: index % columns,
      row: Math.floor(index / columns),
      lower: lower[bar]!,
      upper: upper[bar]!,
      height: even ? part : part / (upper[bar]! - lower[bar]!),
      color: colors.barColorOf(lower[bar]! / 2 + upper[bar]! / 2),
    })),
  );
}
