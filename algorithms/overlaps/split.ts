import {
  array,
  type Column,
  type Context,
  copyIf,
  ctz,
  exclusiveScan,
  expand,
  type F32,
  f32,
  fn,
  gather,
  lowerBound,
  type Monoid,
  map,
  monoid,
  plus,
  popcount,
  product,
  reduceByKey,
  scatterReduce,
  select,
  sequence,
  sortByKey,
  type U32,
  u32,
  uniform,
} from '../../primitives/index.ts';
import { allOrNone, freeOnFailure } from '../free-on-failure.ts';
import { bitsUpTo } from '../order-rows.ts';
import { isSet } from '../plain-functors.ts';
import { edgesInQuadrants, FLIPS, PASSES } from '../quadrants/edge-in-quadrant.ts';
import { BOTH, cellArrays, cellAt, edgeOfItem, type Front, packCell, regionOfItem } from './cells.ts';
import { leaveToChildren, type Walks, walk } from './walks.ts';

/**
 * The cells that have many edges, selected from a front (cells that are processed together). `number` is the index of
 * each selected cell in the front.
 */
export interface CrowdedCells extends Front {
  readonly number: Column<'u32'>;
}

/**
 * Selects the cells that can be split, have more than `max` edges, and belong to a pair that is not known to overlap.
 * Waits for the device once.
 */
export async function crowdedCells(
  context: Context,
  { cells, items }: Front,
  { firsts, outcomes }: Walks,
  max: number,
  overlaps: Column<'u32'>,
): Promise<CrowdedCells> {
  const made = context.scope(() => {
    const number = sequence(cells.column.length);
    const rows = { number, column: cells.column, pair: cells.pair, outcome: outcomes };
    const crowded = context.materialize(map(isCrowded, { ...rows, firsts, overlaps, max }));
    const numbers = exclusiveScan(crowded, plus(u32));
    const renumbered = { cell: gather(numbers, items.cell), item: items.item };
    return {
      cells: copyIf({ ...cells, number }, map(isSet, { flag: crowded })),
      items: copyIf(renumbered, map(isSet, { flag: gather(crowded, items.cell) })),
    };
  });
  try {
    const [cellCount, itemCount] = await Promise.all([context.count(made.cells), context.count(made.items)]);
    return context.scope(() => {
      const { number, ...places } = context.materialize(gather(made.cells, sequence(cellCount)));
      return { cells: places, number, items: context.materialize(gather(made.items, sequence(itemCount))) };
    });
  } finally {
    context.dispose(made);
  }
}

const isCrowded = fn(
  'isCrowded',
  { number: u32, column: u32, pair: u32, outcome: u32, firsts: array(u32), overlaps: array(u32), max: uniform(u32) },
  u32,
  ({ number, column, pair, outcome, firsts, overlaps, max }) => {
    const count = firsts.at(number.add(1)).sub(firsts.at(number));
    const isOpen = outcome.or(overlaps.at(pair)).eq(0);
    return u32(isOpen.and(count.gt(max)).and(ctz(column).gt(0)));
  },
);

/**
 * Decides the cells of a front, except crowded cells for which splitting pays. These crowded cells are split, and the
 * result contains their children, except children that are decided by their corners alone. Waits for the device once.
 *
 * Walks along the n edges of a cell take about n² steps. A cell is split if n², summed over its undecided children, is
 * at most half of n² for the cell itself, or if these children together have at most n edges. Cells whose edges run
 * along each other or meet in one point are not split, because their children are just as crowded. So splitting never
 * increases the work.
 */
export async function splitCells(
  context: Context,
  front: Front,
  walks: Walks,
  crowded: CrowdedCells,
  ends: Column<'i32'>,
  overlaps: Column<'u32'>,
): Promise<Front> {
  const made = context.scope(() => {
    const { cell, item } = crowded.items;
    const look = context.materialize(looksOf(context, crowded, ends));
    const children = context.materialize(childrenOf(crowded, look));
    const { kind, pair, ...places } = children;
    scatterReduce(map(isKind, { kind, wanted: DECIDED }), pair, 'or', overlaps);
    const open = context.materialize(map(isKind, { kind, wanted: OPEN }));
    const splits = context.materialize(whereSplitPays(context, crowded, map(openPasses, { cell, look, open })));
    leaveToChildren(walks, splits, crowded.number);
    walk(context, front, walks, 'rest', overlaps);
    const goesOn = context.materialize(map(isToGoOn, { child: sequence(open.length), open, pair, splits, overlaps }));
    return {
      cells: copyIf({ ...places, pair }, map(isSet, { flag: goesOn })),
      numbers: exclusiveScan(goesOn, plus(u32)),
      items: { cell, item, passes: context.materialize(map(openPasses, { cell, look, open: goesOn })) },
    };
  });
  try {
    const { cells, numbers, items } = made;
    const [cellCount, passed] = await allOrNone(context, [
      context.count(cells),
      expand(items, map(passCount, { passes: items.passes }), passOn, { captures: { numbers } }),
    ]);
    return freeOnFailure(context, passed, () =>
      context.scope(() => {
        const places = context.materialize(gather(cells, sequence(cellCount)));
        const sorted = sortByKey(passed.cell, passed.item, { bits: { from: 0, to: Math.max(1, bitsUpTo(cellCount)) } });
        context.dispose(passed);
        return { cells: places, items: { cell: sorted.keys, item: sorted.values } };
      }),
    );
  } finally {
    const { cells, numbers, items } = made;
    context.dispose(cells, numbers, items.passes);
  }
}

/**
 * For each edge of each cell, bits that tell which children of the cell the edge passes through, and which corners of
 * the children the edge separates. See `edge-in-quadrant.ts`.
 */
function looksOf(context: Context, { cells, items }: Front, ends: Column<'i32'>): Column<'u32'> {
  const row = context.materialize(map(rowOf, { row: cells.row }));
  const passages = { quadrant: items.cell, edge: map(edgeOf, { item: items.item }) };
  return edgesInQuadrants(passages, { ends }, { column: cells.column, row });
}

const rowOf = fn('rowOf', { row: u32 }, u32, ({ row }) => edgeOfItem(row));
const edgeOf = fn('edgeOf', { item: u32 }, u32, ({ item }) => edgeOfItem(item));

/**
 * States of a child cell: `NOTHING` if it is not in both regions, `DECIDED` if the regions certainly overlap in it,
 * else `OPEN`.
 */
const NOTHING = 0;
const DECIDED = 1;
const OPEN = 2;

/**
 * Returns a view of the four children of each cell. Child x + 2y is in column x and row y (0 or 1), counted from the
 * lower left.
 */
function childrenOf({ cells, items }: Front, look: Column<'u32'>) {
  const { values } = reduceByKey(items.cell, map(inRegion, { look, item: items.item }), together);
  const parents = { columns: cells.column, rows: cells.row, marks: values, pairs: cells.pair };
  return map(childAt, { child: sequence(4 * (cells.column.length as number)), ...parents });
}

/** Shifts the bits of an edge (`look`) to the byte of its region: the low byte for p, the next byte for q. */
const inRegion = fn('inRegion', { look: u32, item: u32 }, u32, ({ look, item }) =>
  look.shl(regionOfItem(item).sub(1).mul(8)),
);

/**
 * Combines the bits of all edges of a cell, in a separate byte for each region: ORs the bits of children that edges
 * pass through, and XORs the bits of corners that edges separate.
 */
const together: Monoid<typeof u32> = monoid({
  of: u32,
  identity: 0,
  combine: ({ a, b }) =>
    a
      .or(b)
      .and(PASSES * 0x101)
      .or(a.xor(b).and(FLIPS * 0x101)),
  name: 'togetherByRegion',
});

const childAt = fn(
  'childAt',
  { child: u32, ...cellArrays, marks: array(u32), pairs: array(u32) },
  { column: u32, row: u32, pair: u32, kind: u32 },
  ({ child, columns, rows, marks, pairs }) => {
    const parent = child.shr(2);
    const number = child.and(3);
    const place = cellAt(columns, rows, parent);
    const mark = marks.at(parent);
    // Selects the `FLIPS` bits on the path from the cell's corner to the child's corner; see `edge-in-quadrant.ts`.
    const way = number.add(number.and(number.shr(1)).mul(3));
    const flips = (of: U32): U32 => popcount(of.shr(4).and(way)).and(1);
    const passed = (of: U32): U32 => of.shr(number).and(1);
    const ofBoth = (of: (mark: U32) => U32): U32 => of(mark).or(of(mark.shr(8)).shl(1));
    const corner = place.corner.xor(ofBoth(flips));
    const shift = place.shift.sub(1);
    const x = place.x.add(number.and(1).shl(shift));
    const y = place.y.add(number.shr(1).shl(shift));
    const isThere = corner.or(ofBoth(passed)).eq(BOTH);
    return {
      ...packCell({ x, y, shift, corner }),
      pair: pairs.at(parent),
      kind: select(select(u32(NOTHING), OPEN, isThere), DECIDED, corner.eq(BOTH)),
    };
  },
);

const isKind = fn('isKind', { kind: u32, wanted: uniform(u32) }, u32, ({ kind, wanted }) => u32(kind.eq(wanted)));

/** The undecided children that an edge passes through, as bits. */
const openPasses = fn('openPasses', { cell: u32, look: u32, open: array(u32) }, u32, ({ cell, look, open }) => {
  const bits = [0, 1, 2, 3].map((number) => open.at(cell.shl(2).add(number)).shl(number));
  return look.and(bits.reduce((all, bit) => all.or(bit)));
});

/**
 * Returns a view with 1 for each cell whose split pays, else 0. A split pays if the undecided children together have at
 * most as many edges as the cell. It also pays if the squares of these children's numbers of edges add up to at most
 * half of the square of the cell's number of edges.
 */
function whereSplitPays(context: Context, { cells, items }: Front, passes: Column<'u32'>): Column<'u32'> {
  const sum = plus(u32);
  const { values } = reduceByKey(items.cell, map(byChild, { passes }), product({ c0: sum, c1: sum, c2: sum, c3: sum }));
  const counts = context.materialize(values);
  const cell = sequence(cells.column.length);
  const firsts = context.materialize(lowerBound(items.cell, sequence((cells.column.length as number) + 1)));
  return map(pays, { cell, firsts, ...counts });
}

const byChild = fn('byChild', { passes: u32 }, { c0: u32, c1: u32, c2: u32, c3: u32 }, ({ passes }) => ({
  c0: passes.and(1),
  c1: passes.shr(1).and(1),
  c2: passes.shr(2).and(1),
  c3: passes.shr(3),
}));

const pays = fn(
  'splitPays',
  { cell: u32, firsts: array(u32), c0: array(u32), c1: array(u32), c2: array(u32), c3: array(u32) },
  u32,
  ({ cell, firsts, c0, c1, c2, c3 }) => {
    const own = firsts.at(cell.add(1)).sub(firsts.at(cell));
    const counts = [c0, c1, c2, c3].map((of) => of.at(cell));
    const square = (count: U32): F32 => f32(count).mul(f32(count));
    const squares = counts.map(square).reduce((sum, each) => sum.add(each));
    const total = counts.reduce((sum, each) => sum.add(each));
    return u32(squares.mul(2).le(square(own)).or(total.le(own)));
  },
);

const isToGoOn = fn(
  'isToGoOn',
  { child: u32, open: u32, pair: u32, splits: array(u32), overlaps: array(u32) },
  u32,
  ({ child, open, pair, splits, overlaps }) => open.and(splits.at(child.shr(2))).and(overlaps.at(pair).xor(1)),
);

const passCount = fn('passCount', { passes: u32 }, u32, ({ passes }) => popcount(passes));

const passOn = fn(
  'passOn',
  { cell: u32, item: u32, passes: u32, rank: u32, numbers: array(u32) },
  { cell: u32, item: u32 },
  ({ cell, item, passes, rank, numbers }) => {
    const left = [passes];
    for (let k = 0; k < 3; k++) left.push(left[k]!.and(left[k]!.sub(1)));
    const child = ctz(left.reduce((found, rest, k) => select(found, rest, rank.ge(k))));
    return { cell: numbers.at(cell.shl(2).add(child)), item };
  },
);
