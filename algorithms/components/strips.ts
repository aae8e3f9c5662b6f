import {
  array,
  type Bool,
  Break,
  type Column,
  type Context,
  clz,
  constant,
  ctz,
  For,
  fn,
  forEachStrip,
  If,
  Let,
  type OwnedValue,
  owned,
  packBits,
  select,
  type U32,
  u32,
  uniform,
  Var,
  While,
} from '../../primitives/index.ts';
import { bitsOfRows, NO_COMPONENT } from './runs.ts';

/** Cells of a strip: their labels fit the cache of a core. */
const STRIP_CELLS = 2 ** 18;

/**
 * Labels components by strips of rows, for backends that run few strips at a time. The label of the first cell of a run
 * (of set cells in a row) is a link to an earlier run of its component, or to itself.
 *
 * The first step links the runs within each strip; one strip, as long as the grid, then links the runs on both sides of
 * the borders; and the last step writes labels, run by run. It needs no search: links that lead out of a strip lead to
 * the first cell of the component, and all others to a run that has its label already.
 */
export function labelsByStrips(
  context: Context,
  cells: Column<'bool'>,
  width: number,
  connectivity: 4 | 8,
  stripCells: number = STRIP_CELLS,
): Column<'u32'> {
  const bits = width % 32 === 0 ? packBits(cells, { context }) : bitsOfRows(context, cells, width);
  const rows = width * Math.max(1, Math.floor(stripCells / width));
  const captures = { bits, width, pitch: Math.ceil(width / 32), rows };
  const label = constant(u32, NO_COMPONENT, cells.length);
  const [within, between] = linking[connectivity];
  const steps = [{ rows, each: within }, { each: between }, { rows, each: writeLabels }];
  return forEachStrip({ label }, steps, { captures, context }).label;
}

/** A row of the grid in the packed words: the number of its first word, and that of its first cell. */
interface Row {
  readonly word: U32;
  readonly cell: U32;
}

/** The bits of a grid, and how many words and cells a row has. */
interface Grid {
  readonly bits: { at(index: U32): U32 };
  readonly width: U32;
  readonly pitch: U32;
}

const captured = { bits: array(u32), width: uniform(u32), pitch: uniform(u32) };
const linking = { 4: [linksWithin(4), linksBetween(4)], 8: [linksWithin(8), linksBetween(8)] } as const;

function linksWithin(connectivity: 4 | 8) {
  return fn(
    `linksWithin${connectivity}`,
    { first: u32, end: u32, label: owned(u32), ...captured },
    {},
    ({ first, end, label, ...grid }) => {
      forRows(grid, first, end, (row) => {
        forPairs(grid, row, row.cell.gt(first), connectivity, {
          // A new run takes the link of the first that it touches, which needs no search.
          start: (run, touches, above) => label.set(run, select(run, label.at(above), touches)),
          meet: (above, here) => join(label, above, here),
        });
      });
    },
  );
}

/** Links runs across the borders of strips of `rows` rows. */
function linksBetween(connectivity: 4 | 8) {
  return fn(
    `linksBetween${connectivity}`,
    { end: u32, label: owned(u32), rows: uniform(u32), ...captured },
    {},
    ({ end, label, rows, ...grid }) => {
      const forBorders = (each: (a: U32, b: U32) => void): void => {
        const first = Var(rows);
        While(
          () => first.lt(end),
          () => {
            const border = Let(first);
            const row = { cell: border, word: Let(border.div(grid.width).mul(grid.pitch)) };
            const meet = (above: U32, here: U32): void =>
              each(rootWithin(label, above, border.sub(rows)), rootWithin(label, here, border));
            forPairs(grid, row, border.ne(0), connectivity, { meet });
            // The next strip begins after the last cell of the largest grid, if the sum wraps around.
            first.set(select(border.add(rows), end, border.add(rows).lt(border)));
          },
        );
      };
      forBorders((a, b) => join(label, a, b));
      forBorders((a, b) => {
        for (const each of [a, b]) label.set(each, rootOf(label, each));
      });
    },
  );
}

/** Gives every cell of a run the label of the run: first to the cells where runs begin, then to those after them. */
const writeLabels = fn(
  'writeLabels',
  { first: u32, end: u32, label: owned(u32), ...captured },
  {},
  ({ first, end, label, ...grid }) => {
    forRows(grid, first, end, (row) => {
      const isIn = Var(u32(0));
      For(0, grid.pitch, (k) => {
        const set = Let(grid.bits.at(row.word.add(k)));
        const starts = Let(set.and(set.shl(1).or(isIn).not()));
        isIn.set(set.shr(31));
        const base = Let(row.cell.add(k.shl(5)));
        forBits(starts, (bit) => {
          const run = Let(base.add(bit));
          const link = Let(label.at(run));
          label.set(run, label.at(select(run, link, link.ge(first))));
        });
        const rest = Var(set.xor(starts));
        While(
          () => rest.ne(0),
          () => {
            const bit = Let(ctz(rest));
            const cell = Let(base.add(bit));
            const found = Let(label.at(cell.sub(1)));
            const length = Let(ctz(rest.shr(bit).not()).min(u32(32).sub(bit)));
            For(cell, cell.add(length), (i) => label.set(i, found));
            rest.set(rest.and(rest.add(u32(1).shl(bit))));
          },
        );
      });
    });
  },
);

/** Runs the body for every row of a strip. The last row may have fewer cells than the others. */
function forRows({ width, pitch }: Grid, first: U32, end: U32, body: (row: Row) => void): void {
  const [cell, word] = [Var(first), Var(first.div(width).mul(pitch))];
  For(0, end.sub(first).sub(1).div(width).add(1), () => {
    body({ cell: Let(cell), word: Let(word) });
    cell.set(cell.add(width));
    word.set(word.add(pitch));
  });
}

/** What is done with the runs of a row. A run is named by its first cell. */
interface Visits {
  /** A run begins in the row, and whether it touches the run `above` of the row above there. */
  start?(run: U32, touches: Bool, above: U32): void;
  /** A run of the row above touches a run of the row. If there is a `start`, then not where the latter begins. */
  meet(above: U32, here: U32): void;
}

/**
 * Visits every run of a row and, if the row above counts, every two runs of both that touch.
 *
 * Of 8 neighbours, two runs touch if they overlap once both are longer by one cell to the right. Where the overlap of
 * two rows begins, or one of their runs, two runs begin to overlap.
 */
function forPairs(
  { bits, width, pitch }: Grid,
  { word, cell }: Row,
  hasAbove: Bool,
  connectivity: 4 | 8,
  { start, meet }: Visits,
): void {
  // The first cell of the last run, and whether the last cell was set, of the row above, the row, and their overlap.
  const [aRun, bRun] = [Var(u32(0)), Var(u32(0))];
  const [aLast, bLast, last] = [Var(u32(0)), Var(u32(0)), Var(u32(0))];
  const up = Let(select(u32(0), pitch, hasAbove));
  For(0, pitch, (k) => {
    const at = Let(word.add(k));
    const b = Let(bits.at(at));
    const a = Let(select(u32(0), bits.at(at.sub(up)), hasAbove));
    const base = Let(cell.add(k.shl(5)));
    const above = Let(base.sub(width));
    const [aBefore, bBefore] = [Let(a.shl(1).or(aLast)), Let(b.shl(1).or(bLast))];
    const [aStarts, bStarts] = [Let(a.and(aBefore.not())), Let(b.and(bBefore.not()))];
    const both = Let(connectivity === 4 ? a.and(b) : a.or(aBefore).and(b.or(bBefore)));
    const begin = Let(both.and(both.shl(1).or(last).not().or(aStarts).or(bStarts)));
    const aRunAt = (bit: U32): U32 => lastStart(aStarts, bit, above, aRun);
    // The runs that begin in the word have labels before others are joined to them.
    if (start) forBits(bStarts, (bit) => start(Let(base.add(bit)), begin.shr(bit).and(1).ne(0), aRunAt(bit)));
    const meetings = start ? begin.and(bStarts.not()) : begin;
    forBits(meetings, (bit) => meet(aRunAt(bit), lastStart(bStarts, bit, base, bRun)));
    aRun.set(lastStart(aStarts, u32(31), above, aRun));
    bRun.set(lastStart(bStarts, u32(31), base, bRun));
    aLast.set(a.shr(31));
    bLast.set(b.shr(31));
    last.set(both.shr(31));
  });
}

/** The cell of the last of `starts` up to a bit of a word, or `before` if there is none. */
function lastStart(starts: U32, bit: U32, base: U32, before: U32): U32 {
  const upTo = Let(starts.and(u32(2 ** 32 - 1).shr(u32(31).sub(bit))));
  return Let(select(base.add(31).sub(clz(upTo)), before, upTo.eq(0)));
}

/** Runs the body for every set bit, from the lowest on. */
function forBits(word: U32, body: (bit: U32) => void): void {
  const rest = Var(word);
  While(
    () => rest.ne(0),
    () => {
      body(Let(ctz(rest)));
      rest.set(rest.and(rest.sub(1)));
    },
  );
}

/**
 * Joins two sets of runs: Rem's algorithm, which moves links on its way to lesser runs. (Dijkstra, A Discipline of
 * Programming, 1976; Patwary, Blair and Manne, Experiments on Union-Find Algorithms, 2010.)
 */
function join(label: OwnedValue<'u32'>, one: U32, other: U32): void {
  const [a, b] = [Var(one), Var(other)];
  const [toA, toB] = [Var(label.at(a)), Var(label.at(b))];
  While(
    () => toA.ne(toB),
    () => {
      const step = (from: typeof a, to: typeof toA, lesser: U32): void => {
        const next = Let(to);
        label.set(from, lesser);
        If(next.eq(from), () => Break());
        from.set(next);
        to.set(label.at(next));
      };
      If(toA.gt(toB), () => step(a, toA, toB)).Else(() => step(b, toB, toA));
    },
  );
}

/** The run at which the links of a run end that stay in its strip. The run is linked to it. */
function rootWithin(label: OwnedValue<'u32'>, run: U32, first: U32): U32 {
  const found = Var(run);
  const link = Var(label.at(run));
  While(
    () => link.ne(found).and(link.ge(first)),
    () => {
      found.set(link);
      link.set(label.at(found));
    },
  );
  const root = Let(found);
  If(root.ne(run), () => label.set(run, root));
  return root;
}

function rootOf(label: OwnedValue<'u32'>, run: U32): U32 {
  const found = Var(run);
  const link = Var(label.at(run));
  While(
    () => link.ne(found),
    () => {
      found.set(link);
      link.set(label.at(found));
    },
  );
  return Let(found);
}
