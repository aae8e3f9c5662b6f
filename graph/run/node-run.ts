import { GraphError } from '../../primitives/errors.ts';
import type { OnWarning } from '../../primitives/warnings.ts';
import type { ErrorPolicy } from '../definition/error-policy.ts';
import type { NodeMeta } from '../definition/shape.ts';
import { Channel, type Occupancy } from './channel.ts';
import type { ItemError } from './item-error.ts';
import type { GraphObserver } from './observer.ts';
import { discardParcel, handledBy, type ItemHandling, type Parcel, sizeOfParcel } from './parcel.ts';

/** One bounded edge of one run, and the nodes at its ends. */
export interface Edge {
  /** Name in traces: the node it leads into, or `node.port`. */
  readonly name: string;
  readonly channel: Channel<Parcel>;
  /** Item handling set on the consuming node. It overrides the handling set on the source. */
  readonly own: ItemHandling<unknown>;
  /** Nodes that may still put items on the edge. */
  producers: NodeRun[];
  /** Whether the consuming node takes no more items. */
  isLeft: boolean;
}

/** Counters that a node's program keeps. */
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

/** One node in one run, as its program sees it. */
export interface NodeRun {
  readonly meta: NodeMeta;
  /** Path of the node in errors, `graph/node`. */
  readonly path: string;
  readonly inputs: readonly Edge[];
  readonly outputs: readonly Edge[];
  readonly counts: NodeCounts;
  /** Aborted when the run is over, or when nobody takes the node's output any more. */
  readonly abort: AbortController;
  /** Called on abort. These are not listeners of the signal, because platforms warn of many listeners. */
  readonly atAbort: Set<() => void>;
  readonly run: RunServices;
}

/** What a run offers to its nodes. */
export interface RunServices {
  readonly observer: GraphObserver | undefined;
  /** Called when work on an item begins or ends. While work is in progress, the run is neither stalled nor over. */
  began(): void;
  ended(): void;
  /** The policy of nodes that have none of their own. */
  readonly policy: ErrorPolicy;
  /** Returns the context given to `run()`. Throws if there is none. */
  context(): unknown;
  /** Reports an item that failed for good to `errors$`. */
  report(error: ItemError): void;
  /** Ends the run with `error`. */
  fail(error: unknown): void;
  /** Registers `release`, which is called when a run fails. It frees items collected for the result. */
  atFailure(release: () => void): void;
  /** Reports a callback that threw where this must not end the run. */
  readonly warn: OnWarning | undefined;
  /**
   * Called when a read of a source begins or ends. During a read the run is not stalled, but the end of the run does
   * not wait for it.
   */
  readBegan(): void;
  readEnded(): void;
  /** Called for movement that is not work, such as a timer in a pipe. */
  moved(): void;
  /** Adds units of progress if the node is one whose items count. */
  advance(node: NodeRun, units: number): void;
}

/** The work of a node in a run. It ends when its inputs have ended or its signal is aborted. */
export type NodeProgram = (node: NodeRun) => Promise<unknown>;

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

/** An infinite bound in bytes needs no sizes. */
function bounds({ items, bytes }: Occupancy): { items: number; bytes?: number } {
  return bytes === Number.POSITIVE_INFINITY ? { items } : { items, bytes };
}

/** Puts `parcel` on the edge at index `output`, waiting for room. If the consumer has left, the parcel is discarded. */
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

/** Adds the item's name to an error of a channel, which does not know names. */
function namingItem(error: unknown, { name }: Parcel): unknown {
  if (!(error instanceof GraphError) || error.code !== 'graph/bad-size' || name === undefined) return error;
  const { expected, got, place, cause } = error;
  return new GraphError(error.code, 'sizeOf returned no valid size for an item.', {
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

/** Calls `body` for each item of an edge, one after another, until the edge ends or is abandoned. */
export async function forEachItem(edge: Edge, body: (parcel: Parcel, index: number) => Promise<void>): Promise<void> {
  for (let index = 0; ; index++) {
    const next = await edge.channel.take();
    if (next.done === true) return;
    await body(next.value, index);
  }
}

/**
 * Called when the consumer of `edge` takes no more items. Items on it are discarded, and nodes that feed only this edge
 * end too.
 */
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

/** Called when `node` will emit no more items. */
export function endOutputs(node: NodeRun): void {
  for (const edge of node.outputs) {
    edge.producers = edge.producers.filter((producer) => producer !== node);
    if (edge.producers.length === 0) edge.channel.close();
  }
}

/** The error that ends a run when a node fails outside the work on an item, for example in an operator or in `copy`. */
export function nodeError({ path }: NodeRun, cause: unknown, record?: string | number): GraphError {
  if (cause instanceof GraphError) return cause;
  const message = cause instanceof Error ? cause.message : String(cause);
  return new GraphError('graph/node-failed', `The node failed: ${message}`, { place: { node: path, record }, cause });
}

/** Errors thrown by an item's work after the node was cancelled are ignored. */
export function failUnlessOver({ abort, run }: NodeRun, error: unknown): void {
  if (!abort.signal.aborted) run.fail(error);
}
