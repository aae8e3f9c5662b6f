export { LIST, NO_POINT } from './lists.ts';
export type { Metric } from './metrics.ts';
export { type NearestOptions, nearest } from './nearest.ts';
export type { Neighbours, Points } from './points.ts';
