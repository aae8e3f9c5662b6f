/**
 * Decides for joins of polygons whether two polygons share area. Works quadrant by quadrant, and is exact.
 *
 * @packageDocumentation
 */

export type { QuadrantPairs, RegionInQuadrants } from './cells.ts';
export { type OverlapOptions, overlapsInQuadrants } from './overlaps.ts';
