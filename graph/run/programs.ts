import { catchError, map, type Observable, type OperatorFunction, Subscriber, tap } from 'rxjs';
import { GraphError } from '../../primitives/checks/errors.ts';
import type { AbortSignal } from '../../primitives/host/platform-types.ts';
import { namedBatches } from '../definition/batch-by.ts';
import type { GraphBatchOptions } from '../definition/node-options.ts';
import { type ItemContext, pull, pullMap } from '../definition/pull-map.ts';
import {
  type NodeContext,
  type NodeFunction,
  passOver,
  SKIPPED,
  type Skipped,
  underPolicy,
  type Work,
} from './attempts.ts';
import { type Channel, checkedCapacity } from './channel.ts';
import { DEMAND, type Demand } from './demand.ts';
import { ItemError } from './item-error.ts';
import {
  discard,
  type Edge,
  emit,
  failUnlessOver,
  forEachItem,
  type NodeProgram,
  type NodeRun,
  nodeError,
} from './node-run.ts';
import { type GraphObserver, SURROUNDINGS, type Surroundings } from './observer.ts';
import { discardParcel, type ItemHandling, jointName, type Parcel, parcelOf, sizeOfParcel } from './parcel.ts';
import { items, Passage, parcels } from './passage.ts';
import { openReader, type Pullable, type PullSource } from './pull-source.ts';

/** Opens a source for one run, given the context of the run. */
export type Opener<A, C> = (context: { readonly signal: AbortSignal; readonly ctx: C }) => Pullable<A>;

/** Returns the work of a node with its error policy: the policy of the node, or of the run if the node has none. */
export type WorkOf<A, B> = (node: NodeRun) => Work<A, B>;

export function sourceProgram<A>(
  source: Pullable<A> | Opener<A, never>,
  units: (item: A) => number,
  handling: ItemHandling<A>,
): NodeProgram {
  return (node) => {
    const { path: name, run } = node;
    const take = (item: A, { index }: ItemContext): Parcel<A> => {
      const parcel = parcelOf(item, handling);
      run.advance(node, unitsOf(node, units, parcel, index));
      return parcel;
    };
    const discard = (item: A): void => discardParcel({ ...handling, item, name: undefined } as Parcel<A>, run.warn);
    const discardResult = (parcel: Parcel<A>): void => discardParcel(parcel, run.warn);
    return drive(node, pullMap(watched(node, source), take, { name, discard, discardResult }));
  };
}

/** The units of progress in an item. If `units` throws, the item fails and the run ends. */
function unitsOf<A>(node: NodeRun, units: (item: A) => number, parcel: Parcel<A>, index: number): number {
  try {
    return units(parcel.item);
  } catch (cause) {
    throw passOver(node, parcel, { index }, 1, { outcome: 'stopped', cause });
  }
}

/** Wraps a source so that the run knows when a read is in progress and counts the items. */
function watched<A>({ run, counts }: NodeRun, source: Pullable<A> | Opener<A, never>): PullSource<A> {
  return (signal) => {
    const context = {
      signal,
      get ctx() {
        return run.context() as never;
      },
    };
    const reader = openReader(typeof source === 'function' ? () => source(context) : source, signal);
    const next = async (): Promise<IteratorResult<A, undefined>> => {
      run.readBegan();
      try {
        const result = await reader.next();
        if (result.done === true) return { done: true, value: undefined };
        counts.in++;
        return result;
      } finally {
        run.readEnded();
      }
    };
    const stop = async (): Promise<IteratorResult<A, undefined>> => {
      reader.stop();
      return { done: true, value: undefined };
    };
    return { [Symbol.asyncIterator]: () => ({ next, return: stop }) };
  };
}

export interface StageSteps<A, B> {
  readonly ordered?: boolean;
  /** Returns the units of progress in an item. */
  readonly units?: ((item: A) => number) | undefined;
  readonly discardResult?: ((result: B) => void) | undefined;
  /** Called for each item that the function has accepted. From then on, the item belongs to the function. */
  readonly taken?: ((parcel: Parcel<A>) => void) | undefined;
  /** Decides when items may begin, in place of the node's lanes. */
  readonly admission?: Admission | undefined;
}

/** Admits items to a stage. */
export interface Admission {
  /** Maximum number of items that are in progress at the same time. */
  readonly most: number;
  /** Resolves when another item may begin. */
  enter(): Promise<void>;
  /** Called when an item that entered has been delivered or skipped. */
  leave(): void;
}

/** The program of a stage, which applies a function to each item, for up to `meta.lanes` items at the same time. */
export function stageProgram<A, B>(workOf: WorkOf<A, B>, steps: StageSteps<A, B>): NodeProgram {
  const { ordered, units, discardResult, taken, admission } = steps;
  return (node) => {
    const { channel } = node.inputs[0]!;
    const { run, meta, path: name } = node;
    const guarded = underPolicy(node, workOf(node));
    const free = (parcel: Parcel): void => discard(node, parcel);
    const work = async (parcel: Parcel, context: ItemContext): Promise<Parcel | Skipped> => {
      const done = units === undefined ? 0 : unitsOf(node, units, parcel as Parcel<A>, context.index);
      const result = await guarded(parcel as Parcel<A>, context);
      if (units !== undefined) run.advance(node, done);
      if (result === SKIPPED) return SKIPPED;
      taken?.(parcel as Parcel<A>);
      return { item: result, name: parcel.name, discard: discardResult as Parcel['discard'], sizeOf: undefined };
    };
    const lanes = admission === undefined ? undefined : new Lanes();
    const source = admission === undefined ? channel : admitted(channel, admission);
    const results = pullMap(source as Pullable<Parcel>, lanes === undefined ? work : lanes.numbered(work), {
      lanes: admission?.most ?? meta.lanes,
      ordered,
      name,
      discard: free,
      discardResult: (result) => {
        if (result !== SKIPPED) free(result);
      },
    });
    return drive(node, admission === undefined ? results : results.pipe(tap(() => admission.leave())));
  };
}

/** Reads a channel as items are admitted. */
async function* admitted(channel: Channel<Parcel>, admission: Admission): AsyncGenerator<Parcel, undefined> {
  for (;;) {
    await admission.enter();
    const next = await channel.take();
    if (next.done === true) return undefined;
    yield next.value;
  }
}

/** Gives each item in progress a number of its own. Numbers that are free again are given first. */
class Lanes {
  readonly #free: number[] = [];
  #count = 0;

  numbered<A, B>(work: (item: A, context: ItemContext) => Promise<B>): (item: A, context: ItemContext) => Promise<B> {
    return async (item, context) => {
      const lane = this.#free.pop() ?? this.#count++;
      try {
        return await work(item, { ...context, lane });
      } finally {
        this.#free.push(lane);
      }
    };
  }
}

/**
 * The program of a fold. The outcome of the program is the last accumulated value. Without a start value, the first
 * item becomes the first accumulated value, and `fold` does not own the first item until the second item arrives. If
 * the run fails before the second item, the program discards the first item.
 */
export function reduceProgram<A, R>(
  fold: (accumulator: R, item: A, context: NodeContext<never>) => Promise<R> | R,
  work: (step: NodeFunction<A, void, never>) => WorkOf<A, void>,
  start: () => { readonly value: R } | undefined,
  units: ((item: A) => number) | undefined,
): NodeProgram {
  return async (node) => {
    let result = start();
    let first: Parcel<A> | undefined;
    let count = result === undefined ? 0 : 1;
    const step = async (item: A, context: NodeContext<never>): Promise<void> => {
      // Without a start value, the types `A` and `R` are the same.
      result = { value: result === undefined ? (item as unknown as R) : await fold(result.value, item, context) };
    };
    const taken = (parcel: Parcel<A>): void => {
      first = count++ === 0 ? parcel : undefined;
    };
    node.run.atFailure(() => {
      if (first !== undefined) discard(node, first);
    });
    await stageProgram(work(step), { ordered: true, units, taken })(node);
    if (result === undefined && !node.abort.signal.aborted) throw nothingToReduce(node);
    return result?.value;
  };
}

/**
 * The program that collects items in an array, which is its outcome. The graph owns the items until the run has
 * succeeded.
 */
export function collectProgram<A>(workOf: WorkOf<A, void>, units: ((item: A) => number) | undefined): NodeProgram {
  return async (node) => {
    const kept: Parcel<A>[] = [];
    node.run.atFailure(() => {
      for (const parcel of kept.splice(0)) discard(node, parcel);
    });
    await stageProgram(workOf, { ordered: true, units, taken: (parcel) => kept.push(parcel) })(node);
    return kept.map(({ item }) => item);
  };
}

function nothingToReduce({ path }: NodeRun): GraphError {
  const details = { remedy: 'Give a seed, the result for no items.', place: { node: path } };
  return new GraphError('graph/nothing-to-reduce', 'There were no items, and no seed was given.', details);
}

/** The program of a sink, which applies a function to each item. Its outcome is the number of items. */
export function sinkProgram<A>(workOf: WorkOf<A, unknown>, units: ((item: A) => number) | undefined): NodeProgram {
  return async (node) => {
    await stageProgram(workOf, { units })(node);
    return node.counts.in - node.counts.skipped;
  };
}

/**
 * The program of a pipe, which applies plain RxJS operators, or one stage, between two edges. If the pipe is a single
 * stage named `stageName`, errors and traces show the name of the node instead.
 */
export function pipeProgram<A, B>(operator: OperatorFunction<A, B>, stageName?: string): NodeProgram {
  return (node) => {
    const passage = new Passage(node.run.warn);
    const failed = catchError<B, Observable<never>>((cause) => {
      throw nodeError(node, cause, passage.fail());
    });
    const results = itemsInto<A>(node).pipe(items(passage), operator, failed, parcels(passage));
    return drive(node, results, surroundings(node, passage, stageName));
  };
}

/** The program that groups items into batches. Discarding a batch frees each of its items. */
export function batchProgram<A>(options: GraphBatchOptions<A>, name: string, isSized: boolean): NodeProgram {
  const { items, bytes, weight } = options;
  const measures = {
    items,
    bytes,
    weight: weight && (({ item }: Parcel<A>): number => weight(item)),
    sizeOf: isSized ? sizeOfParcel<A> : undefined,
    name,
  };
  checkedCapacity(measures);
  return (node) => {
    const discard = (parcel: Parcel<A>): void => discardParcel(parcel, node.run.warn);
    const batches = namedBatches({ ...measures, discard }, (parcel, index) => parcel.name ?? index);
    const results = itemsInto<A>(node).pipe(
      batches,
      map((batch) => inOne(batch, discard)),
    );
    return drive(node, results);
  };
}

/**
 * Makes one parcel from the parcels of a batch. The `discard` of the new parcel frees the items of the array passed to
 * `discard`. If the batch was copied, these items may be copies of the original items.
 */
function inOne<A>(batch: readonly Parcel<A>[], discard: (parcel: Parcel<A>) => void): Parcel<A[]> {
  const free = (items: readonly A[]): void => {
    for (const [i, item] of items.entries()) discard({ ...(batch[i] ?? batch.at(-1)!), item });
  };
  return { item: batch.map(({ item }) => item), name: jointName(batch), discard: free, sizeOf: undefined };
}

function itemsInto<A>(node: NodeRun): Observable<Parcel<A>> {
  const { channel } = node.inputs[0]!;
  const incoming = pull(channel as Pullable<Parcel<A>>, {
    name: node.path,
    discard: (parcel) => discard(node, parcel),
  });
  return incoming.pipe(tap(() => node.counts.in++));
}

function surroundings(node: NodeRun, passage: Passage, stageName: string | undefined): Surroundings {
  const { run, meta } = node;
  const told = (error: GraphError, outcome: ItemError['outcome'], { name }: Parcel): GraphError => {
    const { node: stage, record } = error.place ?? {};
    if (error instanceof ItemError || error.code !== 'graph/item-failed') return error;
    // If the pipe is a single stage, the stage has the path of the node. Otherwise, each stage appends its own name to
    // the path of the node.
    const path = stage === stageName ? node.path : `${node.path}/${stage}`;
    const index = typeof record === 'number' ? record : 0;
    const failed = new ItemError({ path, index, item: name, attempts: 1, outcome }, error.cause);
    run.report(failed);
    return failed;
  };
  return {
    observer: stageName === undefined ? run.observer : run.observer && renamed(run.observer, stageName, meta.name),
    passage,
    warn: run.warn,
    began: () => run.began(),
    ended: () => run.ended(),
    passedOver: (error, parcel) => void told(error, 'skipped', parcel),
    named: (error, parcel) => told(error, 'stopped', parcel),
  };
}

function renamed(observer: GraphObserver, from: string, to: string): GraphObserver {
  const name = (own: string): string => (own === from ? to : own);
  return {
    span: (span) => observer.span({ ...span, node: name(span.node) }),
    occupancy: (sample) => observer.occupancy({ ...sample, edge: name(sample.edge) }),
    mark: (mark) => observer.mark({ ...mark, node: name(mark.node) }),
  };
}

/**
 * Runs `stream` until it ends or the node is cancelled. Puts the values of the stream on the node's only output, if it
 * has an output. Operators that delay items may emit values when the edge has no room. These values wait in the queue
 * of the edge.
 */
function drive(node: NodeRun, stream: Observable<Parcel | Skipped>, told?: Surroundings): Promise<void> {
  const { abort, run, outputs } = node;
  return new Promise((resolve) => {
    const next = (parcel: Parcel | Skipped): void => {
      run.moved();
      if (parcel !== SKIPPED && outputs.length > 0) void emit(node, 0, parcel);
    };
    const error = (cause: unknown): void => {
      run.fail(nodeError(node, cause));
      end();
    };
    const end = (): void => {
      abort.signal.removeEventListener('abort', leaveStream);
      resolve();
    };
    const leaveNow = (): void => {
      subscriber.unsubscribe();
      end();
    };
    const leaveStream = (): void => {
      if (told === undefined) leaveNow();
      else told.passage.afterDelivery(leaveNow);
    };
    const [output] = outputs;
    const demand: { readonly [DEMAND]?: Demand } = output === undefined ? {} : { [DEMAND]: demandOn(output) };
    const observer = { next, error, complete: end, ...(told && { [SURROUNDINGS]: told }), ...demand };
    const subscriber = new Subscriber<Parcel | Skipped>(observer);
    if (abort.signal.aborted) return leaveStream();
    abort.signal.addEventListener('abort', leaveStream);
    stream.subscribe(subscriber);
  });
}

function demandOn({ channel }: Edge): Demand {
  return { hasRoom: () => channel.hasRoom(), room: () => channel.room(), asked: false };
}

/**
 * The program of a branch, which sends each item to one port: the function of `workOf` returns the index of the port.
 */
export function branchProgram<A>(workOf: WorkOf<A, number>): NodeProgram {
  return (node) => {
    const [edge] = node.inputs;
    const choose = underPolicy(node, workOf(node));
    const { signal } = node.abort;
    return forEachItem(edge!, async (parcel, index) => {
      const chosen = choose(parcel as Parcel<A>, { signal, index, lane: 0 });
      const port = await chosen.catch((error) => failUnlessOver(node, error));
      if (typeof port === 'number') await emit(node, port, parcel);
    });
  };
}

/** The program of a broadcast, which sends each item to every port. */
export function broadcastProgram<A>(copy: ((item: A) => A) | undefined): NodeProgram {
  return (node) =>
    forEachItem(node.inputs[0]!, async (parcel, index) => {
      node.counts.in++;
      const copies = copiesOf(node, parcel, index, copy as ((item: unknown) => unknown) | undefined);
      await Promise.all(copies.map((each, output) => emit(node, output, each)));
    });
}

/**
 * Makes a copy of an item for each port; the first port gets the item itself. If a copy fails, frees all copies and
 * throws.
 */
function copiesOf(
  node: NodeRun,
  parcel: Parcel,
  index: number,
  copy = (same: unknown): unknown => same,
): readonly Parcel[] {
  const copies = [parcel];
  try {
    while (copies.length < node.outputs.length) copies.push({ ...parcel, item: copy(parcel.item) });
    return copies;
  } catch (error) {
    for (const each of copies) discard(node, each);
    throw nodeError(node, error, parcel.name ?? index);
  }
}

export const mergeProgram: NodeProgram = (node) =>
  forEachItem(node.inputs[0]!, async (parcel) => {
    node.counts.in++;
    await emit(node, 0, parcel);
  });
