import { filter, map, merge, type Observable, type Subscriber } from 'rxjs';
import { DeviceLostError, GraphError } from '../../primitives/checks/errors.ts';
import { tell } from '../../primitives/checks/warnings.ts';
import { type ItemContext, type ItemFunction, itemFailure, pullMap } from '../definition/pull-map.ts';
import type { WorkSpan } from '../definition/shape.ts';
import { newRun, type Overflow, type StageRun } from '../definition/stage.ts';
import { type Capacity, Channel } from '../run/channel.ts';
import { InOrder } from '../run/in-order.ts';
import { type GraphObserver, guarded, type Surroundings, surroundingsOf } from '../run/observer.ts';
import { discardParcel, type Parcel } from '../run/parcel.ts';
import { items } from '../run/passage.ts';
import type { MigrationDecision, SideLoad, StageLoad } from './migration-policy.ts';
import type { Migratable, MigrationSession } from './migration-session.ts';
import { measured, type RateEstimate, rateOf, unmeasured } from './rate-estimate.ts';

export type Side = 'gpu' | 'cpu';

/** Options of a stage that can run on GPU and CPU. For equal items, both functions must give equal results. */
export interface MigratedOptions<A, B> {
  readonly gpu: ItemFunction<A, B>;
  readonly cpu: ItemFunction<A, B>;
  /**
   * Maximum number of items that run at the same time on the GPU (`gpuLanes`) or the CPU (`cpuLanes`), at least 1.
   * Default 1.
   */
  readonly gpuLanes?: number | undefined;
  readonly cpuLanes?: number | undefined;
  /**
   * Where the function `gpu` runs, for drawings and traces. Default `gpu`; `cpu` if its context is on worker threads,
   * say.
   */
  readonly gpuRunsOn?: 'cpu' | 'gpu' | undefined;
  /** Capacity of the edge into the stage. Default: the number of lanes of both sides together. */
  readonly capacity?: number | Capacity | undefined;
  /**
   * Returns the size of an item, above 0. A bound of `capacity` in bytes limits the total size of the items on the
   * edge. Migration treats the size of an item as its amount of work. By default all items have the same size.
   */
  readonly sizeOf?: ((item: A) => number) | undefined;
  /** Whether results have the order of the inputs, whichever side processed them. Default false. */
  readonly ordered?: boolean | undefined;
  /** What to do if the edge is full when a source that cannot wait pushes an item, as in `stage`. Default `fail`. */
  readonly overflow?: Overflow | undefined;
  /**
   * What to do with an item that fails.
   *
   * - `migrate`: the item runs again on the other side, so a function that fails must not change the item. If the item
   *   fails on the other side too, it is given to `discard`. This is the default.
   * - `stop`: the item does not run again. The function owns the item and must free it.
   */
  readonly onError?: 'migrate' | 'stop' | undefined;
  /**
   * Called with the error of an item that failed and does not run again. The stream then continues without the item. If
   * `onFailed` is missing, the stream ends with the error.
   */
  readonly onFailed?: ((error: GraphError) => void) | undefined;
  /**
   * Frees an input that was given to no function, or that failed while `onError` is `migrate`. An error thrown by
   * `discard` becomes a warning.
   */
  readonly discard?: ((item: A) => void) | undefined;
  /**
   * Frees a result that cannot be delivered, because the run ended early. An error thrown by `discardResult` becomes a
   * warning.
   */
  readonly discardResult?: ((result: B) => void) | undefined;
  /**
   * Receives an event for each item that was processed, for each change of the edge's contents, and for each migration.
   * Default: the observer of the run if the stage is in a graph.
   */
  readonly observer?: GraphObserver | undefined;
  /** Returns the time in milliseconds, for spans and rates. Default `performance.now`. */
  readonly now?: (() => number) | undefined;
}

export interface MigratingTask<A> {
  readonly parcel: Parcel<A>;
  readonly index: number;
  size: number;
  /**
   * The side that processes the task now. Undefined while the task waits for a lane, and while its result waits for
   * delivery.
   */
  side?: Side | undefined;
  started: number;
  migrated: boolean;
}

/** The outcome of a task. If `done` is missing, the task failed and is skipped. */
interface Outcome<A, B> {
  readonly task: MigratingTask<A>;
  readonly done?: { readonly result: B };
}

/**
 * Numbers of items that were skipped, that ran again after a failure, and that were moved from the home side to the
 * other side.
 */
interface Migrations {
  skipped: number;
  retried: number;
  migrated: number;
}

/**
 * One subscription of a stage with two sides (CPU and GPU). It has an edge, lanes for the home side (where items
 * normally run), and lanes for items that were moved to the other side.
 */
export class TwoSidedRun<A, B> implements Migratable {
  readonly edge: Channel<MigratingTask<A>>;
  readonly counts: StageRun<MigratingTask<A>>;
  readonly migrations: Migrations = { skipped: 0, retried: 0, migrated: 0 };
  readonly homeLanes: number;
  arrivedSize = 0;
  finishedSize = 0;
  ending = false;

  readonly #name: string;
  readonly #home: Side;
  readonly #away: Side;
  readonly #options: MigratedOptions<A, B>;
  readonly #session: MigrationSession;
  readonly #surroundings: Surroundings | undefined;
  readonly #observer: GraphObserver | undefined;
  readonly #now: () => number;
  readonly #order: InOrder | undefined;
  /**
   * Tasks whose results are not delivered yet. `#atHome` contains tasks that lanes of the home side have taken.
   * `#taken` contains tasks of the other side, including moved tasks that still wait for a lane.
   */
  readonly #atHome: Set<MigratingTask<A>> = new Set();
  readonly #taken: Set<MigratingTask<A>> = new Set();
  readonly #rates: Record<Side, RateEstimate> = { gpu: unmeasured, cpu: unmeasured };
  /**
   * Moved tasks that no lane has taken yet (`#moved`), and the function that gives a task to a waiting lane
   * (`#asking`).
   */
  readonly #moved: MigratingTask<A>[] = [];
  #asking: ((result: IteratorResult<MigratingTask<A>, undefined>) => void) | undefined;
  #over = false;
  #arrived = 0;

  constructor(
    name: string,
    home: Side,
    options: MigratedOptions<A, B>,
    session: MigrationSession,
    out: Subscriber<never>,
  ) {
    this.#name = name;
    this.#home = home;
    this.#away = home === 'gpu' ? 'cpu' : 'gpu';
    this.#options = options;
    this.#session = session;
    this.#surroundings = surroundingsOf(out);
    const { observer } = options;
    this.#observer =
      observer === undefined ? this.#surroundings?.observer : guarded(observer, this.#surroundings?.warn);
    this.#now = options.now ?? (() => performance.now());
    this.#order = options.ordered === true ? new InOrder() : undefined;
    this.homeLanes = lanesOf(options, home);
    this.edge = new Channel({ ...boundsOf(options), sizeOf: this.#measure, onDiscard: this.discard, name });
    this.counts = newRun(this.edge);
  }

  readonly discard = (task: MigratingTask<A>): void => {
    this.#discardItem(task);
    this.#order?.pass(task.index);
  };

  readonly sourceEnded = (): void => {
    this.ending = true;
  };

  readonly toTask = (item: A): MigratingTask<A> => {
    const known = this.#surroundings?.passage.leave(item);
    const discard = this.#options.discard ?? known?.discard;
    const parcel = { item, name: known?.name, discard, sizeOf: undefined };
    return { parcel, index: this.#arrived++, size: 1, started: 0, migrated: false };
  };

  /** The results of both sides. The demand of the next stage reaches the lanes of both sides through `merge`. */
  results(): Observable<B> {
    const discardResult = ({ done }: Outcome<A, B>): void => {
      if (done !== undefined) discardParcel(this.#resultParcel(done.result), this.#surroundings?.warn);
    };
    const shared = { name: this.#name, discard: this.discard, discardResult };
    const atHome = pullMap(this.edge, (task, context) => this.#work(task, this.#atHome, this.#home, context), {
      ...shared,
      lanes: this.homeLanes,
    });
    const away = pullMap(this.#movedTasks(), (task, context) => this.#work(task, this.#taken, this.#away, context), {
      ...shared,
      lanes: lanesOf(this.#options, this.#away),
    });
    return merge(atHome, away).pipe(
      filter((outcome): outcome is Required<Outcome<A, B>> => this.#delivered(outcome)),
      map(({ task, done }) => ({ ...this.#resultParcel(done.result), name: task.parcel.name })),
      items(this.#surroundings?.passage),
    );
  }

  #resultParcel(item: B): Parcel<B> {
    return { item, name: undefined, discard: this.#options.discardResult, sizeOf: undefined };
  }

  #discardItem({ parcel }: MigratingTask<A>): void {
    discardParcel(parcel, this.#surroundings?.warn);
  }

  /** After every change of the edge, informs the observer and asks the session for a decision. */
  watch(out: Subscriber<never>): void {
    const next = (level: { items: number; bytes: number }): void => {
      this.#observer?.occupancy({ edge: this.#name, time: this.#now(), ...level });
      this.#session.decide();
    };
    const complete = (): void => {
      this.#over = true;
      this.#answer();
    };
    out.add(this.edge.occupancy$.subscribe({ next, complete }));
    out.add(() => this.#order?.end());
  }

  get blocked(): boolean {
    return !this.edge.hasRoom();
  }

  homeRate(): number | undefined {
    return rateOf(this.#rates[this.#home], this.#session.finished);
  }

  load(): StageLoad {
    const now = this.#now();
    const waiting = this.edge.held().map(({ size }) => size);
    const home = this.#sideLoad(this.#home, this.#atHome, this.homeLanes, now);
    // If no lane of the other side asks for a task, all these lanes are busy or are held up by the next stage. No task
    // should move to them, so only the lanes in use are counted.
    const lanes = this.#asking === undefined ? this.#taken.size : lanesOf(this.#options, this.#away);
    const away = this.#sideLoad(this.#away, this.#taken, lanes, now);
    return this.#home === 'gpu' ? { waiting, gpu: home, cpu: away } : { waiting, gpu: away, cpu: home };
  }

  move({ moves, reason }: MigrationDecision): void {
    const held = this.edge.held();
    for (const task of moves.map((position) => held[position]!)) {
      this.#taken.add(task);
      this.#moved.push(task);
      // The task must be in `#moved` before it leaves the edge, because the stream of moved tasks ends when the edge is
      // closed and empty and `#moved` is empty too.
      this.edge.takeAt(this.edge.held().indexOf(task));
      this.#migrating(task, this.#away, { reason, waiting: held.length });
    }
    this.#answer();
  }

  mark(name: string, detail?: Readonly<Record<string, unknown>>): void {
    this.#observer?.mark({ node: this.#name, time: this.#now(), name, detail });
  }

  /**
   * Measures a task. The channel calls this function whenever a task is pushed. Without `sizeOf`, every item counts 0
   * bytes on the edge.
   */
  readonly #measure = (task: MigratingTask<A>): number => {
    const { sizeOf } = this.#options;
    task.size = sizeOf?.(task.parcel.item) ?? 1;
    this.arrivedSize += task.size;
    return sizeOf === undefined ? 0 : task.size;
  };

  #sideLoad(side: Side, tasks: ReadonlySet<MigratingTask<A>>, lanes: number, now: number): SideLoad {
    const rate = rateOf(this.#rates[side], this.#session.finished);
    const underWay = [...tasks].map(({ size, side: at, started }) => {
      if (at === undefined) return this.#moved.length > 0 ? size : 0;
      return Math.max(0, size - (now - started) * (rate ?? 0));
    });
    return { lanes: side === 'gpu' && this.#session.gpuLost ? 0 : lanes, underWay, rate };
  }

  async #work(
    task: MigratingTask<A>,
    lane: Set<MigratingTask<A>>,
    own: Side,
    context: ItemContext,
  ): Promise<Outcome<A, B>> {
    lane.add(task);
    this.counts.in++;
    const side = this.#session.gpuLost ? 'cpu' : own;
    if (side !== own && side !== this.#home) this.#migrating(task, side, { reason: 'lost' });
    const outcome = await this.#attemptBoth(task, side, this.#laneContext(task, own, context));
    await this.#order?.come(task.index);
    return outcome;
  }

  #laneContext({ index }: MigratingTask<A>, own: Side, { signal, lane }: ItemContext): ItemContext {
    return { signal, index, lane: own === this.#home ? lane : this.homeLanes + lane };
  }

  async #attemptBoth(task: MigratingTask<A>, side: Side, context: ItemContext): Promise<Outcome<A, B>> {
    const { onError = 'migrate', onFailed } = this.#options;
    const first = await this.#attempt(task, side, context);
    if ('result' in first) return { task, done: first };
    let { error } = first;
    if (onError === 'migrate') {
      const other = side === 'gpu' ? 'cpu' : 'gpu';
      if (side === 'gpu' && isDeviceLost(error)) this.#session.loseGpu();
      if (!context.signal.aborted && !isAbort(error) && !(other === 'gpu' && this.#session.gpuLost)) {
        this.migrations.retried++;
        this.#migrating(task, other, { reason: 'failed', error: String(error) });
        const second = await this.#attempt(task, other, context);
        if ('result' in second) return { task, done: second };
        if (other === 'gpu' && isDeviceLost(second.error)) this.#session.loseGpu();
        else error = second.error;
      }
      this.#discardItem(task);
    }
    const failed = itemFailure(error, this.#name, task.index);
    if (context.signal.aborted || !(failed instanceof GraphError)) throw failed;
    if (onFailed === undefined) throw this.#named(failed, task);
    tell('onFailed', onFailed, failed, this.#surroundings?.warn);
    this.#surroundings?.passedOver(failed, task.parcel);
    return { task };
  }

  async #attempt(
    task: MigratingTask<A>,
    side: Side,
    context: ItemContext,
  ): Promise<{ result: B } | { error: unknown }> {
    const start = this.#now();
    Object.assign(task, { side, started: start });
    this.counts.active++;
    this.#surroundings?.began();
    let outcome: WorkSpan['outcome'] = 'done';
    try {
      return { result: await this.#options[side](task.parcel.item, context) };
    } catch (error) {
      outcome = context.signal.aborted ? 'aborted' : 'failed';
      return { error };
    } finally {
      const end = this.#now();
      task.side = undefined;
      this.counts.active--;
      this.counts.busy += end - start;
      const { lane, index } = context;
      this.#observer?.span({
        node: this.#name,
        lane,
        item: index,
        record: task.parcel.name,
        start,
        end,
        runsOn: side === 'gpu' ? (this.#options.gpuRunsOn ?? 'gpu') : 'cpu',
        outcome,
      });
      if (outcome === 'done') {
        this.#rates[side] = measured(this.#rates[side], task.size, end - start, this.#session.finished);
      }
      this.#surroundings?.ended();
      this.#session.itemFinished();
    }
  }

  #named(failed: GraphError, { parcel }: MigratingTask<A>): GraphError {
    return this.#surroundings?.named(failed, parcel) ?? failed;
  }

  #migrating(task: MigratingTask<A>, to: Side, detail: Readonly<Record<string, unknown>>): void {
    if (to !== this.#home && !task.migrated) {
      task.migrated = true;
      this.migrations.migrated++;
    }
    const name = to === 'cpu' ? 'migrate/gpu-to-cpu' : 'migrate/cpu-to-gpu';
    const { name: record } = task.parcel;
    this.mark(name, { item: task.index, ...(record === undefined ? {} : { record }), size: task.size, ...detail });
  }

  #delivered({ task, done }: Outcome<A, B>): boolean {
    this.#atHome.delete(task);
    this.#taken.delete(task);
    if (done === undefined) this.migrations.skipped++;
    else this.counts.out++;
    this.finishedSize += task.size;
    this.#order?.pass(task.index);
    return done !== undefined;
  }

  /** The source for the lanes of the other side: moved tasks, until the edge is closed and empty. */
  #movedTasks(): AsyncIterable<MigratingTask<A>> {
    const next = (): Promise<IteratorResult<MigratingTask<A>, undefined>> =>
      new Promise((resolve) => {
        this.#asking = resolve;
        this.#answer();
        if (this.#asking !== undefined) this.#session.decide();
      });
    const stop = async (): Promise<IteratorResult<MigratingTask<A>, undefined>> => {
      this.#over = true;
      for (const task of this.#moved.splice(0)) this.discard(task);
      this.#answer();
      return { done: true, value: undefined };
    };
    return { [Symbol.asyncIterator]: () => ({ next, return: stop }) };
  }

  #answer(): void {
    if (this.#asking === undefined || (this.#moved.length === 0 && !this.#over)) return;
    const answer = this.#asking;
    this.#asking = undefined;
    const task = this.#moved.shift();
    answer(task === undefined ? { done: true, value: undefined } : { done: false, value: task });
  }
}

export function lanesOf<A, B>({ gpuLanes = 1, cpuLanes = 1 }: MigratedOptions<A, B>, side: Side): number {
  return side === 'gpu' ? gpuLanes : cpuLanes;
}

export function boundsOf<A, B>(options: MigratedOptions<A, B>): Capacity {
  const { capacity = lanesOf(options, 'gpu') + lanesOf(options, 'cpu') } = options;
  return typeof capacity === 'number' ? { items: capacity } : capacity;
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

/** Whether the error, or an error in its chain of causes, is a `DeviceLostError`. */
function isDeviceLost(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof DeviceLostError) return true;
  return false;
}
