import fc from 'fast-check';
import type { Polygons } from '../../algorithms/geometry/polygons.ts';
import {
  type CellMask,
  type CellRectangle,
  combineMasks,
  concatenatePolygons,
  type GridLines,
  maskArea,
  polygonColumns,
  type RingPositions,
  type RingStyle,
  rectangleMask,
  rectangleRing,
  traceMask,
} from './rectilinear-shapes.ts';

/** Two polygons with horizontal and vertical edges only, and their exact areas. */
export interface RectilinearPair {
  readonly first: Polygons;
  readonly second: Polygons;
  readonly areas: PairAreas;
}

/** Exact areas, computed from grid cells without any polygon. */
export interface PairAreas {
  readonly first: bigint;
  readonly second: bigint;
  readonly intersection: bigint;
}

/** Pairs of polygons as columns: pair `i` consists of polygon `i` of `first` and polygon `i` of `second`. */
export interface RectilinearPairs {
  readonly first: Polygons;
  readonly second: Polygons;
  readonly areas: readonly PairAreas[];
}

export interface RectilinearOptions {
  /** Maximum number of columns and of rows of the grid on which a pair is drawn: at most 30; 14 by default. */
  readonly cells?: number;
  /** Maximum width and height of the grid, in units of coordinates; by default 2^31, which allows areas up to 2^62. */
  readonly extent?: number;
  /** Maximum absolute value of a coordinate: at least half of the extent; 2^30 by default. */
  readonly reach?: number;
  /** Whether to include rings that cross or overlap, spikes, and rings without area; true by default. */
  readonly tangled?: boolean;
}

const EMPTY_RINGS: RingPositions[] = [[], [[0, 0]]];

/**
 * A pair of rectilinear polygons: noise, blobs, frames with holes, combs, spirals, chequers, rectangles, single cells,
 * or nothing. The second polygon is independent of the first, or derived from it: the same polygon, its complement
 * (which shares edges but no area), a moved copy, a part of it, a polygon that contains it, a polygon cut from it, or a
 * copy with a few cells changed.
 *
 * Coordinates are integers. Rings run in either direction and may touch themselves and each other. Vertices may be
 * repeated or lie within an edge. Grid lines are unevenly spaced, so that boxes may be tall or wide, and from one cell
 * to 2^31 across.
 */
export function rectilinearPair(options: RectilinearOptions = {}): fc.Arbitrary<RectilinearPair> {
  const { cells = 14, tangled = true } = options;
  return fc
    .record({ width: fc.integer({ min: 1, max: cells }), height: fc.integer({ min: 1, max: cells }) })
    .chain(({ width, height }) =>
      fc.record({
        lines: fc.record({ x: gridLines(width, options), y: gridLines(height, options) }),
        masks: maskPair(width, height),
        drawn: fc.tuple(drawing(width, height, tangled), drawing(width, height, tangled)),
      }),
    )
    .map(({ lines, masks, drawn }) => drawPair(lines, masks, drawn));
}

/** Several pairs of {@link rectilinearPair}, as columns. */
export function rectilinearPairs(
  options: RectilinearOptions & { readonly maxPairs?: number } = {},
): fc.Arbitrary<RectilinearPairs> {
  return fc.array(rectilinearPair(options), { maxLength: options.maxPairs ?? 20 }).map(pairColumns);
}

/** Converts a list of pairs to columns. */
export function pairColumns(pairs: readonly RectilinearPair[]): RectilinearPairs {
  return {
    first: concatenatePolygons(pairs.map(({ first }) => first)),
    second: concatenatePolygons(pairs.map(({ second }) => second)),
    areas: pairs.map(({ areas }) => areas),
  };
}

/** How a polygon of a pair is drawn as rings. */
interface Drawing {
  readonly style: RingStyle;
  /**
   * Rectangular rings that are added to the traced rings. Each of them exchanges inside and outside within its
   * rectangle.
   */
  readonly over: readonly CellRectangle[];
  /** Number of additional rings without area. */
  readonly empty: number;
}

function drawPair(
  lines: GridLines,
  masks: readonly [CellMask, CellMask],
  drawn: readonly [Drawing, Drawing],
): RectilinearPair {
  const [p, q] = [draw(masks[0], drawn[0]), draw(masks[1], drawn[1])];
  return {
    first: polygonColumns([p.rings], lines),
    second: polygonColumns([q.rings], lines),
    areas: {
      first: maskArea(p.mask, lines),
      second: maskArea(q.mask, lines),
      intersection: maskArea(combineMasks(p.mask, q.mask, and), lines),
    },
  };
}

function draw(mask: CellMask, { style, over, empty }: Drawing): { mask: CellMask; rings: RingPositions[] } {
  const turned = over.map((rectangle) => rectangleMask(mask.width, mask.rows.length, rectangle));
  return {
    mask: turned.reduce((all, one) => combineMasks(all, one, xor), mask),
    rings: [...traceMask(mask, style), ...over.map(rectangleRing), ...EMPTY_RINGS.slice(0, empty)],
  };
}

const and = (a: number, b: number): number => a & b;
const or = (a: number, b: number): number => a | b;
const xor = (a: number, b: number): number => a ^ b;

function drawing(width: number, height: number, tangled: boolean): fc.Arbitrary<Drawing> {
  const rare = fc.integer({ min: 0, max: 7 }).map((luck) => tangled && luck === 7);
  return fc.record({
    style: fc.record({
      seed: fc.nat(),
      collinear: fc.boolean(),
      repeated: fc.boolean(),
      crossing: rare,
      spikes: rare,
    }),
    over: rare.chain((yes) => fc.array(rectangle(width, height), { maxLength: yes ? 2 : 0 })),
    empty: rare.chain((yes) => fc.nat({ max: yes ? EMPTY_RINGS.length : 0 })),
  });
}

/**
 * Ascending positions of the lines of a grid. The distances between adjacent lines are one unit each, a few units each,
 * all equal, or one unit each except for one wide gap.
 */
function gridLines(
  cells: number,
  { extent = 2 ** 31, reach = 2 ** 30 }: RectilinearOptions,
): fc.Arbitrary<Float64Array> {
  const widest = Math.floor(extent / cells);
  const few = Math.min(widest, 7);
  const ones = fc.constant(Array<number>(cells).fill(1));
  const steps = fc.oneof(
    { weight: 3, arbitrary: ones },
    { weight: 2, arbitrary: fc.array(fc.integer({ min: 1, max: few }), { minLength: cells, maxLength: cells }) },
    fc.integer({ min: 1, max: Math.min(widest, 40) }).map((step) => Array<number>(cells).fill(step)),
    fc.integer({ min: 1, max: widest }).map((step) => Array<number>(cells).fill(step)),
    fc
      .tuple(fc.nat({ max: cells - 1 }), fc.integer({ min: 1, max: extent - cells + 1 }))
      .map(([wide, gap]) => Array.from({ length: cells }, (_, i) => (i === wide ? gap : 1))),
  );
  return steps.chain((steps) => {
    const span = steps.reduce((sum, step) => sum + step, 0);
    const first = fc.oneof(fc.constant(0), fc.integer({ min: -reach, max: reach - span }));
    return first.map((first) => linesFrom(Math.min(first, reach - span), steps));
  });
}

function linesFrom(first: number, steps: readonly number[]): Float64Array {
  const lines = Float64Array.of(first, ...steps);
  for (let i = 1; i < lines.length; i++) lines[i]! += lines[i - 1]!;
  return lines;
}

/**
 * Two masks (sets of grid cells) of the same size. The masks of most pairs are related, for example equal or
 * complementary.
 */
function maskPair(width: number, height: number): fc.Arbitrary<[CellMask, CellMask]> {
  const all = rectangleMask(width, height, { left: 0, right: width, top: 0, bottom: height });
  const one = mask(width, height);
  const pair = fc.tuple(one, one);
  return fc.oneof(
    { weight: 4, arbitrary: pair },
    one.map((p) => [p, p] as [CellMask, CellMask]),
    one.map((p) => [p, combineMasks(p, all, xor)] as [CellMask, CellMask]),
    pair.map(([p, q]) => [p, combineMasks(p, q, and)] as [CellMask, CellMask]),
    pair.map(([p, q]) => [combineMasks(p, q, and), p] as [CellMask, CellMask]),
    pair.map(([p, q]) => [p, combineMasks(combineMasks(p, q, or), p, xor)] as [CellMask, CellMask]),
    { weight: 2, arbitrary: fc.tuple(one, move, move).map(([p, x, y]) => [p, moved(p, x, y)] as [CellMask, CellMask]) },
    fc.tuple(one, rectangle(width, height)).map(([p, cut]) => {
      const window = rectangleMask(width, height, cut);
      return [combineMasks(p, window, and), combineMasks(p, combineMasks(window, all, xor), and)] as [
        CellMask,
        CellMask,
      ];
    }),
    fc.tuple(one, rectangle(width, height)).map(([p, flip]) => {
      return [p, combineMasks(p, rectangleMask(width, height, flip), xor)] as [CellMask, CellMask];
    }),
  );
}

const move = fc.integer({ min: -3, max: 3 });

function moved({ width, rows }: CellMask, dx: number, dy: number): CellMask {
  const full = 2 ** width - 1;
  const shift = (row: number): number => (dx >= 0 ? row << dx : row >>> -dx) & full;
  return { width, rows: rows.map((_, y) => shift(rows[y - dy] ?? 0)) };
}

/** A mask (a set of grid cells) of one of several shapes. */
function mask(width: number, height: number): fc.Arbitrary<CellMask> {
  const noise = fc
    .array(fc.noBias(fc.nat({ max: 2 ** width - 1 })), { minLength: height, maxLength: height })
    .map((rows) => ({ width, rows: Uint32Array.from(rows) }));
  const byCell = (inside: (x: number, y: number) => boolean): CellMask => ({
    width,
    rows: Uint32Array.from({ length: height }, (_, y) => {
      let row = 0;
      for (let x = 0; x < width; x++) if (inside(x, y)) row |= 1 << x;
      return row;
    }),
  });
  const cell = fc.tuple(fc.nat({ max: width - 1 }), fc.nat({ max: height - 1 }));
  return fc.oneof(
    { weight: 3, arbitrary: noise },
    { weight: 2, arbitrary: fc.tuple(noise, noise).map(([a, b]) => combineMasks(a, b, and)) },
    { weight: 2, arbitrary: fc.tuple(noise, noise).map(([a, b]) => combineMasks(a, b, or)) },
    { weight: 4, arbitrary: fc.tuple(noise, noise).map(([a, b]) => smoothed(combineMasks(a, b, or))) },
    { weight: 2, arbitrary: rectangle(width, height).map((r) => rectangleMask(width, height, r)) },
    fc
      .nat({ max: 3 })
      .map((depth) =>
        byCell((x, y) => rim(x, y, width, height) >= depth && rim(x, y, width, height) % 2 === depth % 2),
      ),
    fc.nat({ max: 1 }).map((odd) => byCell((x, y) => (x + y) % 2 === odd)),
    fc.boolean().map((rows) => byCell((x, y) => (rows ? x === 0 || y % 2 === 0 : y === 0 || x % 2 === 0))),
    fc.constant(spiral(width, height)),
    cell.map(([column, row]) => byCell((x, y) => x === column && y === row)),
    fc.constant(byCell(() => false)),
  );
}

/** Keeps a cell if at least five of the nine cells in its 3 × 3 neighbourhood are in the mask. */
function smoothed({ width, rows }: CellMask): CellMask {
  const full = 2 ** width - 1;
  const counted = rows.map((_, y) => {
    let row = 0;
    for (let x = 0; x < width; x++) {
      let neighbours = 0;
      for (let dy = -1; dy <= 1; dy++)
        for (let dx = -1; dx <= 1; dx++) if (x + dx >= 0) neighbours += ((rows[y + dy] ?? 0) >>> (x + dx)) & 1;
      if (neighbours >= 5) row |= 1 << x;
    }
    return row & full;
  });
  return { width, rows: counted };
}

/** The number of steps from a cell to the nearest side of the grid. */
function rim(x: number, y: number, width: number, height: number): number {
  return Math.min(x, y, width - 1 - x, height - 1 - y);
}

/** A spiral corridor, one cell wide, from a corner of the grid to its middle, with one cell between its turns. */
function spiral(width: number, height: number): CellMask {
  const rows = new Uint32Array(height);
  const isTaken = (x: number, y: number): boolean => ((rows[y] ?? 0) & (1 << x)) !== 0;
  const isInGrid = (x: number, y: number): boolean => x >= 0 && x < width && y >= 0 && y < height;
  let [x, y, dx, dy, turns] = [0, 0, 1, 0, 0];
  rows[0] = 1;
  while (turns < 2) {
    const [nextX, nextY] = [x + dx, y + dy];
    if (!isInGrid(nextX, nextY) || isTaken(nextX, nextY) || isTaken(nextX + dx, nextY + dy)) {
      [dx, dy] = [-dy, dx];
      turns++;
      continue;
    }
    [x, y, turns] = [nextX, nextY, 0];
    rows[y]! |= 1 << x;
  }
  return { width, rows };
}

function rectangle(width: number, height: number): fc.Arbitrary<CellRectangle> {
  const side = (cells: number) =>
    fc.tuple(fc.nat({ max: cells - 1 }), fc.integer({ min: 1, max: cells })).map(([from, length]) => ({
      from,
      to: Math.min(cells, from + length),
    }));
  return fc
    .tuple(side(width), side(height))
    .map(([x, y]) => ({ left: x.from, right: x.to, top: y.from, bottom: y.to }));
}
