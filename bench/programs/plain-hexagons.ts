import type { Answer, Case } from './program.ts';

/** From the centre of a hexagon to its corners, in metres. Hexagons have a corner at their top. */
const SIZE = 20;

/** Hexagons for each metre to the right (their breadth is √3 sizes), and sizes for each metre upwards. */
export const ACROSS: number = Math.fround(1 / (Math.sqrt(3) * SIZE));
export const UPWARDS: number = Math.fround(1 / SIZE);

/** A hexagon and the six around it have this part of a whole for each square metre. */
export const PART_OF_SEVEN: number = Math.fround(1 / (7 * 1.5 * Math.sqrt(3) * SIZE ** 2));

/** Hexagons left of the first whose centre may be in the square of the points, and below it. */
export const MARGIN = 2;

/** Columns and rows of hexagons that hold all points of a square and, around these, hexagons without points. */
export function latticeOf(side: number): { columns: number; rows: number } {
  return {
    columns: Math.ceil(side / (Math.sqrt(3) * SIZE)) + 2 * MARGIN + 1,
    rows: Math.ceil(side / (1.5 * SIZE)) + 2 * MARGIN + 1,
  };
}

/**
 * Counts points by hexagon, then adds up each hexagon and the six around it. A hexagon is found without branches, by how
 * many lines of three directions are below a point (C. Chambers, as in A. Patel's Hexagonal Grids). Each odd row is half
 * a hexagon to the right of even ones.
 */
export function countByHexagon({ inputs, sizes }: Case): () => Answer {
  const { x, y } = inputs as { x: Float32Array; y: Float32Array };
  const { columns, rows } = sizes as { columns: number; rows: number };
  const count = new Uint32Array(columns * rows);
  const density = new Float32Array(columns * rows);
  return () => {
    count.fill(0);
    countPoints(x, y, columns, count);
    // Hexagons at the border of the lattice have no points around them.
    for (let row = 1; row < rows - 1; row++) {
      const first = row * columns;
      const shift = row & 1;
      for (let i = first + 1; i < first + columns - 1; i++) {
        const below = i - columns + shift;
        const above = i + columns + shift;
        const seven =
          count[i]! +
          count[i - 1]! +
          count[i + 1]! +
          count[below - 1]! +
          count[below]! +
          count[above - 1]! +
          count[above]!;
        density[i] = Math.fround(seven) * PART_OF_SEVEN;
      }
    }
    return { count, density };
  };
}

function countPoints(x: Float32Array, y: Float32Array, columns: number, count: Uint32Array): void {
  const { floor, fround } = Math;
  for (let i = 0; i < x.length; i++) {
    const u = fround(x[i]! * ACROSS);
    const v = fround(y[i]! * UPWARDS);
    const lines = floor(fround(u + v)) + 2;
    const row = ((lines + floor(fround(v - u))) / 3) | 0;
    const slanted = ((lines + floor(u + u)) / 3) | 0;
    count[(row + MARGIN) * columns + slanted - ((row + 1) >> 1) + MARGIN]!++;
  }
}
