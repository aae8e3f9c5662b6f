import { For, If, Let, Var } from '../../../primitives/functors/control.ts';
import { array, bool, fn, i32, u32, uniform } from '../../../primitives/functors/functor.ts';
import { bitsToI32, ctz, popcount } from '../../../primitives/functors/standard/bits.ts';
import { select } from '../../../primitives/functors/standard/choose.ts';
import type { ArrayValue, U32 } from '../../../primitives/functors/value.ts';
import {
  type Column,
  type Context,
  constant,
  copyIf,
  exclusiveScan,
  expand,
  map,
  plus,
  scatterReduce,
  sequence,
} from '../../../primitives/index.ts';
import { wordsOfZone } from '../tile-pairs.ts';
import { type WindowPlan, ZONE_FIELDS, ZONE_STRIDE } from '../window-plan.ts';
import { piecesOfStrip, stripsInWindow } from './cell-pieces.ts';
import { ONE } from './line-numbers.ts';
import type { LineTable } from './line-table.ts';

/**
 * The cells of a window through which the outlines of zones go, in the order of the bitmaps of zones: by zone, then row by
 * row. They are called entries.
 */
export type WindowFractions = {
  /** A bit for each entry, in the bitmaps of zones. Also set for some cells that an outline only touches. */
  readonly entries: Column<'u32'>;
  /** A bit for each entry that an outline enters: part of the cell is in the zone, and part is not. */
  readonly inside: Column<'u32'>;
  /** For each word of the bitmaps, the number of entries before it. */
  readonly before: Column<'u32'>;
  /** For each entry, the area of what is in it to the right of the outline, and the heights in all entries before it. */
  readonly areas: Column<'u32'>;
  readonly heightsBefore: Column<'u32'>;
};

/** The most strips of stretches that may reach into a window. */
function stripsOf({ begunBefore, endedBefore }: LineTable, { window }: WindowPlan): number {
  return begunBefore[window.row + window.rows]! - endedBefore[window.row]!;
}

/**
 * Finds the cells of a window through which the outlines of zones go, and the share of each that is in the zone. Each
 * stretch of an outline adds to the cells that it enters the area to its right, and its height, which counts for all cells
 * to the right in the same row: both are signed by the side on which the inside is, as rasterisers of fonts do. A scan
 * adds the heights up.
 *
 * - Work O(cells on outlines + words of the bitmaps), span O(log of either). All sums are of whole numbers: exact, in any
 *   order.
 */
export function windowFractions(context: Context, table: LineTable, plan: WindowPlan): WindowFractions {
  return context.scope(() => {
    const { words } = plan;
    const capacity = stripsOf(table, plan);
    const both = piecesIn(context, table, plan);
    const entries = context.materialize(constant(u32, 0, words));
    const inside = context.materialize(constant(u32, 0, words));
    for (const { at, isInside } of both) {
      scatterReduce(map(bitOf, { at, isSet: constant(u32, 1, at.length) }), map(wordOf, { at }), 'or', entries);
      scatterReduce(map(bitOf, { at, isSet: isInside }), map(wordOf, { at }), 'or', inside);
    }
    const before = exclusiveScan(map(bitsIn, { word: entries }), plus(u32));
    const areas = context.materialize(constant(u32, 0, 2 * capacity));
    const heights = context.materialize(constant(u32, 0, 2 * capacity));
    for (const { at, area, height } of both) {
      const entry = context.materialize(map(entryAt, { at, before, entries }));
      scatterReduce(area, entry, 'add', areas);
      scatterReduce(height, entry, 'add', heights);
    }
    return { entries, inside, before, areas, heightsBefore: exclusiveScan(heights, plus(u32)) };
  });
}

/** Sets the bits of all cells of a window that outlines enter, in the bitmaps of zones. */
export function touchCells(context: Context, table: LineTable, plan: WindowPlan, masks: Column<'u32'>): void {
  context.scope(() => {
    for (const { at, isInside } of piecesIn(context, table, plan))
      scatterReduce(map(bitOf, { at, isSet: isInside }), map(wordOf, { at }), 'or', masks);
  });
}

/** Number of words that {@link touchCells} takes. */
export function touchWords(table: LineTable, plan: WindowPlan): number {
  return LINE_PIECE_WORDS * stripsOf(table, plan) + table.count;
}

/** Number of words of the pieces of a strip, and of what finds its stretch. */
const LINE_PIECE_WORDS = 10;

/** The pieces of outlines in the cells of a window: a first and a second for each strip. */
interface Pieces {
  readonly at: Column<'u32'>;
  readonly area: Column<'u32'>;
  readonly height: Column<'u32'>;
  readonly isInside: Column<'u32'>;
}

function piecesIn(context: Context, table: LineTable, plan: WindowPlan): readonly [Pieces, Pieces] {
  const { window, tile } = plan;
  const { lines } = table;
  const [zones, local, line] = [context.column(plan.table), context.column(plan.local), sequence(table.count)];
  const counts = map(stripsInWindow, {
    ...{ line, lines, local },
    firstRow: window.row,
    endRow: window.row + window.rows,
    endColumn: window.column + window.columns,
  });
  const pieces = expand({ line }, counts, piecesOfStrip, {
    capacity: stripsOf(table, plan),
    captures: {
      ...{ lines, local, zones, tile },
      ...{ firstRow: window.row, rows: window.rows, firstColumn: window.column, columns: window.columns },
    },
  });
  return [
    { at: pieces.at1, area: pieces.area1, height: pieces.height1, isInside: pieces.inside1 },
    { at: pieces.at2, area: pieces.area2, height: pieces.height2, isInside: pieces.inside2 },
  ];
}

const wordOf = fn('wordOf', { at: u32 }, u32, ({ at }) => at.shr(5));
const bitOf = fn('bitOf', { at: u32, isSet: u32 }, u32, ({ at, isSet }) => isSet.shl(at.and(31)));
const bitsIn = fn('bitsIn', { word: u32 }, u32, ({ word }) => popcount(word));

/** The entry of a bit that is set. A bit beyond the bitmaps has no entry. */
const entryAt = fn('entryAt', { at: u32, before: array(u32), entries: array(u32) }, u32, ({ at, before, entries }) =>
  select(entryOf(before, entries, at), u32(2 ** 32 - 1), at.eq(2 ** 32 - 1)),
);

function entryOf(before: ArrayValue<'u32'>, entries: ArrayValue<'u32'>, at: U32): U32 {
  const word = at.shr(5);
  return before.at(word).add(popcount(entries.at(word).and(u32(1).shl(at.and(31)).sub(1))));
}

/** Rows of 32 cells of the bitmaps, each with at least one cell to list, by zone and then row by row. */
export type FilledWords = {
  /** The zone, by its number in the window. */
  readonly zone: Column<'u32'>;
  /** The position in the window of the first cell. */
  readonly row: Column<'u32'>;
  readonly column: Column<'u32'>;
  /** The word in the bitmaps, and the first word of the same row of the zone's bitmap. */
  readonly word: Column<'u32'>;
  readonly first: Column<'u32'>;
  readonly bits: Column<'u32'>;
};

/** Lists the words of the bitmaps of a window in which bits are set in `bits`. */
export function filledWords(context: Context, plan: WindowPlan, bits: Column<'u32'>): FilledWords {
  return context.scope(() => {
    const zones = context.column(plan.table);
    const zone = sequence(plan.zones.length);
    const wordsOf = map(wordsOfZone, { zone, zones, tile: plan.tile });
    const { active, ...found } = expand({ zone }, wordsOf, rowOfWord, {
      capacity: plan.words,
      captures: { zones, bits, tile: plan.tile },
    });
    return copyIf(found, active);
  });
}

/** Cells of zones, by zone and then row by row, with the share of each that is in the zone, in units of 2⁻³⁰. */
export type CellShares = {
  /** The zone, by its number in the job. */
  readonly zone: Column<'u32'>;
  /** Row and column of the cell in the window. */
  readonly row: Column<'u32'>;
  readonly column: Column<'u32'>;
  readonly share: Column<'i32'>;
};

/**
 * Lists the cells whose bits are set in words of the bitmaps. The share of a cell into which no outline goes is 1. Waits
 * for the number of cells.
 */
export async function listCells(
  context: Context,
  plan: WindowPlan,
  { entries, inside, before, areas, heightsBefore }: WindowFractions,
  words: FilledWords,
): Promise<CellShares> {
  const numbers = context.column(plan.zones);
  try {
    return await expand(words, map(bitsIn, { word: words.bits }), cellOfBit, {
      captures: { entries, inside, before, areas, heightsBefore, numbers },
    });
  } finally {
    context.dispose(numbers);
  }
}

const rowOfWord = fn(
  'rowOfWord',
  { zone: u32, rank: u32, zones: array(u32), bits: array(u32), tile: uniform(u32) },
  { active: bool, zone: u32, row: u32, column: u32, word: u32, first: u32, bits: u32 },
  ({ zone, rank, zones, bits, tile }) => {
    const field = (offset: number): U32 => zones.at(zone.mul(ZONE_STRIDE).add(offset));
    const pitch = field(ZONE_FIELDS.tileColumns).mul(tile.shr(5));
    const line = Let(rank.div(pitch));
    const first = Let(field(ZONE_FIELDS.word).add(line.mul(pitch)));
    const step = rank.sub(line.mul(pitch));
    const word = first.add(step);
    const own = bits.at(word);
    return {
      active: own.ne(0),
      zone,
      row: field(ZONE_FIELDS.firstTileRow).mul(tile).add(line),
      column: field(ZONE_FIELDS.firstTileColumn).mul(tile).add(step.shl(5)),
      word,
      first,
      bits: own,
    };
  },
);

const cellOfBit = fn(
  'cellOfBit',
  {
    ...{ zone: u32, row: u32, column: u32, word: u32, first: u32, bits: u32, rank: u32 },
    ...{ entries: array(u32), inside: array(u32), before: array(u32) },
    ...{ areas: array(u32), heightsBefore: array(u32), numbers: array(u32) },
  },
  { zone: u32, row: u32, column: u32, share: i32 },
  ({ zone, row, column, word, first, bits, rank, entries, inside, before, areas, heightsBefore, numbers }) => {
    const rest = Var(bits);
    For(0, rank, () => rest.set(rest.and(rest.sub(1))));
    const bit = Let(ctz(rest));
    const share = Var(u32(ONE));
    If(inside.at(word).shr(bit).and(1).ne(0), () => {
      const entry = Let(entryOf(before, entries, word.shl(5).add(bit)));
      const ofRow = heightsBefore.at(entry).sub(heightsBefore.at(before.at(first)));
      share.set(areas.at(entry).add(ofRow));
    });
    return { zone: numbers.at(zone), row, column: column.add(bit), share: bitsToI32(share) };
  },
);
