import { loadPlot } from '../../formats/charts/plot-packages.ts';
import { HAIRLINE, INK, MARGIN, MUTED, text } from '../../formats/charts/zonal-plot/page.ts';
import { largestOf, smallestOf } from '../../primitives/host/extremes.ts';
import { grouped } from '../shared/grouped.ts';
import { drawPanels, type Panel, type PanelPoint, svgPage } from '../shared/panels.ts';
import { type Row, rateOf, withinNoise } from './row.ts';
import { byCase, digits, sizeText } from './tables.ts';

/** The experiment that copies memory. Its times or rates are the reference line in all panels. */
const COPY = 'copy';

/** One panel per pair of experiment and element type. */
function panelsOf(rows: readonly Row[], unit: string, pointsOf: (alike: readonly Row[]) => PanelPoint[]): Panel[] {
  return [...grouped(rows, ({ experiment, type }) => `${experiment} ${type}`)].flatMap(([title, alike]) => {
    const points = pointsOf(alike).filter(({ x, y }) => x > 0 && y > 0 && Number.isFinite(y));
    const ticks = [...new Set(points.map(({ x }) => x))].sort((a, b) => a - b);
    const panel = {
      title,
      unit,
      axis: 'elements',
      scale: 'log',
      ticks: thinned(ticks),
      tickText: sizeText,
      points,
    } as const;
    return points.length === 0 ? [] : [panel];
  });
}

const MAX_TICKS = 8;

function thinned(ticks: readonly number[]): number[] {
  const step = Math.ceil(ticks.length / MAX_TICKS);
  return ticks.filter((_, i) => i % step === 0);
}

/** Returns points, joined by dashed lines: the fastest memcpy's time or rate for each size and kind of hardware. */
function memcpyPoints(rows: readonly Row[], amountOf: (row: Row) => number | undefined): PanelPoint[] {
  const copies = rows.filter(({ experiment, type }) => experiment === COPY && type === 'u32');
  const fastest = new Map<string, Row>();
  for (const row of copies) {
    const key = `${row.hardware} ${row.n}`;
    const known = fastest.get(key);
    if (known === undefined || row.time.median < known.time.median) fastest.set(key, row);
  }
  return [...fastest.values()].map((row) => ({
    name: `memcpy (${row.hardware})`,
    x: row.n,
    y: amountOf(row) ?? Number.NaN,
    line: 'dashed',
  }));
}

/** A standalone SVG of time against number of elements, on logarithmic axes. */
export function timePlot(rows: readonly Row[]): Promise<string> {
  return drawLines('Time of a call', rows, 'ms', (_, time) => time / 1e6);
}

/**
 * A standalone SVG of the rate against number of elements: the minimum bytes to read and write, divided by the time.
 */
export function ratePlot(rows: readonly Row[]): Promise<string> {
  return drawLines('Bytes moved by time', rows, 'GB/s', rateOf);
}

function drawLines(
  title: string,
  rows: readonly Row[],
  unit: string,
  amountAt: (row: Row, time: number) => number | undefined,
): Promise<string> {
  const amountOf = (row: Row): number | undefined => amountAt(row, row.time.median);
  const spreadOf = (row: Row): { readonly low: number; readonly high: number } => {
    const ends = [amountAt(row, row.time.min)!, amountAt(row, row.time.max)!];
    return { low: smallestOf(ends), high: largestOf(ends) };
  };
  const copies = memcpyPoints(rows, amountOf);
  const panels = panelsOf(rows, unit, (alike) => {
    const known = alike.filter((row) => amountOf(row) !== undefined);
    const sizes = new Set(known.map(({ n }) => n));
    return [
      ...known.map(
        (row): PanelPoint => ({
          ...{ name: row.candidate, x: row.n, y: amountOf(row)!, line: 'solid' },
          spread: spreadOf(row),
        }),
      ),
      ...(known.length === 0 ? [] : copies.filter(({ x }) => sizes.has(x))),
    ];
  });
  return panels.length === 0 ? emptyDrawing(title) : drawPanels(title, panels);
}

interface Bar {
  readonly name: string;
  readonly low: number;
  readonly high: number;
  /** The least and the greatest ratio of any two rounds. */
  readonly least: number;
  readonly most: number;
  readonly ratio: string;
  readonly color: string;
}

const WIDTH = 860;
const TOP = 84;
const BAR_HEIGHT = 18;
const NAME_WIDTH = 320;
const FASTER = '#0072b2';
const SLOWER = '#d55e00';

/**
 * A standalone SVG of ratios: a peer's time divided by a backend's time, at the largest size that was measured for
 * both. Blue bars to the right mean that the backend is faster; orange bars to the left mean that the peer is faster.
 * Grey bars are within the noise: some round of the one was faster than some round of the other, and the reverse. Lines
 * reach from the least to the greatest ratio of two rounds.
 */
export async function ratioPlot(rows: readonly Row[]): Promise<string> {
  const title = 'Time of peers by time of backends';
  const bars = barsOf(rows);
  if (bars.length === 0) return emptyDrawing(title);
  const { Plot, document } = await loadPlot();
  const { axisX, axisY, text: label, plot, rect, ruleX, ruleY } = Plot;
  const height = bars.length * BAR_HEIGHT + 50;
  const ends = bars.flatMap(({ low, high, least, most }) => [low, high, least, most]);
  const [low, high] = [smallestOf(ends, 0.5) / 1.3, largestOf(ends, 2) * 1.3];
  const chart = plot({
    document,
    width: WIDTH - 2 * MARGIN,
    height,
    marginLeft: NAME_WIDTH,
    marginBottom: 40,
    x: { type: 'log', label: null, domain: [low, high] },
    y: { domain: bars.map(({ name }) => name), label: null, padding: 0.25 },
    marks: [
      axisX({
        ticks: 6,
        tickSize: 3,
        color: MUTED,
        tickFormat: (tick: number) => String(tick),
        label: 'times as long',
        labelAnchor: 'center',
        labelArrow: 'none',
      }),
      axisY({ tickSize: 0, color: INK }),
      rect(bars, { y: 'name', x1: 'low', x2: 'high', fill: 'color' }),
      ruleY(bars, { y: 'name', x1: 'least', x2: 'most', stroke: INK }),
      label(bars, {
        y: 'name',
        x: ({ high, most }: Bar) => Math.max(high, most),
        text: 'ratio',
        textAnchor: 'start',
        dx: 4,
        fill: INK,
        fontSize: 9.5,
      }),
      ruleX([low], { stroke: HAIRLINE }),
      ruleX([1], { stroke: INK }),
    ],
  });
  chart.querySelector('style')?.remove();
  return framed(
    title,
    'Right of 1 the backend is faster. Grey is within the noise; lines are the spread of the rounds.',
    TOP + height,
    [
      `<g transform="translate(${MARGIN}, ${TOP})" font-size="10.5" text-anchor="middle" fill="${INK}">${chart.innerHTML}</g>`,
    ],
  );
}

/**
 * One bar for every pair of a backend and a peer that ran the same experiment for the same type, at the largest size
 * that was measured for both.
 */
function barsOf(rows: readonly Row[]): Bar[] {
  const bars = new Map<string, Bar>();
  for (const { experiment, type, n, rows: alike } of [...byCase(rows)].sort((a, b) => a.n - b.n)) {
    for (const ours of alike.filter(({ kind }) => kind === 'backend')) {
      for (const peer of alike.filter(({ kind }) => kind === 'peer')) {
        const ratio = peer.time.median / ours.time.median;
        const isNoise = withinNoise(peer.time, ours.time);
        const key = `${experiment} ${type}: ${ours.candidate}, ${peer.candidate}`;
        bars.set(key, {
          name: `${experiment} ${type} ${sizeText(n)}: ${ours.candidate} and ${peer.candidate}`,
          low: Math.min(1, ratio),
          high: Math.max(1, ratio),
          least: peer.time.min / ours.time.max,
          most: peer.time.max / ours.time.min,
          ratio: isNoise ? `≈ ${digits(ratio)}` : digits(ratio),
          color: isNoise ? HAIRLINE : ratio >= 1 ? FASTER : SLOWER,
        });
      }
    }
  }
  const order = [...new Set(rows.map(({ experiment, type }) => `${experiment} ${type}:`))];
  const rank = (key: string): number => order.findIndex((start) => key.startsWith(start));
  return [...bars].sort(([a], [b]) => rank(a) - rank(b)).map(([, bar]) => bar);
}

/** A drawing whose text says that this run has no data for the diagram. */
async function emptyDrawing(title: string): Promise<string> {
  return framed(title, 'Nothing was measured that could be drawn.', TOP, []);
}

function framed(title: string, subtitle: string, height: number, content: readonly string[]): string {
  const below = text(subtitle, { x: MARGIN, y: 51, size: 12, fill: MUTED });
  return svgPage({ title, width: WIDTH, height }, [below, ...content]);
}
