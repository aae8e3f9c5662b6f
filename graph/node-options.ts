import {
  aFlag,
  aFunction,
  aNumber,
  aRecord,
  aWord,
  type FieldKinds,
  type Kind,
  optional,
  someOptions,
} from '../primitives/kinds.ts';
import type { NodeContext, NodeFunction } from './attempts.ts';
import type { BatchOptions } from './batch-by.ts';
import { aCapacity, type Capacity } from './channel.ts';
import { anErrorPolicy, type ErrorPolicy } from './error-policy.ts';
import type { Pair } from './join.ts';
import type { ItemHandling } from './parcel.ts';
import type { Port } from './port.ts';

export interface SourceOptions<A> extends ItemHandling<A> {
  /** Units that the source will give, items if `units` is not given; for progress. */
  readonly total?: number | undefined;
  /** Units of progress in one item. Default 1. */
  readonly units?: ((item: A) => number) | undefined;
}

/** The edge into a node. */
export interface InputOptions<A> extends ItemHandling<A> {
  /** What the edge into the node may hold: a number of items, or items and bytes. Default: as many items as lanes. */
  readonly capacity?: number | Capacity | undefined;
  /** Bytes of one item; needed with a bound in bytes. Default: that of the source. */
  readonly sizeOf?: ((item: A) => number) | undefined;
  /**
   * Frees an item that goes no further: the run ended early, or it failed for good. Default: that of the node where the
   * item came from, its source or the `discardResult` of its stage. What it throws is a warning.
   */
  readonly discard?: ((item: A) => void) | undefined;
  /**
   * What errors and traces call an item, here and in all later nodes; called once, when the item comes. Without it, or
   * where it throws, an item keeps the name that it has: what a stage makes is called as what it was made from, a batch
   * or a pair by the names of its items.
   */
  readonly describe?: ((item: A) => string) | undefined;
}

/** A node with a function that may fail. */
export interface PolicyOptions<A> extends InputOptions<A> {
  /** What becomes of an item that fails. Default: what the run says. */
  readonly onError?: ErrorPolicy | undefined;
  /** Counts a finished item as so many units of progress, in place of what is read from the sources. */
  readonly progress?: ((item: A) => number) | undefined;
}

export interface SinkOptions<A> extends PolicyOptions<A> {
  /** How many items may be worked on at once, from 1. Default 1. */
  readonly lanes?: number | undefined;
  /** Where the work runs. Default `cpu`. */
  readonly runsOn?: 'cpu' | 'gpu' | 'either' | undefined;
}

export interface GraphStageOptions<A, B, C> extends SinkOptions<A> {
  /** Results in the order of the inputs. Default false. */
  readonly ordered?: boolean | undefined;
  /** The same work on the other side, for the policy `migrate`. */
  readonly elsewhere?: NodeFunction<A, B, C> | undefined;
  /** Frees a result that goes no further because the run ended early. */
  readonly discardResult?: ((result: B) => void) | undefined;
}

/** As for `batchBy`, but that the node has its name already. */
export type GraphBatchOptions<A> = Omit<BatchOptions<A>, 'name'>;

export interface BroadcastOptions<A> extends InputOptions<A> {
  /** Makes what the second and later ports get. Default: all get the same item, and `discard` is for each of them. */
  readonly copy?: ((item: A) => A) | undefined;
}

export interface JoinOptions<L, R, K> {
  /** Keys are compared as those of a `Map`. */
  readonly key: { readonly left: (item: L) => K; readonly right: (item: R) => K };
  /** How many items a side may hold that wait for a partner, from 1. Default 64. */
  readonly hold?: number | undefined;
  /** What the edges into the join may hold, each. Default 1. */
  readonly capacity?: number | undefined;
  readonly onError?: ErrorPolicy | undefined;
}

/** The outputs of a join; all three have to be taken. */
export interface JoinPorts<L, R> {
  readonly pairs: Port<Pair<L, R>>;
  /** Items that stayed without a partner, when it is known that none can come. */
  readonly leftOnly: Port<L>;
  readonly rightOnly: Port<R>;
}

/** Adds `item` to what has come so far. */
export type ReduceFunction<A, R, C> = (accumulator: R, item: A, context: NodeContext<C>) => Promise<R> | R;

/** Of each port whether it takes an item; asked in the order in which they are written. */
export type PortRules<A, N extends string> = { readonly [K in N]: ((item: A) => boolean) | 'rest' };

export type PortsOf<A, N extends string> = { readonly [K in N]: Port<A> };

const INPUT: FieldKinds<InputOptions<never>> = {
  capacity: optional(aCapacity),
  sizeOf: optional(aFunction),
  discard: optional(aFunction),
  describe: optional(aFunction),
};
const POLICY: FieldKinds<PolicyOptions<never>> = {
  ...INPUT,
  onError: optional(anErrorPolicy),
  progress: optional(aFunction),
};
const SINK: FieldKinds<SinkOptions<never>> = {
  ...POLICY,
  lanes: optional(aNumber),
  runsOn: optional(aWord(['cpu', 'gpu', 'either'])),
};

/** The options of each kind of node. */
export const NODE_OPTIONS: { readonly [node: string]: Kind } = {
  source: someOptions<SourceOptions<never>>({
    total: optional(aNumber),
    units: optional(aFunction),
    sizeOf: optional(aFunction),
    discard: optional(aFunction),
    describe: optional(aFunction),
  }),
  input: someOptions<InputOptions<never>>(INPUT),
  policy: someOptions<PolicyOptions<never>>(POLICY),
  sink: someOptions<SinkOptions<never>>(SINK),
  stage: someOptions<GraphStageOptions<never, never, never>>({
    ...SINK,
    ordered: optional(aFlag),
    elsewhere: optional(aFunction),
    discardResult: optional(aFunction),
  }),
  broadcast: someOptions<BroadcastOptions<never>>({ ...INPUT, copy: optional(aFunction) }),
  join: someOptions<JoinOptions<never, never, never>>({
    key: aRecord<JoinOptions<never, never, never>['key']>({ left: aFunction, right: aFunction }),
    hold: optional(aNumber),
    capacity: optional(aNumber),
    onError: optional(anErrorPolicy),
  }),
};
