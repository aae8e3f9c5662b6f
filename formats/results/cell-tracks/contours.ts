/** Cells and their contours, as found by a tracker. */
export interface Contours {
  /** Centres of the cells in pixels. (0, 0) is the centre of the upper left pixel. */
  readonly x: Float32Array;
  readonly y: Float32Array;
  /**
   * Distances, in pixels, from the centre of each cell to the points of the cell's contour: 20 consecutive values per
   * cell. The first point lies to the right of the centre. The next points follow clockwise on the image, because y
   * points down.
   */
  readonly radii: Float32Array;
}

/** Number of points in the contour of a cell. The points are at equal angles around the centre of the cell. */
export const CONTOUR_POINTS = 20;

const STEP = (2 * Math.PI) / CONTOUR_POINTS;
/**
 * Cosines of the angles of the contour points. The first cosine is repeated at the end, so that index `k + 1` is always
 * valid.
 */
const COSINES = Array.from({ length: CONTOUR_POINTS + 1 }, (_, k) => Math.cos((k % CONTOUR_POINTS) * STEP));
const SINES = Array.from({ length: CONTOUR_POINTS + 1 }, (_, k) => Math.sin((k % CONTOUR_POINTS) * STEP));

/** Position of a contour point of a cell, in pixels. Index 20 is the same point as index 0. */
export function contourPoint({ x, y, radii }: Contours, cell: number, point: number): readonly [x: number, y: number] {
  const radius = radii[CONTOUR_POINTS * cell + (point % CONTOUR_POINTS)]!;
  return [x[cell]! + radius * COSINES[point]!, y[cell]! + radius * SINES[point]!];
}

/**
 * For each pixel of a frame, the cell that owns the pixel: the cell's index + 1, or 0 for the background. A pixel can
 * belong to a cell if the pixel's middle lies within the cell's contour. If several contours contain the middle, the
 * cell with the smallest relative distance owns the pixel. The relative distance is the distance from the cell's centre
 * to the middle, divided by the distance from the centre to the contour in the direction of the middle. The pixel at a
 * cell's centre always belongs to that cell, unless the centre of a cell with a lower index lies in the same pixel.
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

/** Relative distance of a position from the centre of a cell: 0 at the centre, 1 on the contour. */
function shareOfContour({ radii }: Contours, cell: number, dx: number, dy: number): number {
  const turn = Math.atan2(dy, dx) / STEP;
  const k = Math.floor(turn < 0 ? turn + CONTOUR_POINTS : turn) % CONTOUR_POINTS;
  const a = radii[CONTOUR_POINTS * cell + k]!;
  const b = radii[CONTOUR_POINTS * cell + ((k + 1) % CONTOUR_POINTS)]!;
  // The position is s · a + t · b, where a and b are the two nearest contour points. The result is s + t.
  const [ax, ay, bx, by] = [a * COSINES[k]!, a * SINES[k]!, b * COSINES[k + 1]!, b * SINES[k + 1]!];
  const area = ax * by - ay * bx;
  return (dx * by - dy * bx + (ax * dy - ay * dx)) / area;
}
