import { map, Observable, type OperatorFunction, ReplaySubject, Subscriber, switchMap, tap } from 'rxjs';
import { requireArguments, requireOptions } from '../../primitives/checks/arguments.ts';
import { GraphError } from '../../primitives/checks/errors.ts';
import { aFlag, aFunction, aNumber, aText, aWord, type FieldKinds } from '../../primitives/checks/kinds.ts';
import { aCapacity, type Capacity, Channel, type Occupancy } from '../run/channel.ts';
import { DEMAND, type Demand } from '../run/demand.ts';
import { anObserver, type GraphObserver, guarded, type Surroundings, surroundingsOf } from '../run/observer.ts';
import { discardParcel, handledBy, type Parcel, sizeOfParcel } from '../run/parcel.ts';
import { items, parcels } from '../run/passage.ts';
import { type ItemContext, type ItemFunction, itemFailure, pullMap, requireLanes } from './pull-map.ts';
import type { NodeKind, NodeMeta, StageCounters, WorkSpan } from './shape.ts';

/**
 * What to do if the edge is full when a source that cannot wait pushes an item: fail, or drop the oldest or newest
 * item.
 */
export type Overflow = 'fail' | 'drop-oldest' | 'drop-newest';

export interface StageOptions<A, B> {
  /** Maximum number of items that are processed at the same time, at least 1. Default 1. */
  readonly lanes?: number | undefined;
  /**
   * Capacity of the edge into the stage: a number of items, or an object with bounds in items and bytes. Default: the
   * number of lanes.
   */
  readonly capacity?: number | Capacity | undefined;
  /** Returns the bytes of an input. Required if `capacity` has a bound in bytes. */
  readonly sizeOf?: ((item: A) => number) | undefined;
  /** Whether results have the order of the inputs. Default false. */
  readonly ordered?: boolean | undefined;
  /**
   * What to do if the edge is full when a source that cannot wait, such as a `Subject`, pushes an item. Default `fail`.
   */
  readonly overflow?: Overflow | undefined;
  /**
   * Frees an input that is not given to the function, because the run ended early or the edge was full. An error thrown
   * by `discard` becomes a warning.
   */
  readonly discard?: ((item: A) => void) | undefined;
  /**
   * Frees a result that cannot be delivered, because the run ended early. An error thrown by `discardResult` becomes a
   * warning.
   */
  readonly discardResult?: ((result: B) => void) | undefined;
  readonly kind?: NodeKind | undefined;
  /** Where the function runs, for drawings and traces. Default `cpu`. */
  readonly runsOn?: 'cpu' | 'gpu' | 'either' | undefined;
  /**
   * Receives an event for each item that was processed, and for each change of the edge's contents. Default: the
   * observer of the run if the stage is in a graph.
   */
  readonly observer?: GraphObserver | undefined;
}

const OPTIONS: FieldKinds<StageOptions<never, never>> = {
  lanes: aNumber,
  capacity: aCapacity,
  sizeOf: aFunction,
  ordered: aFlag,
  overflow: aWord(['fail', 'drop-oldest', 'drop-newest']),
  discard: aFunction,
  discardResult: aFunction,
  kind: aText,
  runsOn: aWord(['cpu', 'gpu', 'either']),
  observer: anObserver,
};

/** A stage as an RxJS operator, with its description and counters. */
export interface Stage<A, B> extends OperatorFunction<A, B> {
  readonly meta: NodeMeta;
  /** Returns the current counters of the latest subscription. */
  counters(): StageCounters;
  /**
   * Emits the number of items and bytes on the edge into the stage, on subscription and after every change. If the
   * stage is subscribed to again, switches to the edge of the latest subscription.
   */
  readonly occupancy$: Observable<Occupancy>;
}

/**
 * A node of a pipeline, as an operator for `.pipe()`. Items wait on a bounded edge until one of `lanes` workers takes
 * them.
 *
 * While the edge of this stage is full, the sources upstream ({@link pull}, {@link pullMap} and other stages) read no
 * more items. Plain operators that map, filter or expand items may stand between a source and this stage. If an
 * operator turns one item into k items, up to k - 1 items exceed the bound of the edge and wait outside it. Items that
 * an operator holds back (`delay`, `mergeMap` with a promise) count towards no bound. Write such an operation as a
 * stage instead.
 *
 * A source that pushes its items (`Subject`, `fromEvent`, `interval`, `from(array)`) cannot be made to wait. If such a
 * source pushes an item while the edge is full, `overflow` decides what happens. Errors and cancellation work as in
 * {@link pullMap}. An error from upstream is passed on immediately, and the items on the edge are discarded.
 *
 * @example
 * ```ts
 * const parse = stage('parse', async (line: string) => Number(line), { lanes: 2, capacity: 4 });
 * const square = stage('square', async (x: number) => x * x, { ordered: true });
 * const odd = pull(['1', '2', '3']).pipe(parse, filter((x) => x % 2 === 1), square);
 * await lastValueFrom(odd.pipe(reduce((a, b) => a + b))); // 10
 * ```
 */
export function stage<A, B>(name: string, fn: ItemFunction<A, B>, options: StageOptions<A, B> = {}): Stage<A, B> {
  requireArguments('stage', { name, fn }, { name: aText, fn: aFunction });
  requireOptions<StageOptions<A, B>>('stage', OPTIONS, options);
  const { lanes = 1, ordered, overflow = 'fail', kind = 'map', runsOn = 'cpu' } = options;
  requireLanes(name, lanes);
  const newEdge = (surroundings?: Surroundings): Channel<Parcel<A>> => edgeInto(name, lanes, options, surroundings);
  const edges = new ReplaySubject<Channel<Parcel<A>>>(1);
  let run: StageRun<Parcel<A>> = newRun(newEdge());

  const operator = (source: Observable<A>): Observable<B> =>
    new Observable<B>((out) => {
      const surroundings = surroundingsOf(out);
      const current = newRun(newEdge(surroundings));
      run = current;
      edges.next(current.edge);
      const told = toldOf(current, name, runsOn, out, surroundings, options.observer);
      const free = (parcel: Parcel): void => discardParcel(parcel, surroundings?.warn);
      const work = counted(current, fn, told, options.discardResult);
      pullMap(current.edge, work, { lanes, ordered, name, discard: free, discardResult: free })
        .pipe(
          tap(() => current.out++),
          items(surroundings?.passage),
        )
        .subscribe(out);
      const inlet = inletOf(current, name, overflow, free, (error) => out.error(error));
      out.add(inlet);
      const own = { discard: options.discard, sizeOf: options.sizeOf };
      source
        .pipe(
          parcels(surroundings?.passage),
          map((parcel) => handledBy(own, parcel)),
        )
        .subscribe(inlet);
    });

  const { capacity } = run.edge;
  return Object.assign(operator, {
    meta: { name, kind, lanes, capacity, runsOn },
    counters: () => snapshot(run),
    occupancy$: edges.pipe(switchMap((edge) => edge.occupancy$)),
  });
}

/** The edge and the counters of one subscription. */
export interface StageRun<A> {
  readonly edge: Channel<A>;
  in: number;
  out: number;
  active: number;
  dropped: number;
  busy: number;
}

export function newRun<A>(edge: Channel<A>): StageRun<A> {
  return { edge, in: 0, out: 0, active: 0, dropped: 0, busy: 0 };
}

function edgeInto<A, B>(
  name: string,
  lanes: number,
  options: StageOptions<A, B>,
  surroundings: Surroundings | undefined,
): Channel<Parcel<A>> {
  const { capacity = lanes, sizeOf } = options;
  const bounds = typeof capacity === 'number' ? { items: capacity } : capacity;
  const onDiscard = (parcel: Parcel<A>): void => discardParcel(parcel, surroundings?.warn);
  return new Channel({ ...bounds, sizeOf: sizeOf && sizeOfParcel, onDiscard, name });
}

function counted<A, B>(
  run: StageRun<Parcel<A>>,
  fn: ItemFunction<A, B>,
  told: Told,
  discardResult: ((result: B) => void) | undefined,
): ItemFunction<Parcel<A>, Parcel<B>> {
  return async (parcel, context) => {
    const { item, name } = parcel;
    const start = performance.now();
    let outcome: WorkSpan['outcome'] = 'failed';
    run.in++;
    run.active++;
    told.began();
    try {
      const result = await fn(item, context);
      outcome = 'done';
      return { item: result, name, discard: discardResult, sizeOf: undefined };
    } catch (cause) {
      throw told.failed(cause, parcel, context);
    } finally {
      const end = performance.now();
      run.active--;
      run.busy += end - start;
      if (outcome === 'failed' && context.signal.aborted) outcome = 'aborted';
      told.span({ lane: context.lane, item: context.index, record: name, start, end, outcome });
      told.ended();
    }
  };
}

/** The receivers of a subscription's events: the run of the graph, and the observer. */
interface Told extends Pick<Surroundings, 'began' | 'ended'> {
  span(span: Omit<WorkSpan, 'node' | 'runsOn'>): void;
  /** Returns the error for a failed item. It contains the name of the item, if known. */
  failed(cause: unknown, parcel: Parcel, context: ItemContext): unknown;
}

function toldOf<A>(
  { edge }: StageRun<A>,
  node: string,
  runsOn: WorkSpan['runsOn'],
  out: Subscriber<never>,
  surroundings: Surroundings | undefined,
  own: GraphObserver | undefined,
): Told {
  const observer = own === undefined ? surroundings?.observer : guarded(own, surroundings?.warn);
  if (observer !== undefined) {
    const levels = edge.occupancy$.subscribe((level) =>
      observer.occupancy({ edge: node, time: performance.now(), ...level }),
    );
    out.add(levels);
  }
  return {
    began: () => surroundings?.began(),
    ended: () => surroundings?.ended(),
    span: (span) => observer?.span({ node, runsOn, ...span }),
    failed: (cause, parcel, { signal, index }) => {
      if (signal.aborted || surroundings === undefined) return cause;
      const failure = itemFailure(cause, node, index);
      return failure instanceof GraphError ? surroundings.named(failure, parcel) : failure;
    },
  };
}

/**
 * Returns the subscriber that receives the items of a stage's source. The subscriber puts items on the edge, and shows
 * sources upstream whether the edge has room.
 */
export function inletOf<A>(
  run: StageRun<A>,
  name: string,
  overflow: Overflow,
  discard: ((item: A) => void) | undefined,
  fail: (error: unknown) => void,
): Subscriber<A> {
  const { edge } = run;
  const demand: Demand = { hasRoom: () => edge.hasRoom(), room: () => edge.room(), asked: false };

  const pushUnasked = (item: A): void => {
    if (edge.tryPush(item)) return;
    if (overflow === 'fail') {
      discard?.(item);
      fail(overflowError(name, edge));
    } else if (overflow === 'drop-newest') {
      discard?.(item);
      run.dropped++;
    } else {
      while (!edge.tryPush(item) && edge.dropOldest()) run.dropped++;
    }
  };
  const next = (item: A): void => {
    if (demand.asked) return void edge.push(item).catch(fail);
    try {
      pushUnasked(item);
    } catch (error) {
      fail(error);
    }
  };
  const observer = { next, error: fail, complete: () => edge.close(), [DEMAND]: demand };
  return new Subscriber<A>(observer);
}

function overflowError<A>(name: string, { capacity, depth, bytes }: Channel<A>): GraphError {
  const remedy =
    'Start the pipeline from pull() or pullMap(), whose sources wait, or raise the capacity, or choose overflow ' +
    "'drop-oldest' or 'drop-newest'.";
  return new GraphError('graph/overflow', `The edge into ${name} is full and its source cannot wait.`, {
    expected: `at most ${capacity.items} items and ${capacity.bytes} bytes`,
    got: `one more item than the ${depth} items and ${bytes} bytes it holds`,
    remedy,
    place: { node: name },
  });
}

export function snapshot<A>({ edge, ...counts }: StageRun<A>): StageCounters {
  const { stalls, depth, bytes, peak, peakBytes } = edge;
  return { ...counts, stalls, depth, bytes, peak, peakBytes };
}
