import { type HostMaqTree, type HostMaqTreeWithEdges, hasEdges } from '../../../algorithms/maq-tree/host-tree.ts';
import type { QuadrantFrame } from './cells.ts';

/**
 * Polylines whose vertices are points of a grid that covers the drawing. `x` and `y` are the column and the row of each
 * vertex in the grid, counted from the upper left corner.
 */
export interface Outlines {
  /** Distance between neighbouring points of the grid, in pixels. */
  readonly step: number;
  readonly x: number[];
  readonly y: number[];
  /** Index of the first point of each polyline, followed by the total number of points. */
  readonly starts: number[];
}

/**
 * The edges of polygons, with their ends rounded to points of a grid. If both ends are rounded to the same point, the
 * edge is left out. Coincident edges are drawn once. Returns undefined if the tree does not store edges.
 *
 * @param step - Distance between points of the grid in pixels. This distance is doubled until the result has at most
 * `max` points.
 */
export function outlinesOf(
  tree: HostMaqTree | HostMaqTreeWithEdges,
  frame: QuadrantFrame,
  step: number,
  max: number,
): Outlines | undefined {
  if (!hasEdges(tree)) return undefined;
  for (let wider = step; ; wider *= 2) {
    const outlines = outlinesOn(tree.edges.ends, frame, wider, max);
    if (outlines !== undefined) return outlines;
  }
}

function outlinesOn(ends: Int32Array, frame: QuadrantFrame, step: number, max: number): Outlines | undefined {
  const columns = Math.round(frame.width / step) + 1;
  const points = columns * (Math.round(frame.height / step) + 1);
  const drawn = new Set<number>();
  const outlines: Outlines = { step, x: [], y: [], starts: [] };
  let last = -1;
  const push = (point: number): void => {
    outlines.x.push(point % columns);
    outlines.y.push(Math.floor(point / columns));
    last = point;
  };
  const segment = new Float64Array(4);
  for (let edge = 0; edge < ends.length; edge += 4) {
    if (!segmentIn(frame, ends, edge, segment)) continue;
    const from = Math.round(segment[1]! / step) * columns + Math.round(segment[0]! / step);
    const to = Math.round(segment[3]! / step) * columns + Math.round(segment[2]! / step);
    const key = Math.min(from, to) * points + Math.max(from, to);
    if (from === to || drawn.has(key)) continue;
    drawn.add(key);
    if (outlines.x.length >= max) return undefined;
    if (last !== from) {
      outlines.starts.push(outlines.x.length);
      push(from);
    }
    push(to);
  }
  outlines.starts.push(outlines.x.length);
  return outlines;
}

/**
 * Clips an edge to a frame (Liang and Barsky, 1984). Writes both ends of the clipped edge to `segment`, in pixels from
 * the upper left corner of the frame. Returns false if the edge lies outside the frame. `edge` is the index of the
 * edge's first coordinate in `ends`.
 */
function segmentIn(frame: QuadrantFrame, ends: Int32Array, edge: number, segment: Float64Array): boolean {
  const { left, top, width, height, scale } = frame;
  const [x, y] = [(ends[edge]! - left) * scale, (top - ends[edge + 1]!) * scale];
  const [dx, dy] = [(ends[edge + 2]! - left) * scale - x, (top - ends[edge + 3]!) * scale - y];
  let [enters, leaves] = [0, 1];
  for (const [along, from, to] of [
    [dx, -x, width - x],
    [dy, -y, height - y],
  ] as const) {
    if (along === 0 && (from > 0 || to < 0)) return false;
    if (along === 0) continue;
    enters = Math.max(enters, Math.min(from / along, to / along));
    leaves = Math.min(leaves, Math.max(from / along, to / along));
  }
  if (enters > leaves) return false;
  segment.set([x + enters * dx, y + enters * dy, x + leaves * dx, y + leaves * dy]);
  return true;
}
