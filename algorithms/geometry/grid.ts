import { GeometryError } from '../../primitives/errors.ts';
import { type Polygons, polygonOfVertex, type Zones } from './polygons.ts';
import type { RasterGrid } from './raster.ts';

/** Steps of the integer grid along one side of a cell: coordinates are exact to 2⁻²⁰ of a cell. */
export const STEPS_PER_CELL: number = 2 ** 20;

/** Maximum distance of coordinates from the raster's origin, in steps, so that columns and rows are 32-bit integers. */
const GRID_EXTENT: number = 2 ** 49;

/** Polygons on the integer grid of a raster: steps from its first corner, along columns and rows. */
export interface SnappedPolygons {
  readonly polygonRings: Uint32Array;
  readonly ringVertices: Uint32Array;
  /** The part of each ring, if there are several; see {@link Polygons}. */
  readonly ringParts?: Uint32Array | undefined;
  /** Coordinates in whole steps. */
  readonly column: Float64Array;
  readonly row: Float64Array;
}

/** Side of one grid step in the raster's coordinates. */
export function gridStep(grid: Pick<RasterGrid, 'stepX' | 'stepY'>): [x: number, y: number] {
  const { stepX, stepY } = grid;
  return [Math.abs(stepX) / STEPS_PER_CELL, Math.abs(stepY) / STEPS_PER_CELL];
}

/**
 * Snaps every vertex to the nearest point of the raster's integer grid. Its origin is the raster's first corner, so
 * cell centres are grid points. The whole job uses one grid.
 *
 * @param origin - Names of the zones in errors.
 * @throws `GeometryError` `geometry/beyond-grid`, which names the zone, if a coordinate is not finite or lies beyond
 * 2⁴⁹ steps.
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

/** Names of the zones in errors. */
export type ZoneOrigin = Partial<Pick<Zones, 'names' | 'file'>>;

function snapAxis(axis: 'x' | 'y', polygons: Polygons, first: number, step: number, origin: ZoneOrigin): Float64Array {
  return polygons[axis].map((value, vertex) => {
    const steps = Math.round(((value - first) / step) * STEPS_PER_CELL);
    if (Math.abs(steps) <= GRID_EXTENT) return steps;
    throw beyondGrid(`${axis} = ${value}`, steps / STEPS_PER_CELL, polygonOfVertex(polygons, vertex), origin);
  });
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
