import { DOMAIN_BITS, type DomainPolygons } from '../../algorithms/quadrants/index.ts';
import { enclosingQuadrant, flips, isPast, passes, serialEdgesOf, sideOf } from './serial-edges.ts';

/** Quadrants as plain arrays, in the same order as those of `decompose`, with up to 16 levels. */
export interface SerialQuadrants {
  readonly polygon: Uint32Array;
  readonly code: Uint32Array;
  readonly level: Uint32Array;
  readonly boundary: Uint32Array;
}

/** Maximum number of levels for which a code fits in one 32-bit word. */
export const MAX_LEVELS = 16;

/**
 * Computes the same as `decompose`, equally exactly, in optimized plain JavaScript on one thread. Polygons are
 * decomposed one after another, each from its smallest enclosing quadrant down. For each quadrant, the function tracks
 * which edges pass through the quadrant (in one array used as a stack), and whether the polygon contains the quadrant's
 * corner.
 */
export function decomposeSerially(polygons: DomainPolygons, levels: number): SerialQuadrants {
  const min = DOMAIN_BITS - levels;
  const { ends, first } = serialEdgesOf(polygons);
  const found = collector();
  const edges = new Uint32Array((maxEdges(first) + 1) * (levels + 2));
  const looks = new Uint8Array(edges.length);

  function split(polygon: number, x: number, y: number, shift: number, parity: number, from: number, to: number): void {
    const half = shift - 1;
    let marks = 0;
    let flipped = 0;
    for (let i = from; i < to; i++) {
      const at = 4 * edges[i]!;
      const look = lookAt(ends[at]! - x, ends[at + 1]! - y, ends[at + 2]! - x, ends[at + 3]! - y, half);
      looks[i] = look;
      marks |= look & 15;
      flipped ^= look >> 4;
    }
    for (let child = 0; child < 4; child++) {
      const [left, bottom] = [x + (child & 1) * 2 ** half, y + (child >> 1) * 2 ** half];
      const corner = parity ^ parityOn(flipped, child);
      if ((marks >> child) & 1 && half > min) {
        let end = to;
        for (let i = from; i < to; i++) if ((looks[i]! >> child) & 1) edges[end++] = edges[i]!;
        split(polygon, left, bottom, half, corner, to, end);
      } else if ((marks >> child) & 1) {
        found.add(polygon, left, bottom, half, 1);
      } else if (corner === 1) {
        found.add(polygon, left, bottom, half, 0);
      }
    }
  }

  for (let polygon = 0; polygon + 1 < first.length; polygon++) {
    const [from, to] = [first[polygon]!, first[polygon + 1]!];
    if (from === to) continue;
    const { x, y, shift } = enclosingQuadrant(ends, from, to, min);
    let [count, parity] = [0, 0];
    for (let edge = from; edge < to; edge++) {
      const at = 4 * edge;
      const [ax, ay, bx, by] = [ends[at]! - x, ends[at + 1]! - y, ends[at + 2]! - x, ends[at + 3]! - y];
      if (passes(ax, ay, bx, by, 2 ** shift)) edges[count++] = edge;
      if (flips(ax, ay, bx, by)) parity ^= 1;
    }
    if (count > 0 && shift > min) split(polygon, x, y, shift, parity, 0, count);
    else if (count > 0) found.add(polygon, x, y, shift, 1);
    else if (parity === 1) found.add(polygon, x, y, shift, 0);
  }
  return found.columns();
}

/**
 * Computes the same as `decomposeWhole` in plain JavaScript on one thread: tests every quadrant against all edges of
 * its polygon.
 */
export function decomposeWholeSerially(polygons: DomainPolygons, levels: number): SerialQuadrants {
  const min = DOMAIN_BITS - levels;
  const { ends, first } = serialEdgesOf(polygons);
  const found = collector();

  function test(polygon: number, x: number, y: number, shift: number): void {
    const [from, to] = [4 * first[polygon]!, 4 * first[polygon + 1]!];
    const side = 2 ** shift;
    for (let at = from; at < to; at += 4) {
      if (!passes(ends[at]! - x, ends[at + 1]! - y, ends[at + 2]! - x, ends[at + 3]! - y, side)) continue;
      if (shift === min) found.add(polygon, x, y, shift, 1);
      for (let child = 0; child < 4 && shift > min; child++) {
        test(polygon, x + ((child & 1) * side) / 2, y + ((child >> 1) * side) / 2, shift - 1);
      }
      return;
    }
    let parity = 0;
    for (let at = from; at < to; at += 4) {
      if (flips(ends[at]! - x, ends[at + 1]! - y, ends[at + 2]! - x, ends[at + 3]! - y)) parity ^= 1;
    }
    if (parity === 1) found.add(polygon, x, y, shift, 0);
  }

  for (let polygon = 0; polygon + 1 < first.length; polygon++) {
    const [from, to] = [first[polygon]!, first[polygon + 1]!];
    if (from === to) continue;
    const { x, y, shift } = enclosingQuadrant(ends, from, to, min);
    test(polygon, x, y, shift);
  }
  return found.columns();
}

function maxEdges(first: Uint32Array): number {
  let max = 0;
  for (let polygon = 0; polygon + 1 < first.length; polygon++)
    max = Math.max(max, first[polygon + 1]! - first[polygon]!);
  return max;
}

/**
 * Returns 1 if the even-odd parity differs between the lower left corners of a quadrant and of its child, otherwise 0.
 * Bits 0 to 2 of `flipped` are 1 if the parity changes from the corner of child 0 to that of child 1 (along the
 * bottom), from child 0 to child 2 (up the left side), and from child 2 to child 3 (along the middle row).
 */
function parityOn(flipped: number, child: number): number {
  if (child === 0) return 0;
  if (child === 1) return flipped & 1;
  return child === 2 ? (flipped >> 1) & 1 : ((flipped >> 1) ^ (flipped >> 2)) & 1;
}

/**
 * Finds what one edge does in a quadrant. Bits 0 to 3 of the result are 1 for the children through which the edge
 * passes. Bits 4 to 6 are 1 if the edge flips the even-odd parity between the children's lower left corners: along the
 * bottom, up the left side, and along the middle row.
 */
function lookAt(ax: number, ay: number, bx: number, by: number, half: number): number {
  const column = stripWithin(ax, bx, half);
  const row = stripWithin(ay, by, half);
  if ((column | row) >>> 1 === 0) return 1 << (column + 2 * row);
  return lookAcross(ax, ay, bx, by, 2 ** half);
}

/**
 * Returns the index (0 or 1) of the half of a quadrant whose interior contains both coordinates; 2 or more if neither
 * half does. Each half is a column or row of children, 2^`half` wide.
 */
function stripWithin(a: number, b: number, half: number): number {
  const low = Math.min(a, b);
  const high = Math.max(a, b);
  const strip = low >> half;
  return strip === high >> half && low !== strip << half ? strip >>> 0 : 2;
}

function lookAcross(ax: number, ay: number, bx: number, by: number, side: number): number {
  let look = 0;
  for (let child = 0; child < 4; child++) {
    const left = (child & 1) * side;
    const bottom = (child >> 1) * side;
    if (passes(ax - left, ay - bottom, bx - left, by - bottom, side)) look |= 1 << child;
  }
  const dx = bx - ax;
  const dy = by - ay;
  if (ay <= 0 !== by <= 0) {
    if (isPast(sideOf(ax - side, ay, dx, dy), dy) && !isPast(sideOf(ax, ay, dx, dy), dy)) look |= 16;
  }
  if (ay <= side !== by <= side) {
    if (isPast(sideOf(ax - side, ay - side, dx, dy), dy) && !isPast(sideOf(ax, ay - side, dx, dy), dy)) look |= 64;
  }
  if (ax <= 0 !== bx <= 0) {
    if (isAbove(sideOf(ax, ay, dx, dy), dx, dy) && !isAbove(sideOf(ax, ay - side, dx, dy), dx, dy)) look |= 32;
  }
  return look;
}

/**
 * Whether an edge crosses the vertical line through a quadrant's left side above a given point of this line. The edge
 * must cross the line. An edge exactly through the point counts as above if the edge rises to the right. `at` is the
 * result of {@link sideOf} for the edge, relative to the point.
 */
function isAbove(at: number, dx: number, dy: number): boolean {
  return (dx > 0 ? at < 0 : at > 0) || (at === 0 && dy !== 0 && dx > 0 === dy > 0);
}

interface Collector {
  add(polygon: number, x: number, y: number, shift: number, boundary: number): void;
  columns(): SerialQuadrants;
}

/** A growing list of quadrants, with four words each. */
function collector(): Collector {
  let rows = new Uint32Array(4 * 1024);
  let end = 0;
  return {
    add(polygon, x, y, shift, boundary) {
      if (end === rows.length) {
        const larger = new Uint32Array(2 * end);
        larger.set(rows);
        rows = larger;
      }
      rows[end] = polygon;
      rows[end + 1] = spread(x >> shift) | (spread(y >> shift) << 1);
      rows[end + 2] = DOMAIN_BITS - shift;
      rows[end + 3] = boundary;
      end += 4;
    },
    columns() {
      const column = (field: number): Uint32Array => {
        const values = new Uint32Array(end / 4);
        for (let row = 0; row < values.length; row++) values[row] = rows[4 * row + field]!;
        return values;
      };
      return { polygon: column(0), code: column(1), level: column(2), boundary: column(3) };
    },
  };
}

/** Spreads the lower 16 bits: bit i moves to bit 2i. */
function spread(bits: number): number {
  let wide = bits & 0xffff;
  wide = (wide | (wide << 8)) & 0x00ff00ff;
  wide = (wide | (wide << 4)) & 0x0f0f0f0f;
  wide = (wide | (wide << 2)) & 0x33333333;
  return (wide | (wide << 1)) & 0x55555555;
}
