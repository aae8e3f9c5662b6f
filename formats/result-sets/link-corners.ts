import { addVertex, endRing, type TileColumns } from './tile-columns.ts';

/**
 * The corners of regions of pixels. At a corner, the boundary of a region turns. Corners are sorted by row, then by
 * column. If a region touches itself at a corner, its boundary turns there twice, so this corner is listed twice.
 */
export interface Corners {
  readonly x: Uint32Array;
  readonly y: Uint32Array;
  /**
   * A sum over those of the four pixels around a corner that are in the region. The upper left and the lower right
   * pixel count +1, and the other two count −1. The sum is ±1, or ±2 at a corner that is listed twice.
   */
  readonly turn: Int8Array;
}

/**
 * Links the corners of one region into rings, and appends the rings to the current polygon. The corners have the
 * indices `from … to − 1`.
 *
 * The first and second corner in a row are the ends of a horizontal edge, so are the third and fourth, and so on. The
 * corners in a column are paired likewise into vertical edges. So each corner is the end of one horizontal and one
 * vertical edge. A ring follows horizontal and vertical edges alternately. At a corner that is listed twice, the two
 * diagonal pixels stay separate, so each ring bounds 4-connected pixels. A ring begins at its uppermost corner (if
 * there are several, at the leftmost of them) and goes right. Rings are ordered by their first corners. All vertices
 * are corners.
 *
 * O(corners). `open` is scratch memory with one entry per column; all entries are −1 before and after the call.
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

/**
 * For every corner, the corner at the other end of its vertical edge. Indices are relative to `from`. `open` is scratch
 * memory with one entry per column; all entries are −1 before and after the call.
 */
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
    // This corner is listed twice, and its lower left and upper right pixels are in the region. The first entry belongs
    // to the lower left pixel, so its edge goes down. The edge of the second entry goes up.
    pairUp(upright, open, column, corner + 1);
    pairUp(upright, open, column, corner);
    corner++;
  }
  return upright;
}

/**
 * Pairs a corner with the unpaired corner above it in its column. If the column has no unpaired corner, marks the given
 * corner as unpaired.
 */
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
