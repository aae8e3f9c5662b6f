import {
  aNumber,
  anArrayOf,
  aRecord,
  aText,
  aWord,
  type Flaw,
  type Kind,
  optional,
  someOptions,
  someRecord,
} from '../../primitives/checks/kinds.ts';
import type { Occupancy } from '../run/channel.ts';

/**
 * How a node changes the stream, for drawings. A `pipe` applies plain RxJS operators. In the list below, the kinds from
 * `branch` to `join` can have several inputs or several outputs.
 */
export type NodeKind =
  | 'source'
  | 'map'
  | 'filter'
  | 'expand'
  | 'pipe'
  | 'batch'
  | 'branch'
  | 'broadcast'
  | 'merge'
  | 'join'
  | 'reduce'
  | 'sink';

/** What is known about a node before a run, for drawings and reports. */
export interface NodeMeta {
  readonly name: string;
  readonly kind: NodeKind;
  readonly lanes: number;
  readonly capacity: Required<Occupancy>;
  readonly runsOn: 'cpu' | 'gpu' | 'either';
  /** Name of the queue whose workers run the node's function, if it does not run in this process. */
  readonly remote?: string | undefined;
}

/** Counters of a node in the latest subscription, and those of the edge into this node. */
export interface StageCounters extends Omit<EdgeCounters, 'edge' | 'capacity'> {
  /** Number of inputs given to the function. */
  readonly in: number;
  /** Number of results delivered. */
  readonly out: number;
  /** Number of inputs that the function is processing now. */
  readonly active: number;
  /** Number of inputs dropped because the edge was full. */
  readonly dropped: number;
  /** Milliseconds spent in the function, as the sum over all lanes. */
  readonly busy: number;
}

/** An edge of a graph: the bounded queue in front of the node `to`, and the node `from` that fills it. */
export interface EdgeShape {
  readonly from: string;
  readonly to: string;
  /**
   * Output of the node `from`, if `from` has several outputs. `toPort` is the input of the node `to`, if `to` has
   * several inputs.
   */
  readonly fromPort?: string | undefined;
  readonly toPort?: string | undefined;
  readonly capacity: Required<Occupancy>;
}

/** The structure of a graph, as drawings, traces and reports need it. */
export interface GraphShape {
  readonly name: string;
  readonly nodes: readonly NodeMeta[];
  readonly edges: readonly EdgeShape[];
}

/** Counters of a node in a run of a graph. */
export interface NodeCounters extends StageCounters {
  readonly name: string;
  /** Number of items that failed and were skipped by the error policy. */
  readonly skipped: number;
  /** Number of attempts that were made again after a failure. */
  readonly retried: number;
  /** Number of items that were moved to the node's other side (CPU instead of GPU, say). */
  readonly migrated: number;
}

/**
 * The current number of items and bytes on an edge of a run (`depth`, `bytes`), and their maxima so far (`peak`,
 * `peakBytes`).
 */
export interface EdgeCounters {
  /** Name of the node that the edge leads to, or `node.port` if the node has several inputs. */
  readonly edge: string;
  readonly capacity: Required<Occupancy>;
  /** How often the edge was full when a producer had an item. */
  readonly stalls: number;
  readonly depth: number;
  readonly bytes: number;
  readonly peak: number;
  readonly peakBytes: number;
}

/**
 * The processing of one item in one node, for traces. Times are in milliseconds on the clock of `performance.now()`.
 */
export interface WorkSpan {
  readonly node: string;
  /** Number of the lane that processed the item, from 0. */
  readonly lane: number;
  /** Index of the item among the inputs of the node, from 0. */
  readonly item: number;
  /** Name of the item, as returned by `describe`. */
  readonly record?: string | undefined;
  readonly start: number;
  readonly end: number;
  readonly runsOn: 'cpu' | 'gpu' | 'either';
  /** Name of the worker that ran the function, if it did not run in this process. */
  readonly worker?: string | undefined;
  readonly outcome: 'done' | 'failed' | 'aborted';
}

/**
 * The number of items and bytes on an edge from `time` on, for traces. `edge` is the name of the node that the edge
 * leads to, or `node.port` if the node has several inputs.
 */
export interface OccupancySample extends Occupancy {
  readonly edge: string;
  readonly time: number;
}

/** An event at one moment of a run, such as a migration, a retry or an error. */
export interface TraceMark {
  readonly node: string;
  readonly time: number;
  /** Name that does not change between versions, such as `migrate/gpu-to-cpu`, `retry` or `error`. */
  readonly name: string;
  readonly detail?: Readonly<Record<string, unknown>> | undefined;
}

/** A recorded run, for drawings and reports. Times are in milliseconds on the clock of `performance.now()`. */
export interface Trace {
  readonly shape: GraphShape;
  readonly started: number;
  readonly ended: number;
  readonly spans: readonly WorkSpan[];
  readonly occupancy: readonly OccupancySample[];
  readonly marks: readonly TraceMark[];
  readonly counters: readonly NodeCounters[];
}

const anOccupancy: Kind = aRecord<Occupancy>({ items: aNumber, bytes: aNumber });

const aSide: Kind = aWord(['cpu', 'gpu', 'either']);

const aNode: Kind = aRecord<NodeMeta>({
  name: aText,
  kind: aText,
  lanes: aNumber,
  capacity: anOccupancy,
  runsOn: aSide,
  remote: optional(aText),
});

const anEdge: Kind = aRecord<EdgeShape>({
  from: aText,
  to: aText,
  fromPort: optional(aText),
  toPort: optional(aText),
  capacity: anOccupancy,
});

export const aGraphShape: Kind = (given, path, homes) =>
  SHAPE(given, path, homes) ?? strayEdge(given as GraphShape, path);

const SHAPE = aRecord<GraphShape>({ name: aText, nodes: anArrayOf(aNode), edges: anArrayOf(anEdge) });

/** Finds an edge with an end that is not a node of the graph. */
function strayEdge({ nodes, edges }: GraphShape, path: string): Flaw | undefined {
  const names = new Set(nodes.map(({ name }) => name));
  for (const [i, edge] of edges.entries()) {
    const end = (['from', 'to'] as const).find((each) => !names.has(edge[each]));
    if (end === undefined) continue;
    return { path: `${path}.edges[${i}].${end}`, part: edge[end], expected: 'the name of one of its nodes' };
  }
  return undefined;
}

const levels = { stalls: aNumber, depth: aNumber, bytes: aNumber, peak: aNumber, peakBytes: aNumber };

const someCounters: Kind = anArrayOf(
  aRecord<NodeCounters>({
    name: aText,
    in: aNumber,
    out: aNumber,
    active: aNumber,
    dropped: aNumber,
    busy: aNumber,
    ...levels,
    skipped: aNumber,
    retried: aNumber,
    migrated: aNumber,
  }),
);

/** Options of drawings of a graph. */
export interface DrawOptions {
  /** Counters to show in the drawing. Each element belongs to the node with the same `name`. */
  readonly counters?: readonly NodeCounters[] | undefined;
}

export const someDrawOptions: Kind = someOptions<DrawOptions>({ counters: optional(someCounters) });

export const someEdgeCounters: Kind = anArrayOf(
  aRecord<EdgeCounters>({
    edge: aText,
    capacity: anOccupancy,
    ...levels,
  }),
);

export const aTrace: Kind = aRecord<Trace>({
  shape: aGraphShape,
  started: aNumber,
  ended: aNumber,
  spans: anArrayOf(
    aRecord<WorkSpan>({
      node: aText,
      lane: aNumber,
      item: aNumber,
      record: optional(aText),
      start: aNumber,
      end: aNumber,
      runsOn: aSide,
      worker: optional(aText),
      outcome: aWord(['done', 'failed', 'aborted']),
    }),
  ),
  occupancy: anArrayOf(aRecord<OccupancySample>({ edge: aText, time: aNumber, items: aNumber, bytes: aNumber })),
  marks: anArrayOf(aRecord<TraceMark>({ node: aText, time: aNumber, name: aText, detail: optional(someRecord) })),
  counters: someCounters,
});
