export { type BatchOptions, batchBy } from './batch-by.ts';
export { type Capacity, Channel, type ChannelOptions, type Occupancy } from './channel.ts';
export type { GraphObserver } from './observer.ts';
export { type Progress, type ProgressOptions, type ProgressReport, progress } from './progress.ts';
export { type ItemContext, type ItemFunction, type PullMapOptions, pull, pullMap } from './pull-map.ts';
export type { Pullable, PullSource } from './pull-source.ts';
export type {
  EdgeShape,
  GraphShape,
  NodeCounters,
  OccupancySample,
  Trace,
  TraceMark,
  WorkSpan,
} from './shape.ts';
export {
  type NodeKind,
  type NodeMeta,
  type Overflow,
  type Stage,
  type StageCounters,
  type StageOptions,
  stage,
} from './stage.ts';
