import { addVertex, endRing, type TileColumns } from './tile-columns.ts';

/**
 * Corners of regions of pixels, where the boundary turns, sorted by row, then by column. If a region touches itself at
 * a corner, the boundary turns twice there, and the corner occurs twice.
 */
export interface Corners {
  readonly x: Uint32Array;
  readonly y: Uint32Array;
  /**
   * Number of region pixels at the upper left and lower right of the corner, minus those at the upper right and lower
   * left: ±1, or ±2 at a corner that occurs twice.
   */
  readonly turn: Int8Array;
}

/**
 * Appends the boundary of one region, the corners `from … to − 1`, as rings to the current polygon.
 *
 * Along a row, pairs of corners are ends of horizontal edges; along a column, of vertical edges. Rings follow the two
 * pairings alternately. At a corner that occurs twice, the two pixels that meet there stay separate, so each ring
 * bounds 4-connected pixels. Each ring begins at its uppermost corner, leftmost if there are several, and goes right;
 * rings are ordered by these corners. All vertices are corners.
 *
 * O(corners). `open` has an entry per column, all −1, and is restored at the end.
 */
export function linkCorners(
  columns: TileColumns,
  corners: Corners,
  from: number,
  to: number,
  open: Int32Array,
  columnOf: (x: number) => number = same,
): void {
  const upright = pairColumns(corners, from, to, open, columnOf);
  const { x, y } = corners;
  for (let first = 0; first < upright.length; first += 2) {
    if (upright[first] === VISITED) continue;
    for (let corner = first; upright[corner] !== VISITED; ) {
      const beside = corner ^ 1;
      addVertex(columns, x[from + corner]!, y[from + corner]!);
      addVertex(columns, x[from + beside]!, y[from + beside]!);
      upright[corner] = VISITED;
      corner = upright[beside]!;
      upright[beside] = VISITED;
    }
    endRing(columns, false);
  }
}

const VISITED = -1;

function same(x: number): number {
  return x;
}

/** For every corner, counted from `from`, the corner at the other end of its vertical edge. */
function pairColumns(
  { x, turn }: Corners,
  from: number,
  to: number,
  open: Int32Array,
  columnOf: (x: number) => number,
): Int32Array {
  const upright = new Int32Array(to - from);
  for (let corner = 0; corner < upright.length; corner++) {
    const column = columnOf(x[from + corner]!);
    if (turn[from + corner] !== -2) {
      pairUp(upright, open, column, corner);
      continue;
    }
    // Of the two, the left one belongs to the pixel below, the right one to the pixel above.
    pairUp(upright, open, column, corner + 1);
    pairUp(upright, open, column, corner);
    corner++;
  }
  return upright;
}

/** Joins a corner to the open corner above it in its column, or leaves it open. */
function pairUp(upright: Int32Array, open: Int32Array, column: number, corner: number): void {
  const above = open[column]!;
  if (above === -1) {
    open[column] = corner;
    return;
  }
  upright[above] = corner;
  upright[corner] = above;
  open[column] = -1;
}
