import { aColumn, aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aFlag, aRecord, aWhole, type Kind } from '../../primitives/checks/kinds.ts';
import { ArgumentError, type Column, type Context, GeometryError } from '../../primitives/index.ts';
import { GRID_LIMIT, type GridPolygons, someGridPolygons } from './grid-polygons.ts';

/** Number of words per polygon in the table. */
export const POLYGON_STRIDE = 7;
/**
 * Index of each word of a polygon's header. The words `first`, `horizontal` and `end` are themselves indices of words:
 * where the polygon's rising edges begin, where its horizontal edges begin, and where its horizontal edges end. The
 * other words are the MBR (minimum bounding rectangle).
 */
export const POLYGON_FIELDS = { first: 0, horizontal: 1, end: 2, left: 3, bottom: 4, right: 5, top: 6 } as const;
/**
 * Number of words of an edge: x and y of its lower end, then x and y of its upper end. A horizontal edge has its left
 * end first.
 */
export const EDGE_STRIDE = 4;

/**
 * A table of polygons on the device: a header with the MBR (minimum bounding rectangle) for each polygon, then all
 * edges, polygon by polygon.
 */
export interface PolygonEdges {
  readonly polygons: number;
  /** Number of edges that are not horizontal. Only these can cross a row of pixels. */
  readonly rising: number;
  /** Whether every edge is horizontal or vertical. */
  readonly rectilinear: boolean;
  /** Headers and edges in one column, because kernels can bind only a few. Signed numbers are stored as their bits. */
  readonly words: Column<'u32'>;
}

export const someEdges: Kind = aRecord<PolygonEdges>({
  polygons: aWhole(),
  rising: aWhole(),
  rectilinear: aFlag,
  words: aColumn('u32'),
});

/**
 * Uploads the edges of polygons. All edges are turned to point upwards, and edges of length 0 are left out, which does
 * not change the inside by the even-odd rule. The MBR (minimum bounding rectangle) of a polygon without edges is empty.
 * Free the result with `context.dispose(edges.words)`.
 *
 * O(vertices) on the host. Does not wait for the device.
 *
 * @throws `GeometryError` `geometry/beyond-grid`, which names the polygon, for coordinates beyond ±2³⁰.
 * @example
 * const square = { polygonRings: Uint32Array.of(0, 1), ringVertices: Uint32Array.of(0, 4),
 *   x: Int32Array.of(0, 2, 2, 0), y: Int32Array.of(0, 0, 2, 2) };
 * const { polygons, rising, rectilinear } = uploadPolygonEdges(ctx, square);
 * [polygons, rising, rectilinear]; // [1, 2, true]
 */
export function uploadPolygonEdges(context: Context, polygons: GridPolygons): PolygonEdges {
  requireArguments('uploadPolygonEdges', { context, polygons }, { context: aContext, polygons: someGridPolygons });
  const { polygonRings, ringVertices, x } = polygons;
  const count = polygonRings.length - 1;
  const words = new Int32Array(count * POLYGON_STRIDE + x.length * EDGE_STRIDE);
  const table = { words, end: count * POLYGON_STRIDE };
  let rising = 0;
  let rectilinear = true;
  for (let polygon = 0; polygon < count; polygon++) {
    const [from, to] = [ringVertices[polygonRings[polygon]!]!, ringVertices[polygonRings[polygon + 1]!]!];
    const header = polygon * POLYGON_STRIDE;
    words[header + POLYGON_FIELDS.first] = table.end;
    const slanted = putEdges(table, polygons, polygon, false);
    words[header + POLYGON_FIELDS.horizontal] = table.end;
    putEdges(table, polygons, polygon, true);
    words[header + POLYGON_FIELDS.end] = table.end;
    rising += (words[header + POLYGON_FIELDS.horizontal]! - words[header]!) / EDGE_STRIDE;
    rectilinear &&= slanted === 0;
    putBox(words, header + POLYGON_FIELDS.left, polygons, from, to, polygon);
  }
  const column = context.column(new Uint32Array(words.buffer, 0, table.end));
  return { polygons: count, rising, rectilinear, words: column };
}

/**
 * Appends the horizontal or the rising edges of a polygon. Returns how many of the appended edges are neither
 * horizontal nor vertical.
 */
function putEdges(
  table: { readonly words: Int32Array; end: number },
  { polygonRings, ringVertices, x, y }: GridPolygons,
  polygon: number,
  horizontal: boolean,
): number {
  const { words } = table;
  let slanted = 0;
  for (let ring = polygonRings[polygon]!; ring < polygonRings[polygon + 1]!; ring++) {
    const end = ringVertices[ring + 1]!;
    let from = end - 1;
    for (let to = ringVertices[ring]!; to < end; from = to++) {
      if ((y[from] === y[to]) !== horizontal || (horizontal && x[from] === x[to])) continue;
      const upwards = horizontal ? x[from]! < x[to]! : y[from]! < y[to]!;
      const [low, high] = upwards ? [from, to] : [to, from];
      words[table.end] = x[low]!;
      words[table.end + 1] = y[low]!;
      words[table.end + 2] = x[high]!;
      words[table.end + 3] = y[high]!;
      table.end += EDGE_STRIDE;
      if (!horizontal && x[from] !== x[to]) slanted++;
    }
  }
  return slanted;
}

function putBox(
  words: Int32Array,
  at: number,
  { x, y }: GridPolygons,
  from: number,
  to: number,
  polygon: number,
): void {
  let [left, bottom, right, top] = [GRID_LIMIT, GRID_LIMIT, -GRID_LIMIT, -GRID_LIMIT];
  for (let vertex = from; vertex < to; vertex++) {
    left = Math.min(left, x[vertex]!);
    right = Math.max(right, x[vertex]!);
    bottom = Math.min(bottom, y[vertex]!);
    top = Math.max(top, y[vertex]!);
  }
  const max = Math.max(-left, right, -bottom, top);
  if (max > GRID_LIMIT) throw beyondGrid(polygon, max);
  words.set([left, bottom, right, top], at);
}

function beyondGrid(polygon: number, pixels: number): GeometryError {
  return new GeometryError('geometry/beyond-grid', `A coordinate of polygon ${polygon} is too large.`, {
    expected: `at most ${GRID_LIMIT} pixels from 0`,
    got: `${pixels} pixels`,
    remedy: 'Check the units of the coordinates, or choose larger pixels.',
    place: { record: polygon },
  });
}

/**
 * Throws unless polygons are rectilinear. Functions that need exact areas call this function, because the areas
 * measured for polygons with sloped edges are only counts of pixels.
 *
 * @throws `ArgumentError` `pixelbox/not-rectilinear` for polygons with sloped edges.
 */
export function requireRectilinear({ rectilinear }: PolygonEdges): void {
  if (rectilinear) return;
  throw new ArgumentError('pixelbox/not-rectilinear', 'This can be computed only for rectilinear polygons.', {
    expected: 'polygons of horizontal and vertical edges',
    got: 'a sloped edge',
    remedy: 'Leave out polygons with sloped edges, or count pixels instead: call pixelBox().',
  });
}
