import {
  type ArrayValue,
  array,
  bool,
  type Column,
  type Context,
  expand,
  fn,
  maximum,
  popcount,
  reduce,
  saturatingPlus,
  select,
  sequence,
  shrU64,
  slice,
  type U32,
  u32,
  unfold,
} from '../../primitives/index.ts';
import type { MaqTree } from '../maq-tree/index.ts';
import { nodeBeside, nodeOf } from '../maq-tree/node-table.ts';
import { DOMAIN_BITS, type Quadrants } from '../quadrants/index.ts';

/**
 * Pairs of a given quadrant and an entry of a tree whose quadrant contains the given one or is within it. `row` is the
 * index of the given quadrant. Pairs are ordered by `row`.
 */
export interface SharedQuadrants {
  readonly row: Column<'u32'>;
  readonly entry: Column<'u32'>;
  /** Binary logarithm of the side of the entry's quadrant, in steps. */
  readonly shift: Column<'u32'>;
}

/**
 * Finds all entries of a tree whose quadrants overlap the given quadrants. Calls `take` with the pairs in parts, and
 * with the largest polygon index of the given quadrants. A part has at most `capacity` pairs, or it is a single segment
 * (a range of adjacent entries) with more pairs. The pairs of one given quadrant may be spread over several parts.
 *
 * Each given quadrant has a segment for each node that contains the quadrant. It also has a segment on every level
 * below, for the nodes inside the quadrant, which are adjacent. The walk that finds the segments goes from the root
 * down to the quadrant. From then on, the nodes of the next level are those from the first child of the first node to
 * the last child of the last node.
 *
 * - Work O(quadrants · levels + pairs), span O(levels + log pairs). Waits for the device twice if there are at most
 *   `capacity` pairs, and otherwise three times, plus once per part. The waits of `take` come on top.
 * - The result has the same pairs in the same order on every backend, for every capacity.
 *
 * Source: Zhang, You and Gruenwald, Data Parallel Quadtree Indexing and Spatial Query Processing of Complex Polygon
 * Data on GPUs, 2014, section 4.3.2, where quadrants of a query go down the tree breadth first, like windows.
 */
export async function shareQuadrants(
  context: Context,
  tree: MaqTree,
  { polygon, code, level }: Quadrants,
  capacity: number,
  take: (part: SharedQuadrants, max: number) => Promise<void>,
): Promise<void> {
  const rows = { lo: code.lo, hi: code.hi, level, row: sequence(level.length) };
  const segments = await unfold(rows, fromRoot, nextSegment, { captures: { table: tree.table } });
  try {
    const { pairs, max } = await measure(context, segments.count, polygon);
    for (const [from, to] of await partsWithin(context, segments.count, pairs, capacity)) {
      const { count, ...firsts } = slice(segments, from, to);
      const isWhole = to - from === segments.count.length && pairs <= capacity;
      const part = isWhole ? expand(firsts, count, entryAt, { capacity: pairs }) : await expand(firsts, count, entryAt);
      await take(part, max).finally(() => context.dispose(part));
    }
  } finally {
    context.dispose(segments);
  }
}

/**
 * Reads the number of pairs, or 2³² − 1 if there are more, and the largest polygon index of the given quadrants. Waits
 * for the device once.
 */
async function measure(
  context: Context,
  counts: Column<'u32'>,
  polygon: Column<'u32'>,
): Promise<{ readonly pairs: number; readonly max: number }> {
  const sizes = context.scope(() => ({ pairs: reduce(counts, saturatingPlus), max: reduce(polygon, maximum(u32)) }));
  const { pairs, max } = await context.read(sizes).finally(() => context.dispose(sizes));
  return { pairs: pairs[0]!, max: max[0]! };
}

/**
 * Cuts the list of segments (ranges of adjacent entries) into parts, which are ranges of segments. A part has at most
 * `capacity` pairs, or a single segment that has more. There is at least one part, even without pairs.
 */
async function partsWithin(
  context: Context,
  counts: Column<'u32'>,
  pairs: number,
  capacity: number,
): Promise<[from: number, to: number][]> {
  const segments = counts.length as number;
  if (pairs <= capacity) return [[0, segments]];
  const parts: [number, number][] = [];
  let [from, sum] = [0, 0];
  for (const [segment, count] of (await context.read(counts)).entries()) {
    if (segment > from && sum + count > capacity) {
      parts.push([from, segment]);
      [from, sum] = [segment, 0];
    }
    sum += count;
  }
  return [...parts, [from, segments]];
}

const place = { lo: u32, hi: u32, level: u32 } as const;
/** Adjacent nodes `from … to − 1` with a side of 2^shift steps. */
const siblings = { from: u32, to: u32, shift: u32 } as const;

type ValuesOfFields<F> = { readonly [K in keyof F]: U32 };

/**
 * Emits the code for one step of a quadrant's walk through the tree. The step finds the range of entries of the current
 * nodes, and the nodes of the next step. If the current nodes are larger than the quadrant, the next node is the child
 * that contains the quadrant. Otherwise the next nodes are all children of the current nodes.
 */
function lookAt(
  table: ArrayValue<'u32'>,
  { lo, hi, level }: ValuesOfFields<typeof place>,
  { from, to, shift }: ValuesOfFields<typeof siblings>,
) {
  const own = u32(DOMAIN_BITS).sub(level);
  const first = nodeOf(table, from);
  const last = nodeBeside(table, first, from, to.sub(1));
  const code = shrU64({ a: { lo, hi }, count: shift.sub(1).sub(own).shl(1) });
  const child = code.lo.and(3);
  const holding = first.firstChild.add(popcount(first.children.and(u32(1).shl(child).sub(1))));
  const isAbove = shift.gt(own);
  const next = {
    from: select(first.firstChild, holding, isAbove),
    to: select(last.firstChild.add(popcount(last.children)), holding.add(1), isAbove),
    shift: shift.sub(1),
  };
  const hasNext = select(next.from.lt(next.to), first.children.shr(child).and(1).eq(1), isAbove);
  return {
    first: first.firstEntry,
    count: last.firstEntry.add(last.entryCount).sub(first.firstEntry),
    next,
    more: hasNext.and(shift.gt(0)),
  };
}

const fromRoot = fn('fromRoot', { row: u32 }, siblings, () => ({ from: 0, to: 1, shift: DOMAIN_BITS }));

const nextSegment = fn(
  'nextSegment',
  { ...place, row: u32, ...siblings, table: array(u32) },
  { more: bool, emits: bool, state: siblings, value: { row: u32, first: u32, count: u32, shift: u32 } },
  ({ lo, hi, level, row, table, ...at }) => {
    const { first, count, next, more } = lookAt(table, { lo, hi, level }, at);
    return { more, emits: count.gt(0), state: next, value: { row, first, count, shift: at.shift } };
  },
);

const entryAt = fn(
  'entryAt',
  { row: u32, first: u32, shift: u32, rank: u32 },
  { row: u32, entry: u32, shift: u32 },
  ({ row, first, shift, rank }) => ({ row, entry: first.add(rank), shift }),
);
