/**
 * Queries of a MAQ-tree, many at once.
 *
 * @module
 */

export { polygonsOf, type QueryNodes, type QueryOptions, type QueryPolygons, queryWindows } from './range.ts';
export { type PlacedWindows, placeWindows, type Windows } from './windows.ts';
