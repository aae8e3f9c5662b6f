import { catchError, type Observable, type OperatorFunction, Subscriber, tap, throwError } from 'rxjs';
import { GraphError } from '../primitives/errors.ts';
import {
  type NodeContext,
  type NodeFunction,
  nameOf,
  SKIPPED,
  type Skipped,
  underPolicy,
  type Work,
} from './attempts.ts';
import { DEMAND, type Demand } from './demand.ts';
import { ItemError } from './item-error.ts';
import { type Edge, emit, forEachItem, type NodeRun, nodeError, type Program } from './node-run.ts';
import { type GraphObserver, SURROUNDINGS, type Surroundings } from './observer.ts';
import { pull, pullMap } from './pull-map.ts';
import { openReader, type Pullable, type PullSource } from './pull-source.ts';

/** Opens what a source reads, for one run. */
export type Opener<A, C> = (context: { readonly signal: AbortSignal; readonly ctx: C }) => Pullable<A>;

/** The policy is the node's or, where it has none, the run's. */
export type WorkOf<A, B> = (node: NodeRun) => Work<A, B>;

export function sourceProgram<A>(
  source: Pullable<A> | Opener<A, never>,
  units: ((item: A) => number) | undefined,
  discard: ((item: A) => void) | undefined,
): Program {
  return (node) => {
    const items = pull(watched(node, source), { name: node.path, discard });
    return drive(node, units === undefined ? items : items.pipe(tap((item) => node.run.advance(node, units(item)))));
  };
}

/** `source`, whose reads count as work under way. */
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

/** A function on each item, in lanes. */
export function stageProgram<A, B>(
  workOf: WorkOf<A, B>,
  ordered: boolean,
  units: ((item: A) => number) | undefined,
  discardResult: ((result: B) => void) | undefined,
): Program {
  return (node) => {
    const { channel, handling } = node.inputs[0]! as Edge;
    const { lanes } = node.meta;
    const guarded = underPolicy(node, workOf(node));
    const counted: typeof guarded = async (item, context) => {
      const done = units?.(item) ?? 0;
      const result = await guarded(item, context);
      node.run.advance(node, done);
      return result;
    };
    const results = pullMap(channel as Pullable<A>, units === undefined ? guarded : counted, {
      lanes,
      ordered,
      name: node.path,
      discard: handling.discard,
      discardResult: (result) => {
        if (result !== SKIPPED) discardResult?.(result);
      },
    });
    return drive(node, results);
  };
}

/** Folds the items one after another; the program's result is the last value. */
export function reduceProgram<A, R>(
  fold: (accumulator: R, item: A, context: NodeContext<never>) => Promise<R> | R,
  work: (step: NodeFunction<A, Skipped, never>) => WorkOf<A, Skipped>,
  start: () => { readonly value: R } | undefined,
  units: ((item: A) => number) | undefined,
): Program {
  return async (node) => {
    let result = start();
    const step = async (item: A, context: NodeContext<never>): Promise<Skipped> => {
      // Without a start A is R.
      result = { value: result === undefined ? (item as unknown as R) : await fold(result.value, item, context) };
      return SKIPPED;
    };
    await stageProgram(work(step), true, units, undefined)(node);
    if (result === undefined && !node.abort.signal.aborted) throw nothingToReduce(node);
    return result?.value;
  };
}

function nothingToReduce({ path }: NodeRun): GraphError {
  const details = { remedy: 'Give a seed, the result for no items.', place: { node: path } };
  return new GraphError('graph/nothing-to-reduce', 'No item came, and there is no seed.', details);
}

/** A function on each item; the program's result is how many it took. */
export function sinkProgram<A>(workOf: WorkOf<A, unknown>, units: ((item: A) => number) | undefined): Program {
  return async (node) => {
    await stageProgram(workOf, false, units, undefined)(node);
    return node.counts.in - node.counts.skipped;
  };
}

/** Plain RxJS operators between two edges, or one stage, whose own name gives way to the node's. */
export function pipeProgram<A, B>(operator: OperatorFunction<A, B>, stageName?: string): Program {
  return (node) => {
    const { channel, handling } = node.inputs[0]!;
    const items = pull(channel as Pullable<A>, { name: node.path, discard: handling.discard });
    const results = items.pipe(tap(() => node.counts.in++)).pipe(operator);
    const named = catchError<B, Observable<never>>((error) =>
      throwError(() => told(node, ofNode(node, error, 'stopped'))),
    );
    return drive(node, stageName === undefined ? results : results.pipe(named), surroundings(node, stageName));
  };
}

function surroundings(node: NodeRun, stageName: string | undefined): Surroundings {
  const { run, meta } = node;
  const { handling } = node.inputs[0]!;
  return {
    observer: stageName === undefined ? run.observer : run.observer && renamed(run.observer, stageName, meta.name),
    began: () => run.began(),
    ended: () => run.ended(),
    passedOver: (error, item) => void told(node, ofNode(node, error, 'skipped', nameOf(handling, item))),
    named: (error, item) => ofNode(node, error, 'stopped', nameOf(handling, item)),
  };
}

/** A stage does not know its path, nor what its items are called. */
function ofNode<E>({ path }: NodeRun, error: E, outcome: ItemError['outcome'], item?: string): E | ItemError {
  if (!(error instanceof GraphError) || error.code !== 'graph/item-failed' || error.place?.node === path) return error;
  const { record } = error.place ?? {};
  const index = typeof record === 'number' ? record : 0;
  return new ItemError({ path, index, item, attempts: 1, outcome }, error.cause);
}

/** An item that failed in a stage is told like any other. */
function told<E>({ run }: NodeRun, error: E): E {
  if (error instanceof ItemError) run.report(error);
  return error;
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
 * Runs `stream` until it ends or the node is cancelled, and puts what it gives on the node's only output, if it has
 * one. Items that come unasked, from operators that hold items for a while, wait for room in the edge's queue.
 */
function drive<B>(node: NodeRun, stream: Observable<B | Skipped>, told?: Surroundings): Promise<void> {
  const { abort, run, outputs } = node;
  return new Promise((resolve) => {
    const next = (item: B | Skipped): void => {
      run.moved();
      if (item !== SKIPPED && outputs.length > 0) void emit(node, 0, item);
    };
    const error = (cause: unknown): void => {
      run.fail(nodeError(node, cause));
      end();
    };
    const end = (): void => {
      abort.signal.removeEventListener('abort', leaveStream);
      resolve();
    };
    const leaveStream = (): void => {
      subscriber.unsubscribe();
      end();
    };
    const [output] = outputs;
    const demand: { readonly [DEMAND]?: Demand } = output === undefined ? {} : { [DEMAND]: demandOn(output) };
    const observer = { next, error, complete: end, ...(told && { [SURROUNDINGS]: told }), ...demand };
    const subscriber = new Subscriber<B | Skipped>(observer);
    if (abort.signal.aborted) return leaveStream();
    abort.signal.addEventListener('abort', leaveStream);
    stream.subscribe(subscriber);
  });
}

function demandOn({ channel }: Edge): Demand {
  return { hasRoom: () => channel.hasRoom(), room: () => channel.room(), asked: false };
}

/** Each item to the port that `choose` names; -1 is none. */
export function branchProgram<A>(workOf: WorkOf<A, number>): Program {
  return (node) => {
    const [edge] = node.inputs;
    const choose = underPolicy(node, workOf(node));
    const { signal } = node.abort;
    return forEachItem(edge!, async (item, index) => {
      const port = await choose(item as A, { signal, index, lane: 0 }).catch((error) => failUnlessOver(node, error));
      if (typeof port === 'number') await emit(node, port, item);
    });
  };
}

/** What an item's work throws once the node is cancelled says nothing new. */
export function failUnlessOver({ abort, run }: NodeRun, error: unknown): void {
  if (!abort.signal.aborted) run.fail(error);
}

/** Each item to every port. */
export function broadcastProgram<A>(copy: ((item: A) => A) | undefined): Program {
  return (node) =>
    forEachItem(node.inputs[0]!, async (item) => {
      node.counts.in++;
      await Promise.all(copiesOf(node, item, copy as ((item: unknown) => unknown) | undefined).map(emitTo(node)));
    });
}

const emitTo =
  (node: NodeRun) =>
  (item: unknown, output: number): Promise<void> =>
    emit(node, output, item);

/** One for each port; where a copy fails, what was made is freed. */
function copiesOf({ inputs, outputs }: NodeRun, item: unknown, copy = (same: unknown): unknown => same): unknown[] {
  const copies = [item];
  try {
    while (copies.length < outputs.length) copies.push(copy(item));
    return copies;
  } catch (error) {
    for (const each of copies) inputs[0]?.handling.discard?.(each);
    throw error;
  }
}

export const mergeProgram: Program = (node) =>
  forEachItem(node.inputs[0]!, async (item) => {
    node.counts.in++;
    await emit(node, 0, item);
  });
