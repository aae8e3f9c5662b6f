/**
 * For callers of the algorithms on polygons and rasters: the types of their inputs, and the snapping of polygons to an
 * integer grid.
 *
 * @packageDocumentation
 */

export { GRID_EXTENT, gridStep, type SnappedPolygons, STEPS_PER_CELL, snapToGrid, type ZoneOrigin } from './grid.ts';
export type { FillRule, Polygons, Zones } from './polygons.ts';
export type { BlockCells, Cells, RasterGrid, RasterSource, Sample, Scaling, Window } from './raster.ts';
export { type RowCrossings, type RowCrossingsOptions, rowCrossings } from './row-crossings.ts';
export { type PartedPolygons, type SheetOptions, type Sheets, sheetsOf } from './sheets.ts';
