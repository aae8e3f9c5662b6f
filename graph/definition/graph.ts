import { requireArguments } from '../../primitives/checks/arguments.ts';
import { GraphError } from '../../primitives/checks/errors.ts';
import { aFunction, aText } from '../../primitives/checks/kinds.ts';
import type { Context } from '../../primitives/context/context.ts';
import { type GraphRun, RUN_OPTIONS, type RunOptions, startRun } from '../run/run.ts';
import { GraphBuilder } from './builder.ts';
import { requireWhole, shapeOf } from './definition.ts';
import { NodeList } from './node-list.ts';
import type { Outcomes, ResultOf } from './port.ts';
import type { GraphShape } from './shape.ts';

/** A dataflow graph. Its definition is complete before the first run. A graph can run any number of times. */
export interface Graph<R, C> {
  readonly name: string;
  readonly shape: GraphShape;
  /** Starts a run. The functions of the nodes receive `ctx` in their context. */
  run(ctx?: C, options?: RunOptions): GraphRun<R>;
}

/**
 * Defines a dataflow graph. The program, drawings, counters and progress of the graph all follow from this definition.
 *
 * - A bounded edge (a queue) leads into every node except sources. While an output edge of a node is full, the node
 *   takes no items from its input edge. So the bounds hold across branches and joins, and a source is read only while
 *   the edge after it has room.
 * - A node with several lanes emits results in any order unless it is `ordered`. All other nodes keep the order of
 *   items on each port. If all stages are ordered and there is no merge or join, results do not depend on timing.
 * - The option `onError` of a node decides what happens to an item that fails. By default the run ends, with an {@link
 *   ItemError} that names the node, the item and the cause. No item is dropped silently.
 * - A node may stop taking items, for example after a `take` in a pipe. Then all nodes upstream
 *   that feed only this node end too, including sources.
 * - Paths that separate and meet again can block each other. For example, each side of a join may be full of items
 *   whose partners wait in an edge of the other path. Then the run fails with `graph/stalled` instead of hanging. To
 *   prevent this, find by how many items one path can be ahead of the other. The capacities of the edges and the `hold`
 *   of the join must allow this number.
 *
 * @throws `GraphError` at definition: see {@link GraphBuilder}, and `graph/unused-output` for a port that no node
 * takes, `graph/empty` for a graph without nodes, `graph/foreign-outcome` if `define` does not return outcomes of this
 * graph.
 *
 * @example
 * ```ts
 * const sumOfSquares = graph('squares', (g) => {
 *   const numbers = g.source('numbers', [1, 2, 3, 4]);
 *   const { odd, even } = g.branch('parity', numbers, { odd: (x) => x % 2 === 1, even: 'rest' });
 *   const squares = g.stage('square', odd, async (x) => x * x, { lanes: 2, capacity: 4 });
 *   return { sum: g.reduce('sum', squares, (a, b) => a + b), even: g.sink('even', even, () => {}) };
 * });
 * await sumOfSquares.run().result; // { sum: 10, even: 2 }
 * ```
 */
export function graph<O extends Outcomes, C = Context>(
  name: string,
  define: (g: GraphBuilder<C>) => O,
): Graph<ResultOf<O>, C> {
  requireArguments('graph', { name, define }, { name: aText, define: aFunction });
  const list = new NodeList(name);
  const outcomes = define(new GraphBuilder<C>(list));
  const definition = { name, nodes: list.close() };
  requireWhole(definition);
  requireOutcomes(list, outcomes);
  const shape = shapeOf(definition);
  return {
    name,
    shape,
    run: (ctx, options = {}) => {
      requireArguments('run', { options }, { options: RUN_OPTIONS });
      const { result, ...run } = startRun(definition, shape, ctx, options);
      return { ...run, result: result.then((values) => resultOf(list, outcomes, values) as ResultOf<O>) };
    },
  };
}

function requireOutcomes(list: NodeList, outcomes: unknown): void {
  if (list.hasOutcome(outcomes)) return;
  const isRecord = typeof outcomes === 'object' && outcomes !== null && !('then' in outcomes);
  if (isRecord && Object.values(outcomes).every((outcome) => list.hasOutcome(outcome))) return;
  throw new GraphError('graph/foreign-outcome', 'The definition does not return outcomes of this graph.', {
    expected: 'a result of sink(), reduce() or collect(), or a record of them',
    got: outcomes === undefined ? 'nothing' : outcomes instanceof Promise ? 'a promise' : typeof outcomes,
    remedy: 'End the definition by returning the result of sink(), reduce() or collect().',
    place: { node: list.graph },
  });
}

function resultOf(list: NodeList, outcomes: unknown, values: ReadonlyMap<string, unknown>): unknown {
  if (list.hasOutcome(outcomes)) return values.get(outcomes.node);
  const entries = Object.entries(outcomes as Record<string, { node: string }>);
  return Object.fromEntries(entries.map(([name, { node }]) => [name, values.get(node)]));
}
