import {
  array,
  bool,
  type Column,
  type Context,
  copyIf,
  ctz,
  exclusiveScan,
  expand,
  fn,
  gather,
  lowerBound,
  type Monoid,
  map,
  monoid,
  plus,
  popcount,
  reduceByKey,
  scatterReduce,
  select,
  sequence,
  sortByKey,
  type U32,
  u32,
  uniform,
} from '../../primitives/index.ts';
import { edgesInQuadrants, FLIPS, PASSES } from '../quadrants/edge-in-quadrant.ts';
import { BOTH, cellArrays, cellAt, edgeOfItem, type Front, regionOfItem } from './cells.ts';

/** The cells with more edges than `most`, which are not decided yet ... */
export async function largeCells(
  context: Context,
  { cells, items }: Front,
  most: number,
  overlaps: Column<'u32'>,
): Promise<Front> {
  const made = context.scope(() => {
    const { capacity, length } = cells.column;
    const firsts = context.materialize(lowerBound(items.cell, sequence(capacity + 1)));
    const large = context.materialize(
      map(isLarge, { cell: sequence(length), column: cells.column, pair: cells.pair, firsts, overlaps, most }),
    );
    const kept = map(flagAt, { cell: items.cell, flags: large });
    const numbers = exclusiveScan(large, plus(u32));
    return {
      cells: copyIf({ ...cells }, map(isSet, { flag: large })),
      items: copyIf({ cell: gather(numbers, items.cell), item: items.item }, kept),
    };
  });
  try {
    const [cellCount, itemCount] = await Promise.all([context.count(made.cells), context.count(made.items)]);
    return context.scope(() => ({
      cells: context.materialize(gather(made.cells, sequence(cellCount))),
      items: context.materialize(gather(made.items, sequence(itemCount))),
    }));
  } finally {
    context.dispose(made);
  }
}

const isLarge = fn(
  'isLarge',
  { cell: u32, column: u32, pair: u32, firsts: array(u32), overlaps: array(u32), most: uniform(u32) },
  u32,
  ({ cell, column, pair, firsts, overlaps, most }) => {
    const count = firsts.at(cell.add(1)).sub(firsts.at(cell));
    return u32(count.gt(most).and(ctz(column).gt(0)).and(overlaps.at(pair).eq(0)));
  },
);
const flagAt = fn('flagAt', { cell: u32, flags: array(u32) }, bool, ({ cell, flags }) => flags.at(cell).ne(0));
const isSet = fn('isSet', { flag: u32 }, bool, ({ flag }) => flag.ne(0));

export async function splitCells(
  context: Context,
  { cells, items }: Front,
  ends: Column<'i32'>,
  overlaps: Column<'u32'>,
): Promise<Front> {
  const count = cells.column.length as number;
  const children = sequence(4 * count);
  const made = context.scope(() => {
    const places = { column: cells.column, row: context.materialize(map(rowOnly, { row: cells.row })) };
    const passages = { quadrant: items.cell, edge: map(edgeIn, { item: items.item }) };
    const look = context.materialize(edgesInQuadrants(passages, { ends }, places));
    const byRegion = map(inRegion, { look, item: items.item });
    const { values: marks } = reduceByKey(items.cell, byRegion, together);
    const parents = { columns: cells.column, rows: cells.row, marks };
    const child = context.materialize(map(childAt, { child: children, ...parents, pairs: cells.pair }));
    scatterReduce(map(isKind, { kind: child.kind, wanted: DECIDED }), child.pair, 'or', overlaps);
    const opens = context.materialize(map(isOpen, { kind: child.kind, pair: child.pair, overlaps }));
    const { kind: _, ...open } = child;
    return {
      cells: copyIf(open, map(isSet, { flag: opens })),
      numbers: exclusiveScan(opens, plus(u32)),
      passes: context.materialize(map(openPasses, { cell: items.cell, look, opens })),
    };
  });
  try {
    const { numbers, passes } = made;
    const [cellCount, passed] = await Promise.all([
      context.count(made.cells),
      expand({ ...items, passes }, map(passCount, { passes }), passOn, { captures: { numbers } }),
    ]);
    return context.scope(() => {
      const next = context.materialize(gather(made.cells, sequence(cellCount)));
      const bits = { from: 0, to: Math.max(1, Math.ceil(Math.log2(cellCount))) };
      const sorted = sortByKey(passed.cell, { item: passed.item }, { bits });
      context.dispose(passed);
      return { cells: next, items: { cell: sorted.keys, item: sorted.values.item } };
    });
  } finally {
    context.dispose(made);
  }
}

const rowOnly = fn('rowOnly', { row: u32 }, u32, ({ row }) => row.and(2 ** 30 - 1));
const edgeIn = fn('edgeIn', { item: u32 }, u32, ({ item }) => edgeOfItem(item));

/** What edges of p do stands in the low byte, what edges of q do in the next. */
const inRegion = fn('inRegion', { look: u32, item: u32 }, u32, ({ look, item }) =>
  look.shl(regionOfItem(item).sub(1).mul(8)),
);

const BOTH_PASSES = PASSES * 0x101;
const BOTH_FLIPS = FLIPS * 0x101;
const together: Monoid<typeof u32> = monoid({
  of: u32,
  identity: 0,
  combine: ({ a, b }) => a.or(b).and(BOTH_PASSES).or(a.xor(b).and(BOTH_FLIPS)),
  name: 'togetherByRegion',
});

const NOTHING = 0;
const DECIDED = 1;
const OPEN = 2;

const childAt = fn(
  'childAt',
  { child: u32, ...cellArrays, marks: array(u32), pairs: array(u32) },
  { column: u32, row: u32, pair: u32, kind: u32 },
  ({ child, columns, rows, marks, pairs }) => {
    const parent = child.shr(2);
    const number = child.and(3);
    const { x, y, shift, corner } = cellAt(columns, rows, parent);
    const mark = marks.at(parent);
    const half = shift.sub(1);
    const way = number.add(number.and(number.shr(1)).mul(3));
    const flips = (of: U32): U32 => popcount(of.shr(4).and(way)).and(1);
    const passed = (of: U32): U32 => of.shr(number).and(1);
    const state = corner.xor(flips(mark).or(flips(mark.shr(8)).shl(1)));
    const there = state.or(passed(mark)).or(passed(mark.shr(8)).shl(1));
    return {
      column: x.add(number.and(1).shl(half)).shl(1).or(u32(1).shl(half)),
      row: y.add(number.shr(1).shl(half)).or(state.shl(30)),
      pair: pairs.at(parent),
      kind: select(select(u32(NOTHING), OPEN, there.eq(BOTH)), DECIDED, state.eq(BOTH)),
    };
  },
);

const isKind = fn('isKind', { kind: u32, wanted: uniform(u32) }, u32, ({ kind, wanted }) => u32(kind.eq(wanted)));

const isOpen = fn('isOpen', { kind: u32, pair: u32, overlaps: array(u32) }, u32, ({ kind, pair, overlaps }) =>
  u32(kind.eq(OPEN).and(overlaps.at(pair).eq(0))),
);

const openPasses = fn('openPasses', { cell: u32, look: u32, opens: array(u32) }, u32, ({ cell, look, opens }) => {
  const open = [0, 1, 2, 3].map((number) => opens.at(cell.shl(2).add(number)).shl(number));
  return look.and(open.reduce((mask, bit) => mask.or(bit)));
});

const passCount = fn('passCount', { passes: u32 }, u32, ({ passes }) => popcount(passes));

const passOn = fn(
  'passOn',
  { cell: u32, item: u32, passes: u32, rank: u32, numbers: array(u32) },
  { cell: u32, item: u32 },
  ({ cell, item, passes, rank, numbers }) => {
    const left = [passes];
    for (let k = 0; k < 3; k++) left.push(left[k]!.and(left[k]!.sub(1)));
    const nth = left.slice(1).reduce((found, rest, k) => select(found, rest, rank.gt(k)), passes);
    return { cell: numbers.at(cell.shl(2).add(ctz(nth))), item };
  },
);
