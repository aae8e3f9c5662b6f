import fc from 'fast-check';
import { disjointSets } from '../../primitives/disjoint-sets.ts';
import { rowsOf } from '../arbitraries/columns.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { assertSame } from './compare.ts';
import { type Law, law } from './law.ts';

/** The first node of every node's set. Visits the neighbours of nodes from the first node on, without any tree. */
function firstNodes(edges: { readonly a: ArrayLike<number>; readonly b: ArrayLike<number> }, nodes: number) {
  const around = Array.from({ length: nodes }, (): number[] => []);
  for (let i = 0; i < edges.a.length; i++) {
    const [a, b] = [edges.a[i]!, edges.b[i]!];
    if (a >= nodes || b >= nodes) continue;
    around[a]!.push(b);
    around[b]!.push(a);
  }
  const first = new Uint32Array(nodes).fill(2 ** 32 - 1);
  for (let node = 0; node < nodes; node++) {
    const open = first[node] === 2 ** 32 - 1 ? [node] : [];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (first[at] === node) continue;
      first[at] = node;
      for (const next of around[at]!) if (first[next] !== node) open.push(next);
    }
  }
  return first;
}

/** Edges of shapes that are hard: from random numbers, the ends of edge `row` among `nodes`, which are not all nodes. */
const shape = fc.constantFrom<(row: number, a: number, b: number, nodes: number) => readonly [number, number]>(
  (_row, a, b, nodes) => [a % nodes, b % nodes],
  // A path from the last node to the first, in the order of nodes, backwards, and through nodes in a mixed order.
  (row) => [row, row + 1],
  (row, _a, _b, nodes) => [nodes - row - 1, nodes - row - 2],
  (row, _a, _b, nodes) => [(row * 7919) % nodes, ((row + 1) * 7919) % nodes],
  // Stars whose middle is the first node, the last node, or any node.
  (row, _a, _b, nodes) => [row % nodes, 0],
  (row, _a, _b, nodes) => [nodes - 1, row % nodes],
  (_row, a, b, nodes) => [(a % 3) * Math.floor(nodes / 3), b % nodes],
  // Small sets, edges from nodes to themselves, and ends that are no nodes.
  (_row, a, b, nodes) => [(8 * a) % nodes, ((8 * a) % nodes) + (b % 8)],
  (_row, a, _b, nodes) => [a % nodes, a % nodes],
  (_row, a, b) => [a, b],
  (_row, a, b, nodes) => [a % 2 === 0 ? nodes + (a % 5) : a % nodes, b % nodes],
);

/** Links for nodes: to themselves, to the node before, to node 0, to any node before or after. */
const linking = fc.constantFrom<(node: number, given: number) => number>(
  (node) => node,
  (node) => Math.max(0, node - 1),
  () => 0,
  (node, given) => given % (node + 1),
  (node, given) => (given % 2 === 0 ? node + (given % 9) : given),
);

const nodeCount = fc.oneof(fc.integer({ min: 0, max: 70 }), fc.constantFrom(255, 256, 257, 1000, 4099));

export const disjointSetsLaws: readonly Law[] = [
  law(
    'disjointSets finds the first node of every set, for edges of any shape, with and without links',
    [
      rowsOf({ a: 'u32', b: 'u32' }),
      presentation,
      nodeCount,
      shape,
      fc.option(linking),
      fc.array(fc.nat(), { minLength: 1 }),
    ],
    async (run, given, how, nodes, endsOf, linkOf, numbers) => {
      const ends = Array.from(given.a, (a, row) => endsOf(row, a, given.b[row]!, Math.max(1, nodes)));
      const edges = { a: Uint32Array.from(ends, ([a]) => a), b: Uint32Array.from(ends, ([, b]) => b) };
      const links = Uint32Array.from(
        { length: nodes },
        (_, node) => linkOf?.(node, numbers[node % numbers.length]!) ?? node,
      );
      const found = await run((context) => {
        const { a, b } = present(context, edges, how);
        return disjointSets({ a, b }, nodes, linkOf === null ? {} : { links: context.column(links) });
      });
      const linked = [...links.keys()].filter((node) => links[node]! < node);
      const all = {
        a: [...edges.a, ...linked],
        b: [...edges.b, ...linked.map((node) => links[node]!)],
      };
      assertSame(found, firstNodes(all, nodes));
    },
  ),
];
