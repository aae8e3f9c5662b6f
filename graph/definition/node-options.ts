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
} from '../../primitives/kinds.ts';
import type { NodeContext, NodeFunction } from '../run/attempts.ts';
import { aCapacity, type Capacity } from '../run/channel.ts';
import type { ItemHandling } from '../run/parcel.ts';
import type { BatchOptions } from './batch-by.ts';
import { anErrorPolicy, type ErrorPolicy } from './error-policy.ts';
import type { Pair } from './join.ts';
import type { Port } from './port.ts';

export interface SourceOptions<A> extends ItemHandling<A> {
  /** Total units that the source will deliver, for progress. A unit is one item unless `units` is given. */
  readonly total?: number | undefined;
  /** Units of progress in one item. Default 1. */
  readonly units?: ((item: A) => number) | undefined;
}

/** Options of the edge into a node. */
export interface InputOptions<A> extends ItemHandling<A> {
  /** Capacity of the edge into the node: a number of items, or items and bytes. Default: the number of lanes. */
  readonly capacity?: number | Capacity | undefined;
  /** Bytes of one item. Required if `bytes` is bounded. Default: the `sizeOf` of the item's source. */
  readonly sizeOf?: ((item: A) => number) | undefined;
  /**
   * Frees an item that goes no further because the run ended early or the item failed for good. Default: the `discard`
   * of the item's source, or the `discardResult` of the stage that made it. If it throws, that is a warning.
   */
  readonly discard?: ((item: A) => void) | undefined;
  /**
   * Names an item in errors and traces, here and in all later nodes. Called once, when the item arrives. If it is
   * missing or throws, the item keeps its name: a stage's result is named after its input, a batch or pair after its
   * items.
   */
  readonly describe?: ((item: A) => string) | undefined;
}

/** Options of a node with a function that may fail. */
export interface PolicyOptions<A> extends InputOptions<A> {
  /** What happens to an item that fails. Default: the run's policy. */
  readonly onError?: ErrorPolicy | undefined;
  /**
   * Units of progress of a finished item. Given this, progress counts finished items of this node instead of items read
   * from the sources.
   */
  readonly progress?: ((item: A) => number) | undefined;
}

export interface SinkOptions<A> extends PolicyOptions<A> {
  /** Maximum number of items in progress, from 1. Default 1. */
  readonly lanes?: number | undefined;
  /** Where the work runs. Default `cpu`. */
  readonly runsOn?: 'cpu' | 'gpu' | 'either' | undefined;
}

export interface GraphStageOptions<A, B, C> extends SinkOptions<A> {
  /** Whether results keep the order of the inputs. Default false. */
  readonly ordered?: boolean | undefined;
  /** Does the same work on the other side, for the policy `migrate`. */
  readonly elsewhere?: NodeFunction<A, B, C> | undefined;
  /** Frees a result that goes no further because the run ended early. */
  readonly discardResult?: ((result: B) => void) | undefined;
}

/** Options of `batchBy`, without its name. */
export type GraphBatchOptions<A> = Omit<BatchOptions<A>, 'name'>;

export interface BroadcastOptions<A> extends InputOptions<A> {
  /**
   * Makes the copies for the second and later ports. Default: all ports get the same item, and `discard` is called
   * for each port.
   */
  readonly copy?: ((item: A) => A) | undefined;
}

export interface JoinOptions<L, R, K> {
  /** Keys are equal if a `Map` treats them as equal. */
  readonly key: { readonly left: (item: L) => K; readonly right: (item: R) => K };
  /** Maximum number of items per side that wait for a partner, from 1. Default 64. */
  readonly hold?: number | undefined;
  /** Capacity of each edge into the join, in items. Default 1. */
  readonly capacity?: number | undefined;
  readonly onError?: ErrorPolicy | undefined;
}

/** Outputs of a join. All three must be used. */
export interface JoinPorts<L, R> {
  readonly pairs: Port<Pair<L, R>>;
  /** Items for which no partner can arrive any more. */
  readonly leftOnly: Port<L>;
  readonly rightOnly: Port<R>;
}

/** Adds `item` to the accumulated value. */
export type ReduceFunction<A, R, C> = (accumulator: R, item: A, context: NodeContext<C>) => Promise<R> | R;

/** A rule for each port. Ports are tried in the order in which they are written. */
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
