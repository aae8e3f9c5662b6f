import { For, Let, Var } from '../../../primitives/functors/control.ts';
import { array, bool, fn, i32, u32, uniform } from '../../../primitives/functors/functor.ts';
import { bitsToI32, ctz, popcount } from '../../../primitives/functors/standard/bits.ts';
import { select } from '../../../primitives/functors/standard/choose.ts';
import type { ArrayValue, I32, U32 } from '../../../primitives/functors/value.ts';
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
import { upperBound } from '../../../primitives/search.ts';
import { BAND_ROWS } from '../bands.ts';
import { type WindowPlan, ZONE_FIELDS, ZONE_STRIDE } from '../window-plan.ts';
import { LONG_PIECES, type PieceFunctors, SHORT_PIECES } from './cell-pieces.ts';
import { ONE } from './line-numbers.ts';
import type { LineTable } from './line-table.ts';
import { SHORT_BAND_ROWS } from './short-lines.ts';
import { stripsIn } from './strip-counts.ts';

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
  /** For each entry, the heights in all entries before it; and with these, the area to the right of the outline in it. */
  readonly heightsBefore: Column<'u32'>;
  readonly areas: Column<'u32'>;
};

/** The most strips of stretches that may reach into a window. */
function stripsOf({ strips, edgeStrips }: LineTable, { window }: WindowPlan): number {
  return stripsIn(strips, window) + stripsIn(edgeStrips, window);
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
    const heightsBefore = exclusiveScan(heights, plus(u32));
    return { entries, inside, before, heightsBefore, areas: context.materialize(map(sum, { areas, heightsBefore })) };
  });
}

/** Sets the bits of all cells of a window that outlines enter, in the bitmaps of zones. */
export function touchCells(context: Context, table: LineTable, plan: WindowPlan, masks: Column<'u32'>): void {
  context.scope(() => {
    for (const { at, isInside } of piecesIn(context, table, plan))
      scatterReduce(map(bitOf, { at, isSet: isInside }), map(wordOf, { at }), 'or', masks);
  });
}

/** The most rows of 32 cells that outlines may enter in a window: they lie in the boxes of zones. */
export function outlineRowsIn(table: LineTable, plan: WindowPlan): number {
  return Math.min(plan.rows, outlineCellsIn(table, plan));
}

/** The most cells that outlines may enter in a window. */
export function outlineCellsIn(table: LineTable, plan: WindowPlan): number {
  return 2 * stripsOf(table, plan);
}

/** Number of words of the {@link Outlines} of a window. */
export function keptWords(table: LineTable, plan: WindowPlan): number {
  return 9 * outlineRowsIn(table, plan) + outlineCellsIn(table, plan);
}

/** Number of words that {@link windowOutlines} takes: also for pieces, words of bitmaps, and entries. */
export function outlineWords(table: LineTable, plan: WindowPlan): number {
  return keptWords(table, plan) + touchWords(table, plan) + 4 * plan.words + 6 * stripsOf(table, plan);
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

function piecesIn(context: Context, table: LineTable, plan: WindowPlan): readonly Pieces[] {
  const { window } = plan;
  const { lines, strips, edges, edgeBands, edgeStrips } = table;
  const placing = { local: context.column(plan.local), zones: context.column(plan.table) };
  const piecesOf = (
    { stripsInWindow, piecesOfStrip }: PieceFunctors,
    lines: Column<'u32'>,
    line: Column<'u32'>,
    capacity: number,
  ): readonly Pieces[] => {
    if (capacity === 0) return [];
    const counts = map(stripsInWindow, {
      ...{ line, lines, local: placing.local },
      firstRow: window.row,
      endRow: window.row + window.rows,
      endColumn: window.column + window.columns,
    });
    const pieces = expand({ line }, counts, piecesOfStrip, {
      capacity,
      captures: {
        ...{ lines, ...placing, tile: plan.tile },
        ...{ firstRow: window.row, rows: window.rows, firstColumn: window.column, columns: window.columns },
      },
    });
    return [
      { at: pieces.at1, area: pieces.area1, height: pieces.height1, isInside: pieces.inside1 },
      { at: pieces.at2, area: pieces.area2, height: pieces.height2, isInside: pieces.inside2 },
    ];
  };
  const above = Math.min(window.row, SHORT_BAND_ROWS);
  const [from, end] = edgeBands.of(window.row - above, window.rows + above);
  return [
    ...piecesOf(LONG_PIECES, lines, linesOf(table, plan), stripsIn(strips, window)),
    ...piecesOf(SHORT_PIECES, edges, sequence(end - from, from), stripsIn(edgeStrips, window)),
  ];
}

/** The stretches that may reach into a window: those of its bands, of the band before, and the long ones. */
function linesOf({ order, bands, long, count }: LineTable, { window }: WindowPlan): Column<'u32'> {
  const before = Math.min(window.row, BAND_ROWS);
  const [from, end] = bands.of(window.row - before, window.rows + before);
  const index = sequence(end - from + count - long);
  return map(lineAt, { index, order, short: end - from, from, long });
}

const lineAt = fn(
  'lineAt',
  { index: u32, order: array(u32), short: uniform(u32), from: uniform(u32), long: uniform(u32) },
  u32,
  ({ index, order, short, from, long }) => {
    const isShort = index.lt(short);
    return order.at(index.add(select(long.sub(short), from, isShort)));
  },
);

const wordOf = fn('wordOf', { at: u32 }, u32, ({ at }) => at.shr(5));
const bitOf = fn('bitOf', { at: u32, isSet: u32 }, u32, ({ at, isSet }) => isSet.shl(at.and(31)));
const sum = fn('sum', { areas: u32, heightsBefore: u32 }, u32, ({ areas, heightsBefore }) => areas.add(heightsBefore));
const bitsIn = fn('bitsIn', { word: u32 }, u32, ({ word }) => popcount(word));

/** The entry of a bit that is set. A bit beyond the bitmaps has no entry. */
const entryAt = fn('entryAt', { at: u32, before: array(u32), entries: array(u32) }, u32, ({ at, before, entries }) => {
  const word = at.shr(5);
  const entry = before.at(word).add(popcount(entries.at(word).and(u32(1).shl(at.and(31)).sub(1))));
  return select(entry, u32(2 ** 32 - 1), at.eq(2 ** 32 - 1));
});

/** Rows of 32 cells of the bitmaps, each with at least one cell that is listed, by zone and then row by row. */
export type OutlineRows = {
  /** The zone, by its number in the window. */
  readonly zone: Column<'u32'>;
  /** The position in the window of the first cell. */
  readonly row: Column<'u32'>;
  readonly column: Column<'u32'>;
  /** The word in the bitmaps of zones, and a bit for each cell that is listed. */
  readonly word: Column<'u32'>;
  readonly bits: Column<'u32'>;
  /** A bit for each entry, and for each that an outline enters. */
  readonly entries: Column<'u32'>;
  readonly inside: Column<'u32'>;
  /** The number of the first entry, and the heights in all entries before the row of cells. */
  readonly from: Column<'u32'>;
  readonly height: Column<'u32'>;
};

/** The rows of a window that outlines enter, of which the cells inside are listed; and the areas of all entries. */
export type Outlines = OutlineRows & { readonly areas: Column<'u32'> };

/** Finds the cells of a window that outlines enter. */
export function windowOutlines(context: Context, table: LineTable, plan: WindowPlan): Outlines {
  return context.scope(() => {
    const found = windowFractions(context, table, plan);
    const rows = outlineRows(context, plan, found, found.inside, outlineRowsIn(table, plan));
    return { ...rows, areas: found.areas };
  });
}

/** Lists the words of the bitmaps of a window in which bits are set in `bits`: at most `capacity`. */
export function outlineRows(
  context: Context,
  plan: WindowPlan,
  { entries, inside, before, heightsBefore }: WindowFractions,
  bits: Column<'u32'>,
  capacity: number = plan.words,
): OutlineRows {
  return context.scope(() => {
    const word = copyIf(sequence(bits.length), map(hasBits, { bits }), { capacity });
    const starts = context.column(Uint32Array.from(plan.zones, (_, row) => plan.table[row * ZONE_STRIDE]!));
    const zones = context.column(plan.table);
    const given = { bits, entries, inside, before, heightsBefore, zones, tile: plan.tile };
    return context.materialize(map(rowOfWord, { word, end: upperBound(starts, word), ...given }));
  });
}

/** Cells of zones, by zone and then row by row, with the share of each that is in the zone, in units of 2⁻³⁰. */
export type CellShares = {
  /** The zone, by its number in the window. */
  readonly zone: Column<'u32'>;
  /** Row and column of the cell in the window. */
  readonly row: Column<'u32'>;
  readonly column: Column<'u32'>;
  readonly share: Column<'i32'>;
};

/** Lists the cells whose bits are set in rows. Waits for the number of cells. */
export function listCells(rows: OutlineRows, areas: Column<'u32'>): Promise<CellShares> {
  return expand(rows, map(bitsIn, { word: rows.bits }), cellOfBit, { captures: { areas } });
}

const hasBits = fn('hasBits', { bits: u32 }, bool, ({ bits }) => bits.ne(0));

const rowOfWord = fn(
  'rowOfWord',
  {
    ...{ word: u32, end: u32, zones: array(u32), bits: array(u32), tile: uniform(u32) },
    ...{ entries: array(u32), inside: array(u32), before: array(u32), heightsBefore: array(u32) },
  },
  {
    ...{ zone: u32, row: u32, column: u32, word: u32, bits: u32 },
    ...{ entries: u32, inside: u32, from: u32, height: u32 },
  },
  ({ word, end, zones, bits, tile, entries, inside, before, heightsBefore }) => {
    const zone = Let(end.sub(1));
    const field = (offset: number): U32 => zones.at(zone.mul(ZONE_STRIDE).add(offset));
    const pitch = Let(field(ZONE_FIELDS.tileColumns).mul(tile.shr(5)));
    const rank = Let(word.sub(field(ZONE_FIELDS.word)));
    const line = Let(rank.div(pitch));
    const step = rank.sub(line.mul(pitch));
    return {
      ...{ zone, word },
      row: field(ZONE_FIELDS.firstTileRow).mul(tile).add(line),
      column: field(ZONE_FIELDS.firstTileColumn).mul(tile).add(step.shl(5)),
      ...{ bits: bits.at(word), entries: entries.at(word), inside: inside.at(word) },
      from: before.at(word),
      height: heightsBefore.at(before.at(word.sub(step))),
    };
  },
);

const cellOfBit = fn(
  'cellOfBit',
  {
    ...{ zone: u32, row: u32, column: u32, bits: u32, rank: u32 },
    ...{ entries: u32, inside: u32, from: u32, height: u32, areas: array(u32) },
  },
  { zone: u32, row: u32, column: u32, share: i32 },
  ({ zone, row, column, bits, rank, areas, inside, ...entries }) => {
    const rest = Var(bits);
    For(0, rank, () => rest.set(rest.and(rest.sub(1))));
    const bit = Let(ctz(rest));
    const isPart = inside.shr(bit).and(1).ne(0);
    return { zone, row, column: column.add(bit), share: select(i32(ONE), shareOf(entries, bit, areas), isPart) };
  },
);

/** The share of a cell that an outline enters, by its number in a row. */
export function shareOf(
  { entries, from, height }: { readonly [field in 'entries' | 'from' | 'height']: U32 },
  rank: U32,
  areas: ArrayValue<'u32'>,
): I32 {
  return bitsToI32(areas.at(from.add(popcount(entries.and(u32(1).shl(rank).sub(1))))).sub(height));
}
