import { requireOptions, requireRecord } from './checks/arguments.ts';
import { ArgumentError } from './checks/errors.ts';
import { lengthText } from './checks/given.ts';
import { anything } from './checks/kinds.ts';
import {
  type Column,
  commonLength,
  type DeviceLength,
  requireLength,
  requireType,
  sameLength,
} from './columns/column.ts';
import { destination, extentOf, fuse, programOf, storeRows } from './columns/program.ts';
import { fuseColumns } from './columns/views.ts';
import { type ContextOption, inNamedContext, requireContext } from './context/context-option.ts';
import type { U32 } from './functors/value.ts';
import { sequence } from './sequence.ts';

/** The edges of a graph: row i joins node `a[i]` and node `b[i]`. */
export interface Edges {
  readonly a: Column<'u32'>;
  readonly b: Column<'u32'>;
}

export interface DisjointSetsOptions extends ContextOption {
  /**
   * Joins every node i with node `links[i]`, if that is before i. The same could be said by edges, but following links
   * costs less than joining.
   */
  readonly links?: Column<'u32'> | undefined;
}

/**
 * Joins sets of nodes by edges, and returns the first node of every node's set: the connected components of a graph.
 * Nodes are the numbers `0 … nodes − 1`. A node whose result is the node itself is the first of its set, so the number
 * of these nodes is the number of sets. Edges with an end that is no node join nothing, so a view can skip rows.
 *
 * - Work O((nodes + edges) log nodes), in practice O(nodes + edges): paths are halved as they are followed, and no shape
 *   of a graph is slow. On WebGPU and workers, threads join edges at the same time. Deterministic: the first node of a
 *   set depends on no order.
 * - Without edges, every node is alone. Accepts device counts (lengths that only the device knows), also as the number
 *   of nodes. The edges may be views, which are not stored.
 * - Equivalent loop: `for (let i = 0; i < n; i++) unite(find(a[i]), find(b[i]))`, then `out[i] = find(i)`, where the
 *   lesser of two roots becomes the root of both.
 *
 * Source: Tarjan, Efficiency of a Good But Not Linear Set Union Algorithm, 1975; in parallel, Anderson and Woll 1991,
 * and Jaiganesh and Burtscher 2018.
 *
 * @throws {@link ArgumentError} `column/type` if a column is not u32, `column/length` if `a` and `b` differ in length,
 * or if `links` has not the length `nodes`.
 * @example
 * const edges = { a: ctx.column(Uint32Array.of(4, 1)), b: ctx.column(Uint32Array.of(3, 4)) };
 * await ctx.read(disjointSets(edges, 5)); // Uint32Array [0, 1, 2, 1, 1]
 */
export function disjointSets(
  edges: Edges,
  nodes: number | DeviceLength,
  options: DisjointSetsOptions = {},
): Column<'u32'> {
  requireOptions<DisjointSetsOptions>('disjointSets', { links: anything, context: anything }, options);
  requireRecord('disjointSets', 'edges', edges, 'a record of the columns a and b');
  const { a, b } = edges;
  requireType(a, ['u32'], 'edges.a', 'disjointSets');
  requireType(b, ['u32'], 'edges.b', 'disjointSets');
  requireLength(nodes, 'disjointSets', 'nodes');
  const { links = sequence(nodes) } = options;
  requireType(links, ['u32'], 'options.links', 'disjointSets');
  if (!sameLength(links.length, nodes)) throw wrongLinks(links.length, nodes);
  const length = commonLength([a, b], 'disjointSets');
  return inNamedContext('disjointSets', options, () => {
    const context = requireContext([a, b, links], 'disjointSets');
    return context.scope(() => {
      const first = context.stored('u32', nodes);
      const start = fuse(
        'setLinks',
        [],
        ['u32'],
        (index, _, loader) => [(loader.load([links], index)[0] as U32).min(index)],
        { by: [disjointSets], columns: [links] },
      );
      const { buffer, offset, capacity } = destination(first);
      storeRows(context, nodes, start, [{ buffer, offset, capacity, value: 0 }]);
      context.backend.run({
        kind: 'unite',
        extent: extentOf(length),
        program: programOf(fuseColumns('disjointSets', [a, b]), context, length),
        nodes: extentOf(nodes),
        links: { buffer, word: offset },
      });
      return first;
    });
  });
}

function wrongLinks(got: Column['length'], nodes: Column['length']): ArgumentError {
  return new ArgumentError('column/length', 'Option links of disjointSets must have a row for every node.', {
    expected: lengthText(nodes),
    got: lengthText(got),
  });
}
