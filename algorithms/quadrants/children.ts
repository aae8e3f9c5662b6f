import type { Memory } from '../../primitives/columns/column.ts';
import { scaleLength } from '../../primitives/columns/length.ts';
import {
  type ArrayValue,
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
import { scanResults } from '../../primitives/row-results.ts';
import { countIn } from '../../primitives/scan.ts';
import { FLIPS, PASSES } from './edge-in-quadrant.ts';
import { childPlace, type OpenQuadrants, packQuadrant, type Quadrant, quadrantArrays } from './open-quadrants.ts';

/** Bits of a child's index: 2 for four children, 0 for the quadrant itself. */
export type ChildBits = 0 | 2;

/** What happens to a child. */
const NOTHING = 0;
const INSIDE = 1;
const BOUNDARY = 2;
const OPEN = 3;

/** Children of quadrants. The index of a child is the index of its quadrant, followed by 2 bits for the child. */
export interface SortedChildren {
  /** The combined effect of all edges in each quadrant. */
  readonly marks: Column<'u32'>;
  /** The rank of each child among those that are split further, or among those that are settled. */
  readonly rank: Column<'u32'>;
  /** Children that are split further, and settled children. Only the device knows how many. */
  readonly goesOn: Column<'u32'>;
  readonly settled: Column<'u32'>;
}

/**
 * Sorts the children of quadrants into those that are split further, those that are settled, and the rest.
 *
 * @param quadrant - For every passage, the index of its quadrant, and `look`: the effect of the edge there.
 * @param min - Quadrants with a side of 2^min steps are not split.
 * @param counts - Its first two words receive the numbers of children that are split further and that are settled.
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

/** Combines the bits of edges in the same quadrant: passages by OR, flips by XOR. */
const together: Monoid<typeof u32> = monoid({
  of: u32,
  identity: 0,
  combine: ({ a, b }) => a.or(b).and(PASSES).or(a.xor(b).and(FLIPS)),
  name: 'together',
});

const masked = fn('masked', { bits: u32, mask: uniform(u32) }, u32, ({ bits, mask }) => bits.and(mask));

/**
 * Combines the effects of all edges in a quadrant. First combines neighbours, because large polygons have many edges in
 * a quadrant.
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

/** Adds two counts together. */
export const BOTH: Monoid<{ readonly goesOn: typeof u32; readonly settled: typeof u32 }> = monoid({
  of: { goesOn: u32, settled: u32 },
  identity: { goesOn: 0, settled: 0 },
  combine: ({ a, b }) => ({ goesOn: a.goesOn.add(b.goesOn), settled: a.settled.add(b.settled) }),
  commutative: true,
  name: 'both',
});

/** Ranks and lists the children that are split further and those that are settled, in one pass. */
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

interface Parents {
  readonly columns: ArrayValue<'u32'>;
  readonly rows: ArrayValue<'u32'>;
  readonly marks: ArrayValue<'u32'>;
  readonly bits: U32;
}

/** A child, with `passed` 1 if edges pass through it. */
function childOf(child: U32, { columns, rows, marks, bits }: Parents): Quadrant & { readonly passed: U32 } {
  const { parent, number, parity, ...place } = childPlace(child, bits, columns, rows);
  const mark = marks.at(parent);
  // The flips between the quadrant's corner and the child's corner; see `edge-in-quadrant.ts`.
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

/** Children by index, and whether edges pass through them, as a view. */
export function childrenOf(
  { column, row, owner }: OpenQuadrants,
  marks: Column<'u32'>,
  child: Column<'u32'>,
  bits: ChildBits,
): OpenQuadrants & { readonly boundary: Column<'u32'> } {
  return map(packedChild, { child, columns: column, rows: row, marks, bits, owners: owner });
}
