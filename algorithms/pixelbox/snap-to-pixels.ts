import { requireArguments } from '../../primitives/checks/arguments.ts';
import { GeometryError } from '../../primitives/checks/errors.ts';
import { aPositive, aText, type Kind, optional, someOptions, where } from '../../primitives/checks/kinds.ts';
import { aFill, type FillRule, type Polygons, polygonOfVertex, somePolygons } from '../geometry/polygons.ts';
import { sheetsOf } from '../geometry/sheets.ts';
import { GRID_LIMIT, type GridPolygons } from './grid-polygons.ts';
import { uniteParts } from './united-parts.ts';

export interface GridOptions {
  /** Side length of a pixel, in the coordinates of the polygons. Default 1. */
  readonly pixelSize?: number | undefined;
  /** Which points are inside a polygon whose parts overlap. Default `union`. */
  readonly fill?: FillRule | undefined;
  /** Maximum bytes of memory for the outlines that unite overlapping parts. Default: unlimited. */
  readonly memoryBytes?: number | undefined;
  /** Name of the file with the polygons, used in errors. */
  readonly file?: string | undefined;
}

/** Validator of the side length of a pixel. */
export const aPixelSize: Kind = where(
  'a finite number above 0',
  (size) => typeof size === 'number' && size > 0 && size < Number.POSITIVE_INFINITY,
  { code: 'pixelbox/pixel-size' },
);

const GRID_OPTIONS: Kind = someOptions<GridOptions>({
  pixelSize: optional(aPixelSize),
  fill: optional(aFill),
  memoryBytes: optional(aPositive()),
  file: optional(aText),
});

/** Polygons on the pixel grid, and how much they were changed. */
export interface SnappedToPixels extends GridPolygons {
  /** Number of vertices that were not on corners of pixels and were moved. */
  readonly moved: number;
  /** Indices of the polygons whose parts overlap, ascending. Undefined if there are none. */
  readonly overlapping?: Uint32Array | undefined;
}

/**
 * Snaps every vertex of polygons to the nearest corner of a pixel. Outlines of segmented images do not change, because
 * all their vertices already are corners of pixels. In other polygons, each coordinate moves by up to half of
 * `pixelSize`. To reduce this change, choose a `pixelSize` smaller than the pixels of an image.
 *
 * A polygon is the union of its parts, and each part is filled by the even-odd rule. If parts of a polygon overlap, its
 * rings are replaced by the outline of the pixels with centres in any of its parts. Other polygons keep their rings.
 * With `fill: 'even-odd'` the even-odd rule applies to all rings of a polygon together.
 *
 * O(vertices), plus the work of `sheetsOf` for polygons with several parts, plus the rows of pixels of parts that
 * overlap. A coordinate halfway between two corners is rounded up.
 *
 * @throws `ArgumentError` `pixelbox/pixel-size` for a size that is not a finite number above 0, `GeometryError`
 * `geometry/beyond-grid`, which names the polygon, for a coordinate that is not finite or beyond 2³⁰ pixels,
 * `OutOfMemoryError` `pixelbox/outlines` if outlines of united parts take more than `memoryBytes`.
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [2.2, 0], [2.2, 1], [0, 1]]] }');
 * const grid = gridPolygons(zones.polygons, { pixelSize: 0.5 });
 * [grid.x, grid.moved]; // [Int32Array [0, 4, 4, 0], 2]
 */
export function gridPolygons(polygons: Polygons, options: GridOptions = {}): SnappedToPixels {
  requireArguments('gridPolygons', { polygons, options }, { polygons: somePolygons, options: GRID_OPTIONS });
  const { pixelSize = 1, fill = 'union', memoryBytes = Number.POSITIVE_INFINITY, file } = options;
  const { polygonRings, ringVertices } = polygons;
  const x = new Int32Array(polygons.x.length);
  const y = new Int32Array(polygons.y.length);
  const first = pixelSize === 1 ? copyWhole(polygons, x, y) : 0;
  let moved = 0;
  for (let v = first; v < x.length; v++) {
    const exactX = polygons.x[v]! / pixelSize;
    const exactY = polygons.y[v]! / pixelSize;
    const [column, row] = [Math.round(exactX), Math.round(exactY)];
    if (!(Math.abs(column) <= GRID_LIMIT && Math.abs(row) <= GRID_LIMIT)) {
      throw beyondGrid(polygons, v, Math.abs(column) <= GRID_LIMIT ? exactY : exactX, file);
    }
    if (column !== exactX || row !== exactY) moved++;
    x[v] = column;
    y[v] = row;
  }
  const grid = { polygonRings, ringVertices, x, y };
  const sheets = sheetsOf({ ...grid, ringParts: polygons.ringParts });
  if (sheets === undefined) return { ...grid, moved };
  const { overlapping } = sheets;
  return { ...(fill === 'union' ? uniteParts(grid, sheets, { memoryBytes, file }) : grid), moved, overlapping };
}

/**
 * Copies vertices up to the first one that is not on the grid. Returns the number of copied vertices. In outlines of
 * pixels, all vertices are on the grid, so all are copied.
 */
function copyWhole(polygons: Polygons, x: Int32Array, y: Int32Array): number {
  for (let v = 0; v < x.length; v++) {
    const exactX = polygons.x[v]!;
    const exactY = polygons.y[v]!;
    const column = exactX | 0;
    const row = exactY | 0;
    const isOn = column === exactX && row === exactY && isWithin(column) && isWithin(row);
    if (!isOn) return v;
    x[v] = column;
    y[v] = row;
  }
  return x.length;
}

const isWithin = (coordinate: number): boolean => coordinate <= GRID_LIMIT && coordinate >= -GRID_LIMIT;

function beyondGrid(polygons: Polygons, vertex: number, pixels: number, file: string | undefined): GeometryError {
  const polygon = polygonOfVertex(polygons, vertex);
  return new GeometryError('geometry/beyond-grid', `A coordinate of polygon ${polygon} is too large.`, {
    expected: `at most ${GRID_LIMIT} pixels from 0`,
    got: `${pixels} pixels`,
    remedy: 'Check the units of the coordinates, or choose larger pixels.',
    place: { file, record: polygon },
  });
}
