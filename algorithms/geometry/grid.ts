import { GeometryError } from '../../primitives/checks/errors.ts';
import { type Polygons, polygonOfVertex, type Zones } from './polygons.ts';
import type { RasterGrid } from './raster.ts';

/** Number of steps of the integer grid along one side of a cell. Coordinates are exact to 2⁻²⁰ of a cell. */
export const STEPS_PER_CELL: number = 2 ** 20;

/** Maximum distance of coordinates from the raster's origin, in steps, so that columns and rows are 32-bit integers. */
const GRID_EXTENT: number = 2 ** 49;

/**
 * Polygons on the integer grid of a raster. Coordinates are steps from the raster's first corner, along columns and
 * rows.
 */
export interface SnappedPolygons {
  readonly polygonRings: Uint32Array;
  readonly ringVertices: Uint32Array;
  /** The part to which each ring belongs, if zones have several parts; see {@link Polygons}. */
  readonly ringParts?: Uint32Array | undefined;
  /** Coordinates of the vertices along the raster's columns, in whole steps. */
  readonly column: Float64Array;
  readonly row: Float64Array;
}

/** Size of one grid step in the raster's coordinates, always positive. */
export function gridStep(grid: Pick<RasterGrid, 'stepX' | 'stepY'>): [x: number, y: number] {
  const { stepX, stepY } = grid;
  return [Math.abs(stepX) / STEPS_PER_CELL, Math.abs(stepY) / STEPS_PER_CELL];
}

/**
 * Snaps every vertex to the nearest point of the raster's integer grid. The grid's origin is the raster's first corner,
 * so cell centres are grid points. All windows of a raster use the same grid.
 *
 * @param origin - Names and file of the zones, for error messages.
 * @throws `GeometryError` `geometry/beyond-grid`, which names the zone, if a coordinate is not finite or exceeds 2⁴⁹
 * steps.
 */
export function snapToGrid(polygons: Polygons, grid: RasterGrid, origin: ZoneOrigin = {}): SnappedPolygons {
  return {
    polygonRings: polygons.polygonRings,
    ringVertices: polygons.ringVertices,
    ringParts: polygons.ringParts,
    column: snapAxis('x', polygons, grid.originX, grid.stepX, origin),
    row: snapAxis('y', polygons, grid.originY, grid.stepY, origin),
  };
}

/** Names and file of the zones, which error messages mention. */
export type ZoneOrigin = Partial<Pick<Zones, 'names' | 'file'>>;

function snapAxis(axis: 'x' | 'y', polygons: Polygons, first: number, step: number, origin: ZoneOrigin): Float64Array {
  const given = polygons[axis];
  // A loop takes a third of the time of a callback for each of millions of vertices.
  const snapped = new Float64Array(given.length);
  for (let vertex = 0; vertex < given.length; vertex++) {
    const value = given[vertex]!;
    const steps = Math.round(((value - first) / step) * STEPS_PER_CELL);
    if (!(Math.abs(steps) <= GRID_EXTENT)) {
      throw beyondGrid(`${axis} = ${value}`, steps / STEPS_PER_CELL, polygonOfVertex(polygons, vertex), origin);
    }
    snapped[vertex] = steps;
  }
  return snapped;
}

function beyondGrid(coordinate: string, cells: number, zone: number, { names, file }: ZoneOrigin): GeometryError {
  const name = names?.[zone] === undefined ? '' : ` (${JSON.stringify(names[zone])})`;
  return new GeometryError(
    'geometry/beyond-grid',
    `The coordinate ${coordinate} of zone ${zone}${name} is far too large.`,
    {
      expected: `at most ${GRID_EXTENT / STEPS_PER_CELL} cells from the raster`,
      got: `${Math.abs(cells)} cells`,
      remedy: 'Check that zones and raster share a coordinate reference system, or correct the zone.',
      place: { file, record: zone },
    },
  );
}
