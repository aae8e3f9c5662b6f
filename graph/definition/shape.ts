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
} from '../../primitives/kinds.ts';
import type { Occupancy } from '../run/channel.ts';

/**
 * How a node changes the stream, for drawings. `pipe` means plain RxJS operators; `branch` to `merge` have several
 * ports.
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

/** Static description of a node. */
export interface NodeMeta {
  readonly name: string;
  readonly kind: NodeKind;
  readonly lanes: number;
  readonly capacity: Required<Occupancy>;
  readonly runsOn: 'cpu' | 'gpu' | 'either';
}

/** Counters of a node in its latest subscription. */
export interface StageCounters {
  /** Inputs given to the function. */
  readonly in: number;
  /** Results delivered. */
  readonly out: number;
  /** Inputs in progress. */
  readonly active: number;
  /** Inputs dropped by overflow. */
  readonly dropped: number;
  /** Milliseconds spent in the function, summed over lanes. */
  readonly busy: number;
  /** How often the edge into this stage was full when upstream had an item. */
  readonly stalls: number;
  /** Items and bytes on the edge into this stage: current and maximum. */
  readonly depth: number;
  readonly bytes: number;
  readonly peak: number;
  readonly peakBytes: number;
}

/** An edge of a graph: the bounded channel in front of the node `to`, and where its items come from. */
export interface EdgeShape {
  readonly from: string;
  readonly to: string;
  /** Name of the port at either end, if the node there has several. */
  readonly fromPort?: string | undefined;
  readonly toPort?: string | undefined;
  readonly capacity: Required<Occupancy>;
}

/** Static structure of a graph. Drawings, traces and reports are made from it. */
export interface GraphShape {
  readonly name: string;
  readonly nodes: readonly NodeMeta[];
  readonly edges: readonly EdgeShape[];
}

/** Counters of a node of a graph. */
export interface NodeCounters extends StageCounters {
  readonly name: string;
  /** Items that failed and were skipped under the error policy. */
  readonly skipped: number;
  /** Retries after a failure. */
  readonly retried: number;
  /** Items that a migrator moved away from the node's home side. */
  readonly migrated: number;
}

/** Current and maximum contents of an edge of a run. */
export interface EdgeCounters {
  /** The node it leads into, or `node.port` if that node has several inputs. */
  readonly edge: string;
  readonly capacity: Required<Occupancy>;
  /** How often a producer found the edge full. */
  readonly stalls: number;
  readonly depth: number;
  readonly bytes: number;
  readonly peak: number;
  readonly peakBytes: number;
}

/** One item's processing in one node, for traces. Times are in milliseconds on the clock of `performance.now()`. */
export interface WorkSpan {
  readonly node: string;
  /** Lane of the node, from 0. */
  readonly lane: number;
  /** Index of the item among the node's inputs. */
  readonly item: number;
  /** The name that `describe` gives the item. */
  readonly record?: string | undefined;
  readonly start: number;
  readonly end: number;
  readonly runsOn: 'cpu' | 'gpu' | 'either';
  readonly outcome: 'done' | 'failed' | 'aborted';
}

/** The contents of an edge from `time` on, for traces. `edge` is the name of the node it leads into. */
export interface OccupancySample extends Occupancy {
  readonly edge: string;
  readonly time: number;
}

/** An event at one moment: a migration, a retry, an error. */
export interface TraceMark {
  readonly node: string;
  readonly time: number;
  /** Stable name, such as `migrate/gpu-to-cpu`, `retry`, `error`. */
  readonly name: string;
  readonly detail?: Readonly<Record<string, unknown>> | undefined;
}

/** A recorded run. */
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

/** Looks for an edge that does not connect two nodes of the graph. */
function strayEdge({ nodes, edges }: GraphShape, path: string): Flaw | undefined {
  const names = new Set(nodes.map(({ name }) => name));
  for (const [i, edge] of edges.entries()) {
    const end = (['from', 'to'] as const).find((each) => !names.has(edge[each]));
    if (end === undefined) continue;
    return { path: `${path}.edges[${i}].${end}`, part: edge[end], expected: 'the name of one of its nodes' };
  }
  return undefined;
}

const someCounters: Kind = anArrayOf(
  aRecord<NodeCounters>({
    name: aText,
    in: aNumber,
    out: aNumber,
    active: aNumber,
    dropped: aNumber,
    busy: aNumber,
    stalls: aNumber,
    depth: aNumber,
    bytes: aNumber,
    peak: aNumber,
    peakBytes: aNumber,
    skipped: aNumber,
    retried: aNumber,
    migrated: aNumber,
  }),
);

/** Options of drawings of a graph. */
export interface DrawOptions {
  /** Counters of the nodes, by their names, which are then shown too. */
  readonly counters?: readonly NodeCounters[] | undefined;
}

export const someDrawOptions: Kind = someOptions<DrawOptions>({ counters: optional(someCounters) });

export const someEdgeCounters: Kind = anArrayOf(
  aRecord<EdgeCounters>({
    edge: aText,
    capacity: anOccupancy,
    stalls: aNumber,
    depth: aNumber,
    bytes: aNumber,
    peak: aNumber,
    peakBytes: aNumber,
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
      outcome: aWord(['done', 'failed', 'aborted']),
    }),
  ),
  occupancy: anArrayOf(aRecord<OccupancySample>({ edge: aText, time: aNumber, items: aNumber, bytes: aNumber })),
  marks: anArrayOf(aRecord<TraceMark>({ node: aText, time: aNumber, name: aText, detail: optional(someRecord) })),
  counters: someCounters,
});
