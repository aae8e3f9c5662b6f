/**
 * Queries of a MAQ-tree (a quadtree over many polygons) by points, windows and polygons, many at once.
 *
 * @packageDocumentation
 */

export { type AreaOptions, areasByRegion, areasByWindow, type SharedAreas, type ThresholdOptions } from './areas.ts';
export { queryWindowsBreadthFirst } from './breadth-first.ts';
export { joinPolygons } from './join.ts';
export { type PlacedPolygons, placePolygons } from './place-polygons.ts';
export { type PlacedPoints, type PointPolygons, type Points, placePoints, queryPoints } from './points.ts';
export { polygonsOf, type QueryPolygons, queryPolygons } from './polygons-of.ts';
export type { QueryOptions } from './query-options.ts';
export { type QueryNodes, queryWindows } from './range.ts';
export { type PlacedWindows, placeWindows, type Windows } from './windows.ts';
