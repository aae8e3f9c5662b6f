import Flatbush from 'flatbush';

/** Least and greatest coordinates. */
export interface Box {
  left: number;
  bottom: number;
  right: number;
  top: number;
}

/**
 * The edges of a part, ring by ring, in coordinates that are doubled: the middle of two whole numbers is one, too. Edges
 * without length are left out.
 */
export interface PartEdges {
  readonly box: Box;
  /** Where the edges of each ring start, and one more. */
  readonly ringEdges: readonly number[];
  /** The ring of every edge. */
  readonly ringOf: Uint32Array;
  readonly x0: Float64Array;
  readonly y0: Float64Array;
  readonly x1: Float64Array;
  readonly y1: Float64Array;
  /** The boxes of the edges. */
  readonly index: Flatbush;
}

/** Rings in whole numbers. */
export interface WholeRings {
  readonly ringVertices: Uint32Array;
  readonly x: ArrayLike<number>;
  readonly y: ArrayLike<number>;
}

/** The box of some rings. O(vertices). */
export function boxOfRings({ ringVertices, x, y }: WholeRings, rings: readonly number[]): Box {
  const box = { left: Infinity, bottom: Infinity, right: -Infinity, top: -Infinity };
  for (const ring of rings) {
    for (let v = ringVertices[ring]!; v < ringVertices[ring + 1]!; v++) {
      box.left = Math.min(box.left, x[v]!);
      box.right = Math.max(box.right, x[v]!);
      box.bottom = Math.min(box.bottom, y[v]!);
      box.top = Math.max(box.top, y[v]!);
    }
  }
  return box;
}

/** The edges of a part; undefined where it has none. O(vertices · log vertices). */
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
  const { left, bottom, right, top } = boxOfRings({ ringVertices, x, y }, rings);
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

function indexOf(count: number, x0: Float64Array, y0: Float64Array, x1: Float64Array, y1: Float64Array): Flatbush {
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

/** The edges, moved along x. */
export function movedEdges(part: PartEdges, by: number): PartEdges {
  const { box, x0, y0, x1, y1 } = part;
  const [from, to] = [x0.map((x) => x + by), x1.map((x) => x + by)];
  const index = indexOf(part.ringEdges.at(-1)!, from, y0, to, y1);
  return { ...part, box: { ...box, left: box.left + by, right: box.right + by }, x0: from, x1: to, index };
}

/** Above this, products of coordinates are rounded. */
const EXACT = 2 ** 53;
/** How far a rounded determinant may be off, by the sum of its products. */
const ROUNDING = 2 ** -51;

/**
 * On which side of the line from a to b a point c lies: 1 on the left, -1 on the right, 0 on the line. Exact for whole
 * numbers below 2⁵².
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
