/**
 * For programs that chain pipelines into a dataflow graph over RxJS, with back-pressure, error policies, migration
 * between devices and traces.
 *
 * @packageDocumentation
 */

export type { NodeContext, NodeFunction } from './attempts.ts';
export { type BatchOptions, batchBy } from './batch-by.ts';
export type { GraphBuilder } from './builder.ts';
export { type Capacity, Channel, type ChannelOptions, type Occupancy } from './channel.ts';
export { chromeTrace } from './chrome-trace.ts';
export { drawDot } from './draw-dot.ts';
export { drawMermaid } from './draw-mermaid.ts';
export { drawSvg } from './draw-svg.ts';
export type { ErrorPolicy, ErrorPolicySteps } from './error-policy.ts';
export { type Graph, graph } from './graph.ts';
export { type FailedItem, ItemError } from './item-error.ts';
export type { Pair } from './join.ts';
export {
  type MigratedCounters,
  type MigratedStage,
  type Migrator,
  type MigratorOptions,
  migrate,
  migrator,
} from './migrate.ts';
export {
  type DecideMigrationOptions,
  decideMigration,
  defaultMigrationPolicy,
  initialMigrationState,
  type MigrationDecision,
  type MigrationInput,
  type MigrationMode,
  type MigrationPolicy,
  type MigrationState,
  type SideLoad,
  type StageLoad,
} from './migration-policy.ts';
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
} from './node-options.ts';
export type { GraphObserver } from './observer.ts';
export type { ItemHandling } from './parcel.ts';
export type { ItemOf, Outcome, Outcomes, Port, ResultOf } from './port.ts';
export type { Opener } from './programs.ts';
export { type Progress, type ProgressOptions, type ProgressReport, progress } from './progress.ts';
export { type ItemContext, type ItemFunction, type PullMapOptions, pull, pullMap } from './pull-map.ts';
export type { Pullable, PullSource } from './pull-source.ts';
export { type ReportPage, type ReportSection, type ReportTable, reportPage } from './report-page.ts';
export type { GraphRun, RunOptions } from './run.ts';
export { type ReportOptions, runReport } from './run-report.ts';
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
} from './shape.ts';
export { type Overflow, type Stage, type StageOptions, stage } from './stage.ts';
export { recordTrace, type TracedRun, type TraceOptions, type TraceRecorder } from './trace.ts';
export type { MigratedOptions, Side } from './two-sided.ts';
