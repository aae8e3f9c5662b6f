import { knownRows } from '../../primitives/columns/length.ts';
import {
  array,
  bool,
  type Column,
  type ColumnsOf,
  type Context,
  copyIf,
  fn,
  gather,
  i32,
  type Monoid,
  map,
  monoid,
  reduceByKey,
  scatter,
  select,
  sequence,
  u32,
  upperBound,
} from '../../primitives/index.ts';
import type { DomainPolygons } from './domain.ts';

/** The edges of polygons on a device, polygon after polygon. Edges of length 0 are left out. */
export interface Edges {
  /** Start x, start y, end x and end y of each edge, in steps. */
  readonly ends: Column<'i32'>;
  /** The polygon of each edge, as an index into `polygons`. */
  readonly owner: Column<'u32'>;
  /** The polygons that have edges: their indices, ascending; the ranges of their edges; and their bounding boxes. */
  readonly polygons: {
    readonly id: Column<'u32'>;
    /** Index of each polygon's first edge; the last element is the number of edges. */
    readonly first: Column<'u32'>;
    readonly left: Column<'i32'>;
    readonly bottom: Column<'i32'>;
    readonly right: Column<'i32'>;
    readonly top: Column<'i32'>;
  };
}

/**
 * Makes the edges of polygons on the device or on the host, whichever is faster, and stores them on the device.
 * O(vertices).
 */
export function uploadEdges(context: Context, polygons: DomainPolygons): Edges {
  const isWide = context.backend.walkRows <= MAX_WALKED && polygons.x.length >= MANY_VERTICES;
  return isWide && coversAll(polygons) ? makeEdges(context, polygons) : copyEdges(context, polygons);
}

/** Whether every vertex belongs to a ring, and every ring to a polygon. */
function coversAll({ polygonRings, ringVertices, x }: DomainPolygons): boolean {
  const isFromStart = polygonRings[0] === 0 && ringVertices[0] === 0;
  return isFromStart && polygonRings.at(-1) === ringVertices.length - 1 && ringVertices.at(-1) === x.length;
}

/**
 * Maximum `walkRows` of backends on which edges are made on the device. Backends with a larger `walkRows` run few
 * threads in parallel, so the host is as fast.
 */
const MAX_WALKED = 16;

/** Minimum number of vertices for making edges on the device. With fewer, launches take longer than the work. */
const MANY_VERTICES = 2 ** 14;

/** Makes the edges on the host and uploads them. */
export function copyEdges(context: Context, polygons: DomainPolygons): Edges {
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

/** The edges of polygons in host memory, as in {@link Edges}. */
export interface HostEdges {
  readonly ends: Int32Array;
  readonly owner: Uint32Array;
  readonly id: Uint32Array;
  readonly first: Uint32Array;
}

/** Makes the edges on the host. */
export function edgesOf({ polygonRings, ringVertices, x, y }: DomainPolygons): HostEdges {
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

/**
 * Computes the bounding boxes of polygons. Reads only the second end of each edge, because every vertex is the second
 * end of some edge.
 */
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

/** Uploads vertices and makes the edges on the device. Only the counting of edges is done on the host. */
export function makeEdges(context: Context, polygons: DomainPolygons): Edges {
  return context.scope(() => {
    const counted = countEdges(polygons);
    const [id, first] = [context.column(counted.id), context.column(counted.first)];
    const edges = counted.first.at(-1)!;
    const vertices = { xs: context.column(polygons.x), ys: context.column(polygons.y) };
    const before = verticesBefore(context, polygons);
    const to = edges === polygons.x.length ? sequence(edges) : verticesWithEdges(before, vertices, edges);
    // `upperBound` counts the polygons whose first edge is at or before an edge. The last of these polygons has the
    // edge.
    const owner = context.materialize(map(ownerOf, { starts: upperBound(first, sequence(edges)) }));
    const boxes = boxesAround(context, owner, map(boxOf, { to, ...vertices }), counted.id.length);
    const word = sequence(4 * edges);
    const ends = context.materialize(map(endOf, { word, to: gather(to, map(edgeOf, { word })), before, ...vertices }));
    return { ends, owner, polygons: { id, first, ...boxes } };
  });
}

/** The polygons that have edges, and the index of the first edge of each. */
function countEdges({ polygonRings, ringVertices, x, y }: DomainPolygons): Pick<HostEdges, 'id' | 'first'> {
  const id = new Uint32Array(polygonRings.length - 1);
  const first = new Uint32Array(polygonRings.length);
  let [edges, found] = [0, 0];
  for (let polygon = 0; polygon < id.length; polygon++) {
    const before = edges;
    for (let ring = polygonRings[polygon]!; ring < polygonRings[polygon + 1]!; ring++) {
      const [start, end] = [ringVertices[ring]!, ringVertices[ring + 1]!];
      for (let v = start, u = end - 1; v < end; u = v++) if (x[u] !== x[v] || y[u] !== y[v]) edges++;
    }
    if (edges === before) continue;
    id[found++] = polygon;
    first[found] = edges;
  }
  return { id: id.subarray(0, found), first: first.subarray(0, found + 1) };
}

/**
 * For each vertex, the preceding vertex of its ring. The first vertex of a ring is preceded by the ring's last vertex.
 */
function verticesBefore(context: Context, { ringVertices, x }: DomainPolygons): Column<'u32'> {
  const starts = ringVertices.filter(
    (start, ring) => ring + 1 < ringVertices.length && start < ringVertices[ring + 1]!,
  );
  const lasts = starts.map((_, ring) => (starts[ring + 1] ?? x.length) - 1);
  return scatter(context.column(lasts), context.column(starts), x.length, { onto: sequence(x.length, -1) });
}

interface Vertices {
  readonly xs: Column<'i32'>;
  readonly ys: Column<'i32'>;
}

const vertexArrays = { xs: array(i32), ys: array(i32) } as const;

const endsEdge = fn('endsEdge', { vertex: u32, from: u32, ...vertexArrays }, bool, ({ vertex, from, xs, ys }) =>
  xs
    .at(vertex)
    .ne(xs.at(from))
    .or(ys.at(vertex).ne(ys.at(from))),
);

/** The vertices that are the end of an edge whose length is not 0. `edges` is the number of these vertices. */
function verticesWithEdges(before: Column<'u32'>, vertices: Vertices, edges: number): Column<'u32'> {
  const vertex = sequence(before.length);
  return knownRows(copyIf(vertex, map(endsEdge, { vertex, from: before, ...vertices })), edges);
}

const edgeOf = fn('edgeOf', { word: u32 }, u32, ({ word }) => word.shr(2));

const endOf = fn(
  'endOf',
  { word: u32, to: u32, before: array(u32), ...vertexArrays },
  i32,
  ({ word, to, before, xs, ys }) => {
    const vertex = select(to, before.at(to), word.and(2).eq(0));
    return select(xs.at(vertex), ys.at(vertex), word.and(1).eq(1));
  },
);

const ownerOf = fn('ownerOf', { starts: u32 }, u32, ({ starts }) => starts.sub(1));

/** The bounding boxes of polygons, in columns with exactly one row per polygon. */
function boxesAround(context: Context, owner: Column<'u32'>, boxes: Boxes, polygons: number): Boxes {
  return context.scope(() => {
    const { values } = reduceByKey(owner, boxes, around);
    return context.materialize(gather(values, sequence(polygons)));
  });
}

const box = { left: i32, bottom: i32, right: i32, top: i32 } as const;

type Boxes = ColumnsOf<typeof box>;

const boxOf = fn('boxOf', { to: u32, ...vertexArrays }, box, ({ to, xs, ys }) => {
  const [x, y] = [xs.at(to), ys.at(to)];
  return { left: x, bottom: y, right: x, top: y };
});

/** Combines two boxes into the box around both. */
const around: Monoid<typeof box> = monoid({
  of: box,
  identity: { left: 2 ** 31 - 1, bottom: 2 ** 31 - 1, right: -(2 ** 31), top: -(2 ** 31) },
  combine: ({ a, b }) => ({
    left: a.left.min(b.left),
    bottom: a.bottom.min(b.bottom),
    right: a.right.max(b.right),
    top: a.top.max(b.top),
  }),
  commutative: true,
  name: 'around',
});
