import Flatbush from 'flatbush';

/** A bounding box: minimum and maximum coordinates. */
export interface Box {
  left: number;
  bottom: number;
  right: number;
  top: number;
}

/**
 * The edges of a part, ring by ring. Coordinates are doubled, so that the midpoint of two vertices has integer
 * coordinates. Edges of length 0 are left out.
 */
export interface PartEdges {
  readonly box: Box;
  /** Index of the first edge of each ring; the last element is the number of edges. */
  readonly ringEdges: readonly number[];
  /** For each edge, the number of its ring, from 0. */
  readonly ringOf: Uint32Array;
  readonly x0: Float64Array;
  readonly y0: Float64Array;
  readonly x1: Float64Array;
  readonly y1: Float64Array;
  /** Spatial index over the bounding boxes of the edges. */
  readonly index: EdgeIndex;
}

/**
 * Finds the edges whose boxes intersect a box. If `call` is given, edges for which it returns false are left out of the
 * result.
 */
export interface EdgeIndex {
  search(left: number, bottom: number, right: number, top: number, call?: (edge: number) => boolean): number[];
}

/** Rings with integer coordinates. */
export interface WholeRings {
  readonly ringVertices: Uint32Array;
  readonly x: ArrayLike<number>;
  readonly y: ArrayLike<number>;
}

/** Two bounding boxes of some rings: one in x and y, the other in coordinates rotated by 45° (x + y and x − y). */
export interface Bounds {
  readonly box: Box;
  readonly diagonal: Box;
}

/** Computes the bounds of the given rings. O(vertices). */
export function boundsOfRings({ ringVertices, x, y }: WholeRings, rings: readonly number[]): Bounds {
  let [left, bottom, minSum, minDifference] = [Infinity, Infinity, Infinity, Infinity];
  let [right, top, maxSum, maxDifference] = [-Infinity, -Infinity, -Infinity, -Infinity];
  for (let i = 0; i < rings.length; i++) {
    const end = ringVertices[rings[i]! + 1]!;
    for (let v = ringVertices[rings[i]!]!; v < end; v++) {
      const [column, row] = [x[v]!, y[v]!];
      const [sum, difference] = [column + row, column - row];
      if (column < left) left = column;
      if (column > right) right = column;
      if (row < bottom) bottom = row;
      if (row > top) top = row;
      if (sum < minSum) minSum = sum;
      if (sum > maxSum) maxSum = sum;
      if (difference < minDifference) minDifference = difference;
      if (difference > maxDifference) maxDifference = difference;
    }
  }
  return {
    box: { left, bottom, right, top },
    diagonal: { left: minSum, bottom: minDifference, right: maxSum, top: maxDifference },
  };
}

/**
 * Lists the edges of the part that consists of the given rings. Undefined if the part has no edges. O(vertices · log
 * vertices).
 */
export function edgesOfPart({ ringVertices, x, y }: WholeRings, rings: readonly number[]): PartEdges | undefined {
  const capacity = rings.reduce((sum, ring) => sum + ringVertices[ring + 1]! - ringVertices[ring]!, 0);
  const column = (): Float64Array => new Float64Array(capacity);
  const [x0, y0, x1, y1] = [column(), column(), column(), column()];
  const ringOf = new Uint32Array(capacity);
  const ringEdges = [0];
  let count = 0;
  for (const ring of rings) {
    const [start, end] = [ringVertices[ring]!, ringVertices[ring + 1]!];
    for (let v = start, u = end - 1; v < end; u = v++) {
      if (x[u] === x[v] && y[u] === y[v]) continue;
      x0[count] = 2 * x[u]!;
      y0[count] = 2 * y[u]!;
      x1[count] = 2 * x[v]!;
      y1[count] = 2 * y[v]!;
      ringOf[count++] = ringEdges.length - 1;
    }
    ringEdges.push(count);
  }
  if (count === 0) return undefined;
  const { left, bottom, right, top } = boundsOfRings({ ringVertices, x, y }, rings).box;
  return {
    box: { left: 2 * left, bottom: 2 * bottom, right: 2 * right, top: 2 * top },
    ringEdges,
    ringOf,
    x0,
    y0,
    x1,
    y1,
    index: indexOf(count, x0, y0, x1, y1),
  };
}

/** With at most this many edges, a linear search is faster than building an index. */
const FEW_EDGES = 96;

function indexOf(count: number, x0: Float64Array, y0: Float64Array, x1: Float64Array, y1: Float64Array): EdgeIndex {
  if (count <= FEW_EDGES) return { search: (...box) => edgesMeeting(count, x0, y0, x1, y1, ...box) };
  const index = new Flatbush(count);
  for (let edge = 0; edge < count; edge++) {
    index.add(
      Math.min(x0[edge]!, x1[edge]!),
      Math.min(y0[edge]!, y1[edge]!),
      Math.max(x0[edge]!, x1[edge]!),
      Math.max(y0[edge]!, y1[edge]!),
    );
  }
  index.finish();
  return index;
}

function edgesMeeting(
  count: number,
  x0: Float64Array,
  y0: Float64Array,
  x1: Float64Array,
  y1: Float64Array,
  left: number,
  bottom: number,
  right: number,
  top: number,
  call?: (edge: number) => boolean,
): number[] {
  const found: number[] = [];
  for (let edge = 0; edge < count; edge++) {
    const [fromX, fromY, toX, toY] = [x0[edge]!, y0[edge]!, x1[edge]!, y1[edge]!];
    if ((fromX < left && toX < left) || (fromX > right && toX > right)) continue;
    if ((fromY < bottom && toY < bottom) || (fromY > top && toY > top)) continue;
    if (call === undefined || call(edge)) found.push(edge);
  }
  return found;
}

/** A copy of the edges of a part, moved along x by `by`. */
export function movedEdges(part: PartEdges, by: number): PartEdges {
  const { box, x0, y0, x1, y1 } = part;
  const [from, to] = [x0.map((x) => x + by), x1.map((x) => x + by)];
  const index = indexOf(part.ringEdges.at(-1)!, from, y0, to, y1);
  return { ...part, box: { ...box, left: box.left + by, right: box.right + by }, x0: from, x1: to, index };
}

/** Sums of products from this size on may be rounded in f64. */
const EXACT = 2 ** 53;
/** Maximum error of a rounded determinant, relative to the sum of its products. */
const ROUNDING = 2 ** -51;

/**
 * The side of the line from a to b on which a point c is: 1 left, −1 right, 0 on the line. Exact for integers below
 * 2⁵².
 */
export function sideOf(ax: number, ay: number, bx: number, by: number, cx: number, cy: number): number {
  const left = (bx - ax) * (cy - ay);
  const right = (by - ay) * (cx - ax);
  const difference = left - right;
  const size = Math.abs(left) + Math.abs(right);
  if (size < EXACT || Math.abs(difference) > ROUNDING * size) return Math.sign(difference);
  const exact = BigInt(bx - ax) * BigInt(cy - ay) - BigInt(by - ay) * BigInt(cx - ax);
  return exact > 0n ? 1 : exact < 0n ? -1 : 0;
}
