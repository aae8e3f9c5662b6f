import type { Column, Context } from '../../primitives/index.ts';
import type { DomainPolygons } from './domain.ts';

/** The edges of polygons on a device, those of a polygon one after the other; edges of length 0 are left out. */
export interface Edges {
  /** From x, from y, to x, to y of every edge. */
  readonly ends: Column<'i32'>;
  /** The polygon of every edge, numbered among those that have edges. */
  readonly owner: Column<'u32'>;
  /** The polygons that have edges: their numbers, ascending, where their edges are, and the boxes of these. */
  readonly polygons: {
    readonly id: Column<'u32'>;
    /** Where their edges start, and one more: where all edges end. */
    readonly first: Column<'u32'>;
    readonly left: Column<'i32'>;
    readonly bottom: Column<'i32'>;
    readonly right: Column<'i32'>;
    readonly top: Column<'i32'>;
  };
}

/** Puts the edges of polygons on the device. O(vertices). */
export function uploadEdges(context: Context, polygons: DomainPolygons): Edges {
  const { ends, owner, id, first } = edgesOf(polygons);
  const { left, bottom, right, top } = boxesOf(ends, owner, id.length);
  return {
    ends: context.column(ends),
    owner: context.column(owner),
    polygons: {
      id: context.column(id),
      first: context.column(first),
      left: context.column(left),
      bottom: context.column(bottom),
      right: context.column(right),
      top: context.column(top),
    },
  };
}

interface HostEdges {
  readonly ends: Int32Array;
  readonly owner: Uint32Array;
  readonly id: Uint32Array;
  readonly first: Uint32Array;
}

function edgesOf({ polygonRings, ringVertices, x, y }: DomainPolygons): HostEdges {
  const ends = new Int32Array(4 * x.length);
  const owner = new Uint32Array(x.length);
  const id = new Uint32Array(polygonRings.length - 1);
  const first = new Uint32Array(polygonRings.length);
  let [edge, found] = [0, 0];
  for (let polygon = 0; polygon < id.length; polygon++) {
    const before = edge;
    for (let ring = polygonRings[polygon]!; ring < polygonRings[polygon + 1]!; ring++) {
      const [start, end] = [ringVertices[ring]!, ringVertices[ring + 1]!];
      for (let v = start, u = end - 1; v < end; u = v++) {
        if (x[u] === x[v] && y[u] === y[v]) continue;
        ends[4 * edge] = x[u]!;
        ends[4 * edge + 1] = y[u]!;
        ends[4 * edge + 2] = x[v]!;
        ends[4 * edge + 3] = y[v]!;
        owner[edge++] = found;
      }
    }
    if (edge === before) continue;
    id[found++] = polygon;
    first[found] = edge;
  }
  return {
    ends: ends.subarray(0, 4 * edge),
    owner: owner.subarray(0, edge),
    id: id.subarray(0, found),
    first: first.subarray(0, found + 1),
  };
}

/** Every vertex that is left ends an edge. */
function boxesOf(ends: Int32Array, owner: Uint32Array, count: number) {
  const column = (from: number): Int32Array => new Int32Array(count).fill(from);
  const [low, high] = [-(2 ** 31), 2 ** 31 - 1];
  const boxes = { left: column(high), bottom: column(high), right: column(low), top: column(low) };
  for (let edge = 0; edge < owner.length; edge++) {
    const polygon = owner[edge]!;
    const x = ends[4 * edge + 2]!;
    const y = ends[4 * edge + 3]!;
    if (x < boxes.left[polygon]!) boxes.left[polygon] = x;
    if (x > boxes.right[polygon]!) boxes.right[polygon] = x;
    if (y < boxes.bottom[polygon]!) boxes.bottom[polygon] = y;
    if (y > boxes.top[polygon]!) boxes.top[polygon] = y;
  }
  return boxes;
}
