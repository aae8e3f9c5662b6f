/** Cells with their contours from a tracker. */
export interface Contours {
  /** Centres in pixels. 0, 0 is the centre of the upper left pixel. */
  readonly x: Float32Array;
  readonly y: Float32Array;
  /**
   * Distances of the 20 points of a contour from the centre, 20 rows per cell: the first to the right, the next ones
   * further down.
   */
  readonly radii: Float32Array;
}

/** Number of points of a contour. */
export const CONTOUR_POINTS = 20;

const STEP = (2 * Math.PI) / CONTOUR_POINTS;
/** Cosines of the directions of the contour points, with the first repeated at the end. */
const COSINES = Array.from({ length: CONTOUR_POINTS + 1 }, (_, k) => Math.cos((k % CONTOUR_POINTS) * STEP));
const SINES = Array.from({ length: CONTOUR_POINTS + 1 }, (_, k) => Math.sin((k % CONTOUR_POINTS) * STEP));

/** Position of a contour point of a cell, in pixels. The point after the last is the first. */
export function contourPoint({ x, y, radii }: Contours, cell: number, point: number): readonly [x: number, y: number] {
  const radius = radii[CONTOUR_POINTS * cell + (point % CONTOUR_POINTS)]!;
  return [x[cell]! + radius * COSINES[point]!, y[cell]! + radius * SINES[point]!];
}

/**
 * The owner of every pixel of a frame: the cell's row + 1, or 0 for the background. A pixel belongs to a cell if its
 * middle lies within the contour. If several contours contain it, it belongs to the cell with the nearest centre,
 * relative to the distance of the contour in this direction. The pixel at a cell's centre belongs to the cell in any
 * case, unless it is also the centre of an earlier cell.
 */
export function paintCells(width: number, height: number, cells: Contours): Uint32Array {
  const owner = new Uint32Array(width * height);
  const nearest = new Float64Array(width * height).fill(Number.POSITIVE_INFINITY);
  const claim = (column: number, row: number, cell: number, share: number): void => {
    const at = row * width + column;
    if (share >= nearest[at]!) return;
    nearest[at] = share;
    owner[at] = cell + 1;
  };
  for (let cell = 0; cell < cells.x.length; cell++) {
    const [x, y] = [cells.x[cell]!, cells.y[cell]!];
    const reach = reachOf(cells, cell);
    const [left, right] = [Math.max(0, Math.ceil(x - reach)), Math.min(width - 1, Math.floor(x + reach))];
    const [top, bottom] = [Math.max(0, Math.ceil(y - reach)), Math.min(height - 1, Math.floor(y + reach))];
    for (let row = top; row <= bottom; row++) {
      for (let column = left; column <= right; column++) {
        const share = shareOfContour(cells, cell, column - x, row - y);
        if (share <= 1) claim(column, row, cell, share);
      }
    }
    const [column, row] = [Math.round(x), Math.round(y)];
    if (column >= 0 && row >= 0 && column < width && row < height) claim(column, row, cell, -1);
  }
  return owner;
}

function reachOf({ radii }: Contours, cell: number): number {
  let reach = 0;
  for (let k = 0; k < CONTOUR_POINTS; k++) reach = Math.max(reach, radii[CONTOUR_POINTS * cell + k]!);
  return reach;
}

/** Distance of a position from the centre, relative to the contour: 0 at the centre, 1 on the contour. */
function shareOfContour({ radii }: Contours, cell: number, dx: number, dy: number): number {
  const turn = Math.atan2(dy, dx) / STEP;
  const k = Math.floor(turn < 0 ? turn + CONTOUR_POINTS : turn) % CONTOUR_POINTS;
  const a = radii[CONTOUR_POINTS * cell + k]!;
  const b = radii[CONTOUR_POINTS * cell + ((k + 1) % CONTOUR_POINTS)]!;
  // The position as s times the way to one point of the contour plus t times the way to the next.
  const [ax, ay, bx, by] = [a * COSINES[k]!, a * SINES[k]!, b * COSINES[k + 1]!, b * SINES[k + 1]!];
  const area = ax * by - ay * bx;
  return (dx * by - dy * bx + (ax * dy - ay * dx)) / area;
}
