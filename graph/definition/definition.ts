import { GraphError } from '../../primitives/checks/errors.ts';
import { type Capacity, checkedCapacity, type Occupancy } from '../run/channel.ts';
import type { NodeProgram } from '../run/node-run.ts';
import type { ItemHandling } from '../run/parcel.ts';
import type { Port } from './port.ts';
import type { EdgeShape, GraphShape, NodeCounters, NodeMeta, StageCounters } from './shape.ts';

/** One output of a node, which one other node takes as its input. */
export interface OutputDefinition extends Port<unknown> {
  /** Whether the sizes of the output's items are known. Consumers that limit bytes need the sizes. */
  readonly isSized: boolean;
}

/** An edge into a node. If the node has several inputs, `port` names one of them. */
export interface InputDefinition {
  readonly port: string | undefined;
  readonly from: readonly OutputDefinition[];
  readonly capacity: Required<Occupancy>;
  /**
   * Functions that free, measure and name items, as set on this node. They override the functions set on the source.
   */
  readonly own: ItemHandling<unknown>;
  readonly isSized: boolean;
}

export interface NodeDefinition {
  readonly meta: NodeMeta;
  readonly inputs: readonly InputDefinition[];
  readonly outputs: readonly OutputDefinition[];
  readonly program: NodeProgram;
  /** Whether progress counts the items that this node has finished, instead of the items read from sources. */
  readonly isMeasure?: boolean;
  /** For a source, the total units of progress that it will deliver, if known. */
  readonly total?: number | undefined;
  /** For a stage in a pipe, returns the stage's own counters. */
  readonly inner?: (() => StageCounters & Partial<NodeCounters>) | undefined;
}

/** The definition of a graph. Nodes are in the order of their creation, so producers precede their consumers. */
export interface GraphDefinition {
  readonly name: string;
  readonly nodes: readonly NodeDefinition[];
}

export interface EdgeOptions {
  readonly capacity?: number | Capacity | undefined;
  /** Whether the sizes of the edge's items are known. */
  readonly isSized: boolean;
}

/**
 * Returns the capacity of an edge, by default one item per lane of the node.
 *
 * @throws `GraphError` if the bounds admit no item, or if a bound in bytes is given but item sizes are not known.
 */
export function capacityOf(path: string, { capacity, isSized }: EdgeOptions, lanes: number): Required<Occupancy> {
  const bounds =
    capacity === undefined ? { items: lanes } : typeof capacity === 'number' ? { items: capacity } : capacity;
  return checkedCapacity({ ...bounds, sizeOf: isSized ? () => 0 : undefined, name: path });
}

export function shapeOf({ name, nodes }: GraphDefinition): GraphShape {
  // A stage in a pipe has an inner edge of its own. The shape shows the capacity of this inner edge.
  const edges = nodes.flatMap(({ meta, inputs, inner }) =>
    inputs.flatMap(({ port, from, capacity }) =>
      from.map((output) => edgeShape(output, meta.name, port, inner === undefined ? capacity : meta.capacity)),
    ),
  );
  return { name, nodes: nodes.map(({ meta }) => meta), edges };
}

function edgeShape(
  from: OutputDefinition,
  to: string,
  toPort: string | undefined,
  capacity: Required<Occupancy>,
): EdgeShape {
  return { from: from.node, to, capacity, fromPort: from.port, toPort };
}

/**
 * Checks that a graph is complete.
 *
 * @throws `GraphError` `graph/unused-output` for the first output that no node takes, and `graph/empty` if there are
 * no nodes.
 */
export function requireWhole({ name, nodes }: GraphDefinition): void {
  if (nodes.length === 0) {
    const remedy = 'Begin with g.source() and end with g.sink(), g.reduce() or g.collect().';
    throw new GraphError('graph/empty', 'The graph has no nodes.', { remedy, place: { node: name } });
  }
  const taken = new Set(nodes.flatMap(({ inputs }) => inputs.flatMap(({ from }) => from)));
  const unused = nodes.flatMap(({ outputs }) => outputs).find((output) => !taken.has(output));
  if (unused !== undefined) throw unusedError(name, unused);
}

function unusedError(graph: string, { node, port }: OutputDefinition): GraphError {
  const what = port === undefined ? 'The output of the node' : `The port ${port} of the node`;
  return new GraphError('graph/unused-output', `${what} is not used.`, {
    remedy: 'Give it to a node. To drop its items, give it to g.sink() with a function that frees them.',
    place: { node: port === undefined ? `${graph}/${node}` : `${graph}/${node}.${port}` },
  });
}
