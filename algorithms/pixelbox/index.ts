export {
  GRID_LIMIT,
  type GridOptions,
  type GridPolygons,
  gridPolygons,
  type SnappedToPixels,
} from './grid-polygons.ts';
export { type PixelOnlyOptions, pixelOnly } from './pixel-only.ts';
export { polygonAreas } from './polygon-areas.ts';
export { type PolygonEdges, uploadPolygonEdges } from './polygon-edges.ts';
export { contains, intersects, touches } from './predicates.ts';
export { pixelBox, pixelBoxNoSep, type SampledAreas, type SamplingOptions } from './sampling-boxes.ts';
export type { PolygonPairs } from './sampling-run.ts';
