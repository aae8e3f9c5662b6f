/**
 * Searches among points: the k nearest points, and all points within a radius, by brute force or in a tree.
 *
 * @packageDocumentation
 */

export { LIST, NO_POINT } from './lists.ts';
export type { Metric } from './metrics.ts';
export { type NearestOptions, nearest } from './nearest.ts';
export { nearestInTree, type TreeSearchOptions } from './nearest-in-tree.ts';
export type { Neighbours, Points } from './points.ts';
export { buildPointTree, LEAF, type PointTree } from './tree.ts';
export { type PointsWithin, type RadiusOptions, withinRadius } from './within-radius.ts';
