import type { Polygons } from '../../algorithms/geometry/polygons.ts';

/**
 * A set of cells in a grid of at most 30 columns: bit `x` of `rows[y]` says whether the cell in column `x` of row `y`
 * is set.
 */
export interface CellMask {
  readonly width: number;
  readonly rows: Uint32Array;
}

/**
 * Ascending positions of the lines of a grid. `x` has one position more than the grid has columns, and `y` one more
 * than the grid has rows.
 */
export interface GridLines {
  readonly x: Float64Array;
  readonly y: Float64Array;
}

/** A rectangle of grid cells: columns from `left` to `right − 1`, rows from `top` to `bottom − 1`. */
export interface CellRectangle {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** How the boundary of a mask is drawn as rings. The style never changes the region. */
export interface RingStyle {
  /** Determines how rings continue at shared corners, where they start, and in which direction they go. */
  readonly seed: number;
  /** If true, some vertices are in the middle of straight edges. */
  readonly collinear: boolean;
  /** If true, some vertices are repeated once or twice. */
  readonly repeated: boolean;
  /** If true, a ring may continue straight at a corner that it shares with itself or another ring, and so cross it. */
  readonly crossing: boolean;
  /**
   * If true, some vertices are followed by a spike: an edge to the grid's first vertical line and an edge back. A spike
   * encloses no area.
   */
  readonly spikes: boolean;
}

/** A ring of positions; its last position differs from its first. */
export type RingPositions = readonly (readonly [number, number])[];

/** The area of the cells in a mask. The sizes of cells follow from the positions of the grid's lines. */
export function maskArea(mask: CellMask, lines: GridLines): bigint {
  let area = 0n;
  mask.rows.forEach((row, y) => {
    area += BigInt(rowLength(row, lines.x)) * BigInt(lines.y[y + 1]! - lines.y[y]!);
  });
  return area;
}

function rowLength(row: number, lines: Float64Array): number {
  let length = 0;
  for (let x = 0; x + 1 < lines.length; x++) if (row & (1 << x)) length += lines[x + 1]! - lines[x]!;
  return length;
}

/** A mask in which one rectangle of cells is set. */
export function rectangleMask(width: number, height: number, { left, right, top, bottom }: CellRectangle): CellMask {
  const row = (1 << right) - (1 << left);
  return { width, rows: Uint32Array.from({ length: height }, (_, y) => (y >= top && y < bottom ? row : 0)) };
}

/** Combines two masks by a bitwise operation on their rows. */
export function combineMasks(a: CellMask, b: CellMask, combine: (a: number, b: number) => number): CellMask {
  return { width: a.width, rows: a.rows.map((row, y) => combine(row, b.rows[y]!)) };
}

/**
 * Traces the boundary of a mask as rings, along the edges that separate cells in the mask from other cells.
 *
 * Where two cells meet only in a corner, four edges meet, which can be paired in three ways. With two pairings, rings
 * touch at the corner. With the third pairing, which requires `style.crossing`, they cross. The style's seed selects
 * the pairing. By the even-odd rule, all three pairings give the same region.
 */
export function traceMask(mask: CellMask, style: RingStyle): [number, number][][] {
  const lattice = boundaryEdges(mask);
  const rings: [number, number][][] = [];
  for (let y = 0; y <= mask.rows.length; y++)
    for (let x = 0; x <= mask.width; x++)
      while (lattice.has(x, y, EAST)) rings.push(styleRing(walk(lattice, x, y, style), style, rings.length));
  return rings;
}

export function rectangleRing({ left, right, top, bottom }: CellRectangle): [number, number][] {
  return [
    [left, top],
    [right, top],
    [right, bottom],
    [left, bottom],
  ];
}

/**
 * Converts polygons from rings of grid points to columns of coordinates. The positions of the grid's lines give the
 * coordinates.
 */
export function polygonColumns(polygons: readonly (readonly RingPositions[])[], lines: GridLines): Polygons {
  const rings = polygons.flat();
  const positions = rings.flat();
  return {
    polygonRings: starts(polygons.map((rings) => rings.length)),
    ringVertices: starts(rings.map((ring) => ring.length)),
    x: Float64Array.from(positions, ([x]) => lines.x[x]!),
    y: Float64Array.from(positions, ([, y]) => lines.y[y]!),
  };
}

/** Concatenates sets of polygons. */
export function concatenatePolygons(all: readonly Polygons[]): Polygons {
  const lengths = (column: 'polygonRings' | 'ringVertices') =>
    all.flatMap((polygons) => Array.from(polygons[column].subarray(1), (end, i) => end - polygons[column][i]!));
  return {
    polygonRings: starts(lengths('polygonRings')),
    ringVertices: starts(lengths('ringVertices')),
    x: Float64Array.from(all.flatMap(({ x }) => [...x])),
    y: Float64Array.from(all.flatMap(({ y }) => [...y])),
  };
}

function starts(lengths: readonly number[]): Uint32Array {
  let end = 0;
  return Uint32Array.of(
    0,
    ...lengths.map((length) => {
      end += length;
      return end;
    }),
  );
}

const EAST = 0;
const SOUTH = 1;
const WEST = 2;
const NORTH = 3;
const STEP_X = [1, 0, -1, 0];
const STEP_Y = [0, 1, 0, -1];

interface Lattice {
  has(x: number, y: number, direction: number): boolean;
  remove(x: number, y: number, direction: number): void;
  /** Number of boundary edges at a grid point, including those that were already walked. */
  degree(x: number, y: number): number;
}

/** The boundary edges of a mask. A boundary edge has a cell of the mask on exactly one side. */
function boundaryEdges({ width, rows }: CellMask): Lattice {
  const cell = (x: number, y: number): number => (x < 0 || x >= width ? 0 : ((rows[y] ?? 0) >>> x) & 1);
  const exists = (x: number, y: number, direction: number): boolean => {
    if (direction === EAST) return cell(x, y) !== cell(x, y - 1);
    if (direction === SOUTH) return cell(x, y) !== cell(x - 1, y);
    return direction === WEST ? exists(x - 1, y, EAST) : exists(x, y - 1, SOUTH);
  };
  const key = (x: number, y: number, direction: number): number => {
    if (direction === WEST) return key(x - 1, y, EAST);
    if (direction === NORTH) return key(x, y - 1, SOUTH);
    return ((y + 1) * (width + 2) + x + 1) * 2 + direction;
  };
  const walked = new Set<number>();
  return {
    has: (x, y, direction) => exists(x, y, direction) && !walked.has(key(x, y, direction)),
    remove: (x, y, direction) => void walked.add(key(x, y, direction)),
    degree: (x, y) => [EAST, SOUTH, WEST, NORTH].filter((direction) => exists(x, y, direction)).length,
  };
}

/** All grid points of a ring, which starts at the given point and leaves it to the east. */
function walk(lattice: Lattice, startX: number, startY: number, style: RingStyle): [number, number][] {
  const ring: [number, number][] = [];
  let [x, y, direction] = [startX, startY, EAST];
  do {
    ring.push([x, y]);
    lattice.remove(x, y, direction);
    x += STEP_X[direction]!;
    y += STEP_Y[direction]!;
    direction = leave(lattice, x, y, direction, style);
  } while (lattice.has(x, y, direction));
  return ring;
}

/** The direction in which a ring leaves a point at which it arrived in direction `arrived`. */
function leave(lattice: Lattice, x: number, y: number, arrived: number, style: RingStyle): number {
  if (lattice.degree(x, y) === 4) return turnAtCorner(arrived, style, x, y);
  const back = (arrived + 2) % 4;
  for (const direction of [arrived, (arrived + 1) % 4, (arrived + 3) % 4])
    if (lattice.has(x, y, direction)) return direction;
  return back;
}

/**
 * The direction in which a ring leaves a point with four edges. The style's seed selects one of the ways to pair these
 * edges: two ways in which the ring turns and, if `crossing` is true, a third way in which it goes straight on.
 */
function turnAtCorner(arrived: number, style: RingStyle, x: number, y: number): number {
  const way = hash(style.seed, x, y) % (style.crossing ? 3 : 2);
  if (way === 2) return arrived;
  const pairs = way === 0 ? [SOUTH, EAST, NORTH, WEST] : [NORTH, WEST, SOUTH, EAST];
  return pairs[(arrived + 2) % 4]!;
}

/** Applies a style to a ring: adds vertices, and chooses the first vertex and the direction. */
function styleRing(points: readonly [number, number][], style: RingStyle, ring: number): [number, number][] {
  const styled = points.flatMap((point, i): [number, number][] => {
    const [before, after] = [points.at(i - 1)!, points[(i + 1) % points.length]!];
    const straight = before[0] === after[0] || before[1] === after[1];
    const luck = hash(style.seed, i, ring + 1000);
    if (straight && !(style.collinear && luck % 3 === 0)) return [];
    if (style.spikes && luck % 8 === 1) return [point, [0, point[1]], point];
    return style.repeated && luck % 4 === 1 ? Array<[number, number]>(2 + (luck & 1)).fill(point) : [point];
  });
  const first = style.seed === 0 ? 0 : hash(style.seed, ring, 2000) % styled.length;
  const turned = [...styled.slice(first), ...styled.slice(0, first)];
  return hash(style.seed, ring, 3000) % 2 === 1 ? turned.reverse() : turned;
}

/** A hash of the three arguments. The hash is 0 if `seed` is 0. */
function hash(seed: number, a: number, b: number): number {
  let h = Math.imul(seed, 0x9e3779b1);
  for (const value of [a, b]) {
    h = Math.imul(h ^ (h >>> 15), 0x85ebca6b ^ (seed === 0 ? 0 : value * 0x632be5ab));
    h ^= h >>> 13;
  }
  return h >>> 0;
}
