import type { HostMaqTree, HostMaqTreeWithEdges } from '../../algorithms/maq-tree/host-tree.ts';
import type { QuadrantFrame } from './cells.ts';

/** Lines between points of a grid over a frame, from its upper left corner: a line is a run of points. */
export interface Outlines {
  /** Pixels between points of the grid. */
  readonly step: number;
  readonly x: number[];
  readonly y: number[];
  /** Where lines start, and one more. */
  readonly starts: number[];
}

/**
 * The edges of polygons, as far as a grid can show them: those that fall on one point are left out, and those that fall on one
 * another are drawn once. Undefined for a tree without edges.
 *
 * @param step - Pixels between points of the grid; doubled until there are at most `most` points.
 */
export function outlinesOf(
  tree: HostMaqTree | HostMaqTreeWithEdges,
  frame: QuadrantFrame,
  step: number,
  most: number,
): Outlines | undefined {
  if (!('edges' in tree)) return undefined;
  for (let wider = step; ; wider *= 2) {
    const outlines = outlinesOn(tree.edges.ends, frame, wider, most);
    if (outlines !== undefined) return outlines;
  }
}

function outlinesOn(ends: Int32Array, frame: QuadrantFrame, step: number, most: number): Outlines | undefined {
  const perStep = frame.scale / step;
  const columns = Math.ceil(frame.width / step) + 2;
  const points = columns * (Math.ceil(frame.height / step) + 2);
  const pointOf = (at: number): number => {
    const column = Math.round((ends[at]! - frame.left) * perStep);
    return Math.round((frame.top - ends[at + 1]!) * perStep) * columns + column;
  };
  const drawn = new Set<number>();
  const outlines: Outlines = { step, x: [], y: [], starts: [] };
  let [last, before] = [-1, -1];
  const push = (point: number): void => {
    outlines.x.push(point % columns);
    outlines.y.push(Math.floor(point / columns));
    last = point;
  };
  for (let edge = 0; edge < ends.length; edge += 4) {
    // An edge mostly goes on from where the one before it ended.
    const goesOn = edge > 0 && ends[edge] === ends[edge - 2] && ends[edge + 1] === ends[edge - 1];
    const from = goesOn ? before : pointOf(edge);
    const to = pointOf(edge + 2);
    before = to;
    if (from === to) continue;
    const key = Math.min(from, to) * points + Math.max(from, to);
    if (drawn.has(key)) continue;
    drawn.add(key);
    if (outlines.x.length >= most) return undefined;
    if (last !== from) {
      outlines.starts.push(outlines.x.length);
      push(from);
    }
    push(to);
  }
  outlines.starts.push(outlines.x.length);
  return outlines;
}
