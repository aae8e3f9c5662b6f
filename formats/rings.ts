import { CapacityError, GeometryError } from '../primitives/errors.ts';
import { describeFeature, type FeaturePlace } from './feature.ts';
import { resizedFloats } from './resized.ts';

/** Vertices under construction: two columns that grow. */
export interface Vertices {
  x: Float64Array;
  y: Float64Array;
  length: number;
}

/** Starts with no vertices. */
export function emptyVertices(): Vertices {
  return { x: new Float64Array(1024), y: new Float64Array(1024), length: 0 };
}

/** One gibibyte of coordinates, eight times the largest real file at hand. */
const MAX_VERTICES = 2 ** 26;

/**
 * Appends the positions of a ring; elevations and what else stands behind the first two numbers are left out.
 *
 * @throws GeometryError where the ring is no array of positions, or a coordinate is not a finite number.
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
  return value === null ? 'null' : `a ${typeof value}`;
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
  vertices.x = resizedFloats(vertices.x, size);
  vertices.y = resizedFloats(vertices.y, size);
}

/**
 * Drops the copies of the first vertex that close the ring which starts at `start`; false where there were none, so
 * that the ring was left open.
 */
export function dropClosingVertex(vertices: Vertices, start: number): boolean {
  const { x, y } = vertices;
  const before = vertices.length;
  while (vertices.length > start + 1 && x[vertices.length - 1] === x[start] && y[vertices.length - 1] === y[start]) {
    vertices.length--;
  }
  return vertices.length < before;
}

/** How far beside a line a ring may reach and still be flat, by its length: far less than one grid step. */
const FLAT = 2 ** -40;

/**
 * Whether all vertices of the ring from `start` on stand on one line, but for rounding, so that no cell can be inside.
 *
 * The signed area does not tell: that of a bow-tie is 0, and yet both its halves are inside. A ring that goes along a
 * bent line and back encloses nothing either, but is not found: that would take comparing all its edges.
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
  // Of a level or upright line the product is 0, and so is what the vertices may be off.
  const tolerance = FLAT * Math.abs(alongX * alongY);
  for (let v = start + 1; v < length; v++) {
    if (Math.abs(alongX * (y[v]! - fromY) - alongY * (x[v]! - fromX)) > tolerance) return false;
  }
  return true;
}

/**
 * Whether the ring begins with a level and an upright edge, in either order, and reaches nowhere so far along the first of
 * them that a line through all vertices could pass by its end: such a ring is not flat. Outlines of pixels are so, and there
 * are millions of them.
 */
function beginsSquarely({ x, y, length }: Vertices, start: number): boolean {
  const [along, across] = y[start] === y[start + 1] ? [x, y] : [y, x];
  const from = along[start]!;
  const side = Math.abs(along[start + 1]! - from);
  const turns = across[start] === across[start + 1] && along[start + 1] === along[start + 2];
  if (length - start < 3 || side === 0 || !turns || across[start + 1] === across[start + 2]) return false;
  // Half of what a flat ring needs, as its test rounds.
  const far = side / (2 * FLAT);
  for (let v = start + 2; v < length; v++) if (Math.abs(along[v]! - from) > far) return false;
  return true;
}

/** Whether an edge of the ring from `start` on spans more than 180 degrees of longitude. */
export function jumpsAntimeridian({ x, length }: Vertices, start: number): boolean {
  for (let v = start, u = length - 1; v < length; u = v++) {
    if (Math.abs(x[v]! - x[u]!) > 180) return true;
  }
  return false;
}

/**
 * Reads the ring from `start` on as crossing the antimeridian: adds multiples of 360 to its longitudes so that no edge
 * spans more than 180 degrees. Leaves it as written and returns false where that cannot be: the ring goes round a pole,
 * or nothing of its area would be left (a box around the world).
 */
export function unwrapRing(vertices: Vertices, start: number): boolean {
  const { x, length } = vertices;
  const written = x.slice(start, length);
  for (let v = start + 1; v < length; v++) x[v] = nearestTurn(x[v]!, x[v - 1]!);
  if (Math.abs(x[length - 1]! - x[start]!) <= 180 && !isFlat(vertices, start)) return true;
  x.set(written, start);
  return false;
}

/**
 * Moves the ring from `start` on by whole turns so that its first vertex lies within the longitudes of an outer ring,
 * if it can: an unwrapped polygon's holes follow it across the antimeridian.
 */
export function followOuterRing(vertices: Vertices, start: number, outer: readonly [number, number]): void {
  const [left, right] = outer;
  const first = vertices.x[start]!;
  const turned = nearestTurn(first, (left + right) / 2);
  if (turned === first || turned < left || turned > right) return;
  for (let v = start; v < vertices.length; v++) vertices.x[v] = vertices.x[v]! + (turned - first);
}

/** The longitude that differs from `longitude` by whole turns and lies nearest to `centre`. */
function nearestTurn(longitude: number, centre: number): number {
  const turns = Math.round((longitude - centre) / 360);
  return turns === 0 ? longitude : longitude - 360 * turns;
}

/** Least and greatest longitude of the ring from `start` on. */
export function longitudeRange({ x, length }: Vertices, start: number): [number, number] {
  let [left, right] = [x[start]!, x[start]!];
  for (let v = start; v < length; v++) {
    left = Math.min(left, x[v]!);
    right = Math.max(right, x[v]!);
  }
  return [left, right];
}
