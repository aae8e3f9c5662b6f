import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import {
  array,
  type Context,
  For,
  fn,
  i32,
  map,
  select,
  slice,
  u32,
  Var,
  type Variable,
} from '../../primitives/index.ts';
import { type GridPolygons, someGridPolygons } from './grid-polygons.ts';
import type { DeviceVertices, Regions } from './regions.ts';

/** Regions whose vertices are also in memory of a device. */
export interface DeviceRegions extends Regions {
  readonly vertices: DeviceVertices;
}

/**
 * Like `regionsOf`, but on a device: uploads the vertices, which stay on the device, and computes bounding boxes there.
 * `pairAreas` then draws small regions by walking around their rings on the device, instead of packing horizontal edges
 * on the host. The areas are the same. Walking on the device is faster if the device consists of worker threads, which
 * share the host's processors. A GPU draws faster from edges that the host has packed.
 *
 * O(vertices), with one thread per region. Waits for the device once. The regions belong to this context only, and the
 * caller disposes of their columns.
 *
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [3, 0], [3, 1], [1, 1], [1, 2], [0, 2]]] }');
 * const regions = await regionsOn(ctx, gridPolygons(zones.polygons));
 * const areas = await pairAreas(ctx, regions, regions, { p: Uint32Array.of(0), q: Uint32Array.of(0) });
 * ctx.dispose(regions);
 * [regions.right[0], regions.bottom[0], areas.p[0]]; // [3, 2, 4n]
 */
export async function regionsOn(context: Context, polygons: GridPolygons): Promise<DeviceRegions> {
  requireArguments('regionsOn', { context, polygons }, { context: aContext, polygons: someGridPolygons });
  const { polygonRings, ringVertices, x, y } = polygons;
  const { vertices, boxes } = context.scope(() => {
    const vertices = { x: context.column(x), y: context.column(y) };
    const starts = context.column(firstVertices(polygons));
    const rows = { begin: slice(starts, 0, starts.capacity - 1), end: slice(starts, 1) };
    return { vertices, boxes: context.materialize(map(regionBox, { ...rows, xs: vertices.x, ys: vertices.y })) };
  });
  try {
    return { polygonRings, ringVertices, x, y, ...(await context.read(boxes)), vertices };
  } catch (error) {
    context.dispose(vertices);
    throw error;
  } finally {
    context.dispose(boxes);
  }
}

/** Index of the first vertex of each polygon; the last element is the end of the last polygon. */
function firstVertices({ polygonRings, ringVertices }: GridPolygons): Uint32Array {
  const starts = new Uint32Array(polygonRings.length);
  for (let i = 0; i < starts.length; i++) starts[i] = ringVertices[polygonRings[i]!]!;
  return starts;
}

const regionBox = fn(
  'regionBox',
  { begin: u32, end: u32, xs: array(i32), ys: array(i32) },
  { left: i32, top: i32, right: i32, bottom: i32 },
  ({ begin, end, xs, ys }) => {
    const isEmpty = begin.eq(end);
    const [left, top] = [xs, ys].map((axis) => Var(select(axis.at(begin), i32(0), isEmpty))) as [
      Variable<'i32'>,
      Variable<'i32'>,
    ];
    const [right, bottom] = [Var(left), Var(top)];
    For(begin, end, (vertex) => {
      const [x, y] = [xs.at(vertex), ys.at(vertex)];
      left.set(left.min(x));
      right.set(right.max(x));
      top.set(top.min(y));
      bottom.set(bottom.max(y));
    });
    return { left, top, right, bottom };
  },
);
