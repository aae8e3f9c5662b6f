import {
  type ArrayValue,
  array,
  Break,
  type Column,
  type Context,
  expand,
  fn,
  gather,
  If,
  map,
  mortonDecode64,
  popcount,
  sequence,
  type U32,
  u32,
  Var,
  While,
} from '../../primitives/index.ts';
import type { MaqTree } from '../maq-tree/index.ts';
import { DOMAIN_BITS, type Quadrants } from '../quadrants/index.ts';
import { goDown, type NodeTable, nodeOf, tableOfNodes } from './node-table.ts';

/** Pairs of a row of quadrants and an entry of a tree of which one's quadrant holds the other's; ascending by row. */
export interface SharedQuadrants {
  readonly row: Column<'u32'>;
  readonly entry: Column<'u32'>;
  /** The entry's quadrant has a side of 2^shift steps. */
  readonly shift: Column<'u32'>;
}

/**
 * Finds all entries of a tree that share area with quadrants, and hands them on in parts of consecutive rows with at most
 * `capacity` pairs, or one row.
 *
 * The entries of the nodes above a quadrant, and on every level those of the nodes in it, stand side by side: from the root
 * down to the quadrant, and from there by the first child of the first node and the last of the last.
 *
 * - Work O(quadrants · levels + pairs), span O(levels + log pairs). Waits once for all, and twice a part.
 * - The same pairs in the same order on every backend, whatever the capacity.
 *
 * Source: Zhang, You and Gruenwald, Data Parallel Quadtree Indexing and Spatial Query Processing of Complex Polygon Data on
 * GPUs, 2014, section 4.3.2, where quadrants of a query go down breadth first like windows.
 */
export async function shareQuadrants(
  context: Context,
  tree: MaqTree,
  { code, level }: Quadrants,
  capacity: number,
  take: (part: SharedQuadrants) => Promise<void>,
): Promise<void> {
  const table = context.scope(() => tableOfNodes(context, tree.nodes));
  try {
    const places = { lo: code.lo, hi: code.hi, level };
    const counts = await context.read(map(pairCount, { ...places, table }));
    for (const [from, to] of partsWithin(counts, capacity)) {
      const row = sequence(to - from, from);
      const pairs = await sharedBy(context, table, { ...gather(places, row), row });
      try {
        await take(pairs);
      } finally {
        context.dispose(pairs);
      }
    }
  } finally {
    context.dispose(table);
  }
}

/** Runs of rows that have no more pairs than the capacity, or are one row; an empty one where there are no rows. */
function* partsWithin(counts: Uint32Array, capacity: number): Generator<[from: number, to: number]> {
  let [from, sum] = [0, 0];
  for (let row = 0; row < counts.length; row++) {
    if (row > from && sum + counts[row]! > capacity) {
      yield [from, row];
      [from, sum] = [row, 0];
    }
    sum += counts[row]!;
  }
  yield [from, counts.length];
}

interface PlacedRows {
  readonly lo: Column<'u32'>;
  readonly hi: Column<'u32'>;
  readonly level: Column<'u32'>;
  readonly row: Column<'u32'>;
}

async function sharedBy(context: Context, table: NodeTable, rows: PlacedRows): Promise<SharedQuadrants> {
  const { row: _, ...places } = rows;
  const segments = await expand({ ...rows }, map(segmentCount, { ...places, table }), segmentAt, {
    captures: { table },
  });
  try {
    const { count, ...firsts } = segments;
    return await expand(firsts, count, entryAt);
  } finally {
    context.dispose(segments);
  }
}

const placeFields = { lo: u32, hi: u32, level: u32 } as const;

interface Place {
  readonly lo: U32;
  readonly hi: U32;
  readonly level: U32;
}

/**
 * Visits the entries that share area with a quadrant, so many from a first on, with the side of their quadrants: those of each
 * node above it, and all together those of its own level and of each level below.
 */
function visitSegments(
  table: ArrayValue<'u32'>,
  { lo, hi, level }: Place,
  visit: (first: U32, count: U32, shift: U32) => void,
): void {
  const own = u32(DOMAIN_BITS).sub(level);
  const { x: column, y: row } = mortonDecode64({ code: { lo, hi } });
  const [from, to] = [Var(u32(0)), Var(u32(0))];
  goDown(table, { x: column.shl(own), y: row.shl(own) }, (node, number, shift) => {
    If(shift.eq(own), () => {
      from.set(number);
      to.set(number.add(1));
      Break();
    });
    visit(node.firstEntry, node.entryCount, shift);
  });
  const shift = Var(own);
  While(
    () => from.lt(to).and(shift.le(own)),
    () => {
      const [first, last] = [nodeOf(table, from), nodeOf(table, to.sub(1))];
      visit(first.firstEntry, last.firstEntry.add(last.entryCount).sub(first.firstEntry), shift);
      from.set(first.firstChild);
      to.set(last.firstChild.add(popcount(last.children)));
      shift.set(shift.sub(1));
    },
  );
}

/** Pairs of a quadrant; 2³² − 1 where they are more. */
const pairCount = fn('pairCount', { ...placeFields, table: array(u32) }, u32, ({ table, ...place }) => {
  const total = Var(u32(0));
  visitSegments(table, place, (_, count) => {
    const sum = total.add(count);
    If(sum.lt(count), () => total.set(2 ** 32 - 1)).Else(() => total.set(sum));
  });
  return total;
});

const segmentCount = fn('segmentCount', { ...placeFields, table: array(u32) }, u32, ({ table, ...place }) => {
  const total = Var(u32(0));
  visitSegments(table, place, (_, count) => total.set(total.add(count.min(1))));
  return total;
});

const segmentAt = fn(
  'segmentAt',
  { ...placeFields, row: u32, rank: u32, table: array(u32) },
  { row: u32, first: u32, count: u32, shift: u32 },
  ({ row, rank, table, ...place }) => {
    const [left, found] = [Var(rank), { first: Var(u32(0)), count: Var(u32(0)), shift: Var(u32(0)) }];
    visitSegments(table, place, (first, count, shift) => {
      If(left.eq(0).and(count.gt(0)), () => {
        found.first.set(first);
        found.count.set(count);
        found.shift.set(shift);
      });
      left.set(left.sub(count.min(1)));
    });
    return { row, ...found };
  },
);

const entryAt = fn(
  'entryAt',
  { row: u32, first: u32, shift: u32, rank: u32 },
  { row: u32, entry: u32, shift: u32 },
  ({ row, first, shift, rank }) => ({ row, entry: first.add(rank), shift }),
);
