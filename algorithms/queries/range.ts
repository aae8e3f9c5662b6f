import { aColumn, aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aRecord, type Kind } from '../../primitives/checks/kinds.ts';
import {
  array,
  bool,
  type Column,
  type Context,
  fn,
  map,
  mortonDecode64,
  select,
  sequence,
  type U32,
  u32,
  unfold,
  uniform,
} from '../../primitives/index.ts';
import type { MaqNodes, MaqTree } from '../maq-tree/index.ts';
import { aMaqTree } from '../maq-tree/tree.ts';
import { DOMAIN_BITS } from '../quadrants/index.ts';
import { expectedRows, noteQueries, noteRows } from './found-before.ts';
import { meetsSquare, type PlacedWindows, sidesAt, someWindows } from './windows.ts';

/** Nodes of a tree found for queries, ordered by query. Within a query, a node comes before its descendants. */
export interface QueryNodes {
  readonly query: Column<'u32'>;
  readonly node: Column<'u32'>;
}

export const someNodes: Kind = aRecord<QueryNodes>({ query: aColumn('u32'), node: aColumn('u32') });

/**
 * Finds, for many windows, the nodes with entries whose quadrants share a point with the window. For every window, a
 * thread walks through the tree in preorder. It goes down into nodes that intersect the window, and skips all other
 * nodes with their descendants.
 *
 * - Work O(nodes that intersect windows, and their children), span O(nodes that intersect one window + log pairs).
 *   Waits for the device once. The first query of a tree also materializes a table for the walks. The table is cached
 *   as long as the tree lives, unless memory is short.
 * - The result has the same pairs in the same order on every backend. An empty window has no nodes.
 *
 * Source: after Zhang, You and Gruenwald, Data Parallel Quadtree Indexing and Spatial Query Processing of Complex
 * Polygon Data on GPUs, 2014, section 4.3.1, whose method goes level by level; see `queryWindowsBreadthFirst`.
 *
 * @throws `CapacityError` if there are 2³² − 1 pairs or more.
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [180, 0], [180, 90], [0, 90]]] }');
 * const tree = await buildMaqTree(ctx, [await decompose(ctx, placeInDomain(zones.polygons, WORLD), { levels: 4 })]);
 * const windows = placeWindows(ctx, { left: [10, -20], bottom: [10, 0], right: [20, 0], top: [20, 9] }, WORLD);
 * await ctx.read({ ...(await queryWindows(ctx, tree, windows)) }); // { query: Uint32Array [0], node: Uint32Array [2] }
 */
export async function queryWindows(context: Context, tree: MaqTree, windows: PlacedWindows): Promise<QueryNodes> {
  requireArguments(
    'queryWindows',
    { context, tree, windows },
    { context: aContext, tree: aMaqTree, windows: someWindows },
  );
  const { nodes } = tree;
  const { sides, count } = windows;
  const table = context.materializeOnce(tableForWindows(nodes));
  try {
    const total = nodes.level.length as number;
    const query = sequence(total === 0 ? 0 : count);
    const rows = { query, ...map(sidesOf, { query, sides }) };
    const expected = expectedRows(nodes, 'nodesOfWindows', count);
    const found = await unfold(rows, fromRoot, visit, { expected, captures: { table, total } });
    noteRows(nodes, 'nodesOfWindows', count, found.node.length as number);
    noteQueries(found.query, count);
    return found;
  } finally {
    context.dispose(table);
  }
}

/**
 * Number of words per node in the table for walks:
 *
 * - word 0: the column and the side of the node's quadrant, packed as `column` in `open-quadrants.ts`,
 * - word 1: the row of the quadrant; bit 30 is set if the node has children, and bit 31 if it has entries,
 * - word 2: the first child,
 * - word 3: the node that follows all descendants of this node in the walk.
 */
const WORDS = 4;

const windowWord = fn(
  'windowWord',
  {
    index: u32,
    low: array(u32),
    high: array(u32),
    levels: array(u32),
    firstChild: array(u32),
    childCount: array(u32),
    entryCount: array(u32),
    next: array(u32),
  },
  u32,
  ({ index, low, high, levels, firstChild, childCount, entryCount, next }) => {
    const node = index.div(WORDS);
    const word = index.sub(node.mul(WORDS));
    const { x, y } = mortonDecode64({ code: { lo: low.at(node), hi: high.at(node) } });
    const shift = u32(DOMAIN_BITS).sub(levels.at(node));
    const column = x.shl(shift).shl(1).or(u32(1).shl(shift));
    const marks = u32(childCount.at(node).gt(0)).or(u32(entryCount.at(node).gt(0)).shl(1));
    const place = select(column, y.shl(shift).or(marks.shl(30)), word.eq(1));
    return select(place, select(firstChild.at(node), next.at(node), word.eq(3)), word.ge(2));
  },
);

const tables = new WeakMap<MaqNodes, Column<'u32'>>();

/**
 * The table for walks through a tree, as a view. Returns the same view for every query, so that it is materialized
 * once.
 */
function tableForWindows(nodes: MaqNodes): Column<'u32'> {
  const table = tables.get(nodes) ?? viewForWindows(nodes);
  tables.set(nodes, table);
  return table;
}

function viewForWindows({ code, level, firstChild, childCount, entryCount, next }: MaqNodes): Column<'u32'> {
  const index = sequence(WORDS * (level.length as number));
  const columns = { low: code.lo, high: code.hi, levels: level, firstChild, childCount, entryCount, next };
  return map(windowWord, { index, ...columns });
}

const sidesOf = fn(
  'sidesOf',
  { query: u32, sides: array(u32) },
  { left: u32, bottom: u32, right: u32, top: u32 },
  ({ query, sides }) => sidesAt(sides, query),
);

const fromRoot = fn('fromRoot', { query: u32 }, { node: u32 }, () => ({ node: 0 }));

const visit = fn(
  'visit',
  { query: u32, left: u32, bottom: u32, right: u32, top: u32, node: u32, table: array(u32), total: uniform(u32) },
  { more: bool, emits: bool, state: { node: u32 }, value: { query: u32, node: u32 } },
  ({ query, left, bottom, right, top, node, table, total }) => {
    const [column, row, firstChild, next] = [0, 1, 2, 3].map((word) => table.at(node.mul(WORDS).add(word))) as [
      U32,
      U32,
      U32,
      U32,
    ];
    const side = column.and(u32(0).sub(column));
    const [x, y] = [column.xor(side).shr(1), row.and(DOMAIN_MASK)];
    const meets = meetsSquare({ left, bottom, right, top }, x, y, side);
    const into = meets.and(row.shr(DOMAIN_BITS).and(1).eq(1));
    const following = select(next, firstChild, into);
    return {
      more: following.lt(total),
      emits: meets.and(row.shr(DOMAIN_BITS + 1).eq(1)),
      state: { node: following },
      value: { query, node },
    };
  },
);

const DOMAIN_MASK = 2 ** DOMAIN_BITS - 1;
