/**
 * Queries of a MAQ-tree, many at once.
 *
 * @module
 */

export { type AreaOptions, areasByRegion, areasByWindow, type SharedAreas } from './areas.ts';
export { joinPolygons } from './join.ts';
export { type PlacedPoints, type PointPolygons, type Points, placePoints, queryPoints } from './points.ts';
export { polygonsOf, type QueryNodes, type QueryOptions, type QueryPolygons, queryWindows } from './range.ts';
export { type PlacedWindows, placeWindows, type Windows } from './windows.ts';
