import { GeometryError } from '../../primitives/errors.ts';
import type { Polygons } from './polygons.ts';
import type { RasterGrid } from './raster.ts';

/** Steps of the integer grid along one side of a cell: coordinates are exact to 2⁻²⁰ of a cell. */
export const STEPS_PER_CELL: number = 2 ** 20;

/** Coordinates past this many steps from the raster's origin are refused: columns and rows must stay 32-bit integers. */
export const GRID_EXTENT: number = 2 ** 49;

/** Polygons on the integer grid of a raster: steps from its first corner, along columns and rows. */
export interface SnappedPolygons {
  readonly zoneRings: Uint32Array;
  readonly ringVertices: Uint32Array;
  /** Whole numbers of steps. */
  readonly column: Float64Array;
  readonly row: Float64Array;
}

/** Side of one grid step in the raster's coordinates. */
export function gridStep({ stepX, stepY }: RasterGrid): [x: number, y: number] {
  return [Math.abs(stepX) / STEPS_PER_CELL, Math.abs(stepY) / STEPS_PER_CELL];
}

/**
 * Moves every vertex to the nearest point of the raster's integer grid, whose origin is the raster's own first corner, so
 * that cell centres are grid points. One grid serves the whole job.
 *
 * @throws `GeometryError` where a coordinate is not finite or lies beyond 2⁴⁹ steps.
 */
export function snapToGrid(polygons: Polygons, grid: RasterGrid): SnappedPolygons {
  return {
    zoneRings: polygons.zoneRings,
    ringVertices: polygons.ringVertices,
    column: snapAxis(polygons.x, grid.originX, grid.stepX),
    row: snapAxis(polygons.y, grid.originY, grid.stepY),
  };
}

function snapAxis(values: Float64Array, origin: number, step: number): Float64Array {
  return values.map((value, vertex) => {
    const steps = Math.round(((value - origin) / step) * STEPS_PER_CELL);
    if (Math.abs(steps) <= GRID_EXTENT) return steps;
    throw new GeometryError('geometry/beyond-grid', `Coordinate ${value} lies beyond the integer grid.`, {
      expected: `at most ${GRID_EXTENT / STEPS_PER_CELL} cells from the raster`,
      got: `${steps / STEPS_PER_CELL} cells`,
      remedy: 'Check that zones and raster share a coordinate reference system.',
      place: { record: `vertex ${vertex}` },
    });
  });
}
