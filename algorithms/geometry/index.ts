/**
 * Types of polygons and rasters, which the algorithms take as inputs, and a search for parts of polygons that overlap.
 *
 * @packageDocumentation
 */

export type { FillRule, Polygons, Zones } from './polygons.ts';
export type {
  BlockBits,
  BlockCells,
  Cells,
  EncodedCells,
  NarrowSample,
  RasterGrid,
  RasterSource,
  Sample,
  Scaling,
  WideSample,
  Window,
} from './raster.ts';
export { type PartedPolygons, type SheetOptions, type Sheets, sheetsOf } from './sheets.ts';
