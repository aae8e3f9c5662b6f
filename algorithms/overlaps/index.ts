/**
 * Whether polygons share area, exactly, inside quadrants.
 *
 * @module
 */

export type { QuadrantPairs, RegionInQuadrants } from './cells.ts';
export { type OverlapOptions, overlapsInQuadrants } from './overlaps.ts';
