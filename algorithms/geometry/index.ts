/**
 * For callers of the algorithms on polygons and rasters: the types of their inputs, and the parts of polygons that
 * overlap.
 *
 * @packageDocumentation
 */

export type { FillRule, Polygons, Zones } from './polygons.ts';
export type { BlockCells, Cells, RasterGrid, RasterSource, Sample, Scaling, Window } from './raster.ts';
export { type PartedPolygons, type SheetOptions, type Sheets, sheetsOf } from './sheets.ts';
