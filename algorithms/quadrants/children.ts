import type { Memory } from '../../primitives/columns/column.ts';
import { scaleLength } from '../../primitives/columns/length.ts';
import {
  type ArgumentsOf,
  array,
  type Bool,
  bool,
  type Column,
  type Context,
  constant,
  fn,
  type Monoid,
  map,
  monoid,
  popcount,
  reduceByKey,
  scatterReduce,
  select,
  sequence,
  type U32,
  u32,
  uniform,
} from '../../primitives/index.ts';
import { scanResults } from '../../primitives/rows/row-results.ts';
import { countIn } from '../../primitives/scan.ts';
import { FLIPS, PASSES } from './edge-in-quadrant.ts';
import { childPlace, type OpenQuadrants, packQuadrant, type Quadrant, quadrantArrays } from './open-quadrants.ts';

/**
 * Number of bits of a child's index in its quadrant: 2 if quadrants are split into four children, 0 if the only child
 * is the quadrant itself.
 */
export type ChildBits = 0 | 2;

/** Kinds of children: dropped, settled inside a polygon, settled on a boundary, or to be split further. */
const NOTHING = 0;
const INSIDE = 1;
const BOUNDARY = 2;
const OPEN = 3;

/**
 * The children of quadrants, sorted by what happens to them. The index of a child is the index of its quadrant,
 * followed by 2 bits for the child.
 */
export interface SortedChildren {
  /** For each quadrant, the combined effect of all its edges, as bits. */
  readonly marks: Column<'u32'>;
  /**
   * The rank of each child among the children that are split further or, if it is settled, among the settled children.
   */
  readonly rank: Column<'u32'>;
  /**
   * Indices of the children that are split further. `settled` has the indices of the settled children. The lengths of
   * both lists are known only on the device.
   */
  readonly goesOn: Column<'u32'>;
  readonly settled: Column<'u32'>;
}

/**
 * Sorts the children of quadrants into three kinds: split further, settled, and dropped.
 *
 * @param edges - For every passage of an edge through a quadrant: the index of the quadrant, and `look`, the effect of
 * the edge in the quadrant as bits.
 * @param min - Quadrants with a side of 2^min steps are not split.
 * @param counts - The number of children that are split further is written to the first word, and the number of settled
 * children to the second.
 */
export function sortChildren(
  context: Context,
  open: OpenQuadrants,
  edges: { readonly quadrant: Column<'u32'>; readonly look: Column<'u32'> },
  bits: ChildBits,
  min: number,
  counts: Memory,
): SortedChildren {
  return context.scope(() => {
    const marks = markQuadrants(context, edges.quadrant, edges.look, open.column.length);
    const child = sequence(scaleLength(context, open.column.length, 2 ** bits));
    const from = { columns: open.column, rows: open.row, marks, bits };
    const kind = context.materialize(map(kindOf, { child, ...from, min }));
    return { marks, ...rankChildren(context, kind, counts) };
  });
}

/**
 * Combines the effects of edges in the same quadrant. Takes the OR of the bits for children that an edge passes
 * through, and the XOR of the bits for pairs of corners that an edge separates.
 */
const together: Monoid<typeof u32> = monoid({
  of: u32,
  identity: 0,
  combine: ({ a, b }) => a.or(b).and(PASSES).or(a.xor(b).and(FLIPS)),
  name: 'together',
});

const masked = fn('masked', { bits: u32, mask: uniform(u32) }, u32, ({ bits, mask }) => bits.and(mask));

/**
 * Combines the effects of all edges in each quadrant. Combines adjacent rows first, because the edges of a large
 * polygon in a quadrant often follow each other.
 */
function markQuadrants(
  context: Context,
  quadrant: Column<'u32'>,
  look: Column<'u32'>,
  count: Column['length'],
): Column<'u32'> {
  const marks = context.materialize(constant(u32, 0, count));
  const { keys, values } = reduceByKey(quadrant, look, together);
  scatterReduce(map(masked, { bits: values, mask: PASSES }), keys, 'or', marks);
  scatterReduce(map(masked, { bits: values, mask: FLIPS }), keys, 'xor', marks);
  return marks;
}

const goesOn = fn('goesOn', { kind: u32 }, bool, ({ kind }) => kind.eq(OPEN));

const settles = fn('settles', { kind: u32 }, bool, ({ kind }) => kind.eq(INSIDE).or(kind.eq(BOUNDARY)));

/** Adds two counts in one monoid, so that one scan ranks both kinds of children. */
export const BOTH: Monoid<{ readonly goesOn: typeof u32; readonly settled: typeof u32 }> = monoid({
  of: { goesOn: u32, settled: u32 },
  identity: { goesOn: 0, settled: 0 },
  combine: ({ a, b }) => ({ goesOn: a.goesOn.add(b.goesOn), settled: a.settled.add(b.settled) }),
  commutative: true,
  name: 'both',
});

/** Ranks and lists the children that are split further, and those that are settled, in one pass. */
function rankChildren(context: Context, kind: Column<'u32'>, counts: Memory): Omit<SortedChildren, 'marks'> {
  const rank = context.stored('u32', kind.length);
  const [open, settled] = [0, 1].map((word) => context.stored('u32', countIn(counts, word, kind.capacity)));
  const flags = [map(goesOn, { kind }), map(settles, { kind })];
  scanResults('rankChildren', {
    context,
    length: kind.length,
    monoid: BOTH,
    element: (index, loader) => loader.load(flags, index).map((flag) => u32(flag)),
    emit: (index, [opens, leaves], _, loader) => {
      const [isOpen, isSettled] = loader.load(flags, index) as [Bool, Bool];
      return [select(leaves as U32, opens as U32, isOpen), isOpen, opens!, isSettled, leaves!, index];
    },
    emitted: ['u32', 'bool', 'u32', 'bool', 'u32', 'u32'],
    stores: [
      { to: rank, value: 0 },
      { to: open!, guard: 1, index: 2, value: 5 },
      { to: settled!, guard: 3, index: 4, value: 5 },
    ],
    total: counts,
  });
  return { rank, goesOn: open!, settled: settled! };
}

const parents = { ...quadrantArrays, marks: array(u32), bits: uniform(u32) } as const;

/** Unpacks a child. `passed` is 1 if edges pass through the child, else 0. */
function childOf(
  child: U32,
  { columns, rows, marks, bits }: ArgumentsOf<typeof parents>,
): Quadrant & { readonly passed: U32 } {
  const { parent, number, parity, ...place } = childPlace(child, bits, columns, rows);
  const mark = marks.at(parent);
  // Selects the bits for the path from the quadrant's corner to the child's corner; see `edge-in-quadrant.ts`.
  const way = select(number.add(number.and(number.shr(1)).mul(3)), u32(1), bits.eq(0));
  return {
    ...place,
    parity: parity.xor(popcount(mark.shr(4).and(way)).and(1)),
    passed: mark.shr(number).and(1),
  };
}

const kindOf = fn('kindOf', { child: u32, ...parents, min: uniform(u32) }, u32, ({ child, min, ...from }) => {
  const { shift, parity, passed } = childOf(child, from);
  return select(
    select(u32(NOTHING), u32(INSIDE), parity.eq(1)),
    select(u32(BOUNDARY), u32(OPEN), shift.gt(min)),
    passed.eq(1),
  );
});

const packedChild = fn(
  'packedChild',
  { child: u32, ...parents, owners: array(u32) },
  { column: u32, row: u32, owner: u32, boundary: u32 },
  ({ child, owners, ...from }) => {
    const { passed, ...place } = childOf(child, from);
    return { ...packQuadrant(place), owner: owners.at(child.shr(from.bits)), boundary: passed };
  },
);

/** The children with the given indices, and whether edges pass through each of them, as a view. */
export function childrenOf(
  { column, row, owner }: OpenQuadrants,
  marks: Column<'u32'>,
  child: Column<'u32'>,
  bits: ChildBits,
): OpenQuadrants & { readonly boundary: Column<'u32'> } {
  return map(packedChild, { child, columns: column, rows: row, marks, bits, owners: owner });
}
