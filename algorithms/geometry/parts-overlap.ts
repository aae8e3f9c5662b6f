import { type Box, type PartEdges, sideOf } from './part-edges.ts';

/**
 * Whether two parts share area. Computed exactly in integers. Parts that only touch share none.
 *
 * If an edge of one part crosses an edge of the other part, the parts share area. The exception is a crossing at which
 * edges of one part coincide and cancel. Without crossings, the outlines meet only at vertices and along common
 * stretches. A run is the stretch of an outline between two meeting points. Each run is entirely inside or entirely
 * outside the other part, so testing one point of the run, halfway between two vertices, is enough. Every run of both
 * outlines is tested once: the parts share area if both contain the area on the same side of some run.
 *
 * - Work O((edges in the intersection of both boxes + meeting points) · log edges). Each tested point also costs one
 *   step for every edge to the right of the point and at its height.
 * - If both outlines cross themselves in the same point, the result may be true although the parts only touch there.
 */
export function partsOverlap(a: PartEdges, b: PartEdges): boolean {
  const common = commonBox(a.box, b.box);
  if (common === undefined) return false;
  const [few, many] = a.x0.length <= b.x0.length ? [a, b] : [b, a];
  const meetings = meetingsIn(few, many, common);
  if (meetings === 'crossing') return true;
  return (
    sharesSide(few, meetings.ofFew, many, ringsIn(few, common)) ||
    sharesSide(many, meetings.ofMany, few, ringsIn(many, common))
  );
}

/** The intersection of two boxes; undefined if the intersection has no area. */
function commonBox(a: Box, b: Box): Box | undefined {
  const left = Math.max(a.left, b.left);
  const bottom = Math.max(a.bottom, b.bottom);
  const right = Math.min(a.right, b.right);
  const top = Math.min(a.top, b.top);
  return left < right && bottom < top ? { left, bottom, right, top } : undefined;
}

/** The rings that have an edge whose box intersects the given box. No other ring can be inside the given box. */
function ringsIn({ index, ringOf }: PartEdges, { left, bottom, right, top }: Box): Set<number> {
  const rings = new Set<number>();
  index.search(left, bottom, right, top, (edge) => {
    rings.add(ringOf[edge]!);
    return false;
  });
  return rings;
}

/** For each edge of a part, the points where the edge meets the other part: x and y alternately. */
type Meetings = Map<number, number[]>;

function meetingsIn(
  few: PartEdges,
  many: PartEdges,
  { left, bottom, right, top }: Box,
): { readonly ofFew: Meetings; readonly ofMany: Meetings } | 'crossing' {
  const [ofFew, ofMany]: [Meetings, Meetings] = [new Map(), new Map()];
  let crossing = false;
  for (const edge of few.index.search(left, bottom, right, top)) {
    const [x0, y0, x1, y1] = [few.x0[edge]!, few.y0[edge]!, few.x1[edge]!, few.y1[edge]!];
    many.index.search(Math.min(x0, x1), Math.min(y0, y1), Math.max(x0, x1), Math.max(y0, y1), (other) => {
      crossing ||= meet(few, edge, many, other, ofFew, ofMany);
      return false;
    });
    if (crossing) return 'crossing';
  }
  return { ofFew, ofMany };
}

/** Whether two edges cross. If they only touch, adds the points where they touch to `ofA` and `ofB`. */
function meet(a: PartEdges, i: number, b: PartEdges, j: number, ofA: Meetings, ofB: Meetings): boolean {
  const [ax0, ay0, ax1, ay1] = [a.x0[i]!, a.y0[i]!, a.x1[i]!, a.y1[i]!];
  const [bx0, by0, bx1, by1] = [b.x0[j]!, b.y0[j]!, b.x1[j]!, b.y1[j]!];
  const startOfA = sideOf(bx0, by0, bx1, by1, ax0, ay0);
  const endOfA = sideOf(bx0, by0, bx1, by1, ax1, ay1);
  if (startOfA * endOfA > 0) return false;
  const startOfB = sideOf(ax0, ay0, ax1, ay1, bx0, by0);
  const endOfB = sideOf(ax0, ay0, ax1, ay1, bx1, by1);
  if (startOfB * endOfB > 0) return false;
  const touch = (x: number, y: number): void => {
    addPoint(ofA, i, x, y);
    addPoint(ofB, j, x, y);
  };
  if (startOfA * endOfA < 0 && startOfB * endOfB < 0) {
    const [through, across] = [edgesThrough(a, i, bx0, by0, bx1, by1), edgesThrough(b, j, ax0, ay0, ax1, ay1)];
    const vertex = through.vertex ?? across.vertex;
    if (vertex === undefined) return through.count % 2 === 1 && across.count % 2 === 1;
    touch(...vertex);
    return false;
  }
  if (startOfA === 0 && isBetween(ax0, ay0, bx0, by0, bx1, by1)) touch(ax0, ay0);
  if (endOfA === 0 && isBetween(ax1, ay1, bx0, by0, bx1, by1)) touch(ax1, ay1);
  if (startOfB === 0 && isBetween(bx0, by0, ax0, ay0, ax1, ay1)) touch(bx0, by0);
  if (endOfB === 0 && isBetween(bx1, by1, ax0, ay0, ax1, ay1)) touch(bx1, by1);
  return false;
}

interface EdgesThrough {
  readonly count: number;
  readonly vertex: readonly [x: number, y: number] | undefined;
}

/**
 * Examines the point where a line crosses an edge of a part. Counts the edges of the part that coincide with this edge
 * at the point, including the edge itself. If the part has a vertex at the point, also returns the vertex.
 */
function edgesThrough(part: PartEdges, edge: number, x0: number, y0: number, x1: number, y1: number): EdgesThrough {
  let count = 0;
  let vertex: EdgesThrough['vertex'];
  forEdgesAlong(part, edge, (fromX, fromY, toX, toY) => {
    const [from, to] = [sideOf(x0, y0, x1, y1, fromX, fromY), sideOf(x0, y0, x1, y1, toX, toY)];
    if (from * to < 0) count++;
    if (from === 0) vertex = [fromX, fromY];
    if (to === 0) vertex = [toX, toY];
  });
  return { count, vertex };
}

/** Calls `call` for every edge that is on the same line as the given edge and near it, including the edge itself. */
function forEdgesAlong(
  { x0, y0, x1, y1, index }: PartEdges,
  edge: number,
  call: (fromX: number, fromY: number, toX: number, toY: number) => void,
): void {
  const [ax, ay, bx, by] = [x0[edge]!, y0[edge]!, x1[edge]!, y1[edge]!];
  index.search(Math.min(ax, bx), Math.min(ay, by), Math.max(ax, bx), Math.max(ay, by), (each) => {
    const [fromX, fromY, toX, toY] = [x0[each]!, y0[each]!, x1[each]!, y1[each]!];
    const isAlong = sideOf(ax, ay, bx, by, fromX, fromY) === 0 && sideOf(ax, ay, bx, by, toX, toY) === 0;
    if (isAlong) call(fromX, fromY, toX, toY);
    return false;
  });
}

/** Whether a point is between two points or equals one of them. All three must be on one line. */
function isBetween(x: number, y: number, x0: number, y0: number, x1: number, y1: number): boolean {
  return Math.min(x0, x1) <= x && x <= Math.max(x0, x1) && Math.min(y0, y1) <= y && y <= Math.max(y0, y1);
}

function addPoint(meetings: Meetings, edge: number, x: number, y: number): void {
  const points = meetings.get(edge);
  if (points === undefined) meetings.set(edge, [x, y]);
  else points.push(x, y);
}

/**
 * Whether both parts contain the area on the same side of some run (stretch between meeting points) of the outline of
 * `part`.
 */
function sharesSide(part: PartEdges, meetings: Meetings, other: PartEdges, rings: ReadonlySet<number>): boolean {
  const met = new Set([...meetings.keys()].map((edge) => part.ringOf[edge]!));
  for (const ring of rings) {
    let isKnown = false;
    for (let edge = part.ringEdges[ring]!; edge < part.ringEdges[ring + 1]!; edge++) {
      const points = pointsAlong(part, edge, meetings.get(edge) ?? []);
      for (let at = 0; at + 3 < points.length; at += 2) {
        if (at > 0) isKnown = false;
        if (isKnown) continue;
        const found = lookBeside(part, edge, other, points.slice(at, at + 4));
        if (found === 'shared') return true;
        isKnown = found === 'known';
      }
      if (endMeets(points, meetings.get(edge))) isKnown = false;
      if (isKnown && !met.has(ring)) break;
    }
  }
  return false;
}

/**
 * Examines a stretch of an edge, which is part of a run (stretch between meeting points).
 *
 * - `shared`: both parts contain the area on the same side of the stretch.
 * - `known`: the parts share no side of this stretch or of any other stretch of the run.
 * - `unknown`: the other stretches of the run must be examined too. On this stretch, edges of `part` coincide or meet:
 *   `part` contains both sides of the stretch or neither, or has a vertex halfway along the stretch.
 */
function lookBeside(
  part: PartEdges,
  edge: number,
  other: PartEdges,
  [fromX, fromY, toX, toY]: readonly number[],
): 'shared' | 'known' | 'unknown' {
  const look = (x0: number, y0: number, x1: number, y1: number) => {
    const [x, y] = [(x0 + x1) / 2, (y0 + y1) / 2];
    const [own, beyond] = [sidesHeld(part, part, edge, x, y), sidesHeld(other, part, edge, x, y)];
    if (own.atVertex) return 'unknown';
    const isShared = (own.near && beyond.near) || (own.far && beyond.far);
    return isShared ? 'shared' : own.near === own.far ? 'unknown' : 'known';
  };
  const found = look(fromX!, fromY!, toX!, toY!);
  if (found !== 'unknown') return found;
  const ends = ownVertices(part, fromX!, fromY!, toX!, toY!);
  const points = inOrder(fromX!, fromY!, [fromX!, fromY!, toX!, toY!, ...ends]);
  for (let at = 0; at + 3 < points.length; at += 2) {
    if (look(points[at]!, points[at + 1]!, points[at + 2]!, points[at + 3]!) === 'shared') return 'shared';
  }
  return 'unknown';
}

/** The vertices of a part on a stretch of one of its edges, as x and y alternately. */
function ownVertices({ x0, y0, x1, y1, index }: PartEdges, ax: number, ay: number, bx: number, by: number): number[] {
  const found: number[] = [];
  const add = (x: number, y: number): void => {
    if (sideOf(ax, ay, bx, by, x, y) === 0 && isBetween(x, y, ax, ay, bx, by)) found.push(x, y);
  };
  index.search(Math.min(ax, bx), Math.min(ay, by), Math.max(ax, bx), Math.max(ay, by), (each) => {
    add(x0[each]!, y0[each]!);
    add(x1[each]!, y1[each]!);
    return false;
  });
  return found;
}

/**
 * The start of an edge, the points where it meets the other part, and its end, in this order, as x and y alternately.
 */
function pointsAlong({ x0, y0, x1, y1 }: PartEdges, edge: number, met: readonly number[]): number[] {
  const ends = [x0[edge]!, y0[edge]!, x1[edge]!, y1[edge]!];
  return met.length === 0 ? ends : inOrder(ends[0]!, ends[1]!, [...ends, ...met]);
}

/** Sorts points on a line by their distance from the start of the line, and removes duplicates. */
function inOrder(fromX: number, fromY: number, points: readonly number[]): number[] {
  const along = ([x, y]: readonly [number, number]): number => Math.abs(x - fromX) + Math.abs(y - fromY);
  const pairs: [number, number][] = [];
  for (let at = 0; at < points.length; at += 2) pairs.push([points[at]!, points[at + 1]!]);
  pairs.sort((a, b) => along(a) - along(b));
  return pairs.filter(([x, y], at) => at === 0 || x !== pairs[at - 1]![0] || y !== pairs[at - 1]![1]).flat();
}

/**
 * Whether the end point of an edge is a point where the edge meets the other part. `points` are the points along the
 * edge, `met` the meeting points.
 */
function endMeets(points: readonly number[], met: readonly number[] = []): boolean {
  const [x, y] = points.slice(-2);
  for (let at = 0; at < met.length; at += 2) if (met[at] === x && met[at + 1] === y) return true;
  return false;
}

/**
 * Whether a part contains the areas beside a point on an edge. `near` is the area slightly to the right of the point
 * and above the point, `far` the area on the other side of the edge. By the even-odd rule, `near` is inside if a ray to
 * the right crosses an odd number of edges. The count for `far` also includes the edges of the part that pass through
 * the point along the given edge, because these edges separate the two areas.
 */
function sidesHeld(
  part: PartEdges,
  { x0, y0, x1, y1 }: PartEdges,
  edge: number,
  x: number,
  y: number,
): { readonly near: boolean; readonly far: boolean; readonly atVertex: boolean } {
  const { box, index } = part;
  if (x < box.left || x > box.right || y < box.bottom || y > box.top) return OUTSIDE;
  let [near, between, atVertex] = [0, 0, false];
  index.search(x, y, box.right, y, (each) => {
    const [fromX, fromY, toX, toY] = [part.x0[each]!, part.y0[each]!, part.x1[each]!, part.y1[each]!];
    const upwards = fromY <= toY;
    const [lowX, lowY, highX, highY] = upwards ? [fromX, fromY, toX, toY] : [toX, toY, fromX, fromY];
    const side = sideOf(lowX, lowY, highX, highY, x, y);
    if (lowY <= y && y < highY && side > 0) near++;
    const passes = side === 0 && isBetween(x, y, fromX, fromY, toX, toY);
    const runsAlong =
      passes &&
      sideOf(x0[edge]!, y0[edge]!, x1[edge]!, y1[edge]!, fromX, fromY) === 0 &&
      sideOf(x0[edge]!, y0[edge]!, x1[edge]!, y1[edge]!, toX, toY) === 0;
    if (runsAlong) between++;
    atVertex ||= (x === fromX && y === fromY) || (x === toX && y === toY);
    return false;
  });
  return { near: near % 2 === 1, far: (near + between) % 2 === 1, atVertex };
}

const OUTSIDE = { near: false, far: false, atVertex: false };
