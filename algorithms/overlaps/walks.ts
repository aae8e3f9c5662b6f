import {
  type ArgumentsOf,
  array,
  type Bool,
  bitsToI32,
  bool,
  type Column,
  type Context,
  constant,
  For,
  fn,
  If,
  i32,
  lowerBound,
  map,
  scatterReduce,
  sequence,
  type U32,
  u32,
  uniform,
  Var,
  While,
} from '../../primitives/index.ts';
import { cellArrays, cellAt, type Front } from './cells.ts';
import { type Line, lineAt, linesOf } from './lines.ts';
import { type OverlapCell, overlapsAlong } from './walk.ts';

/**
 * States of a cell, as bits: `FOUND` if the regions overlap, `APART` if they do not, `WAITS` if the children replace
 * the cell. Undecided cells have 0.
 */
const FOUND = 1;
const APART = 2;
const WAITS = 4;

/**
 * Data for the walks of a front (cells that are processed together): the index of the first edge of each cell, the
 * lines of all edges, and the states of the cells.
 */
export interface Walks {
  readonly firsts: Column<'u32'>;
  readonly lines: Column<'i32'>;
  readonly outcomes: Column<'u32'>;
}

/** Prepares the walks of a front, with all cells undecided. */
export function prepareWalks(context: Context, front: Front, ends: Column<'i32'>): Walks {
  const { column } = front.cells;
  return {
    firsts: context.materialize(lowerBound(front.items.cell, sequence(column.capacity + 1))),
    lines: context.materialize(linesOf(front, ends)),
    outcomes: context.materialize(constant(u32, 0, column.length)),
  };
}

/** Maximum number of edges of a cell that is examined in the turn 'first' of {@link walk}. */
const FEW = 64;

/**
 * Decides cells, and marks the pairs that overlap. A decision takes two turns:
 *
 * - 'first' decides most cells with few edges. It checks whether each region is the complement of the other. Then it
 *   walks along the bottom and along two edges, the first of p and the last of q;
 * - 'rest' makes all other walks in cells that are still undecided.
 *
 * Work O(Σ n² + n · c) for the n edges of every cell and c crossings per walk; span O(n · c) for the cell with the
 * largest n · c.
 */
export function walk(
  context: Context,
  { cells, items }: Front,
  { firsts, lines, outcomes }: Walks,
  turn: 'first' | 'rest',
  overlaps: Column<'u32'>,
): void {
  const tables = {
    columns: cells.column,
    rows: cells.row,
    firsts,
    items: items.item,
    lines,
    isFirstTurn: turn === 'first',
  };
  const cell = sequence(cells.column.length);
  const decided = context.materialize(map(alongBottom, { cell, outcome: outcomes, ...tables }));
  scatterReduce(decided, cell, 'or', outcomes);
  const rows = { cell: items.cell, index: sequence(items.cell.length) };
  const found = context.materialize(map(alongEdge, { ...rows, outcomes, ...tables }));
  scatterReduce(found, items.cell, 'or', outcomes);
  scatterReduce(map(isFound, { outcome: outcomes }), cells.pair, 'or', overlaps);
}

/** Marks the cells whose flag is 1 as replaced by their children. */
export function leaveToChildren({ outcomes }: Walks, flags: Column<'u32'>, cells: Column<'u32'>): void {
  scatterReduce(map(waiting, { flag: flags }), cells, 'or', outcomes);
}

const waiting = fn('waiting', { flag: u32 }, u32, ({ flag }) => flag.mul(WAITS));

const tables = {
  ...cellArrays,
  firsts: array(u32),
  items: array(u32),
  lines: array(i32),
  isFirstTurn: uniform(bool),
} as const;

const alongBottom = fn(
  'alongBottom',
  { cell: u32, outcome: u32, ...tables },
  u32,
  ({ cell: number, outcome, ...arrays }) => {
    const { isFirstTurn } = arrays;
    const cell = cellOf(number, arrays);
    const decided = Var(u32(0));
    If(outcome.eq(0).and(hasFew(cell).eq(isFirstTurn)), () => {
      If(isFirstTurn.and(complete(cell, arrays)), () => decided.set(u32(APART))).Else(() =>
        decided.set(overlapsAlong({ ax: i32(0), ay: i32(0), dx: cell.side, dy: i32(0) }, cell, arrays)),
      );
    });
    return decided;
  },
);

function hasFew({ first, end }: OverlapCell): Bool {
  return end.sub(first).le(FEW);
}

/**
 * Whether each region is the complement of the other in a cell, as for neighbours that share all their edges. In this
 * case, exactly one region contains the corner, and every edge occurs an even number of times.
 */
function complete({ corner, first, end }: OverlapCell, { lines }: ArgumentsOf<typeof tables>): Bool {
  const found = Var(corner.eq(1).or(corner.eq(2)));
  const next = Var(first);
  While(
    () => found.and(next.lt(end)),
    () => {
      const line = lineAt(lines, next);
      For(first, end, (i) => {
        const other = lineAt(lines, i);
        found.set(found.ne(isSame(line, other)));
      });
      next.set(next.add(1));
    },
  );
  return found;
}

function isSame(a: Line, b: Line): Bool {
  const startsAlike = a.ax.eq(b.ax).and(a.ay.eq(b.ay));
  return startsAlike.and(a.dx.eq(b.dx)).and(a.dy.eq(b.dy));
}

const alongEdge = fn(
  'alongEdge',
  { cell: u32, index: u32, outcomes: array(u32), ...tables },
  u32,
  ({ cell: number, index, outcomes, ...arrays }) => {
    const found = Var(u32(0));
    const cell = cellOf(number, arrays);
    const isFirst = hasFew(cell).and(index.eq(cell.first).or(index.add(1).eq(cell.end)));
    If(outcomes.at(number).eq(0).and(isFirst.eq(arrays.isFirstTurn)), () => {
      const line = lineAt(arrays.lines, index);
      If(line.dx.gt(0), () => found.set(overlapsAlong(line, cell, arrays)));
    });
    return found;
  },
);

const isFound = fn('isFound', { outcome: u32 }, u32, ({ outcome }) => outcome.and(FOUND));

function cellOf(number: U32, { columns, rows, firsts }: ArgumentsOf<typeof tables>): OverlapCell {
  const { shift, corner } = cellAt(columns, rows, number);
  const side = bitsToI32(u32(1).shl(shift));
  return { side, corner, first: firsts.at(number), end: firsts.at(number.add(1)) };
}
