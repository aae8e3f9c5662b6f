import { GraphError } from '../primitives/errors.ts';
import { Channel, type Occupancy } from './channel.ts';
import type { ErrorPolicy } from './error-policy.ts';
import type { ItemError } from './item-error.ts';
import type { GraphObserver } from './observer.ts';
import type { NodeMeta } from './stage.ts';

/** How the items of a port are freed, measured and named, where the node that takes them does not say. */
export interface ItemHandling<A> {
  readonly discard?: ((item: A) => void) | undefined;
  readonly sizeOf?: ((item: A) => number) | undefined;
  readonly describe?: ((item: A) => string) | undefined;
}

/** One bounded edge of one run, and who stands at its ends. */
export interface Edge {
  /** Name for traces: the node it leads into, or `node.port`. */
  readonly name: string;
  readonly channel: Channel<unknown>;
  readonly handling: ItemHandling<unknown>;
  /** Nodes that may still put items on it. */
  producers: NodeRun[];
  /** Whether the node behind it takes nothing more. */
  isLeft: boolean;
}

/** Counts of a node that its program keeps. */
export interface NodeCounts {
  in: number;
  out: number;
  active: number;
  dropped: number;
  busy: number;
  skipped: number;
  retried: number;
  migrated: number;
}

/** One node in one run: what its program works with. */
export interface NodeRun {
  readonly meta: NodeMeta;
  /** `graph/node`, for errors. */
  readonly path: string;
  readonly inputs: readonly Edge[];
  readonly outputs: readonly Edge[];
  readonly counts: NodeCounts;
  /** Aborted when the run is over or nobody takes the node's output any more. */
  readonly abort: AbortController;
  /** Called at the abort; not listeners of the signal, since platforms warn of many. */
  readonly atAbort: Set<() => void>;
  readonly run: RunServices;
}

/** What a run offers its nodes. */
export interface RunServices {
  readonly observer: GraphObserver | undefined;
  /** Work on an item has begun, or ended: while any is under way the run is not stalled, and not over. */
  began(): void;
  ended(): void;
  /** For nodes without a policy of their own. */
  readonly policy: ErrorPolicy;
  /** The context given to `run()`; throws if there is none. */
  context(): unknown;
  /** Tells `errors$` of an item that failed for good. */
  report(error: ItemError): void;
  /** Ends the run with `error`. */
  fail(error: unknown): void;
  /** A source is being read, or was: nothing is stalled meanwhile, but nobody waits for it at the end. */
  readBegan(): void;
  readEnded(): void;
  /** Something has moved, other than by work: a pipe's own timer, say. */
  moved(): void;
  /** Counts units of progress, if the node is one of those that count. */
  advance(node: NodeRun, units: number): void;
}

/** What a node does in a run: ends when its inputs have ended, or its signal is aborted. */
export type Program = (node: NodeRun) => Promise<unknown>;

export function newEdge(name: string, path: string, capacity: Occupancy, handling: ItemHandling<unknown>): Edge {
  const { sizeOf, discard } = handling;
  const channel = new Channel<unknown>({ ...bounds(capacity), sizeOf, onDiscard: discard, name: path });
  return { name, channel, handling, producers: [], isLeft: false };
}

/** A bound in bytes that is none needs no sizes. */
function bounds({ items, bytes }: Occupancy): { items: number; bytes?: number } {
  return bytes === Number.POSITIVE_INFINITY ? { items } : { items, bytes };
}

/** Hands `item` to the node behind the `output`-th edge; waits for room. If that node has left, it is discarded. */
export async function emit(node: NodeRun, output: number, item: unknown): Promise<void> {
  const { channel } = node.outputs[output]!;
  node.counts.out++;
  try {
    await channel.push(item);
  } catch (error) {
    if (!channel.abandoned) node.run.fail(error);
  }
}

/** Calls `body` for each item of an edge, one after another, until it ends or is abandoned. */
export async function forEachItem(edge: Edge, body: (item: unknown, index: number) => Promise<void>): Promise<void> {
  for (let index = 0; ; index++) {
    const next = await edge.channel.take();
    if (next.done === true) return;
    await body(next.value, index);
  }
}

/** The node behind `edge` takes nothing more: what is on it is discarded, and nodes that feed only it end as well. */
export function leave(edge: Edge): void {
  if (edge.isLeft) return;
  edge.isLeft = true;
  edge.channel.abandon();
  for (const producer of edge.producers) if (producer.outputs.every(({ isLeft }) => isLeft)) cancel(producer);
}

export function cancel(node: NodeRun, reason?: unknown): void {
  node.abort.abort(reason);
  for (const wake of node.atAbort) wake();
  for (const edge of node.inputs) leave(edge);
}

/** `node` puts nothing more on its edges. */
export function endOutputs(node: NodeRun): void {
  for (const edge of node.outputs) {
    edge.producers = edge.producers.filter((producer) => producer !== node);
    if (edge.producers.length === 0) edge.channel.close();
  }
}

/** What ends a run when a node fails outside of any item's work, by an operator or a copy, say. */
export function nodeError({ path }: NodeRun, cause: unknown): GraphError {
  if (cause instanceof GraphError) return cause;
  const message = cause instanceof Error ? cause.message : String(cause);
  return new GraphError('graph/node-failed', `The node failed: ${message}`, { place: { node: path }, cause });
}
