import type { FullPolicy } from './error-policy.ts';
import { ItemError } from './item-error.ts';
import type { ItemHandling, NodeRun } from './node-run.ts';
import type { ItemContext } from './pull-map.ts';
import type { WorkSpan } from './shape.ts';

/** What a node's function gets beside its item. */
export interface NodeContext<C> extends ItemContext {
  /** What the run was given. Throws `GraphError` `graph/no-context` if that was nothing. */
  readonly ctx: C;
  /** 1 at first, one more for each time that the item is tried again. */
  readonly attempt: number;
  /** Puts a mark into the trace. */
  mark(name: string, detail?: Readonly<Record<string, unknown>>): void;
}

/**
 * Work on one item. The item is the function's if it succeeds, to free as well; if it fails the item is the graph's
 * still, which may try again, and discards it in the end.
 */
export type NodeFunction<A, B, C> = (item: A, context: NodeContext<C>) => Promise<B> | B;

/** Work under an error policy. */
export interface Work<A, B> {
  readonly fn: NodeFunction<A, B, never>;
  readonly elsewhere?: NodeFunction<A, B, never> | undefined;
  readonly policy: FullPolicy;
  readonly handling: ItemHandling<A>;
}

/** In place of the result of an item that was passed over: nothing leaves the node. */
export const SKIPPED: unique symbol = Symbol('quadrille.skipped');
export type Skipped = typeof SKIPPED;

/** `work`, counted, told of and tried again as its policy asks; rejects only to end the run. */
export function underPolicy<A, B>(
  node: NodeRun,
  work: Work<A, B>,
): (item: A, context: ItemContext) => Promise<B | Skipped> {
  return async (item, context) => {
    node.counts.in++;
    node.counts.active++;
    node.run.began();
    try {
      return await attempts(node, work, item, context);
    } finally {
      node.counts.active--;
      node.run.ended();
    }
  };
}

async function attempts<A, B>(node: NodeRun, work: Work<A, B>, item: A, context: ItemContext): Promise<B | Skipped> {
  const { policy, elsewhere, fn } = work;
  for (let attempt = 1; ; attempt++) {
    try {
      return await attemptOnce(node, fn, item, context, attempt, node.meta.runsOn);
    } catch (cause) {
      if (context.signal.aborted) return abandonItem(work, item, context);
      if (attempt <= policy.retry) {
        node.counts.retried++;
        mark(node, 'retry', { item: context.index, attempt });
        await pause(policy.backoff(attempt), node);
        if (context.signal.aborted) return abandonItem(work, item, context);
      } else if (policy.migrate && elsewhere !== undefined) {
        return await attemptElsewhere(node, work, elsewhere, item, context, attempt + 1);
      } else return giveUp(node, work, item, context, attempt, cause);
    }
  }
}

async function attemptElsewhere<A, B>(
  node: NodeRun,
  work: Work<A, B>,
  elsewhere: NodeFunction<A, B, never>,
  item: A,
  context: ItemContext,
  attempt: number,
): Promise<B | Skipped> {
  const runsOn = node.meta.runsOn === 'gpu' ? 'cpu' : node.meta.runsOn === 'cpu' ? 'gpu' : 'either';
  node.counts.migrated++;
  mark(node, 'migrate/failed', { item: context.index, attempt });
  try {
    return await attemptOnce(node, elsewhere, item, context, attempt, runsOn);
  } catch (cause) {
    if (context.signal.aborted) return abandonItem(work, item, context);
    return giveUp(node, work, item, context, attempt, cause);
  }
}

async function attemptOnce<A, B>(
  node: NodeRun,
  fn: NodeFunction<A, B, never>,
  item: A,
  context: ItemContext,
  attempt: number,
  runsOn: WorkSpan['runsOn'],
): Promise<B> {
  const { signal, index, lane } = context;
  const { run, meta, counts } = node;
  const start = performance.now();
  let outcome: WorkSpan['outcome'] = 'failed';
  const full: NodeContext<never> = {
    signal,
    index,
    lane,
    attempt,
    get ctx() {
      return run.context() as never;
    },
    mark: (name, detail) => mark(node, name, detail),
  };
  try {
    const result = await fn(item, full);
    outcome = 'done';
    return result;
  } finally {
    const end = performance.now();
    counts.busy += end - start;
    if (outcome === 'failed' && signal.aborted) outcome = 'aborted';
    run.observer?.span({ node: meta.name, lane, item: index, start, end, runsOn, outcome });
  }
}

function giveUp<A, B>(
  node: NodeRun,
  { policy, handling }: Work<A, B>,
  item: A,
  { index }: ItemContext,
  attempts: number,
  cause: unknown,
): Skipped {
  const outcome = policy.orElse(cause) === 'skip' ? 'skipped' : 'stopped';
  const error = new ItemError({ path: node.path, index, item: nameOf(handling, item), attempts, outcome }, cause);
  handling.discard?.(item);
  mark(node, 'error', { item: index, message: error.message });
  node.run.report(error);
  if (outcome === 'stopped') throw error;
  node.counts.skipped++;
  return SKIPPED;
}

/** The run is over, so that nobody asks for the result: what is thrown here is not heard. */
function abandonItem<A, B>({ handling }: Work<A, B>, item: A, { signal }: ItemContext): never {
  handling.discard?.(item);
  throw signal.reason;
}

/** A name that cannot be found must not hide the failure it is for. */
export function nameOf<A>({ describe }: ItemHandling<A>, item: A): string | undefined {
  try {
    return describe?.(item);
  } catch {
    return undefined;
  }
}

function mark(node: NodeRun, name: string, detail?: Readonly<Record<string, unknown>>): void {
  node.run.observer?.mark({ node: node.meta.name, time: performance.now(), name, detail });
}

/** Ends early when the node is cancelled. */
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
