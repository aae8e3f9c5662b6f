import {
  type ArrayValue,
  array,
  bitsToU32,
  bitXor,
  type Column,
  type Context,
  constant,
  For,
  fn,
  type I32,
  i32,
  inclusiveScan,
  map,
  popcount,
  scatterReduce,
  select,
  type U32,
  u32,
  Var,
} from '../../primitives/index.ts';
import type { DeviceRuns } from './device-runs.ts';
import { expandRows, interleave, type NumberedPairs } from './pair-tables.ts';
import type { Regions } from './regions.ts';

/**
 * Regions as bits, one a pixel of their boxes. A box is cut into strips of 32 columns; a strip has a word for each row and
 * one more below the last, which is zero, and strips follow one another. In the words of a strip the pixels to the left of
 * it are left out of account: those of a further strip are to be inverted where the word before in their row ends with 1.
 */
export interface RowMasks {
  /** Five numbers a region: where its words start, 2³¹ if it has none, and its box. */
  readonly boxes: Column<'i32'>;
  readonly words: Column<'u32'>;
}

/** Where masks are to be, on a device. */
export interface MaskPlaces {
  readonly boxes: Column<'i32'>;
  /** Where the words of every region start, past all words if it has none. */
  readonly starts: Column<'u32'>;
  readonly words: number;
}

const FIELDS = { start: 0, left: 1, top: 2, right: 3, bottom: 4 } as const;
const STRIDE = 5;

/** Words that the mask of a region takes. */
export function maskWords({ left, top, right, bottom }: Regions, region: number): number {
  const strips = (right[region]! - left[region]! + 31) >>> 5;
  return strips * (bottom[region]! - top[region]! + 1);
}

/** Places the masks of the regions in `wanted` one after the other. */
export function placeMasks(context: Context, regions: Regions, wanted: Uint32Array): MaskPlaces {
  const { left, top, right, bottom } = regions;
  const starts = new Uint32Array(Math.max(1, left.length)).fill(BEYOND);
  let words = 0;
  for (let i = 0; i < wanted.length; i++) {
    const region = wanted[i]!;
    starts[region] = words;
    words += maskWords(regions, region);
  }
  const boxes = interleave(new Int32Array(starts.buffer, 0, left.length), left, top, right, bottom);
  return { boxes: context.column(boxes), starts: context.column(starts), words };
}

/** Past the words of all masks, also when rows are counted from there. */
const BEYOND = 2 ** 31;

/** The word that a packed run flips, from its one column to its other; one past all words where its region has no mask. */
const narrowToggle = fn(
  'narrowToggle',
  { run: u32, region: u32, starts: array(u32) },
  { word: u32, bits: u32 },
  ({ run, region, starts }) => ({
    word: starts.at(region).add(run.shr(12)),
    bits: bitsFrom(run.shr(6).and(63)).xor(bitsFrom(run.and(63))),
  }),
);

/** The bits from a column on, of which there are none from 32 on. */
function bitsFrom(column: U32): U32 {
  return select(u32(0), u32(ABSENT).shl(column), column.lt(32));
}

/** The word that one end of a run flips the rest of, in a region of several strips; one past all words for others. */
const wideToggle = fn(
  'wideToggle',
  { column: i32, row: i32, region: u32, boxes: array(i32) },
  { word: u32, bits: u32 },
  ({ column, row, region, boxes }) => {
    const box = boxOf(boxes, region);
    const across = bitsToU32(column.sub(box.left));
    const strip = across.shr(5);
    const word = box.start.add(strip.mul(box.words)).add(bitsToU32(row.sub(box.top)));
    const known = strip.lt(box.strips);
    return { word: select(u32(ABSENT), word, known), bits: bitsFrom(across.and(31)) };
  },
);

const ABSENT = 2 ** 32 - 1;

interface Box {
  readonly start: U32;
  readonly left: I32;
  readonly top: I32;
  readonly right: I32;
  readonly bottom: I32;
  /** Words of a strip: rows and one. */
  readonly words: U32;
  readonly strips: U32;
}

function boxOf(boxes: ArrayValue<'i32'>, region: U32): Box {
  const at = region.mul(STRIDE);
  const field = (offset: number): I32 => boxes.at(at.add(offset));
  const [left, top, right, bottom] = [FIELDS.left, FIELDS.top, FIELDS.right, FIELDS.bottom].map(field) as [
    I32,
    I32,
    I32,
    I32,
  ];
  const words = bitsToU32(bottom.sub(top)).add(1);
  const strips = bitsToU32(right.sub(left)).add(31).shr(5);
  return { start: bitsToU32(field(FIELDS.start)), left, top, right, bottom, words, strips };
}

/**
 * Draws regions as bits: every run flips its bits in its row, and an exclusive-or scan down the rows makes that the pixels
 * that are inside. One scan serves all strips of all regions, as each of them ends with zero.
 *
 * - Work O(runs + words), span O(log words). No pixel is tested against an edge, and runs come in any order.
 */
export function rowMasks(context: Context, runs: DeviceRuns, { boxes, starts, words: count }: MaskPlaces): RowMasks {
  return context.scope(() => {
    const words = context.materialize(constant(u32, 0, count));
    flip(map(narrowToggle, { ...runs.narrow, starts }), words);
    const { from, to, row, region } = runs.wide;
    for (const column of [from, to]) flip(map(wideToggle, { column, row, region, boxes }), words);
    return { boxes, words: inclusiveScan(words, bitXor(u32)) };
  });
}

function flip(
  { word, bits }: { readonly word: Column<'u32'>; readonly bits: Column<'u32'> },
  words: Column<'u32'>,
): void {
  scatterReduce(bits, word, 'xor', words);
}

/** The part that the boxes of two regions share. */
function sharedBox(
  a: Box,
  b: Box,
): { readonly left: I32; readonly top: I32; readonly rows: U32; readonly columns: U32 } {
  const left = a.left.max(b.left);
  const top = a.top.max(b.top);
  const rows = bitsToU32(a.bottom.min(b.bottom).sub(top).max(i32(0)));
  const columns = bitsToU32(a.right.min(b.right).sub(left).max(i32(0)));
  return { left, top, rows: select(rows, u32(0), columns.eq(0)), columns };
}

const pairParameters = {
  p: u32,
  q: u32,
  pBoxes: array(i32),
  pWords: array(u32),
  qBoxes: array(i32),
  qWords: array(u32),
} as const;

const narrowArea = fn('narrowArea', pairParameters, u32, ({ p, q, pBoxes, pWords, qBoxes, qWords }) => {
  const a = boxOf(pBoxes, p);
  const b = boxOf(qBoxes, q);
  const { left, top, rows } = sharedBox(a, b);
  const shiftA = bitsToU32(left.sub(a.left));
  const shiftB = bitsToU32(left.sub(b.left));
  const firstA = a.start.add(bitsToU32(top.sub(a.top)));
  const firstB = b.start.add(bitsToU32(top.sub(b.top)));
  const pixels = Var(u32(0));
  For(0, rows, (row) => {
    const inA = pWords.at(firstA.add(row)).shr(shiftA);
    const inB = qWords.at(firstB.add(row)).shr(shiftB);
    pixels.set(pixels.add(popcount(inA.and(inB))));
  });
  return pixels;
});

/** Pairs of regions on a device. */
export interface DevicePairs {
  readonly p: Column<'u32'>;
  readonly q: Column<'u32'>;
  /** Three numbers a pair: its own, which is its row in the result, and its regions. */
  readonly table: Column<'u32'>;
  /** Rows that the boxes of the pairs share, in all. */
  readonly rows: number;
}

/** Puts pairs on the device. */
export function uploadPairs(context: Context, { pair, p, q }: NumberedPairs, rows: number): DevicePairs {
  return { p: context.column(p), q: context.column(q), table: context.column(interleave(pair, p, q)), rows };
}

/**
 * ‖p∩q‖ in pixels for pairs of regions at most 32 pixels wide: words of both in the rows they share, and as many pixels as
 * their conjunction has ones.
 *
 * - Work O(rows shared) a pair, in one thread each.
 */
export function narrowAreas(
  context: Context,
  { p, q }: Pick<DevicePairs, 'p' | 'q'>,
  ofP: RowMasks,
  ofQ: RowMasks,
): Column<'u32'> {
  const masks = { pBoxes: ofP.boxes, pWords: ofP.words, qBoxes: ofQ.boxes, qWords: ofQ.words };
  return context.materialize(map(narrowArea, { p, q, ...masks }));
}

const rowsShared = fn(
  'rowsShared',
  { p: u32, q: u32, pBoxes: array(i32), qBoxes: array(i32) },
  u32,
  ({ p, q, pBoxes, qBoxes }) => sharedBox(boxOf(pBoxes, p), boxOf(qBoxes, q)).rows,
);

const wideRow = fn(
  'wideRow',
  {
    row: u32,
    rank: u32,
    pairs: array(u32),
    pBoxes: array(i32),
    pWords: array(u32),
    qBoxes: array(i32),
    qWords: array(u32),
  },
  { pair: u32, pixels: u32 },
  ({ row, rank, pairs, pBoxes, pWords, qBoxes, qWords }) => {
    const at = row.mul(PAIR_STRIDE);
    const a = boxOf(pBoxes, pairs.at(at.add(1)));
    const b = boxOf(qBoxes, pairs.at(at.add(2)));
    const { left, top, columns } = sharedBox(a, b);
    const inA = rowReader(a, pWords, left, top, rank);
    const inB = rowReader(b, qWords, left, top, rank);
    const pixels = Var(u32(0));
    For(0, columns.add(31).shr(5), (strip) => {
      pixels.set(pixels.add(popcount(inA(strip).and(inB(strip)))));
    });
    return { pair: pairs.at(at), pixels };
  },
);

const PAIR_STRIDE = 3;

/** Reads a row of a region from column `left` on, 32 pixels at a time, strip after strip. */
function rowReader(box: Box, words: ArrayValue<'u32'>, left: I32, top: I32, rank: U32): (strip: U32) => U32 {
  const across = bitsToU32(left.sub(box.left));
  const shift = across.and(31);
  const firstStrip = across.shr(5);
  const first = box.start.add(bitsToU32(top.sub(box.top))).add(rank);
  const word = Var(words.at(first));
  const advance = (strip: U32): void => {
    const inverted = u32(0).sub(word.shr(31));
    const next = words.at(first.add(strip.mul(box.words))).xor(inverted);
    word.set(select(u32(0), next, strip.lt(box.strips)));
  };
  For(1, firstStrip.add(1), advance);
  return (strip) => {
    const low = Var(word.shr(shift));
    advance(firstStrip.add(strip).add(1));
    // In two shifts, as a shift by 32 would be one by 0.
    return low.or(word.shl(1).shl(u32(31).sub(shift)));
  };
}

/**
 * Adds ‖p∩q‖ in pixels of every pair to `areas`, for regions of any width: one thread a row of a pair.
 *
 * - Work O(rows shared · strips), balanced over the rows however uneven the pairs.
 */
export function addWideAreas(
  context: Context,
  { p, q, table, rows }: DevicePairs,
  ofP: RowMasks,
  ofQ: RowMasks,
  areas: Column<'u32'>,
): void {
  context.scope(() => {
    const [pBoxes, qBoxes] = [ofP.boxes, ofQ.boxes];
    const each = expandRows(map(rowsShared, { p, q, pBoxes, qBoxes }), rows);
    const found = map(wideRow, { ...each, pairs: table, pBoxes, pWords: ofP.words, qBoxes, qWords: ofQ.words });
    scatterReduce(found.pixels, found.pair, 'add', areas);
  });
}
