/**
 * For programs that connect pipelines into a dataflow graph over RxJS, with back-pressure, error policies, migration
 * between CPU and GPU, and traces.
 *
 * @packageDocumentation
 */

export { type BatchOptions, batchBy } from './definition/batch-by.ts';
export type { GraphBuilder } from './definition/builder.ts';
export type { ErrorPolicy, ErrorPolicySteps } from './definition/error-policy.ts';
export { type Graph, graph } from './definition/graph.ts';
export type { Pair } from './definition/join.ts';
export type {
  BroadcastOptions,
  GraphBatchOptions,
  GraphStageOptions,
  InputOptions,
  JoinOptions,
  JoinPorts,
  PolicyOptions,
  PortRules,
  PortsOf,
  ReduceFunction,
  SinkOptions,
  SourceOptions,
} from './definition/node-options.ts';
export type { ItemOf, Outcome, Outcomes, Port, ResultOf } from './definition/port.ts';
export { type ItemContext, type ItemFunction, type PullMapOptions, pull, pullMap } from './definition/pull-map.ts';
export type {
  DrawOptions,
  EdgeCounters,
  EdgeShape,
  GraphShape,
  NodeCounters,
  NodeKind,
  NodeMeta,
  OccupancySample,
  StageCounters,
  Trace,
  TraceMark,
  WorkSpan,
} from './definition/shape.ts';
export { type Overflow, type Stage, type StageOptions, stage } from './definition/stage.ts';
export { drawDot } from './drawings/draw-dot.ts';
export { drawMermaid } from './drawings/draw-mermaid.ts';
export { drawSvg } from './drawings/draw-svg.ts';
export {
  type MigratedCounters,
  type MigratedStage,
  type Migrator,
  type MigratorOptions,
  migrate,
  migrator,
} from './migration/migrate.ts';
export { defaultMigrationPolicy, type MigrationPolicy } from './migration/migration-policy.ts';
export type { MigratedOptions, Side } from './migration/two-sided.ts';
export { type RemoteModules, UnfitWorkerError } from './remote/do-job.ts';
export { type InProcessQueueOptions, inProcessQueue } from './remote/in-process.ts';
export type { RemoteOptions } from './remote/remote-options.ts';
export type {
  OpenRunOptions,
  RemoteFunction,
  RemoteJob,
  RemoteOutcome,
  RemoteRun,
  WorkerCount,
  WorkQueue,
} from './remote/work-queue.ts';
export { chromeTrace } from './reports/chrome-trace.ts';
export { type ReportPage, type ReportSection, type ReportTable, reportPage } from './reports/report-page.ts';
export { type ReportOptions, runReport } from './reports/run-report.ts';
export { recordTrace, type TracedRun, type TraceOptions, type TraceRecorder } from './reports/trace.ts';
export type { NodeContext, NodeFunction } from './run/attempts.ts';
export { type Capacity, Channel, type ChannelOptions, type Occupancy } from './run/channel.ts';
export { type FailedItem, ItemError } from './run/item-error.ts';
export type { GraphObserver } from './run/observer.ts';
export type { ItemHandling } from './run/parcel.ts';
export type { Opener } from './run/programs.ts';
export { type Progress, type ProgressOptions, type ProgressReport, progress } from './run/progress.ts';
export type { Pullable, PullSource } from './run/pull-source.ts';
export type { GraphRun, RunOptions } from './run/run.ts';
