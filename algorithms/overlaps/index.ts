/**
 * For joins of polygons: whether two share area, exactly, inside quadrants.
 *
 * @packageDocumentation
 */

export type { QuadrantPairs, RegionInQuadrants } from './cells.ts';
export { type OverlapOptions, overlapsInQuadrants } from './overlaps.ts';
