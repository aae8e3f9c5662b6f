import { delayBefore, type FullPolicy, lastResort } from '../definition/error-policy.ts';
import type { ItemContext } from '../definition/pull-map.ts';
import type { TraceMark, WorkSpan } from '../definition/shape.ts';
import { ItemError } from './item-error.ts';
import { discard, type NodeRun } from './node-run.ts';
import type { Parcel } from './parcel.ts';

/** What the function of a node is given besides the item. */
export interface NodeContext<C> extends ItemContext {
  /** The context given to `run()`. Reading it throws `GraphError` `graph/no-context` if no context was given. */
  readonly ctx: C;
  /** Number of the current attempt to process the item, starting at 1. Each retry increases the number by 1. */
  readonly attempt: number;
  /** Adds a mark with the current time to the trace of the run. */
  mark(name: string, detail?: Readonly<Record<string, unknown>>): void;
}

/** The key of the method by which a function tells that it ran in a worker. */
export const RAN: unique symbol = Symbol('quadrille.ran');

/** Where and when an attempt ran. Times are in milliseconds on the clock of `performance.now()`. */
export interface RemoteSpan {
  readonly worker: string;
  readonly start: number;
  readonly end: number;
  readonly marks: readonly Omit<TraceMark, 'node'>[];
}

/** What the functions that the library itself puts in nodes are given. */
export interface AttemptContext extends NodeContext<never> {
  [RAN](span: RemoteSpan): void;
}

/**
 * Processes one item. A function that succeeds owns the item and must free it. If the function fails, the graph still
 * owns the item: the graph can retry the item, and in the end discards it.
 */
export type NodeFunction<A, B, C> = (item: A, context: NodeContext<C>) => Promise<B> | B;

/** The function of a node with its error policy. */
export interface Work<A, B> {
  readonly fn: NodeFunction<A, B, never>;
  readonly elsewhere?: NodeFunction<A, B, never> | undefined;
  readonly policy: FullPolicy;
}

/** Stands for the missing result of an item that was skipped. The node emits nothing for such an item. */
export const SKIPPED: unique symbol = Symbol('quadrille.skipped');
export type Skipped = typeof SKIPPED;

/**
 * Returns a function that runs `work` under its error policy: it counts, retries, skips and reports items. The returned
 * function rejects only if the run must end.
 */
export function underPolicy<A, B>(
  node: NodeRun,
  work: Work<A, B>,
): (parcel: Parcel<A>, context: ItemContext) => Promise<B | Skipped> {
  return async (parcel, context) => {
    node.counts.in++;
    node.counts.active++;
    node.run.began();
    try {
      return await attempts(node, work, parcel, context);
    } finally {
      node.counts.active--;
      node.run.ended();
    }
  };
}

async function attempts<A, B>(
  node: NodeRun,
  work: Work<A, B>,
  parcel: Parcel<A>,
  context: ItemContext,
): Promise<B | Skipped> {
  const { policy, elsewhere, fn } = work;
  for (let attempt = 1; ; attempt++) {
    try {
      return await attemptOnce(node, fn, parcel, context, attempt, node.meta.runsOn);
    } catch (cause) {
      if (context.signal.aborted) return abandonItem(node, parcel, context);
      if (attempt <= policy.retry) {
        const delay = delayBefore(policy, attempt, cause);
        if ('failure' in delay) return stopAt(node, parcel, context, attempt, delay.failure);
        node.counts.retried++;
        mark(node, 'retry', { ...named(parcel, context), attempt });
        await pause(delay.milliseconds, node);
        if (context.signal.aborted) return abandonItem(node, parcel, context);
      } else if (policy.migrate && elsewhere !== undefined) {
        return await attemptElsewhere(node, work, elsewhere, parcel, context, attempt + 1);
      } else return giveUp(node, work, parcel, context, attempt, cause);
    }
  }
}

async function attemptElsewhere<A, B>(
  node: NodeRun,
  work: Work<A, B>,
  elsewhere: NodeFunction<A, B, never>,
  parcel: Parcel<A>,
  context: ItemContext,
  attempt: number,
): Promise<B | Skipped> {
  // What is not on the GPU may be on other threads, too.
  const runsOn = node.meta.runsOn === 'gpu' ? 'cpu' : 'either';
  node.counts.migrated++;
  mark(node, 'migrate/failed', { ...named(parcel, context), attempt });
  try {
    return await attemptOnce(node, elsewhere, parcel, context, attempt, runsOn);
  } catch (cause) {
    if (context.signal.aborted) return abandonItem(node, parcel, context);
    return giveUp(node, work, parcel, context, attempt, cause);
  }
}

async function attemptOnce<A, B>(
  node: NodeRun,
  fn: NodeFunction<A, B, never>,
  { item, name: record }: Parcel<A>,
  context: ItemContext,
  attempt: number,
  runsOn: WorkSpan['runsOn'],
): Promise<B> {
  const { signal, index, lane } = context;
  const { run, meta, counts } = node;
  const start = performance.now();
  let outcome: WorkSpan['outcome'] = 'failed';
  let remote: RemoteSpan | undefined;
  const full: AttemptContext = {
    signal,
    index,
    lane,
    attempt,
    get ctx() {
      return run.context() as never;
    },
    mark: (name, detail) => mark(node, name, detail),
    [RAN]: (span) => {
      remote = span;
    },
  };
  try {
    const result = await fn(item, full);
    outcome = 'done';
    return result;
  } finally {
    const now = performance.now();
    // The clocks of machines differ. The work of a worker was between the start and the end of the attempt.
    const within = (time: number): number => Math.min(now, Math.max(start, time));
    const begin = remote === undefined ? start : within(remote.start);
    const end = remote === undefined ? now : within(remote.end);
    const where = remote === undefined ? { runsOn } : { runsOn, worker: remote.worker };
    counts.busy += end - begin;
    if (outcome === 'failed' && signal.aborted) outcome = 'aborted';
    for (const { time, ...told } of remote?.marks ?? [])
      run.observer?.mark({ node: meta.name, time: within(time), ...told });
    run.observer?.span({ node: meta.name, lane, item: index, record, start: begin, end, ...where, outcome });
  }
}

function giveUp<A, B>(
  node: NodeRun,
  { policy }: Work<A, B>,
  parcel: Parcel<A>,
  context: ItemContext,
  attempts: number,
  cause: unknown,
): Skipped {
  const last = lastResort(policy, cause);
  if (last.outcome === 'stopped') return stopAt(node, parcel, context, attempts, last.cause);
  passOver(node, parcel, context, attempts, last);
  node.counts.skipped++;
  return SKIPPED;
}

function stopAt<A>(node: NodeRun, parcel: Parcel<A>, context: ItemContext, attempts: number, cause: unknown): never {
  throw passOver(node, parcel, context, attempts, { outcome: 'stopped', cause });
}

/** Frees and reports an item for which all attempts have failed. Returns the error. */
export function passOver<A>(
  node: NodeRun,
  parcel: Parcel<A>,
  { index }: Pick<ItemContext, 'index'>,
  attempts: number,
  { outcome, cause }: { readonly outcome: ItemError['outcome']; readonly cause: unknown },
): ItemError {
  const error = new ItemError({ path: node.path, index, item: parcel.name, attempts, outcome }, cause);
  discard(node, parcel);
  mark(node, 'error', { ...named(parcel, { index }), message: error.message });
  node.run.report(error);
  return error;
}

/**
 * Discards an item after the run has ended. Then throws, because there is no result to return. The run has ended, so
 * nobody receives the error.
 */
function abandonItem<A>(node: NodeRun, parcel: Parcel<A>, { signal }: ItemContext): never {
  discard(node, parcel);
  throw signal.reason;
}

/** The fields of a mark that identify an item. */
function named<A>({ name }: Parcel<A>, { index }: Pick<ItemContext, 'index'>): { item: number; record?: string } {
  return name === undefined ? { item: index } : { item: index, record: name };
}

function mark(node: NodeRun, name: string, detail?: Readonly<Record<string, unknown>>): void {
  node.run.observer?.mark({ node: node.meta.name, time: performance.now(), name, detail });
}

/** Waits for `milliseconds`. Ends the wait early if the node is cancelled. */
function pause(milliseconds: number, { abort, atAbort }: NodeRun): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      atAbort.delete(end);
      resolve();
    };
    const timer = setTimeout(end, abort.signal.aborted ? 0 : milliseconds);
    atAbort.add(end);
  });
}
