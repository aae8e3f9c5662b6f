import type { RasterGrid, RasterSource, Window } from '../../algorithms/geometry/raster.ts';

/** The bounds of the conterminous United States, in degrees of longitude (`WEST`, `EAST`) and latitude. */
const WEST = -125;
const EAST = -66.5;
const SOUTH = 24;
const NORTH = 49.5;

/** A grid of square cells over the conterminous United States, with at least `cells` cells in total. */
export function conusGrid(cells: number): RasterGrid {
  const step = Math.sqrt(((EAST - WEST) * (NORTH - SOUTH)) / cells);
  return gridOf(Math.ceil((EAST - WEST) / step), Math.ceil((NORTH - SOUTH) / step));
}

/** A grid of `width` × `height` cells over the conterminous United States. */
export function gridOf(width: number, height: number): RasterGrid {
  return {
    width,
    height,
    originX: WEST,
    originY: NORTH,
    stepX: (EAST - WEST) / width,
    stepY: (SOUTH - NORTH) / height,
    crs: 'EPSG:4326',
    geographic: true,
  };
}

/**
 * A raster over cells in memory, without decoding. A window of the full width is a view of the cells, not a copy.
 */
export function inMemory(grid: RasterGrid, cells: Uint16Array): RasterSource {
  const { width } = grid;
  return {
    ...grid,
    sample: 'u16',
    nodata: undefined,
    blockColumns: width,
    blockRows: 64,
    read: async ({ row, column, rows, columns }) => {
      if (columns === width) return cells.subarray(row * width, (row + rows) * width);
      const part = new Uint16Array(rows * columns);
      for (let r = 0; r < rows; r++) {
        const from = (row + r) * width + column;
        part.set(cells.subarray(from, from + columns), r * columns);
      }
      return part;
    },
    close: async () => {},
  };
}

/** Distance in cells between adjacent lattice points of the coarsest octave. */
const COARSEST = 1024;
const OCTAVES = 10;
/**
 * Ratio of each octave's amplitude to that of the next coarser octave; corresponds to a Hurst exponent of 0.8, as in
 * mountains.
 */
const GAIN = 2 ** -0.8;

/**
 * The cells of a window (a rectangle) of a synthetic relief, whose heights fill the range of u16. The relief is value
 * noise in ten octaves, with lattice distances from 1,024 cells down to 2 cells. As in real terrain, neighbouring cells
 * are similar. A cell has the same value in every window.
 */
export function terrain(window: Window): Uint16Array<ArrayBuffer> {
  const { row, column, rows, columns } = window;
  const cells = new Uint16Array(rows * columns);
  const line = new Float32Array(columns);
  const range = (1 - GAIN ** OCTAVES) / (1 - GAIN);
  for (let r = 0; r < rows; r++) {
    line.fill(0);
    for (let octave = 0; octave < OCTAVES; octave++) addOctave(line, octave, row + r, column);
    // Sums of octaves concentrate around the middle of the range, so the contrast is doubled and the result clamped.
    for (let c = 0; c < columns; c++) {
      cells[r * columns + c] = Math.min(65535, Math.max(0, ((line[c]! / range - 0.5) * 2 + 0.5) * 65536));
    }
  }
  return cells;
}

function addOctave(line: Float32Array, octave: number, row: number, column: number): void {
  const size = COARSEST >> octave;
  const amplitude = GAIN ** octave;
  const above = Math.floor(row / size);
  const down = row / size - above;
  const edge = (at: number): number =>
    amplitude * (lattice(octave, above, at) * (1 - down) + lattice(octave, above + 1, at) * down);
  for (let c = 0; c < line.length; ) {
    const at = Math.floor((column + c) / size);
    const left = edge(at);
    const slope = (edge(at + 1) - left) / size;
    const end = Math.min(line.length, (at + 1) * size - column);
    for (; c < end; c++) line[c]! += left + slope * (column + c - at * size);
  }
}

/** A pseudo-random number from 0 to 1 for a lattice point. */
function lattice(octave: number, row: number, column: number): number {
  let hash = Math.imul(row, 0x9e3779b1) ^ Math.imul(column, 0x85ebca6b) ^ Math.imul(octave + 1, 0xc2b2ae35);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39);
  return ((hash ^ (hash >>> 15)) >>> 0) / 2 ** 32;
}
