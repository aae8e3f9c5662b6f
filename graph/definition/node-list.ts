import { GraphError } from '../../primitives/checks/errors.ts';
import { describeGiven, isPromise, isRecord } from '../../primitives/checks/given.ts';
import { capacityOf, type InputDefinition, type NodeDefinition, type OutputDefinition } from './definition.ts';
import type { InputOptions } from './node-options.ts';
import type { Outcome, Port } from './port.ts';
import { requireLanes } from './pull-map.ts';
import type { NodeKind, NodeMeta } from './shape.ts';

/**
 * The nodes of a graph while it is being defined. Checks that names are unique, that each port belongs to this graph,
 * and that each port has only one consumer.
 */
export class NodeList {
  readonly graph: string;
  readonly #nodes: NodeDefinition[] = [];
  readonly #outputs: Set<Port<unknown>> = new Set<Port<unknown>>();
  readonly #taken: Map<Port<unknown>, string> = new Map<Port<unknown>, string>();
  readonly #outcomes: Set<unknown> = new Set<unknown>();
  #isClosed = false;

  constructor(graph: string) {
    requireName(graph, graph);
    this.graph = graph;
  }

  path(name: string): string {
    return `${this.graph}/${name}`;
  }

  /**
   * Makes the edge into `node`, or into the input `port` of a node with several inputs. The edge takes the items of one
   * output, or of several outputs for a merge.
   */
  input(
    node: string,
    ports: Port<unknown> | readonly Port<unknown>[],
    options: InputOptions<never>,
    lanes = 1,
    port?: string,
  ): InputDefinition {
    const path = port === undefined ? this.path(node) : `${this.path(node)}.${port}`;
    requireLanes(path, lanes);
    const from = [ports].flat().map((each) => this.#output(each, path));
    for (const [i, output] of from.entries()) this.#requireFree(output, path, from.indexOf(output) !== i);
    const { capacity, discard, sizeOf, describe } = options as InputOptions<unknown>;
    const isSized = sizeOf !== undefined || from.every((output) => output.isSized);
    const own = { discard, sizeOf, describe };
    return { port, from, own, isSized, capacity: capacityOf(path, { capacity, isSized }, lanes) };
  }

  /** Adds a node to the graph, and returns its outputs. */
  add(node: NodeDefinition): readonly OutputDefinition[] {
    const { name } = node.meta;
    const path = this.path(name);
    requireName(name, path);
    if (this.#isClosed)
      throw new GraphError('graph/closed', 'The graph is already defined; no node can be added.', {
        place: { node: path },
      });
    if (this.#nodes.some(({ meta }) => meta.name === name)) {
      const remedy = 'Give every node of a graph a name of its own.';
      throw new GraphError('graph/duplicate-name', 'Two nodes have this name.', { remedy, place: { node: path } });
    }
    for (const { from } of node.inputs) for (const output of from) this.#taken.set(output, path);
    for (const output of node.outputs) this.#outputs.add(output);
    this.#nodes.push(node);
    return node.outputs;
  }

  /** Creates and registers the outcome of the node with this name. */
  outcome<R>(node: string): Outcome<R> {
    const outcome: Outcome<R> = { node };
    this.#outcomes.add(outcome);
    return outcome;
  }

  hasOutcome(outcome: unknown): outcome is Outcome<unknown> {
    return this.#outcomes.has(outcome);
  }

  /** Returns all nodes. After this call, no node can be added. */
  close(): readonly NodeDefinition[] {
    this.#isClosed = true;
    return this.#nodes;
  }

  #output(port: Port<unknown>, path: string): OutputDefinition {
    if (this.#outputs.has(port)) return port as OutputDefinition;
    throw new GraphError('graph/foreign-port', 'The input must be a port of a node of this graph.', {
      expected: `a port of a node of ${this.graph}`,
      got: isRecord(port) && typeof port.node === 'string' ? nameOf(port) : describeGiven(port),
      remedy: isPromise(port) ? 'An await is missing: write await before the call that makes it.' : undefined,
      place: { node: path },
    });
  }

  #requireFree(output: OutputDefinition, path: string, isTwice: boolean): void {
    const taker = isTwice ? path : this.#taken.get(output);
    if (taker === undefined) return;
    throw new GraphError('graph/port-taken', `The port ${nameOf(output)} has two consumers.`, {
      expected: `one, ${taker}`,
      got: `${path} as well`,
      remedy: 'Use g.broadcast() to send items to several nodes, or g.branch() to divide them.',
      place: { node: path },
    });
  }
}

function nameOf({ node, port }: Port<unknown>): string {
  return port === undefined ? node : `${node}.${port}`;
}

export function outputOf(node: string, port: string | undefined, isSized = false): OutputDefinition {
  return { node, port, isSized };
}

export function metaOf(
  name: string,
  kind: NodeKind,
  { capacity }: InputDefinition,
  {
    lanes = 1,
    runsOn = 'cpu',
    remote,
  }: Partial<{ [K in 'lanes' | 'runsOn' | 'remote']: NodeMeta[K] | undefined }> = {},
): NodeMeta {
  return { name, kind, lanes, capacity, runsOn, ...(remote === undefined ? {} : { remote }) };
}

/** Throws if the name is not valid. Names are parts of paths, so they must not contain a slash. */
function requireName(name: string, path: string): void {
  if (typeof name === 'string' && /^[^/\n]+$/.test(name)) return;
  const expected = 'at least one character, no slash and no line break';
  throw new GraphError('graph/bad-name', 'This is not a valid name.', { expected, got: name, place: { node: path } });
}
