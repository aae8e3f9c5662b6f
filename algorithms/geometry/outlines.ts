import { type PartEdges, sideOf } from './part-edges.ts';

/** A position along an edge: `n / d` of the way from its start to its end. */
export interface Along {
  readonly n: bigint;
  readonly d: bigint;
}

/**
 * A stretch of an edge from (x0, y0) to (x1, y1), of which one side is inside a polygon and the other is not. The stretch
 * begins at `from` and ends at `to`; undefined at the ends of the edge.
 */
export interface OutlineStretch {
  readonly x0: number;
  readonly y0: number;
  readonly x1: number;
  readonly y1: number;
  readonly from: Along | undefined;
  readonly to: Along | undefined;
  /** Whether the inside is where x is larger. For a horizontal edge: where y is larger. */
  readonly isBeyond: boolean;
}

/**
 * Calls `emit` for all stretches of the outline of a polygon, which is the union of parts that are filled by the
 * even-odd rule. The outline is what remains of the edges if they are cut where they meet, without those of which both
 * sides are inside or outside; of edges that coincide, one remains. So neither the direction of rings matters, nor
 * whether they cross or coincide, nor whether parts overlap. Where edges cross, nothing is rounded.
 *
 * - Work O(edges · log edges) to find out which edges meet, and one step for every edge at the height of a ring to find
 *   its inside. Edges that meet others take as much for each point where they meet.
 */
export function outlineOf(parts: readonly PartEdges[], emit: (stretch: OutlineStretch) => void): void {
  const meetings = meetingsOf(parts);
  for (const [at, part] of parts.entries()) {
    for (let ring = 0; ring + 1 < part.ringEdges.length; ring++) {
      // What is inside stays on the same side of a ring until it meets an edge.
      let held: { readonly left: boolean; readonly right: boolean } | undefined;
      for (let edge = part.ringEdges[ring]!; edge < part.ringEdges[ring + 1]!; edge++) {
        const points = meetings?.[at]?.get(edge);
        const ends = points === undefined ? WHOLE : stops(points);
        if (points?.some(({ n }) => n === 0n)) held = undefined;
        for (let stop = 0; stop + 1 < ends.length; stop++) {
          const [from, to] = [ends[stop]!, ends[stop + 1]!];
          if (stop > 0) held = undefined;
          const isUp = isUpward(part, edge);
          let isFirst = true;
          if (held === undefined) {
            const sides = sidesOf(parts, at, edge, from, to);
            held = isUp ? { left: sides.far, right: sides.near } : { left: sides.near, right: sides.far };
            isFirst = sides.isFirst;
          }
          if (held.left !== held.right && isFirst) emit(stretchOf(part, edge, from, to, isUp ? held.right : held.left));
        }
        if (points?.some(({ n, d }) => n === d)) held = undefined;
      }
    }
  }
}

const START: Along = { n: 0n, d: 1n };
const END: Along = { n: 1n, d: 1n };
const WHOLE: readonly Along[] = [START, END];

function stretchOf(part: PartEdges, edge: number, from: Along, to: Along, isBeyond: boolean): OutlineStretch {
  return {
    // The coordinates of parts are doubled.
    x0: part.x0[edge]! / 2,
    y0: part.y0[edge]! / 2,
    x1: part.x1[edge]! / 2,
    y1: part.y1[edge]! / 2,
    from: from.n === 0n ? undefined : from,
    to: to.n === to.d ? undefined : to,
    isBeyond,
  };
}

/** Whether the side with larger x (of a horizontal edge: with larger y) is to the right of an edge. */
function isUpward({ x0, y0, x1, y1 }: PartEdges, edge: number): boolean {
  return y0[edge] === y1[edge] ? x1[edge]! < x0[edge]! : y0[edge]! < y1[edge]!;
}

/** The start of an edge, the points where it meets others, and its end, in this order, without duplicates. */
function stops(points: readonly Along[]): Along[] {
  const sorted = [START, ...points, END].sort(compareAlong);
  return sorted.filter((point, at) => at === 0 || compareAlong(point, sorted[at - 1]!) !== 0);
}

function compareAlong(a: Along, b: Along): number {
  const [left, right] = [a.n * b.d, b.n * a.d];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** For each part, the points where each edge meets other edges. */
type Meetings = readonly Map<number, Along[]>[];

/** Finds where edges meet. Neighbours in a ring meet only if they lie on each other. Undefined if no edges meet. */
function meetingsOf(parts: readonly PartEdges[]): Meetings | undefined {
  let found: Meetings | undefined;
  const add: AddMeeting = (part, edge, point) => {
    found ??= parts.map(() => new Map());
    const points = found[part]!.get(edge);
    if (points === undefined) found[part]!.set(edge, [point]);
    else points.push(point);
  };
  for (const [p, a] of parts.entries()) {
    for (let q = p; q < parts.length; q++) {
      const b = parts[q]!;
      if (a.box.left > b.box.right || b.box.left > a.box.right) continue;
      if (a.box.bottom > b.box.top || b.box.bottom > a.box.top) continue;
      forPairs(a, b, p === q, (i, j) => meet(parts, p, i, q, j, add));
    }
  }
  return found;
}

type AddMeeting = (part: number, edge: number, point: Along) => void;

/** With at most this many pairs of edges, comparing all is faster than searching an index. */
const FEW_PAIRS = 10_000;

/** Calls `call` for all pairs of an edge of `a` and an edge of `b` whose boxes intersect; for each pair once. */
function forPairs(a: PartEdges, b: PartEdges, isSame: boolean, call: (i: number, j: number) => void): void {
  const [count, others] = [a.ringEdges.at(-1)!, b.ringEdges.at(-1)!];
  for (let i = 0; i < count; i++) {
    const [x0, y0, x1, y1] = [a.x0[i]!, a.y0[i]!, a.x1[i]!, a.y1[i]!];
    const [left, right, bottom, top] = [Math.min(x0, x1), Math.max(x0, x1), Math.min(y0, y1), Math.max(y0, y1)];
    if (count * others > FEW_PAIRS) {
      b.index.search(left, bottom, right, top, (j) => {
        if (!isSame || j > i) call(i, j);
        return false;
      });
      continue;
    }
    // One column after the other, because most pairs are told apart by the first.
    for (let j = isSame ? i + 1 : 0; j < others; j++) {
      const fromX = b.x0[j]!;
      const toX = b.x1[j]!;
      if ((fromX < left && toX < left) || (fromX > right && toX > right)) continue;
      const fromY = b.y0[j]!;
      const toY = b.y1[j]!;
      if ((fromY < bottom && toY < bottom) || (fromY > top && toY > top)) continue;
      call(i, j);
    }
  }
}

/** Adds the points where edge i of part p meets edge j of part q. */
function meet(parts: readonly PartEdges[], p: number, i: number, q: number, j: number, add: AddMeeting): void {
  const [a, b] = [parts[p]!, parts[q]!];
  const [ax0, ay0, ax1, ay1] = [a.x0[i]!, a.y0[i]!, a.x1[i]!, a.y1[i]!];
  const [bx0, by0, bx1, by1] = [b.x0[j]!, b.y0[j]!, b.x1[j]!, b.y1[j]!];
  const startOfA = sideOf(bx0, by0, bx1, by1, ax0, ay0);
  const endOfA = sideOf(bx0, by0, bx1, by1, ax1, ay1);
  if (startOfA * endOfA > 0) return;
  const startOfB = sideOf(ax0, ay0, ax1, ay1, bx0, by0);
  const endOfB = sideOf(ax0, ay0, ax1, ay1, bx1, by1);
  if (startOfB * endOfB > 0) return;
  // Neighbours that do not lie on one line share their common end alone.
  if (p === q && startOfA !== endOfA && areNeighbours(a, i, j)) return;
  if (startOfA * endOfA < 0 && startOfB * endOfB < 0) {
    add(p, i, crossingAlong(ax0, ay0, ax1, ay1, bx0, by0, bx1, by1));
    add(q, j, crossingAlong(bx0, by0, bx1, by1, ax0, ay0, ax1, ay1));
    return;
  }
  const touches: (readonly [x: number, y: number])[] = [];
  if (startOfA === 0 && isBetween(ax0, ay0, bx0, by0, bx1, by1)) touches.push([ax0, ay0]);
  if (endOfA === 0 && isBetween(ax1, ay1, bx0, by0, bx1, by1)) touches.push([ax1, ay1]);
  if (startOfB === 0 && isBetween(bx0, by0, ax0, ay0, ax1, ay1)) touches.push([bx0, by0]);
  if (endOfB === 0 && isBetween(bx1, by1, ax0, ay0, ax1, ay1)) touches.push([bx1, by1]);
  if (p === q && areNeighbours(a, i, j)) {
    const [x, y] = touches[0] ?? [0, 0];
    if (touches.every((touch) => touch[0] === x && touch[1] === y)) return;
  }
  for (const [x, y] of touches) {
    add(p, i, alongOf(ax0, ay0, ax1, ay1, x, y));
    add(q, j, alongOf(bx0, by0, bx1, by1, x, y));
  }
}

/** Whether edges i < j of a part follow each other in a ring. */
function areNeighbours({ ringOf, ringEdges }: PartEdges, i: number, j: number): boolean {
  const ring = ringOf[i]!;
  return ring === ringOf[j] && (j === i + 1 || (i === ringEdges[ring] && j + 1 === ringEdges[ring + 1]));
}

function isBetween(x: number, y: number, x0: number, y0: number, x1: number, y1: number): boolean {
  return Math.min(x0, x1) <= x && x <= Math.max(x0, x1) && Math.min(y0, y1) <= y && y <= Math.max(y0, y1);
}

/** Where along the edge a the edge b crosses it. */
function crossingAlong(
  ax0: number,
  ay0: number,
  ax1: number,
  ay1: number,
  bx0: number,
  by0: number,
  bx1: number,
  by1: number,
): Along {
  const [dx, dy] = [BigInt(bx1 - bx0), BigInt(by1 - by0)];
  const across = (x: number, y: number): bigint => dx * BigInt(y - by0) - dy * BigInt(x - bx0);
  const [start, end] = [across(ax0, ay0), across(ax1, ay1)];
  return positive(start, start - end);
}

/** Where a point lies along an edge on which it lies. */
function alongOf(x0: number, y0: number, x1: number, y1: number, x: number, y: number): Along {
  return x0 === x1 ? positive(BigInt(y - y0), BigInt(y1 - y0)) : positive(BigInt(x - x0), BigInt(x1 - x0));
}

function positive(n: bigint, d: bigint): Along {
  return d < 0n ? { n: -n, d: -d } : { n, d };
}

/**
 * Whether the two sides of a stretch of an edge are inside the union of the parts: `near` is the side with larger x (of
 * a horizontal edge: with larger y). `isFirst` is true for the first of the edges that coincide on the stretch. By the
 * even-odd rule, `near` is inside a part if a ray towards larger x meets an odd number of its edges; between the two
 * sides are the edges that coincide.
 */
function sidesOf(
  parts: readonly PartEdges[],
  at: number,
  edge: number,
  from: Along,
  to: Along,
): { readonly near: boolean; readonly far: boolean; readonly isFirst: boolean } {
  const own = parts[at]!;
  const [x0, y0, x1, y1] = [own.x0[edge]!, own.y0[edge]!, own.x1[edge]!, own.y1[edge]!];
  const point = middleOf(x0, y0, x1, y1, from, to);
  let [near, far, isFirst] = [false, false, true];
  for (const [which, part] of parts.entries()) {
    let [before, along] = [0, 0];
    const { index, box } = part;
    index.search(point.x - 1, point.y - 1, box.right, point.y + 1, (each) => {
      const [fromX, fromY, toX, toY] = [part.x0[each]!, part.y0[each]!, part.x1[each]!, part.y1[each]!];
      const [lowX, lowY, highX, highY] = fromY <= toY ? [fromX, fromY, toX, toY] : [toX, toY, fromX, fromY];
      const side = point.sideOf(lowX, lowY, highX, highY);
      if (side > 0 && point.isFrom(lowY) && !point.isFrom(highY)) before++;
      const runsAlong =
        side === 0 &&
        sideOf(x0, y0, x1, y1, fromX, fromY) === 0 &&
        sideOf(x0, y0, x1, y1, toX, toY) === 0 &&
        point.isBetween(fromX, fromY, toX, toY);
      if (runsAlong) {
        along++;
        if (which < at || (which === at && each < edge)) isFirst = false;
      }
      return false;
    });
    near ||= before % 2 === 1;
    far ||= (before + along) % 2 === 1;
  }
  return { near, far, isFirst };
}

/** A point with rational coordinates. `x` and `y` are the coordinates, less than 1 off. */
interface Point {
  readonly x: number;
  readonly y: number;
  /** The side of a line on which the point is: 1 left, −1 right, 0 on the line. */
  sideOf(x0: number, y0: number, x1: number, y1: number): number;
  /** Whether the point has at least this y. */
  isFrom(y: number): boolean;
  /** Whether the point, which is on the line through two other points, lies between them. */
  isBetween(x0: number, y0: number, x1: number, y1: number): boolean;
}

/** The point halfway between two positions along an edge. */
function middleOf(x0: number, y0: number, x1: number, y1: number, from: Along, to: Along): Point {
  if (from.n === 0n && to.n === to.d) {
    const [x, y] = [(x0 + x1) / 2, (y0 + y1) / 2];
    return {
      ...{ x, y },
      sideOf: (ax, ay, bx, by) => sideOf(ax, ay, bx, by, x, y),
      isFrom: (least) => y >= least,
      isBetween: (ax, ay, bx, by) => isBetween(x, y, ax, ay, bx, by),
    };
  }
  const d = 2n * from.d * to.d;
  const n = from.n * to.d + to.n * from.d;
  const x = BigInt(x0) * d + BigInt(x1 - x0) * n;
  const y = BigInt(y0) * d + BigInt(y1 - y0) * n;
  const within = (value: bigint, one: number, two: number): boolean =>
    value >= BigInt(Math.min(one, two)) * d && value <= BigInt(Math.max(one, two)) * d;
  return {
    ...{ x: Number(x / d), y: Number(y / d) },
    sideOf(ax, ay, bx, by) {
      const left = BigInt(bx - ax) * (y - BigInt(ay) * d);
      const right = BigInt(by - ay) * (x - BigInt(ax) * d);
      return left > right ? 1 : left < right ? -1 : 0;
    },
    isFrom: (least) => y >= BigInt(least) * d,
    isBetween: (ax, ay, bx, by) => within(x, ax, bx) && within(y, ay, by),
  };
}
