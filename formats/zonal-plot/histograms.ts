import { axisX, axisY, gridY, plot, rect, ruleX, ruleY, text } from '@observablehq/plot';
import type { ZonalHistogram } from '../../algorithms/zonal/types.ts';
import { type BarSet, barsOf } from './bars.ts';
import { type Colors, meanText } from './colors.ts';
import type { Drawing } from './map.ts';
import { countText, HAIRLINE, INK, MUTED, niceStep, niceTicks, printable, shorten, valueText } from './page.ts';

/** Small multiples, and what to write above them. */
export interface Histograms extends Drawing {
  readonly heading: string;
  readonly caption: string;
}

const COLUMNS = 6;
const BAR_HEIGHT = 76;
const LINE_HEIGHT = 12;
const ROW_GAP = 20;
const AXIS_HEIGHT = 30;

/** Histograms of the zones with the most cells, side by side on the same scales; undefined where no zone has data. */
export async function drawHistograms(
  histogram: ZonalHistogram,
  means: Float64Array,
  colors: Colors,
  width: number,
  facets: number,
): Promise<Histograms | undefined> {
  const ranked = rankZones(histogram);
  const bars = barsOf(histogram, ranked.slice(0, facets));
  if (bars.zones.length === 0) return undefined;
  const chart = await drawBars(bars, labelsOf(histogram, means, bars, colors), colors, width);
  return {
    ...chart,
    heading: headingOf(bars.zones.length, ranked.length),
    caption: captionOf(bars),
  };
}

/** Zones that have cells in bins, those with the most cells first. */
function rankZones({ bins, cells }: ZonalHistogram): number[] {
  const zones = [...new Set(bins.zone)];
  return zones.sort((a, b) => Number(cells[b]! - cells[a]!) || a - b);
}

function headingOf(shown: number, all: number): string {
  if (shown === all) return shown === 1 ? 'Histogram' : 'Histograms';
  return `Histograms of the ${countText(shown)} zones with the most cells, of ${countText(all)}`;
}

function captionOf({ even, merged }: BarSet): string {
  const height = even ? 'share of the cells that carry data' : 'share of the cells that carry data, per unit of value';
  const bars = merged ? 'Neighbouring bins are drawn as one bar. ' : '';
  return `Height: ${height}. ${bars}The line marks the mean.`;
}

async function drawBars(bars: BarSet, labels: readonly Label[], colors: Colors, width: number): Promise<Drawing> {
  const { parseHTML } = await import('linkedom');
  const { document } = parseHTML('<!doctype html><html><body></body></html>');
  const rects = rectsOf(bars, colors);
  const lines = labels.some(({ outside }) => outside !== '') ? 3 : 2;
  const above = lines * LINE_HEIGHT + ROW_GAP;
  const height = Math.ceil(labels.length / COLUMNS) * (BAR_HEIGHT + above) + AXIS_HEIGHT;
  const facet = { fx: 'column', fy: 'row' } as const;
  const line = (number: number) =>
    ({ ...facet, frameAnchor: 'top-left', lineAnchor: 'bottom', dy: -5 - LINE_HEIGHT * (lines - number) }) as const;
  const chart = plot({
    document: document as unknown as Document,
    width,
    height,
    marginTop: above,
    marginBottom: AXIS_HEIGHT,
    marginLeft: 40,
    marginRight: 2,
    x: { domain: [bars.low, bars.high], label: null, inset: 1 },
    y: { domain: [0, Math.max(...rects.map(({ height }) => height))], label: null },
    fx: { axis: null, paddingInner: 0.14, paddingOuter: 0 },
    fy: { axis: null, paddingInner: above / (BAR_HEIGHT + above), paddingOuter: 0 },
    marks: [
      gridY({ ticks: 3, stroke: HAIRLINE, strokeOpacity: 1 }),
      axisY({ ticks: 3, tickSize: 0, color: MUTED, ...(bars.even ? { tickFormat: '.0%' } : {}) }),
      axisX(niceTicks(bars.low, bars.high, 4), { tickSize: 3, color: MUTED, tickFormat: tickText(bars) }),
      rect(rects, { ...facet, x1: 'lower', x2: 'upper', y1: 0, y2: 'height', fill: 'color', inset: 0.25 }),
      ruleX(labels, { ...facet, x: 'mean', stroke: INK, strokeWidth: 1 }),
      ruleY([0], { stroke: MUTED }),
      text(labels, { ...line(1), text: 'name', fontSize: 11, fontWeight: 600, fill: INK }),
      text(labels, { ...line(2), text: 'figures', fontSize: 9.5, fill: MUTED }),
      text(labels, { ...line(3), text: 'outside', fontSize: 9.5, fill: MUTED }),
    ],
  });
  return { svg: `<g font-size="10" text-anchor="middle" fill="currentColor">${contentOf(chart)}</g>`, height };
}

/** Without its frame and style sheet, which fit a chart to a web page and move one that is part of a drawing. */
function contentOf(chart: Element): string {
  chart.querySelector('style')?.remove();
  return chart.innerHTML;
}

const LONGEST_NAME = 22;

function tickText({ low, high }: BarSet): (value: number) => string {
  const step = niceStep((high - low) / 4);
  return (value) => valueText(value, step);
}

interface Label {
  readonly column: number;
  readonly row: number;
  /** Undefined where the mean lies outside what is drawn. */
  readonly mean: number | undefined;
  readonly name: string;
  readonly figures: string;
  /** Empty where all cells are in bins. */
  readonly outside: string;
}

function labelsOf({ names, cells }: ZonalHistogram, means: Float64Array, bars: BarSet, colors: Colors): Label[] {
  return bars.zones.map(({ zone, share }, index) => {
    const mean = means[zone]!;
    const outside = 1 - share.reduce((sum, part) => sum + part, 0);
    return {
      column: index % COLUMNS,
      row: Math.floor(index / COLUMNS),
      mean: mean >= bars.low && mean <= bars.high ? mean : undefined,
      name: shorten(printable(names[zone]!), LONGEST_NAME),
      figures: `mean ${meanText(mean, colors)} · ${countText(cells[zone]!)} cells`,
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

function rectsOf({ zones, even }: BarSet, colors: Colors): Rect[] {
  return zones.flatMap(({ lower, upper, share }, index) =>
    share.map((part, bar) => ({
      column: index % COLUMNS,
      row: Math.floor(index / COLUMNS),
      lower: lower[bar]!,
      upper: upper[bar]!,
      height: even ? part : part / (upper[bar]! - lower[bar]!),
      color: colors.colorOf(lower[bar]! / 2 + upper[bar]! / 2),
    })),
  );
}
