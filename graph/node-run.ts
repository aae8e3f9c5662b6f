import { GraphError } from '../primitives/errors.ts';
import type { OnWarning } from '../primitives/warnings.ts';
import { Channel, type Occupancy } from './channel.ts';
import type { ErrorPolicy } from './error-policy.ts';
import type { ItemError } from './item-error.ts';
import type { GraphObserver } from './observer.ts';
import { discardParcel, handledBy, type ItemHandling, type Parcel, sizeOfParcel } from './parcel.ts';
import type { NodeMeta } from './shape.ts';

/** One bounded edge of one run, and who stands at its ends. */
export interface Edge {
  /** Name for traces: the node it leads into, or `node.port`. */
  readonly name: string;
  readonly channel: Channel<Parcel>;
  /** What the node behind the edge says of its items, in place of where they come from. */
  readonly own: ItemHandling<unknown>;
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
  /** Calls `release` at the end of a run that has failed: it frees what would have gone into the result. */
  atFailure(release: () => void): void;
  /** Tells of a callback that threw where that must not end the run. */
  readonly warn: OnWarning | undefined;
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

export function newEdge(
  name: string,
  path: string,
  capacity: Occupancy,
  own: ItemHandling<unknown>,
  onDiscard: (parcel: Parcel) => void,
): Edge {
  const channel = new Channel<Parcel>({ ...bounds(capacity), sizeOf: sizeOfParcel, onDiscard, name: path });
  return { name, channel, own, producers: [], isLeft: false };
}

/** A bound in bytes that is none needs no sizes. */
function bounds({ items, bytes }: Occupancy): { items: number; bytes?: number } {
  return bytes === Number.POSITIVE_INFINITY ? { items } : { items, bytes };
}

/** Hands `parcel` to the node behind the `output`-th edge; waits for room. If that node has left, it is discarded. */
export async function emit(node: NodeRun, output: number, parcel: Parcel): Promise<void> {
  const { channel, own } = node.outputs[output]!;
  const handled = handledBy(own, parcel);
  node.counts.out++;
  try {
    await channel.push(handled);
  } catch (error) {
    if (!channel.abandoned) node.run.fail(namingItem(error, handled));
  }
}

/** An edge knows an item's size, not its name. */
function namingItem(error: unknown, { name }: Parcel): unknown {
  if (!(error instanceof GraphError) || error.code !== 'graph/bad-size' || name === undefined) return error;
  const { expected, got, place, cause } = error;
  return new GraphError(error.code, 'sizeOf gave no size for an item.', {
    expected,
    got,
    place: { ...place, record: name },
    cause,
  });
}

/** Frees an item that goes no further. */
export function discard({ run }: NodeRun, parcel: Parcel): void {
  discardParcel(parcel, run.warn);
}

/** Calls `body` for each item of an edge, one after another, until it ends or is abandoned. */
export async function forEachItem(edge: Edge, body: (parcel: Parcel, index: number) => Promise<void>): Promise<void> {
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
export function nodeError({ path }: NodeRun, cause: unknown, record?: string | number): GraphError {
  if (cause instanceof GraphError) return cause;
  const message = cause instanceof Error ? cause.message : String(cause);
  return new GraphError('graph/node-failed', `The node failed: ${message}`, { place: { node: path, record }, cause });
}

/** What an item's work throws once the node is cancelled says nothing new. */
export function failUnlessOver({ abort, run }: NodeRun, error: unknown): void {
  if (!abort.signal.aborted) run.fail(error);
}
