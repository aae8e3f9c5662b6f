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
} from '../../primitives/checks/kinds.ts';
import { type RemoteOptions, someRemoteOptions } from '../remote/remote-options.ts';
import type { NodeContext, NodeFunction } from '../run/attempts.ts';
import { aCapacity, type Capacity } from '../run/channel.ts';
import type { ItemHandling } from '../run/parcel.ts';
import type { BatchOptions } from './batch-by.ts';
import { anErrorPolicy, type ErrorPolicy } from './error-policy.ts';
import type { Pair } from './join.ts';
import type { Port } from './port.ts';

export interface SourceOptions<A> extends ItemHandling<A> {
  /** Total units of progress that the source will deliver, if known. A unit is one item unless `units` is given. */
  readonly total?: number | undefined;
  /** Returns the units of progress in an item. Default: 1 for each item. */
  readonly units?: ((item: A) => number) | undefined;
}

/** Options of an edge into a node. */
export interface InputOptions<A> extends ItemHandling<A> {
  /**
   * Capacity of the edge into the node: a number of items, or an object with bounds in items and bytes. Default: the
   * number of lanes.
   */
  readonly capacity?: number | Capacity | undefined;
  /**
   * Returns the bytes of an item. Default: the `sizeOf` of the item's source. Required if `capacity` bounds bytes and
   * there is no default, as for the results of a stage.
   */
  readonly sizeOf?: ((item: A) => number) | undefined;
  /**
   * Frees an item that is not processed further, because the run ended early or all attempts failed. An error thrown by
   * `discard` becomes a warning. Default: the `discard` of the item's source, or the `discardResult` of the stage that
   * made the item.
   */
  readonly discard?: ((item: A) => void) | undefined;
  /**
   * Returns a name for an item, which errors and traces then show in this node and in all later nodes. Called once per
   * item, when the item arrives. If `describe` is missing or throws, the item keeps its name. A stage's result is named
   * after its input, and a batch or pair is named after its items.
   */
  readonly describe?: ((item: A) => string) | undefined;
}

/** Options of a node with a function that may fail for an item. */
export interface PolicyOptions<A> extends InputOptions<A> {
  /** What happens to an item that fails. Default: the error policy of the run. */
  readonly onError?: ErrorPolicy | undefined;
  /**
   * Returns the units of progress in a finished item. If any node has this option, progress counts the items that
   * nodes with this option finish, instead of the items read from sources.
   */
  readonly progress?: ((item: A) => number) | undefined;
}

export interface SinkOptions<A> extends PolicyOptions<A> {
  /** Maximum number of items that are processed at the same time, from 1. Default 1. */
  readonly lanes?: number | undefined;
  /** Where the function runs, for drawings and traces. Default `cpu`. */
  readonly runsOn?: 'cpu' | 'gpu' | 'either' | undefined;
}

export interface GraphStageOptions<A, B, C> extends SinkOptions<A> {
  /** Whether results have the order of the inputs. Default false. */
  readonly ordered?: boolean | undefined;
  /**
   * Function that does the same work on the node's other side (CPU instead of GPU, say). The error policy `migrate`
   * requires this option.
   */
  readonly elsewhere?: NodeFunction<A, B, C> | undefined;
  /**
   * Where the function runs, if not in this process: in the workers of a queue. Items and results must be plain data,
   * typed arrays or columns, and are copied on their way. Policies, progress and order are as without `remote`, with
   * these differences:
   *
   * - `lanes` bounds the jobs that are handed out at the same time. A job has one item, or, without `remote.id`, as many small
   *   ones as take about 50 ms, at most 256. So up to 256 small items per lane are in progress.
   * - An item is freed by `discard` once its result is there, because the function owns a copy.
   * - `elsewhere` and the policy `migrate` are refused (`graph/remote-migrate`).
   */
  readonly remote?: RemoteOptions<A> | undefined;
  /** Frees a result that is not processed further because the run ended early. */
  readonly discardResult?: ((result: B) => void) | undefined;
}

/** The options of `batchBy`, except `name`. */
export type GraphBatchOptions<A> = Omit<BatchOptions<A>, 'name'>;

export interface BroadcastOptions<A> extends InputOptions<A> {
  /**
   * Returns a copy of an item. Called for each port except the first. By default all ports get the same item, and
   * `discard` is called once for each port.
   */
  readonly copy?: ((item: A) => A) | undefined;
}

export interface JoinOptions<L, R, K> {
  /** Functions that return the key of an item. Keys are compared like the keys of a `Map`. */
  readonly key: { readonly left: (item: L) => K; readonly right: (item: R) => K };
  /** Maximum number of items per side that wait for a partner, from 1. Default 64. */
  readonly hold?: number | undefined;
  /** Capacity of each edge into the join, in items. Default 1. */
  readonly capacity?: number | undefined;
  readonly onError?: ErrorPolicy | undefined;
}

/** Outputs of a join. Each of the three must be the input of a node. */
export interface JoinPorts<L, R> {
  readonly pairs: Port<Pair<L, R>>;
  /** Left items that can no longer find a partner, because the right side has ended. */
  readonly leftOnly: Port<L>;
  readonly rightOnly: Port<R>;
}

/** Returns the accumulated value after adding `item`. */
export type ReduceFunction<A, R, C> = (accumulator: R, item: A, context: NodeContext<C>) => Promise<R> | R;

/**
 * For each port, the rule that says which items the port takes. Rules are tried in the order in which they are written.
 */
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

/** Validators of the options of each kind of node. */
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
    remote: optional(someRemoteOptions),
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
