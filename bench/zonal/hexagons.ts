import type { Zones } from '../../algorithms/geometry/polygons.ts';
import type { RasterGrid } from '../../algorithms/geometry/raster.ts';

/** Hexagons that tile a grid, and the number of them. */
export interface Hexagons {
  /** How many vertices each has: six corners, and points on the sides between them. */
  readonly vertices: number;
  /** At least this many lie on the grid. */
  readonly zones: number;
}

/**
 * Hexagons of one size that partition a grid, as zones. Their sides are broken lines: each point between two corners lies a
 * little beside the straight line, where both hexagons beside it have it.
 */
export function hexagonsOn(grid: RasterGrid, { vertices, zones }: Hexagons): Zones {
  const { columns, rows, side } = tilingOf(grid, zones);
  const perSide = vertices / 6;
  const count = columns * rows;
  const x = new Float64Array(count * vertices);
  const y = new Float64Array(x.length);
  let at = 0;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const corner = (k: number): readonly [number, number] => cornerOf(column, row, k % 6, side);
      for (let k = 0; k < 6; k++) {
        const [from, to] = [corner(k), corner(k + 1)];
        for (let part = 0; part < perSide; part++, at++) {
          // Both hexagons beside a side compute its points from the same end.
          const [first, last, along] = k < 3 ? [from, to, part / perSide] : [to, from, (perSide - part) / perSide];
          const off = part === 0 ? 0 : 0.04 * side * Math.sin(7 * first[0] + 5 * last[1] + 11 * along);
          const [across, down] = [last[0] - first[0], last[1] - first[1]];
          x[at] = grid.originX + grid.stepX * (first[0] + along * across - (off * down) / side);
          y[at] = grid.originY + grid.stepY * (first[1] + along * down + (off * across) / side);
        }
      }
    }
  }
  return {
    polygons: {
      polygonRings: Uint32Array.from({ length: count + 1 }, (_, zone) => zone),
      ringVertices: Uint32Array.from({ length: count + 1 }, (_, ring) => ring * vertices),
      x,
      y,
    },
    names: Array.from({ length: count }, (_, zone) => String(zone)),
    crs: grid.crs,
  };
}

function tilingOf({ width, height }: RasterGrid, zones: number) {
  const side = Math.sqrt((width * height) / zones / (1.5 * Math.sqrt(3)));
  return { side, columns: Math.ceil(width / (Math.sqrt(3) * side)), rows: Math.ceil(height / (1.5 * side)) };
}

/** Corner k of a hexagon, in cells. Corners that hexagons share have the same numbers. */
function cornerOf(column: number, row: number, k: number, side: number): readonly [number, number] {
  const [right, down] = CORNERS[k]!;
  return [((2 * column + (row % 2) + right) * Math.sqrt(3) * side) / 2, ((3 * row + down) * side) / 2];
}

/** The corners around a hexagon, in half widths and half sides from its left upper corner. */
const CORNERS: readonly (readonly [number, number])[] = [
  [1, 0],
  [2, 1],
  [2, 3],
  [1, 4],
  [0, 3],
  [0, 1],
];
