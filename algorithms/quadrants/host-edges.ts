/**
 * A number with the sign of dy · ax − dx · ay, for factors below 2³¹. If the products are exact in f64, or their
 * difference is far enough from 0, it is computed in f64, otherwise in integers of any size.
 */
function sideOf(ax: number, ay: number, dx: number, dy: number): number {
  const p = dy * ax;
  const q = dx * ay;
  const difference = p - q;
  if (Math.abs(difference) > FAR || (Math.abs(p) <= EXACT && Math.abs(q) <= EXACT)) return difference;
  return Number(BigInt(dy) * BigInt(ax) - BigInt(dx) * BigInt(ay));
}

const EXACT = 2 ** 53;
/** More than the errors of two products below 2⁶² and of their difference. */
const FAR = 2048;

/** Whether corners of a square are strictly on both sides of a line. */
function straddles(s0: number, s1: number, s2: number, s3: number): boolean {
  return (s0 > 0 || s1 > 0 || s2 > 0 || s3 > 0) && (s0 < 0 || s1 < 0 || s2 < 0 || s3 < 0);
}

/**
 * As {@link passesThrough} of edge-line.ts: whether an edge passes through a square. Coordinates are relative to the
 * square's lower left corner.
 */
export function passesOnHost(ax: number, ay: number, bx: number, by: number, side: number): boolean {
  if (Math.min(ax, bx) >= side || Math.max(ax, bx) <= 0) return false;
  if (Math.min(ay, by) >= side || Math.max(ay, by) <= 0) return false;
  const dx = bx - ax;
  const dy = by - ay;
  return straddles(
    sideOf(ax, ay, dx, dy),
    sideOf(ax - side, ay, dx, dy),
    sideOf(ax, ay - side, dx, dy),
    sideOf(ax - side, ay - side, dx, dy),
  );
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

/** The effect of an edge by its sides of the nine corners of children, row by row from the lower left one. */
function acrossChildren(ax: number, ay: number, bx: number, by: number, side: number): number {
  const dx = bx - ax;
  const dy = by - ay;
  const s0 = sideOf(ax, ay, dx, dy);
  const s1 = sideOf(ax - side, ay, dx, dy);
  const s2 = sideOf(ax - 2 * side, ay, dx, dy);
  const s3 = sideOf(ax, ay - side, dx, dy);
  const s4 = sideOf(ax - side, ay - side, dx, dy);
  const s5 = sideOf(ax - 2 * side, ay - side, dx, dy);
  const s6 = sideOf(ax, ay - 2 * side, dx, dy);
  const s7 = sideOf(ax - side, ay - 2 * side, dx, dy);
  const s8 = sideOf(ax - 2 * side, ay - 2 * side, dx, dy);
  const isLeft = Math.min(ax, bx) < side && Math.max(ax, bx) > 0;
  const isRight = Math.min(ax, bx) < 2 * side && Math.max(ax, bx) > side;
  const isLow = Math.min(ay, by) < side && Math.max(ay, by) > 0;
  const isHigh = Math.min(ay, by) < 2 * side && Math.max(ay, by) > side;
  let look = 0;
  if (isLeft && isLow && straddles(s0, s1, s3, s4)) look |= 1;
  if (isRight && isLow && straddles(s1, s2, s4, s5)) look |= 2;
  if (isLeft && isHigh && straddles(s3, s4, s6, s7)) look |= 4;
  if (isRight && isHigh && straddles(s4, s5, s7, s8)) look |= 8;
  if (ay <= 0 !== by <= 0 && isPast(s1, dy) && !isPast(s0, dy)) look |= 1 << 4;
  if (ax <= 0 !== bx <= 0 && isAbove(s0, dx, dy) && !isAbove(s3, dx, dy)) look |= 1 << 5;
  if (ay <= side !== by <= side && isPast(s4, dy) && !isPast(s3, dy)) look |= 1 << 6;
  return look;
}
