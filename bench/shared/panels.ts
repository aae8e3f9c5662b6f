import { loadPlot, type Plotting } from '../../formats/charts/plot-packages.ts';
import { escapeXml, HAIRLINE, INK, MARGIN, MUTED, text } from '../../formats/charts/zonal-plot/page.ts';
import { largestOf, smallestOf } from '../../primitives/host/extremes.ts';

/** One diagram with a logarithmic y axis; points with the same name have the same colour. */
export interface Panel {
  readonly title: string;
  /** The unit of the y axis. */
  readonly unit: string;
  /** The label of the x axis. */
  readonly axis: string;
  readonly scale: 'linear' | 'log';
  readonly ticks: readonly number[];
  readonly tickText?: (tick: number) => string;
  readonly points: readonly PanelPoint[];
}

export interface PanelPoint {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  /** The style of the line through all points of this name; undefined for points without a line. */
  readonly line?: 'solid' | 'dashed';
  /** The ends of an error bar. */
  readonly spread?: { readonly low: number; readonly high: number };
}

const WIDTH = 860;
const LONE_WIDTH = 600;
const PANEL_HEIGHT = 250;
const HEADING = 30;
const TOP = 70;
const LEGEND_ROW = 20;
/**
 * Colours that people with colour blindness can tell apart. The first are by Okabe and Ito, 2008, the others by Tol,
 * 2018.
 */
const COLORS = '#0072b2 #d55e00 #009e73 #cc79a7 #e69f00 #56b4e9 #1b1e24 #882255 #999933 #332288 #aa4499 #44aa99'.split(
  ' ',
);

/** A standalone SVG with two panels per row, and one legend for all names. */
export async function drawPanels(title: string, panels: readonly Panel[]): Promise<string> {
  const plotting = await loadPlot();
  const names = [...new Set(panels.flatMap(({ points }) => points.map(({ name }) => name)))];
  const columns = Math.min(2, panels.length);
  const panelWidth = columns === 1 ? LONE_WIDTH : (WIDTH - MARGIN) / 2 - MARGIN;
  const legend = legendOf(names);
  const start = TOP + legend.below;
  const height = start + Math.ceil(panels.length / columns) * (HEADING + PANEL_HEIGHT + 16);
  const drawn = panels.map((panel, i) => {
    const left = MARGIN + (i % columns) * (panelWidth + MARGIN);
    const top = start + Math.floor(i / columns) * (HEADING + PANEL_HEIGHT + 16);
    const heading = text(panel.title, { x: left, y: top + 16, size: 13, weight: 600 });
    const chart = drawPanel(panel, names, panelWidth, plotting);
    const place = `translate(${left}, ${top + HEADING})`;
    return `${heading}<g transform="${place}" font-size="10" text-anchor="middle" fill="${INK}">${chart}</g>`;
  });
  return svgPage({ title, width: WIDTH, height }, [...legend.marks, ...drawn]);
}

/** A standalone SVG with a white ground and a title, and what is drawn on it. */
export function svgPage(
  { title, width, height }: { readonly title: string; readonly width: number; readonly height: number },
  content: readonly string[],
): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
      `font-family="system-ui, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif">`,
    `<title>${escapeXml(title)}</title>`,
    '<rect width="100%" height="100%" fill="#fff"/>',
    text(title, { x: MARGIN, y: 28, size: 16, weight: 600 }),
    ...content,
    '</svg>\n',
  ].join('\n');
}

/** Approximate width in pixels of a legend entry, which is a dot and a name. */
function widthOf(name: string): number {
  return 34 + 6.2 * name.length;
}

/** The legend as SVG elements. `below` is the height in pixels of all lines of the legend after the first. */
function legendOf(names: readonly string[]): { readonly marks: readonly string[]; readonly below: number } {
  let [left, down] = [MARGIN, 0];
  const marks = names.map((name, i) => {
    if (left > MARGIN && left + widthOf(name) > WIDTH) [left, down] = [MARGIN, down + LEGEND_ROW];
    const at = left;
    left += widthOf(name);
    const mark = `<circle cx="${Math.round(at + 5)}" cy="${down + 47}" r="4" fill="${COLORS[i % COLORS.length]}"/>`;
    return mark + text(name, { x: Math.round(at + 14), y: down + 51, size: 12 });
  });
  return { marks, below: down };
}

function drawPanel(panel: Panel, names: readonly string[], width: number, { Plot, document }: Plotting): string {
  const { axisX, axisY, dot, gridY, line, plot, ruleX } = Plot;
  const { points, scale, unit, axis, ticks, tickText = String } = panel;
  const of = (kind: PanelPoint['line']): PanelPoint[] => points.filter((point) => point.line === kind);
  const levels = levelsOf(points);
  const place = { x: 'x', y: 'y', stroke: 'name' } as const;
  const chart = plot({
    document,
    width,
    height: PANEL_HEIGHT,
    marginLeft: 48,
    marginRight: 12,
    marginBottom: 38,
    x: { type: scale, label: null },
    y: { type: 'log', label: null, domain: [levels[0]!, levels.at(-1)!] },
    color: { domain: names, range: COLORS },
    marks: [
      gridY(levels, { stroke: HAIRLINE, strokeOpacity: 1 }),
      axisY(levels, { tickSize: 0, color: MUTED, label: unit, labelAnchor: 'top', text: shortNumber }),
      axisX(ticks, { tickSize: 3, color: MUTED, text: (tick: number) => tickText(tick), label: axis }),
      line(of('solid'), { ...place, z: 'name', strokeWidth: 1.6 }),
      line(of('dashed'), { ...place, z: 'name', strokeWidth: 1.6, strokeDasharray: '4,3' }),
      ruleX(
        points.flatMap(({ spread, ...point }) => (spread === undefined ? [] : [{ ...point, ...spread }])),
        { x: 'x', y1: 'low', y2: 'high', stroke: 'name', strokeWidth: 1 },
      ),
      dot(points, { ...place, fill: 'name', r: 1.8 }),
    ],
  });
  chart.querySelector('style')?.remove();
  return chart.innerHTML;
}

/**
 * Tick values of the axis. They cover all points: powers of ten, and also their multiples by 2 and 5 if the points span
 * at most two powers.
 */
function levelsOf(points: readonly PanelPoint[]): number[] {
  const values = points.flatMap(({ y, spread }) => [y, spread?.low ?? y, spread?.high ?? y]);
  const [low, high] = [smallestOf(values), largestOf(values)];
  const steps = high / low > 100 ? [1] : [1, 2, 5];
  const all: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const step of steps) all.push(Number(`${step}e${power}`));
  }
  return all.slice(
    all.findLastIndex((level) => level <= low),
    all.findIndex((level) => level >= high) + 1,
  );
}

/** A number as short text, such as 0.01, 30, 20k or 3M. */
export function shortNumber(value: number): string {
  if (value >= 1e6) return `${value / 1e6}M`;
  return value >= 1e4 ? `${value / 1e3}k` : String(Number(value.toPrecision(3)));
}
