/**
 * Areas of pairs of polygons on a grid of pixels: exact areas ({@link pairAreas}), and PixelBox as it was published
 * ({@link pixelBox}).
 *
 * @packageDocumentation
 */
export type { AreaMethod, RegionPairs } from './area-plan.ts';
export { type DeviceRegions, regionsOn } from './device-regions.ts';
export { GRID_LIMIT, type GridPolygons } from './grid-polygons.ts';
export { areasOfJobs, type PairAreaJob, type PairAreaOptions, type PairAreas, pairAreas } from './pair-areas.ts';
export { type PixelOnlyOptions, pixelOnly } from './pixel-only.ts';
export { polygonAreas } from './polygon-areas.ts';
export { type PolygonEdges, uploadPolygonEdges } from './polygon-edges.ts';
export { contains, intersects, touches } from './predicates.ts';
export { type DeviceVertices, type Regions, regionsOf } from './regions.ts';
export { pixelBox, pixelBoxNoSep, type SampledAreas, type SamplingOptions } from './sampling-boxes.ts';
export type { PolygonPairs } from './sampling-run.ts';
export { type SignedCorners, signedArea, signedCorners } from './signed-corners.ts';
export { type GridOptions, gridPolygons, type SnappedToPixels } from './snap-to-pixels.ts';
