import { GraphError } from '../../primitives/checks/errors.ts';
import { messageOf } from '../../primitives/checks/message-of.ts';
import type { OnWarning } from '../../primitives/checks/warnings.ts';
import type { AbortSignal } from '../../primitives/host/platform-types.ts';
import type { ErrorPolicy } from '../definition/error-policy.ts';
import type { NodeMeta } from '../definition/shape.ts';
import { Channel, type Occupancy } from './channel.ts';
import type { ItemError } from './item-error.ts';
import type { GraphObserver } from './observer.ts';
import { discardParcel, handledBy, type ItemHandling, type Parcel, sizeOfParcel } from './parcel.ts';

/** One bounded edge in one run, with the nodes at its ends. */
export interface Edge {
  /** Name of the edge in traces: the node that the edge leads to, or `node.port`. */
  readonly name: string;
  readonly channel: Channel<Parcel>;
  /**
   * Functions that free, measure and name items, as set on the consuming node. They override the functions set on the
   * source.
   */
  readonly own: ItemHandling<unknown>;
  /** Nodes that may still put items on the edge. The edge is closed when none is left. */
  producers: NodeRun[];
  /** Whether the consuming node takes no more items. */
  isLeft: boolean;
}

/** The counters of a node that its program updates. */
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

/** One node in one run, as the program of the node sees it. */
export interface NodeRun {
  readonly meta: NodeMeta;
  /** Path of the node in errors, in the form `graph/node`. */
  readonly path: string;
  readonly inputs: readonly Edge[];
  readonly outputs: readonly Edge[];
  readonly counts: NodeCounts;
  /** Aborted when the run has failed or was aborted, or when no node takes the output of this node any more. */
  readonly abort: { readonly signal: AbortSignal; abort(reason: unknown): void };
  /**
   * Functions to call when the node is cancelled. The functions are not listeners of `abort.signal`, because platforms
   * warn if a signal has many listeners.
   */
  readonly atAbort: Set<() => void>;
  readonly run: RunServices;
}

/** The services of a run for its nodes. */
export interface RunServices {
  readonly observer: GraphObserver | undefined;
  /**
   * Must be called when work on an item begins; `ended` must be called when the work ends. In between, the run counts
   * neither as stalled nor as finished.
   */
  began(): void;
  ended(): void;
  /** The error policy for nodes that have no policy themselves. */
  readonly policy: ErrorPolicy;
  /** Returns the context given to `run()`. Throws if no context was given. */
  context(): unknown;
  /** Reports an item for which all attempts have failed, through `errors$`. */
  report(error: ItemError): void;
  /** Ends the run with `error`. Has no effect if the run has failed already. */
  fail(error: unknown): void;
  /** Registers a function that frees items collected for the result. The function is called if the run fails. */
  atFailure(release: () => void): void;
  /** Receives the errors of callbacks, such as `discard`, that must not end the run. */
  readonly warn: OnWarning | undefined;
  /**
   * Must be called when a read of a source begins; `readEnded` must be called when the read ends. In between, the run
   * does not count as stalled. The end of the run does not wait for the read.
   */
  readBegan(): void;
  readEnded(): void;
  /**
   * Must be called when items moved although no node worked on an item, for example because a timer of an RxJS operator
   * emitted an item. A run in which items move is not stalled.
   */
  moved(): void;
  /** Adds units of progress, if the items of this node count as progress. */
  advance(node: NodeRun, units: number): void;
}

/**
 * Does the work of a node during one run. Resolves when the inputs have ended or the node was cancelled. The value is
 * the outcome of the node, if it has one.
 */
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

/**
 * Returns the bounds as options of a channel. Leaves out an infinite `bytes`, because a channel with the option `bytes`
 * requires the option `sizeOf`.
 */
function bounds({ items, bytes }: Occupancy): { items: number; bytes?: number } {
  return bytes === Number.POSITIVE_INFINITY ? { items } : { items, bytes };
}

/**
 * Puts `parcel` on the output edge with this index, after waiting for room. If the consumer has left, discards the
 * parcel.
 */
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

/**
 * Adds the name of the item to a channel's error `graph/bad-size`, because the channel does not know the names of its
 * items. Returns any other error unchanged.
 */
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

/** Frees an item that is not processed further. */
export function discard({ run }: NodeRun, parcel: Parcel): void {
  discardParcel(parcel, run.warn);
}

/** Calls `body` for each item of an edge, one item after another, until the edge has ended or was abandoned. */
export async function forEachItem(edge: Edge, body: (parcel: Parcel, index: number) => Promise<void>): Promise<void> {
  for (let index = 0; ; index++) {
    const next = await edge.channel.take();
    if (next.done === true) return;
    await body(next.value, index);
  }
}

/**
 * Must be called when the consumer of an edge takes no more items. Discards the items on the edge. Cancels a producer
 * if all its output edges have lost their consumers.
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

/** Must be called when a node emits no more items. Closes edges to which no other node adds items. */
export function endOutputs(node: NodeRun): void {
  for (const edge of node.outputs) {
    edge.producers = edge.producers.filter((producer) => producer !== node);
    if (edge.producers.length === 0) edge.channel.close();
  }
}

/**
 * The error that ends a run if a node fails outside the work on an item, for example in an RxJS operator or in `copy`.
 */
export function nodeError({ path }: NodeRun, cause: unknown, record?: string | number): GraphError {
  if (cause instanceof GraphError) return cause;
  const message = messageOf(cause);
  return new GraphError('graph/node-failed', `The node failed: ${message}`, { place: { node: path, record }, cause });
}

/**
 * Ends the run with the error of an item's work, unless the node was cancelled. Errors of cancelled nodes are ignored.
 */
export function failUnlessOver({ abort, run }: NodeRun, error: unknown): void {
  if (!abort.signal.aborted) run.fail(error);
}
