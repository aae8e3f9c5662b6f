export { GRID_EXTENT, gridStep, type SnappedPolygons, STEPS_PER_CELL, snapToGrid, type ZoneOrigin } from './grid.ts';
export type { FillRule, Polygons, Zones } from './polygons.ts';
export type { BlockCells, Cells, RasterGrid, RasterSource, Sample, Scaling, Window } from './raster.ts';
export { type RowCrossings, rowCrossings } from './row-crossings.ts';
export { type PartedPolygons, type Sheets, sheetsOf } from './sheets.ts';
