import { OutOfMemoryError } from '../../primitives/checks/errors.ts';
import { bytesText } from '../bytes-text.ts';
import type { Sheets } from '../geometry/sheets.ts';
import type { GridPolygons } from './grid-polygons.ts';

/**
 * Replaces the rings of polygons whose parts overlap by the outlines of the pixels that any of their parts contains.
 * These outlines are rectilinear and are filled by the even-odd rule. Other polygons keep their rings.
 *
 * Visits only the rows of a polygon in which an edge changes its column: O(visited rows · edges that cross a row). The
 * number of visited rows is at most the number of corners of the outlines of all parts.
 *
 * @throws OutOfMemoryError `pixelbox/outlines`.
 */
export function uniteParts(
  grid: GridPolygons,
  { ringSheets, overlapping }: Sheets,
  { memoryBytes, file }: { readonly memoryBytes: number; readonly file?: string | undefined },
): GridPolygons {
  const { polygonRings, ringVertices, x, y } = grid;
  const out: Outlines = { polygonRings: [0], ringVertices: [0], x: [], y: [], memoryBytes, file };
  let next = 0;
  for (let polygon = 0; polygon + 1 < polygonRings.length; polygon++) {
    const rings: Rings = [polygonRings[polygon]!, polygonRings[polygon + 1]!];
    if (overlapping[next] === polygon) {
      next++;
      addOutline(out, edgesOf(grid, ringSheets, rings));
    } else {
      for (let ring = rings[0]; ring < rings[1]; ring++) {
        for (let v = ringVertices[ring]!; v < ringVertices[ring + 1]!; v++) addVertex(out, x[v]!, y[v]!);
        out.ringVertices.push(out.x.length);
      }
    }
    out.polygonRings.push(out.ringVertices.length - 1);
  }
  return {
    polygonRings: Uint32Array.from(out.polygonRings),
    ringVertices: Uint32Array.from(out.ringVertices),
    x: Int32Array.from(out.x),
    y: Int32Array.from(out.y),
  };
}

type Rings = readonly [first: number, end: number];

/** Growing columns of the resulting polygons. */
interface Outlines {
  readonly polygonRings: number[];
  readonly ringVertices: number[];
  readonly x: number[];
  readonly y: number[];
  readonly memoryBytes: number;
  readonly file: string | undefined;
}

function addVertex(out: Outlines, x: number, y: number): void {
  out.x.push(x);
  out.y.push(y);
}

/** An edge that is not horizontal, described from its upper end. Rows count downwards. */
interface Edge {
  readonly sheet: number;
  readonly x: number;
  readonly top: number;
  readonly bottom: number;
  /** Number of columns that the edge passes from its upper to its lower end. Negative if it goes to the left. */
  readonly run: number;
}

function edgesOf({ ringVertices, x, y }: GridPolygons, ringSheets: Uint32Array, [first, end]: Rings): Edge[] {
  const edges: Edge[] = [];
  for (let ring = first; ring < end; ring++) {
    const [from, to] = [ringVertices[ring]!, ringVertices[ring + 1]!];
    for (let v = from, u = to - 1; v < to; u = v++) {
      if (y[u] === y[v]) continue;
      const [upper, lower] = y[u]! < y[v]! ? [u, v] : [v, u];
      const [top, bottom] = [y[upper]!, y[lower]!];
      edges.push({ sheet: ringSheets[ring]!, x: x[upper]!, top, bottom, run: x[lower]! - x[upper]! });
    }
  }
  return edges.sort((a, b) => a.top - b.top);
}

/** Adds the outline of all pixels that at least one sheet (a group of parts that do not overlap) contains. */
function addOutline(out: Outlines, edges: readonly Edge[]): void {
  const corners: Corners = { x: [], y: [], beneath: [], open: new Map() };
  const bottoms = edges.map(({ bottom }) => bottom).sort((a, b) => a - b);
  let active: Edge[] = [];
  let sides: readonly number[] = [];
  let [next, done] = [0, 0];
  for (let row = edges[0]?.top ?? 0; ; ) {
    active = active.filter(({ bottom }) => bottom > row);
    while (next < edges.length && edges[next]!.top === row) active.push(edges[next++]!);
    while (bottoms[done]! <= row) done++;
    const below = sidesOf(active, row);
    addCorners(corners, row, sides, below);
    requireRoom(out, corners);
    sides = below;
    if (done === bottoms.length) break;
    const stop = Math.min(bottoms[done]!, edges[next]?.top ?? Infinity);
    row = active.reduce((min, edge) => Math.min(min, nextColumnRow(edge, row)), stop);
  }
  linkRings(out, corners);
}

/** The columns at which the union of all sheets begins and ends in a row of pixels: begin, end, begin, end, … */
function sidesOf(active: readonly Edge[], row: number): number[] {
  const crossings = active.map((edge) => ({ column: columnIn(edge, row), sheet: edge.sheet }));
  crossings.sort((a, b) => a.column - b.column);
  const holding = new Set<number>();
  const sides: number[] = [];
  for (let at = 0; at < crossings.length; ) {
    const { column } = crossings[at]!;
    const wasInside = holding.size > 0;
    for (; crossings[at]?.column === column; at++) {
      const { sheet } = crossings[at]!;
      if (!holding.delete(sheet)) holding.add(sheet);
    }
    if (holding.size > 0 !== wasInside) sides.push(column);
  }
  return sides;
}

/** The first column whose pixel in the given row has its centre on or right of an edge. */
function columnIn({ x, top, bottom, run }: Edge, row: number): number {
  const height = bottom - top;
  // Equals x + ⌈(run · (2t + 1) / height − 1) / 2⌉ for row t of the edge, where t counts from 0.
  return run === 0 ? x : x - floorOf(-run, 2 * (row - top) + 1, height, 2 * height);
}

/** The next row after `row` in which an edge changes its column. If no such row follows, a row below the edge. */
function nextColumnRow(edge: Edge, row: number): number {
  const { x, top, bottom, run } = edge;
  if (run === 0) return Infinity;
  const [height, width] = [bottom - top, Math.abs(run)];
  const passed = Math.abs(columnIn(edge, row) - x);
  // An edge that goes right stays in a column until it is past the column's centre. An edge that goes left is in a
  // column as soon as it reaches the column's centre.
  const rows =
    run > 0
      ? floorOf(height, 2 * passed + 1, -width, 2 * width) + 1
      : -floorOf(-height, 2 * passed + 1, width, 2 * width);
  return Math.max(row + 1, top + rows);
}

/** ⌊(a · b + c) / d⌋ of integers, with d above 0. Exact for products of any size. */
function floorOf(a: number, b: number, c: number, d: number): number {
  const dividend = a * b + c;
  if (Math.abs(a * b) + Math.abs(c) >= 2 ** 53) {
    const [exact, by] = [BigInt(a) * BigInt(b) + BigInt(c), BigInt(d)];
    const quotient = exact / by;
    return Number(quotient * by > exact ? quotient - 1n : quotient);
  }
  const quotient = Math.floor(dividend / d);
  // The quotient of two f64 may have been rounded up to the next integer.
  return quotient * d > dividend ? quotient - 1 : quotient;
}

/** Corners of an outline, row by row from left to right. Corners 2 i and 2 i + 1 are the ends of a horizontal edge. */
interface Corners {
  readonly x: number[];
  readonly y: number[];
  /** For each corner, the corner at the other end of its vertical edge, which may be above or below. */
  readonly beneath: number[];
  /** The corners whose vertical edges continue downwards, by column. */
  readonly open: Map<number, number>;
}

/** Adds the corners between two rows. There is a corner wherever only one of the rows has a side. */
function addCorners(corners: Corners, row: number, above: readonly number[], below: readonly number[]): void {
  const add = (column: number): void => {
    const corner = corners.x.length;
    const upper = corners.open.get(column);
    corners.x.push(column);
    corners.y.push(row);
    corners.beneath.push(upper ?? -1);
    if (upper === undefined) corners.open.set(column, corner);
    else {
      corners.beneath[upper] = corner;
      corners.open.delete(column);
    }
  };
  for (let [a, b] = [0, 0]; a < above.length || b < below.length; ) {
    const [left, right] = [above[a] ?? Infinity, below[b] ?? Infinity];
    if (left !== right) add(Math.min(left, right));
    if (left <= right) a++;
    if (right <= left) b++;
  }
}

const BYTES_PER_CORNER = 64;

function requireRoom({ memoryBytes, file, x: vertices, polygonRings }: Outlines, { x: corners }: Corners): void {
  const needed = BYTES_PER_CORNER * (corners.length + vertices.length);
  if (needed <= memoryBytes) return;
  throw new OutOfMemoryError('pixelbox/outlines', 'The outlines of united parts have too many corners.', {
    expected: `at most ${bytesText(memoryBytes)}`,
    got: `${bytesText(needed)} for ${corners.length + vertices.length} corners or more`,
    remedy: 'Choose larger pixels (--pixel-size), merge the parts beforehand, or raise the limit (--memory).',
    place: { file, record: polygonRings.length - 1 },
  });
}

/** Makes rings from the corners: follows horizontal and vertical edges alternately. */
function linkRings(out: Outlines, { x, y, beneath }: Corners): void {
  for (let first = 0; first < x.length; first += 2) {
    if (beneath[first] === VISITED) continue;
    for (let corner = first; beneath[corner] !== VISITED; ) {
      const beside = corner ^ 1;
      addVertex(out, x[corner]!, y[corner]!);
      addVertex(out, x[beside]!, y[beside]!);
      beneath[corner] = VISITED;
      corner = beneath[beside]!;
      beneath[beside] = VISITED;
    }
    out.ringVertices.push(out.x.length);
  }
}

const VISITED = -1;
