/**
 * Whether polygons share area, exactly, inside quadrants.
 *
 * @module
 */

export { type OverlapOptions, overlapsInQuadrants, type QuadrantPairs, type RegionInQuadrants } from './overlaps.ts';
