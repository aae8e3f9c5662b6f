import { map, Observable, ReplaySubject, switchMap, tap } from 'rxjs';
import { requireArguments, requireOptions } from '../../primitives/checks/arguments.ts';
import {
  aFlag,
  aFunction,
  aNumber,
  aText,
  aWord,
  type Kind,
  optional,
  someOptions,
} from '../../primitives/checks/kinds.ts';
import { requireLanes } from '../definition/pull-map.ts';
import type { NodeKind, NodeMeta, StageCounters } from '../definition/shape.ts';
import { inletOf, type Stage, snapshot } from '../definition/stage.ts';
import { aCapacity, checkedCapacity } from '../run/channel.ts';
import { anObserver } from '../run/observer.ts';
import { checkedPolicy, type MigrationPolicy, somePolicy } from './migration-policy.ts';
import { type MigrationRole, MigrationSession } from './migration-session.ts';
import { boundsOf, lanesOf, type MigratedOptions, type MigratingTask, type Side, TwoSidedRun } from './two-sided.ts';

export interface MigratorOptions {
  /** Thresholds that replace those of `defaultMigrationPolicy`. */
  readonly policy?: Partial<MigrationPolicy> | undefined;
  /** If false, items move only after a failure, and not for balancing load. Default true. */
  readonly enabled?: boolean | undefined;
}

/** Counters of a stage that a migrator has made. */
export interface MigratedCounters extends StageCounters {
  /** Number of items that failed and were skipped. */
  readonly skipped: number;
  /** Number of items that ran again, on the other side (CPU or GPU), after a failure. */
  readonly retried: number;
  /** Number of items that were moved from the home side of the stage to the other side. */
  readonly migrated: number;
}

/** A stage that has a function for the CPU and a function for the GPU. */
export interface MigratedStage<A, B> extends Stage<A, B> {
  counters(): MigratedCounters;
}

/**
 * Balances load between two stages of a pipeline: a stage on the CPU, and a later stage on the GPU. Either stage may be
 * omitted.
 */
export interface Migrator {
  /** Makes the earlier stage. Its home side is the CPU. Its items move to the GPU while the GPU has nothing to do. */
  upstream<A, B>(name: string, options: MigratedOptions<A, B>): MigratedStage<A, B>;
  /**
   * Makes the later stage. Its home side is the GPU. Its items move to the CPU while the edge into the stage is full.
   */
  downstream<A, B>(name: string, options: MigratedOptions<A, B>): MigratedStage<A, B>;
}

/**
 * Balances a pipeline between GPU and CPU. The decisions depend on the contents of the edge into the GPU stage, and on
 * rates that are measured during the run. While this edge is full, its smallest items run on the CPU. While the edge is
 * empty and the GPU is idle, items of an earlier CPU stage run on the GPU.
 *
 * - Every item that does not fail is processed once, on one side. If the two functions of a stage agree, results are
 *   the same as without migration. Only timing decides on which side an item runs.
 * - At most `gpuLanes + cpuLanes` items of a stage are in progress. The edge into the stage keeps within `capacity`.
 * - An item that fails on one side runs again on the other side (`onError`). After a `DeviceLostError`, the GPU is not
 *   used again in this run, and the lanes of both sides work on the CPU.
 * - Cancellation, errors and demand work as in `stage`. A trace shows each move as a mark `migrate/gpu-to-cpu` or
 *   `migrate/cpu-to-gpu`. It shows each change of mode as a mark `migrate/full`, `migrate/starved` or
 *   `migrate/balanced`.
 * - A migrator may be used for several runs, one after another. The runs share no state.
 *
 * @throws `GraphError` `graph/bad-migration-policy`, `graph/bad-lanes`, `graph/bad-capacity` or `graph/no-size` at the
 * call; `graph/item-failed` through the stream, for an item that failed on both sides, with node, item and cause.
 *
 * Source: Wang, Huai, Lee, Wang, Zhang and Saltz, Accelerating Pathology Image Data Cross-Comparison on CPU-GPU Hybrid
 * Systems, 2012, section 4.2.
 *
 * @example
 * ```ts
 * const toNumber = async (text: string) => Number(text);
 * const square = async (x: number) => x * x;
 * const balance = migrator();
 * const squares = pull(['1', '2', '3']).pipe(
 *   balance.upstream('parse', { cpu: toNumber, gpu: toNumber, cpuLanes: 2 }),
 *   filter((x: number) => x !== 2),
 *   balance.downstream('square', { gpu: square, cpu: square, ordered: true }),
 * );
 * await lastValueFrom(squares.pipe(reduce((a, b) => a + b))); // 10
 * ```
 */
export function migrator(options: MigratorOptions = {}): Migrator {
  requireOptions<MigratorOptions>('migrator', { policy: somePolicy, enabled: aFlag }, options);
  return createMigrator(options);
}

function createMigrator({ policy = {}, enabled = true }: MigratorOptions): Migrator {
  const checked = checkedPolicy(policy, 'migrator');
  let current: MigrationSession | undefined;
  /**
   * Returns the session for a new stage with this role: the current session if it has other stages but none with this
   * role, else a new session. RxJS subscribes the whole chain of a run at once, so both stages of a run are in one
   * session.
   */
  const join = (role: MigrationRole): MigrationSession => {
    if (current === undefined || current.isOver() || current.has(role)) {
      current = new MigrationSession(checked, enabled);
    }
    return current;
  };
  return {
    upstream: (name, options) => twoSided(name, 'cpu', options, () => join('upstream')),
    downstream: (name, options) => twoSided(name, 'gpu', options, () => join('downstream')),
  };
}

/**
 * A stage on the GPU whose smallest items run on the CPU while the edge into the stage is full. The same as the
 * `downstream` stage of a {@link migrator} without an `upstream` stage.
 *
 * @example
 * ```ts
 * const double = async (x: number) => 2 * x;
 * const doubled = pull([1, 2, 3]).pipe(migrate('double', { gpu: double, cpu: double, ordered: true }));
 * await lastValueFrom(doubled.pipe(toArray())); // [2, 4, 6]
 * ```
 */
export function migrate<A, B>(name: string, options: MigratedOptions<A, B> & MigratorOptions): MigratedStage<A, B> {
  requireArguments('migrate', { name, options }, { name: aText, options: MIGRATED });
  return createMigrator(options).downstream(name, options);
}

/**
 * Validator of the options of a migrated stage. It also accepts migrator options, because {@link migrate} takes both.
 */
const MIGRATED: Kind = someOptions<MigratedOptions<never, never> & MigratorOptions>({
  gpu: aFunction,
  cpu: aFunction,
  gpuLanes: optional(aNumber),
  cpuLanes: optional(aNumber),
  gpuRunsOn: optional(aWord(['cpu', 'gpu'])),
  capacity: optional(aCapacity),
  sizeOf: optional(aFunction),
  ordered: optional(aFlag),
  overflow: optional(aWord(['fail', 'drop-newest', 'drop-oldest'])),
  onError: optional(aWord(['migrate', 'stop'])),
  onFailed: optional(aFunction),
  discard: optional(aFunction),
  discardResult: optional(aFunction),
  observer: optional(anObserver),
  now: optional(aFunction),
  policy: optional(somePolicy),
  enabled: optional(aFlag),
});

function twoSided<A, B>(
  name: string,
  home: Side,
  options: MigratedOptions<A, B>,
  join: () => MigrationSession,
): MigratedStage<A, B> {
  requireArguments('migrate', { name, options }, { name: aText, options: MIGRATED });
  const lanes = lanesOf(options, 'gpu') + lanesOf(options, 'cpu');
  for (const side of ['gpu', 'cpu'] as const) requireLanes(name, lanesOf(options, side));
  const capacity = checkedCapacity({ ...boundsOf(options), sizeOf: options.sizeOf, name });
  const runsOn = options.gpuRunsOn === 'cpu' ? 'cpu' : 'either';
  const role = home === 'gpu' ? 'downstream' : 'upstream';
  const runs = new ReplaySubject<TwoSidedRun<A, B>>(1);
  let latest: TwoSidedRun<A, B> | undefined;

  const operator = (source: Observable<A>): Observable<B> =>
    new Observable<B>((out) => {
      const session = join();
      const run = new TwoSidedRun(name, home, options, session, out);
      session.enter(role, run);
      out.add(() => session.leave(role));
      latest = run;
      runs.next(run);
      run.watch(out);
      run.results().subscribe(out);
      const fail = (error: unknown): void => out.error(error);
      const inlet = inletOf<MigratingTask<A>>(run.counts, name, options.overflow ?? 'fail', run.discard, fail);
      out.add(inlet);
      source.pipe(map(run.toTask), tap({ complete: run.sourceEnded })).subscribe(inlet);
    });

  return Object.assign(operator, {
    meta: { name, kind: 'map' as NodeKind, lanes, capacity, runsOn: runsOn as NodeMeta['runsOn'] },
    counters: () => (latest === undefined ? nothingYet : { ...snapshot(latest.counts), ...latest.migrations }),
    occupancy$: runs.pipe(switchMap(({ edge }) => edge.occupancy$)),
  });
}

const nothingYet: MigratedCounters = {
  in: 0,
  out: 0,
  active: 0,
  dropped: 0,
  busy: 0,
  stalls: 0,
  depth: 0,
  bytes: 0,
  peak: 0,
  peakBytes: 0,
  skipped: 0,
  retried: 0,
  migrated: 0,
};
