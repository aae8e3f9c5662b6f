import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import {
  array,
  bool,
  type Context,
  concatenate,
  constant,
  copyIf,
  expand,
  fn,
  gather,
  map,
  mortonDecode64,
  sequence,
  u32,
} from '../../primitives/index.ts';
import { allOrNone, freeOnFailure } from '../free-on-failure.ts';
import type { MaqTree } from '../maq-tree/index.ts';
import { aMaqTree } from '../maq-tree/tree.ts';
import { bitsUpTo, orderRows } from '../order-rows.ts';
import { DOMAIN_BITS } from '../quadrants/index.ts';
import { QUERY_OPTIONS, type QueryOptions } from './query-options.ts';
import type { QueryNodes } from './range.ts';
import { meetsSquare, type PlacedWindows, sidesAt, someWindows } from './windows.ts';

/**
 * Same as `queryWindows`, by the method of Zhang, You and Gruenwald (2014), for comparison. Goes down level by level
 * from the root, for all windows together. If a window and a node intersect, the window continues with the node's
 * children. This method suits windows that intersect very different numbers of nodes: in `queryWindows`, one thread per
 * window walks through the tree, and all threads wait for the longest walk. The pairs are the same as those of
 * `queryWindows`, but ordered by window and then by node.
 *
 * - Work O(pairs that intersect, and their children), span O(levels · log pairs). Waits for the device once per level.
 * - The result has the same pairs in the same order on every backend, for every capacity. The default capacity is 2²⁶.
 *
 * Source: Zhang, You and Gruenwald, Data Parallel Quadtree Indexing and Spatial Query Processing of Complex Polygon
 * Data on GPUs, 2014, section 4.3.1.
 *
 * @throws `ArgumentError` `queries/capacity`.
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [180, 0], [180, 90], [0, 90]]] }');
 * const tree = await buildMaqTree(ctx, [await decompose(ctx, placeInDomain(zones.polygons, WORLD), { levels: 4 })]);
 * const windows = placeWindows(ctx, { left: [10, -20], bottom: [10, 0], right: [20, 0], top: [20, 9] }, WORLD);
 * await ctx.read({ ...(await queryWindowsBreadthFirst(ctx, tree, windows)) }); // { query: Uint32Array [0], node: Uint32Array [2] }
 */
export async function queryWindowsBreadthFirst(
  context: Context,
  tree: MaqTree,
  windows: PlacedWindows,
  options: QueryOptions = {},
): Promise<QueryNodes> {
  const kinds = { context: aContext, tree: aMaqTree, windows: someWindows, options: QUERY_OPTIONS };
  requireArguments('queryWindowsBreadthFirst', { context, tree, windows, options }, kinds);
  const { capacity = 2 ** 26 } = options;
  const found: QueryNodes[] = [];
  try {
    await descendTree(context, tree, windows, capacity, found);
    return context.scope(() => {
      const { query, node } = concatenate(found.map((pairs) => ({ ...pairs })));
      const keys = [
        { key: node, bits: bitsUpTo((tree.nodes.level.length as number) - 1) },
        { key: query, bits: bitsUpTo(windows.count - 1) },
      ];
      return context.materialize(gather({ query, node }, orderRows(query.length, keys)));
    });
  } finally {
    context.dispose(found);
  }
}

/** Pairs of windows and nodes that wait in host memory. */
interface WaitingPairs {
  readonly query: Uint32Array;
  readonly node: Uint32Array;
}

/** Goes down the tree from the root. Pairs beyond the capacity wait on the host. */
async function descendTree(
  context: Context,
  tree: MaqTree,
  windows: PlacedWindows,
  capacity: number,
  found: QueryNodes[],
): Promise<void> {
  const waiting: WaitingPairs[] = [];
  const roots = (tree.nodes.level.length as number) === 0 ? 0 : windows.count;
  let front: QueryNodes = context.scope(() =>
    context.materialize({ query: sequence(roots), node: constant(u32, 0, roots) }),
  );
  try {
    for (;;) {
      const pairs = front.query.length as number;
      if (pairs > capacity) {
        const { earlier, later } = context.scope(() => splitPairs(context, front, pairs));
        context.dispose(front);
        front = earlier;
        try {
          waiting.push(await context.read({ ...later }));
        } finally {
          context.dispose(later);
        }
      } else if (pairs > 0 || found.length === 0) {
        const step = await meetNodes(context, tree, windows, front);
        found.push(step.found);
        context.dispose(front);
        front = step.next;
      } else {
        const next = waiting.pop();
        if (next === undefined) return;
        context.dispose(front);
        front = context.scope(() => ({ query: context.column(next.query), node: context.column(next.node) }));
      }
    }
  } finally {
    context.dispose(front);
  }
}

function splitPairs(context: Context, front: QueryNodes, pairs: number) {
  const middle = pairs >> 1;
  const part = (from: number, to: number): QueryNodes =>
    context.materialize(gather({ ...front }, sequence(to - from, from)));
  return { earlier: part(0, middle), later: part(middle, pairs) };
}

const meets = fn(
  'meets',
  { query: u32, node: u32, sides: array(u32), low: array(u32), high: array(u32), levels: array(u32) },
  bool,
  ({ query, node, sides, low, high, levels }) => {
    const { x: column, y: row } = mortonDecode64({ code: { lo: low.at(node), hi: high.at(node) } });
    const shift = u32(DOMAIN_BITS).sub(levels.at(node));
    return meetsSquare(sidesAt(sides, query), column.shl(shift), row.shl(shift), u32(1).shl(shift));
  },
);

const has = fn('has', { node: u32, counts: array(u32) }, bool, ({ node, counts }) => counts.at(node).gt(0));

const childPair = fn(
  'childPair',
  { query: u32, node: u32, rank: u32, first: array(u32) },
  { query: u32, node: u32 },
  ({ query, node, rank, first }) => ({ query, node: first.at(node).add(rank) }),
);

/**
 * Finds the pairs of a window and a node of one level that intersect. A pair is a result if its node has entries. From
 * every intersecting pair, the window continues with the node's children.
 */
async function meetNodes(
  context: Context,
  { nodes }: MaqTree,
  { sides }: PlacedWindows,
  front: QueryNodes,
): Promise<{ readonly found: QueryNodes; readonly next: QueryNodes }> {
  const { code, level, firstChild, childCount, entryCount } = nodes;
  const made = context.scope(() => {
    const flags = context.materialize(map(meets, { ...front, sides, low: code.lo, high: code.hi, levels: level }));
    const met = copyIf({ ...front }, flags);
    return { flags, met, hits: copyIf(met, map(has, { node: met.node, counts: entryCount })) };
  });
  try {
    const { met, hits } = made;
    const [hitCount, next] = await allOrNone(context, [
      context.count(hits),
      expand(met, gather(childCount, met.node), childPair, { captures: { first: firstChild } }),
    ]);
    const rows = gather(hits, sequence(hitCount));
    return { found: freeOnFailure(context, next, () => context.scope(() => context.materialize(rows))), next };
  } finally {
    context.dispose(made);
  }
}
