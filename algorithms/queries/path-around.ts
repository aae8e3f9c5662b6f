import { DOMAIN_STEPS } from '../quadrants/domain.ts';

/**
 * How many steps a vertex may be outside the domain. Differences of coordinates are then below 2³¹, and the products of
 * two differences, of which two are added, below 2⁶³.
 */
export const REACH: number = 2 ** 29 - 1;

/** A point in steps of a domain. */
export interface GridPoint {
  readonly x: number;
  readonly y: number;
}

/** A path in place of an edge: the points after the start of the edge. */
export interface Path {
  readonly points: readonly GridPoint[];
  /** Whether the path is on the edge within the domain. */
  readonly isExact: boolean;
}

/**
 * The four half-planes that hold the outside of the domain. A point is in one if `over` is at most 0. `axis` is the
 * axis across its border, and `sign` tells whether `over` grows (1) or falls (-1) with the coordinate.
 */
const SIDES = [
  { axis: 'x', sign: 1, border: 0 },
  { axis: 'y', sign: 1, border: 0 },
  { axis: 'x', sign: -1, border: DOMAIN_STEPS },
  { axis: 'y', sign: -1, border: DOMAIN_STEPS },
] as const;

type Side = (typeof SIDES)[number];

const overOf = ({ axis, sign, border }: Side, point: GridPoint): number => sign * (point[axis] - border);

/**
 * Replaces an edge by a path whose points are at most {@link REACH} steps outside the domain. Within the domain, the path
 * is the edge. Outside, it passes the domain on the same side as the edge, so that a closed ring of such paths goes
 * around every point of the domain as often as the ring of edges.
 *
 * A point far outside is moved to the nearest point within reach. That moves it within each half-plane beside the domain
 * in which it is, so an edge with both ends in one half-plane stays there. Another edge passes a corner of the domain,
 * which becomes a point of the path, or it passes through the domain. Then the path enters and leaves the domain on the
 * edge, at points of the grid on the edge.
 */
export function pathAround(from: GridPoint, to: GridPoint): Path {
  const end = nearest(to);
  if (isNear(from) && isNear(to)) return { points: [to], isExact: true };
  if (SIDES.some((side) => overOf(side, from) <= 0 && overOf(side, to) <= 0)) return { points: [end], isExact: true };
  const corner = cornerPassed(from, to);
  if (corner !== undefined) return { points: [corner, end], isExact: true };
  const [enters, leaves] = [pointBefore(from, to), pointBefore(to, from)];
  const points = [...(isNear(from) ? [] : [enters.point]), ...(isNear(to) ? [] : [leaves.point]), end];
  return { points, isExact: enters.isExact && leaves.isExact };
}

function isNear({ x, y }: GridPoint): boolean {
  return Math.min(x, y) >= -REACH && Math.max(x, y) <= DOMAIN_STEPS + REACH;
}

function nearest({ x, y }: GridPoint): GridPoint {
  const clamp = (at: number): number => Math.min(DOMAIN_STEPS + REACH, Math.max(-REACH, at));
  return { x: clamp(x), y: clamp(y) };
}

const CORNERS = [0, DOMAIN_STEPS].flatMap((x) => [0, DOMAIN_STEPS].map((y) => ({ x, y })));

/** The corner of the domain next to an edge that does not pass through the domain. Undefined if the edge does. */
function cornerPassed(from: GridPoint, to: GridPoint): GridPoint | undefined {
  const [dx, dy] = [BigInt(to.x - from.x), BigInt(to.y - from.y)];
  const sides = CORNERS.map(({ x, y }) => dx * BigInt(y - from.y) - dy * BigInt(x - from.x));
  const isLeft = sides.every((side) => side >= 0n);
  if (!isLeft && !sides.every((side) => side <= 0n)) return undefined;
  const distances = sides.map((side) => (isLeft ? side : -side));
  return CORNERS[distances.findIndex((distance) => distances.every((other) => distance <= other))];
}

interface EdgePoint {
  readonly point: GridPoint;
  readonly isExact: boolean;
}

/**
 * A point on an edge from `from`, which is not near, before the edge enters the domain: the last point of the grid on
 * the edge, if it is near, else the nearest point of the grid to where the edge comes near. If `from` is near, `from`.
 */
function pointBefore(from: GridPoint, to: GridPoint): EdgePoint {
  if (isNear(from)) return { point: from, isExact: true };
  const [dx, dy] = [BigInt(to.x - from.x), BigInt(to.y - from.y)];
  const divisor = greatestDivisor(dx, dy);
  const step = { x: dx / divisor, y: dy / divisor };
  let last = 0n;
  for (const side of SIDES) {
    const over = BigInt(overOf(side, from));
    const grows = BigInt(side.sign) * step[side.axis];
    if (over <= 0n && -over / grows > last) last = -over / grows;
  }
  const exact = { x: from.x + Number(last * step.x), y: from.y + Number(last * step.y) };
  return isNear(exact) ? { point: exact, isExact: true } : { point: roundedNear(from, dx, dy), isExact: false };
}

/** The point of the grid that is nearest to where an edge from `from` comes within {@link REACH} steps of the domain. */
function roundedNear(from: GridPoint, dx: bigint, dy: bigint): GridPoint {
  const near = nearest(from);
  const [byX, byY] = [BigInt(near.x - from.x), BigInt(near.y - from.y)];
  // The edge comes near across the border that it reaches last.
  const absolute = (a: bigint): bigint => (a < 0n ? -a : a);
  if (absolute(byX) * absolute(dy) >= absolute(byY) * absolute(dx)) {
    return { x: near.x, y: from.y + Number(roundedRatio(byX * dy, dx)) };
  }
  return { x: from.x + Number(roundedRatio(byY * dx, dy)), y: near.y };
}

function roundedRatio(a: bigint, b: bigint): bigint {
  const [over, under] = b < 0n ? [-2n * a - b, -2n * b] : [2n * a + b, 2n * b];
  return over < 0n && over % under !== 0n ? over / under - 1n : over / under;
}

function greatestDivisor(a: bigint, b: bigint): bigint {
  let [x, y] = [a < 0n ? -a : a, b < 0n ? -b : b];
  while (y !== 0n) [x, y] = [y, x % y];
  return x;
}
