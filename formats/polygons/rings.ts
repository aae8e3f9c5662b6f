import { CapacityError, GeometryError } from '../../primitives/checks/errors.ts';
import { withArticle } from '../../primitives/checks/given.ts';
import { resized } from '../bytes/byte-arrays.ts';
import { describeFeature, type FeaturePlace } from './feature.ts';

/** Two columns of coordinates to which vertices are appended. `length` is the number of vertices. */
export interface Vertices {
  x: Float64Array;
  y: Float64Array;
  length: number;
}

/** Columns without vertices. */
export function emptyVertices(): Vertices {
  return { x: new Float64Array(1024), y: new Float64Array(1024), length: 0 };
}

/**
 * Maximum number of vertices. The coordinates of this many vertices take 1 GiB, eight times as much as those of the
 * largest known file.
 */
const MAX_VERTICES = 2 ** 26;

/**
 * Appends the positions of a ring from parsed JSON. Only the first two numbers of a position are used; elevations are
 * ignored.
 *
 * @throws GeometryError if the ring is not an array of positions, or a coordinate is not a finite number.
 */
export function appendPositions(vertices: Vertices, ring: unknown, at: FeaturePlace): void {
  if (!Array.isArray(ring)) throw badPosition('a ring that is not an array', at);
  for (const position of ring) {
    if (!Array.isArray(position)) throw badPosition('a position that is not an array', at);
    const [x, y] = position;
    if (!Number.isFinite(x) || !Number.isFinite(y)) throw badPosition(`(${showNumber(x)}, ${showNumber(y)})`, at);
    if (vertices.length === vertices.x.length) grow(vertices, at);
    vertices.x[vertices.length] = x;
    vertices.y[vertices.length] = y;
    vertices.length++;
  }
}

function badPosition(got: string, at: FeaturePlace): GeometryError {
  return new GeometryError('geometry/not-finite', `A coordinate of ${describeFeature(at)} is not a finite number.`, {
    expected: 'positions of two finite numbers',
    got,
    remedy: 'Correct or remove the feature.',
    place: { file: at.file, record: at.index },
  });
}

function showNumber(value: unknown): string {
  if (typeof value === 'number') return String(value);
  if (value === undefined) return 'nothing';
  return value === null ? 'null' : withArticle(typeof value);
}

function grow(vertices: Vertices, at: FeaturePlace): void {
  const size = vertices.length * 2;
  if (size > MAX_VERTICES) {
    throw new CapacityError('capacity/vertices', 'The zones have too many vertices.', {
      expected: `at most ${MAX_VERTICES}`,
      got: `more by ${describeFeature(at)}`,
      remedy: 'Split the zones into several files.',
      place: { file: at.file, record: at.index },
    });
  }
  vertices.x = resized(vertices.x, size);
  vertices.y = resized(vertices.y, size);
}

/**
 * Removes vertices at the end of a ring that repeat its first vertex. `start` is the index of the first vertex. Returns
 * false if no vertex was removed, which means that the ring was not closed.
 */
export function dropClosingVertex(vertices: Vertices, start: number): boolean {
  const { x, y } = vertices;
  const before = vertices.length;
  while (vertices.length > start + 1 && x[vertices.length - 1] === x[start] && y[vertices.length - 1] === y[start]) {
    vertices.length--;
  }
  return vertices.length < before;
}

/**
 * The width of a flat ring is at most this fraction of the ring's length. Such a width is far below a step of the grid
 * to which polygons are snapped.
 */
const FLAT = 2 ** -40;

/**
 * Whether all vertices of the ring that begins at `start` lie on one line, except for rounding, so that the ring
 * encloses no area.
 *
 * The signed area is not used, because a bow-tie has a signed area of 0, although both of its halves are inside. A ring
 * that follows a bent line there and back also encloses no area, but is not detected, because this would require
 * comparing all edges.
 *
 * O(vertices).
 */
export function isFlat(vertices: Vertices, start: number): boolean {
  if (beginsSquarely(vertices, start)) return false;
  const { x, y, length } = vertices;
  const [fromX, fromY] = [x[start]!, y[start]!];
  let [alongX, alongY] = [0, 0];
  for (let v = start + 1; v < length; v++) {
    const [toX, toY] = [x[v]! - fromX, y[v]! - fromY];
    if (Math.abs(toX) + Math.abs(toY) > Math.abs(alongX) + Math.abs(alongY)) [alongX, alongY] = [toX, toY];
  }
  // If the longest direction is horizontal or vertical, the tolerance is 0. In this case, the coordinates of a flat
  // ring must match exactly.
  const tolerance = FLAT * Math.abs(alongX * alongY);
  for (let v = start + 1; v < length; v++) {
    if (Math.abs(alongX * (y[v]! - fromY) - alongY * (x[v]! - fromX)) > tolerance) return false;
  }
  return true;
}

/**
 * A fast test that recognizes most rings that are not flat. The test is true if one of the first two edges is
 * horizontal and the other vertical, and the ring is not extremely long compared to the first edge. The test saves time
 * for the outlines of pixels: these outlines pass, and a file may contain millions of them.
 */
function beginsSquarely({ x, y, length }: Vertices, start: number): boolean {
  const [along, across] = y[start] === y[start + 1] ? [x, y] : [y, x];
  const from = along[start]!;
  const side = Math.abs(along[start + 1]! - from);
  const turns = across[start] === across[start + 1] && along[start + 1] === along[start + 2];
  if (length - start < 3 || side === 0 || !turns || across[start + 1] === across[start + 2]) return false;
  // A flat ring would extend at least twice this far in the direction of the first edge. The factor 2 allows for
  // rounding errors in `isFlat`.
  const far = side / (2 * FLAT);
  for (let v = start + 2; v < length; v++) if (Math.abs(along[v]! - from) > far) return false;
  return true;
}

/**
 * Looks for edges of the ring that begins at `start` that span more than 180 degrees of longitude, and unwraps the ring
 * if `unwraps` is true and it can be unwrapped. Returns the code of the note; undefined if there is nothing to note.
 *
 * A ring around the whole world, such as a box from -180 to 180, is not noted if it is read as written: it cannot be
 * read as crossing the antimeridian.
 */
export function readJumps(vertices: Vertices, start: number, unwraps: boolean): string | undefined {
  const jump = shortestJump(vertices, start);
  if (jump === Number.POSITIVE_INFINITY) return undefined;
  if (unwraps)
    return jump <= 360 && unwrapRing(vertices, start) ? 'zones/antimeridian-unwrapped' : 'zones/antimeridian-kept';
  return jump < 360 || (jump === 360 && mayUnwrap(vertices, start)) ? 'zones/antimeridian-jumps' : undefined;
}

/** The span of the shortest edge that spans more than 180 degrees of longitude; infinity if there is none. */
function shortestJump({ x, length }: Vertices, start: number): number {
  let shortest = Number.POSITIVE_INFINITY;
  for (let v = start, u = length - 1; v < length; u = v++) {
    const span = Math.abs(x[v]! - x[u]!);
    if (span > 180 && span < shortest) shortest = span;
  }
  return shortest;
}

/** Whether {@link unwrapRing} would unwrap a ring. */
function mayUnwrap({ x, y, length }: Vertices, start: number): boolean {
  const copy = { x: x.slice(start, length), y: y.slice(start, length), length: length - start };
  return unwrapRing(copy, 0);
}

/**
 * Unwraps the ring that begins at `start`, on the assumption that the ring crosses the antimeridian. Adds multiples of
 * 360 to the longitudes of the ring, so that no edge spans more than 180 degrees. This is impossible if the ring goes
 * round a pole, or if the ring would lose its area (such as a box around the world). In these cases, the ring is left
 * unchanged, and the result is false.
 */
function unwrapRing(vertices: Vertices, start: number): boolean {
  const { x, length } = vertices;
  const written = x.slice(start, length);
  for (let v = start + 1; v < length; v++) x[v] = nearestTurn(x[v]!, x[v - 1]!);
  if (Math.abs(x[length - 1]! - x[start]!) <= 180 && !isFlat(vertices, start)) return true;
  x.set(written, start);
  return false;
}

/** Polygons as lists, to which rings are appended. */
export interface RingLists {
  readonly polygonRings: readonly number[];
  readonly ringVertices: readonly number[];
  readonly ringParts: readonly number[];
  readonly vertices: Vertices;
}

/**
 * Moves holes of the last polygon, which is not complete, to the side of the antimeridian on which the outer ring of their
 * part lies after it was unwrapped. The outer ring is the first one of the part.
 */
export function followOuterRings({ polygonRings, ringVertices, ringParts, vertices }: RingLists): void {
  const outers = new Map<number, readonly [number, number]>();
  for (let ring = polygonRings.at(-1)!; ring < ringParts.length; ring++) {
    const [start, end] = [ringVertices[ring]!, ringVertices[ring + 1]!];
    const outer = outers.get(ringParts[ring]!);
    if (outer === undefined) outers.set(ringParts[ring]!, longitudeRange(vertices, start, end));
    else followOuterRing(vertices, start, end, outer);
  }
}

/**
 * Moves a ring by a multiple of 360 degrees, so that its first vertex lies within the longitudes of an outer ring. If this
 * is impossible, the ring is left unchanged.
 */
function followOuterRing({ x }: Vertices, start: number, end: number, [left, right]: readonly [number, number]): void {
  const first = x[start]!;
  const turned = nearestTurn(first, (left + right) / 2);
  if (turned === first || turned < left || turned > right) return;
  for (let v = start; v < end; v++) x[v] = x[v]! + (turned - first);
}

/** The longitude nearest to `centre` that differs from `longitude` by a multiple of 360 degrees. */
function nearestTurn(longitude: number, centre: number): number {
  const turns = Math.round((longitude - centre) / 360);
  return turns === 0 ? longitude : longitude - 360 * turns;
}

/** Minimum and maximum longitude of a ring. */
function longitudeRange({ x }: Vertices, start: number, end: number): [number, number] {
  let [left, right] = [x[start]!, x[start]!];
  for (let v = start; v < end; v++) {
    left = Math.min(left, x[v]!);
    right = Math.max(right, x[v]!);
  }
  return [left, right];
}
