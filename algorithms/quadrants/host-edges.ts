/**
 * A number with the sign of dy · ax − dx · ay, for factors below 2³¹. If the products are exact in f64, or their
 * difference is far enough from 0, it is computed in f64, otherwise in integers of any size.
 */
function sideOf(ax: number, ay: number, dx: number, dy: number): number {
  const [p, q] = [dy * ax, dx * ay];
  const difference = p - q;
  if (Math.abs(difference) > FAR || (Math.abs(p) <= EXACT && Math.abs(q) <= EXACT)) return difference;
  return Number(BigInt(dy) * BigInt(ax) - BigInt(dx) * BigInt(ay));
}

const EXACT = 2 ** 53;
/** More than the errors of two products below 2⁶² and of their difference. */
const FAR = 2048;

/**
 * As {@link passesThrough} of edge-line.ts: whether an edge passes through a square. Coordinates are relative to the
 * square's lower left corner.
 */
export function passesOnHost(ax: number, ay: number, bx: number, by: number, side: number): boolean {
  if (Math.min(ax, bx) >= side || Math.max(ax, bx) <= 0) return false;
  if (Math.min(ay, by) >= side || Math.max(ay, by) <= 0) return false;
  const [dx, dy] = [bx - ax, by - ay];
  const s0 = sideOf(ax, ay, dx, dy);
  const s1 = sideOf(ax - side, ay, dx, dy);
  const s2 = sideOf(ax, ay - side, dx, dy);
  const s3 = sideOf(ax - side, ay - side, dx, dy);
  return (s0 > 0 || s1 > 0 || s2 > 0 || s3 > 0) && (s0 < 0 || s1 < 0 || s2 < 0 || s3 < 0);
}

/** As {@link flipsCorner} of edge-line.ts: whether an edge crosses the ray that goes left from the origin. */
export function flipsOnHost(ax: number, ay: number, bx: number, by: number): boolean {
  return ay <= 0 !== by <= 0 && isPast(sideOf(ax, ay, bx - ax, by - ay), by - ay);
}

function isPast(at: number, dy: number): boolean {
  return dy > 0 ? at <= 0 : at >= 0;
}

function isAbove(at: number, dx: number, dy: number): boolean {
  return (dx > 0 ? at < 0 : at > 0) || (at === 0 && dy !== 0 && dx > 0 === dy > 0);
}

/**
 * The effect of an edge in a quadrant, as bits (see `edge-in-quadrant.ts`). Coordinates are relative to the quadrant's
 * lower left corner, and its children have a side of 2^half steps.
 */
export function lookOnHost(ax: number, ay: number, bx: number, by: number, half: number): number {
  const column = stripWithin(ax, bx, half);
  const row = stripWithin(ay, by, half);
  if ((column | row) >>> 1 === 0) return 1 << (column + 2 * row);
  return acrossChildren(ax, ay, bx, by, 2 ** half);
}

/** The index of the strip of width 2^half whose inside has both coordinates; 2 or more if neither has both. */
function stripWithin(a: number, b: number, half: number): number {
  const low = Math.min(a, b);
  const strip = low >> half;
  return strip === Math.max(a, b) >> half && low !== strip << half ? strip >>> 0 : 2;
}

function acrossChildren(ax: number, ay: number, bx: number, by: number, side: number): number {
  let look = 0;
  for (let child = 0; child < 4; child++) {
    const [left, bottom] = [(child & 1) * side, (child >> 1) * side];
    if (passesOnHost(ax - left, ay - bottom, bx - left, by - bottom, side)) look |= 1 << child;
  }
  const [dx, dy] = [bx - ax, by - ay];
  if (ay <= 0 !== by <= 0) {
    if (isPast(sideOf(ax - side, ay, dx, dy), dy) && !isPast(sideOf(ax, ay, dx, dy), dy)) look |= 1 << 4;
  }
  if (ax <= 0 !== bx <= 0) {
    if (isAbove(sideOf(ax, ay, dx, dy), dx, dy) && !isAbove(sideOf(ax, ay - side, dx, dy), dx, dy)) look |= 1 << 5;
  }
  if (ay <= side !== by <= side) {
    if (isPast(sideOf(ax - side, ay - side, dx, dy), dy) && !isPast(sideOf(ax, ay - side, dx, dy), dy)) look |= 1 << 6;
  }
  return look;
}
