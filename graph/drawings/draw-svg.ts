import { requireArguments } from '../../primitives/checks/arguments.ts';
import { largestOf } from '../../primitives/host/extremes.ts';
import {
  aGraphShape,
  type DrawOptions,
  type EdgeShape,
  type GraphShape,
  type NodeCounters,
  type NodeKind,
  type NodeMeta,
  someDrawOptions,
} from '../definition/shape.ts';
import { type Layout, layeredLayout, type Point } from './layered-layout.ts';
import { escapeMarkup, formatPoint } from './markup.ts';
import { edgeLabel, nodeLabel } from './node-label.ts';

const MARGIN = 16;
const PADDING = 12;
const LINE = 16;
const GAP_X = 66;
const GAP_Y = 22;

/** Colours of a node by the side on which it runs (CPU, GPU or either): `fill` of the box, and `line` of its border. */
export const SIDE_COLOURS = {
  cpu: { fill: '#e3edf9', line: '#3f6fa8' },
  gpu: { fill: '#e2f2df', line: '#4b8a43' },
  either: { fill: '#f2e8f7', line: '#8a5aa3' },
} as const;

const TEXT = '#16202c';
const QUIET = '#52606d';

/**
 * Draws a graph as an SVG image, with its nodes in layers from left to right. The image needs no style sheet and no
 * script; its font is the reader's sans-serif font. The colour of a node shows its side (CPU or GPU), and the label of
 * an edge shows its capacity. If `counters` are given, an edge is thicker the more often it was full. Names are
 * escaped. Equal graphs give equal images.
 *
 * Work is O(nodes · edges), which is fast for graphs that are small enough to be read.
 *
 * @example
 * ```ts
 * const capacity = { items: 2, bytes: Infinity };
 * const node = { lanes: 1, capacity, runsOn: 'cpu' as const };
 * const svg = drawSvg({
 *   name: 'copy',
 *   nodes: [{ name: 'read', kind: 'source', ...node }, { name: 'write', kind: 'sink', ...node }],
 *   edges: [{ from: 'read', to: 'write', capacity }],
 * });
 * svg.startsWith('<svg') && svg.includes('>read</text>'); // true
 * ```
 */
export function drawSvg(shape: GraphShape, options: DrawOptions = {}): string {
  requireArguments('drawSvg', { shape, options }, { shape: aGraphShape, options: someDrawOptions });
  const { counters = [] } = options;
  const labels = shape.nodes.map((node) => nodeLabel(node, counters));
  const positionOf = new Map(shape.nodes.map(({ name }, i) => [name, i]));
  const layout = layeredLayout({
    boxes: labels.map((lines) => ({ width: widthOf(lines), height: lines.length * LINE + 2 * PADDING - 4 })),
    edges: shape.edges.map(({ from, to }) => ({ from: positionOf.get(from)!, to: positionOf.get(to)! })),
    gapX: GAP_X,
    gapY: GAP_Y,
  });
  const width = formatPoint(layout.width + 2 * MARGIN);
  const height = formatPoint(layout.height + 2 * MARGIN);
  const title = escapeMarkup(`Dataflow graph ${shape.name}`);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"` +
      ` role="img" aria-label="${title}" font-family="system-ui, sans-serif" font-size="12">`,
    `<title>${title}</title>`,
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"' +
      ` markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0.5 8 4 0 7.5Z" fill="${QUIET}"/></marker></defs>`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<g transform="translate(${MARGIN} ${MARGIN})">`,
    ...shape.edges.map((edge, i) => drawEdge(edge, layout.edges[i]!, counters)),
    ...shape.nodes.map((node, i) => drawNode(node, labels[i]!, layout, i)),
    '</g></svg>',
    '',
  ].join('\n');
}

/**
 * The width of a node. There is no font to measure, so widths are estimates; East Asian letters and emoji count as
 * almost two letters.
 */
function widthOf(lines: readonly string[]): number {
  const widths = lines.map((line, i) => {
    const size = i === 0 ? 14 : 12;
    let ems = 0;
    for (const character of line) ems += /[\u2E80-\uFFFF]|[^\0-\uFFFF]/u.test(character) ? 1.05 : 0.57;
    return ems * size;
  });
  return Math.max(90, Math.ceil(largestOf(widths) + 2 * PADDING));
}

const ROUNDED: ReadonlySet<NodeKind> = new Set<NodeKind>(['source', 'sink']);

function drawNode({ kind, runsOn }: NodeMeta, lines: readonly string[], layout: Layout, i: number): string {
  const { x, y } = layout.boxes[i]!;
  const width = widthOf(lines);
  const height = lines.length * LINE + 2 * PADDING - 4;
  const { fill, line } = SIDE_COLOURS[runsOn];
  const radius = ROUNDED.has(kind) ? height / 2.4 : 6;
  const box =
    `<rect x="${formatPoint(x)}" y="${formatPoint(y)}" width="${width}" height="${height}"` +
    ` rx="${formatPoint(radius)}" fill="${fill}" stroke="${line}" stroke-width="1.25"/>`;
  const texts = lines.map((text, k) => {
    const style = k === 0 ? `font-size="14" font-weight="600" fill="${TEXT}"` : `fill="${QUIET}"`;
    const baseline = formatPoint(y + PADDING + k * LINE + 11);
    return `<text x="${formatPoint(x + width / 2)}" y="${baseline}" text-anchor="middle" ${style}>${escapeMarkup(text)}</text>`;
  });
  return [box, ...texts].join('');
}

function drawEdge(edge: EdgeShape, points: readonly Point[], counters: readonly NodeCounters[]): string {
  const done = counters.find(({ name }) => name === edge.to);
  const full = done === undefined || done.in === 0 ? 0 : Math.min(1, done.stalls / done.in);
  const label = edgeLabel(edge);
  const [start, end] = [points[0]!, points.at(-1)!];
  const told = done === undefined ? '' : `: ${done.stalls} stalls, at most ${done.peak} items`;
  const ports = [
    ...(edge.fromPort === undefined ? [] : [portLabel(edge.fromPort, start.x + 5, start.y - 5, 'start')]),
    ...(edge.toPort === undefined ? [] : [portLabel(edge.toPort, end.x - 9, end.y - 5, 'end')]),
  ];
  // The label's position along the edge, away from the names of ports at the ends of the edge.
  const part = 0.5 + (edge.fromPort === undefined ? 0 : 0.15) - (edge.toPort === undefined ? 0 : 0.15);
  const middle = pointBetween(points.at(-2)!, end, part);
  const capacity =
    label === ''
      ? ''
      : `<text x="${formatPoint(middle.x)}" y="${formatPoint(middle.y + 15)}" text-anchor="middle" font-size="11"` +
        ` fill="${QUIET}" stroke="#fff" stroke-width="3" paint-order="stroke">${escapeMarkup(label)}</text>`;
  return (
    `<g><title>${escapeMarkup(`${edge.from} → ${edge.to}${told}`)}</title>` +
    `<path d="${curveThrough(points)}" fill="none" stroke="${QUIET}" stroke-width="${formatPoint(1.25 + 2 * full)}"` +
    ` marker-end="url(#tip)"/>${capacity}${ports.join('')}</g>`
  );
}

function portLabel(port: string, x: number, y: number, anchor: 'start' | 'end'): string {
  return (
    `<text x="${formatPoint(x)}" y="${formatPoint(y)}" text-anchor="${anchor}" font-size="10.5" font-style="italic"` +
    ` fill="${QUIET}" stroke="#fff" stroke-width="3" paint-order="stroke">${escapeMarkup(port)}</text>`
  );
}

/**
 * Returns a point on the curve from `a` to `b`. The curve is horizontal at both ends. `part` is the fraction of the way
 * from `a` to `b`, from 0 to 1.
 */
function pointBetween(a: Point, b: Point, part: number): Point {
  const eased = part * part * (3 - 2 * part);
  return { x: a.x + (b.x - a.x) * part, y: a.y + (b.y - a.y) * eased };
}

/** The path of a curve through points, horizontal at each point. */
function curveThrough(points: readonly Point[]): string {
  const parts = points.map(({ x, y }, i) => {
    const to = `${formatPoint(x)} ${formatPoint(y)}`;
    if (i === 0) return `M${to}`;
    const from = points[i - 1]!;
    const bend = Math.max(20, Math.abs(x - from.x) / 2);
    return `C${formatPoint(from.x + bend)} ${formatPoint(from.y)} ${formatPoint(x - bend)} ${formatPoint(y)} ${to}`;
  });
  return parts.join('');
}
