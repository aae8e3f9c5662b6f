import {
  type ArrayValue,
  array,
  bitsToU32,
  bitXor,
  type Column,
  type Context,
  constant,
  exclusiveScan,
  For,
  fn,
  type I32,
  If,
  i32,
  inclusiveScan,
  Let,
  map,
  plus,
  popcount,
  scatter,
  scatterReduce,
  select,
  type U32,
  u32,
  Var,
  type Variable,
  While,
} from '../../primitives/index.ts';
import { type BandedBox, bandedBoxOf, boxRecords, type Selection, sharedBox, vertexTotal } from './boxes.ts';
import { expandRows, interleave, type NumberedPairs } from './pair-tables.ts';
import type { Regions } from './regions.ts';
import { appendRuns, emptyRuns, type Runs } from './runs.ts';

/**
 * Bit masks of regions of any width and height. A row differs from the row above only if a run (a horizontal edge, or a
 * step of a sloped edge) begins in the row. So all rows from one row with runs to the next are equal, and are stored
 * once, as a band. A band is cut into strips of 32 columns, one word each. The words of a strip are consecutive, from
 * the top band down. The end of a run flips only bits in its own strip. So a stored word is inverted if, in the same
 * band, the last pixel of the strip to the left is inside the region.
 */
export interface BandedMasks {
  readonly boxes: Column<'i32'>;
  /** First row of every band. */
  readonly rows: Column<'i32'>;
  readonly words: Column<'u32'>;
}

/** A row below all rows of pixels. */
const NO_ROW = 2 ** 31 - 1;

/** The runs of regions on a device, and where the bands of each region are stored. */
export interface BandedRuns {
  readonly from: Column<'i32'>;
  readonly to: Column<'i32'>;
  readonly row: Column<'i32'>;
  readonly region: Column<'u32'>;
  readonly boxes: Column<'i32'>;
  /** For each region, the index of the first word of its row marks, which have a bit per row. */
  readonly marks: Column<'u32'>;
  /** Number of bands of each region. */
  readonly slots: Uint32Array;
  readonly size: { readonly words: number; readonly slots: number; readonly marks: number };
}

/**
 * Returns an upper bound of the number of words for a region with `runs` runs. Counts the words of the bands, the marks
 * of the rows (a bit per row), and one number for each word of marks.
 */
export function bandedWords(regions: Regions, region: number, runs: number): number {
  const bands = Math.min(runs, regions.bottom[region]! - regions.top[region]! + 1);
  return stripCount(regions, region) * bands + 2 * marksOf(regions, region);
}

function stripCount({ left, right }: Regions, region: number): number {
  return Math.ceil((right[region]! - left[region]!) / 32);
}

function marksOf({ top, bottom }: Regions, region: number): number {
  return Math.floor((bottom[region]! - top[region]!) / 32) + 1;
}

/** Uploads the runs of the selected regions, which are numbered in the order of the selections. */
export function uploadBandedRuns(context: Context, selections: readonly Selection[]): BandedRuns {
  const count = selections.reduce((sum, { members }) => sum + members.length, 0);
  const runs = emptyRuns(vertexTotal(selections) >> 1);
  const countBands = bandCounter();
  const starts = new Uint32Array(count + 1);
  const places = { words: new Uint32Array(count), slots: new Uint32Array(count), rows: new Uint32Array(count) };
  const marks = new Uint32Array(count);
  const size = { words: 0, slots: 0, marks: 0 };
  let local = 0;
  for (const { regions, members } of selections) {
    for (let i = 0; i < members.length; i++) {
      const member = members[i]!;
      appendRuns(runs, regions, member);
      const slots = countBands(runs, starts[local]!, regions.top[member]!, marksOf(regions, member));
      places.words[local] = size.words;
      places.slots[local] = slots;
      places.rows[local] = size.slots;
      marks[local] = size.marks;
      starts[++local] = runs.length;
      size.words += stripCount(regions, member) * slots;
      size.slots += slots;
      size.marks += marksOf(regions, member);
    }
  }
  const column = (all: Int32Array): Column<'i32'> => context.column(all.subarray(0, runs.length));
  return {
    from: column(runs.from),
    to: column(runs.to),
    row: column(runs.row),
    region: context.column(ownersOf(starts)),
    boxes: context.column(boxRecords(selections, places)),
    marks: context.column(marks),
    slots: places.slots,
    size,
  };
}

/**
 * Returns a function that counts the rows of a region in which runs begin. A band begins in each of these rows, so the
 * result is the number of bands. The last band, which has no pixels inside, is counted too.
 */
function bandCounter(): (runs: Runs, firstRun: number, top: number, marks: number) => number {
  let seen = new Uint32Array(64);
  return ({ row, length }, firstRun, top, marks) => {
    if (marks > seen.length) seen = new Uint32Array(2 * marks);
    else seen.fill(0, 0, marks);
    let bands = 0;
    for (let run = firstRun; run < length; run++) {
      const below = row[run]! - top;
      const word = seen[below >> 5]!;
      bands += ~(word >>> (below & 31)) & 1;
      seen[below >> 5] = word | (1 << (below & 31));
    }
    return bands;
  };
}

/** The region to which each run belongs. */
function ownersOf(starts: Uint32Array): Uint32Array {
  const owners = new Uint32Array(starts.at(-1)!);
  for (let region = 0; region + 1 < starts.length; region++) {
    for (let run = starts[region]!; run < starts[region + 1]!; run++) owners[run] = region;
  }
  return owners;
}

const rowMark = fn(
  'rowMark',
  { row: i32, region: u32, boxes: array(i32), starts: array(u32) },
  { word: u32, bit: u32 },
  ({ row, region, boxes, starts }) => {
    const below = bitsToU32(row.sub(bandedBoxOf(boxes, region).top));
    return { word: starts.at(region).add(below.shr(5)), bit: u32(1).shl(below.and(31)) };
  },
);

const markCount = fn('markCount', { marks: u32 }, u32, ({ marks }) => popcount(marks));

/**
 * The index of the band that begins in the row of a run. Equals the number of marked rows above this row in the region.
 */
const bandOf = fn(
  'bandOf',
  { word: u32, bit: u32, region: u32, starts: array(u32), marks: array(u32), before: array(u32) },
  u32,
  ({ word, bit, region, starts, marks, before }) =>
    before
      .at(word)
      .sub(before.at(starts.at(region)))
      .add(popcount(marks.at(word).and(bit.sub(1)))),
);

const slotOf = fn('slotOf', { band: u32, region: u32, boxes: array(i32) }, u32, ({ band, region, boxes }) =>
  bandedBoxOf(boxes, region).rows.add(band),
);

const bandedRun = { from: i32, to: i32, band: u32, region: u32, boxes: array(i32) } as const;

/**
 * Flips the bits of the word in which a run begins, from the column where the run begins. If the run ends in the same
 * word, flips only up to its end.
 */
const firstToggle = fn('firstToggle', bandedRun, { word: u32, bits: u32 }, (run) => {
  const { strip, word, bits } = endOf(run, run.from);
  const other = endOf(run, run.to);
  return { word, bits: select(bits, bits.xor(other.bits), strip.eq(other.strip)) };
});

/**
 * Flips the bits of the word in which a run ends, from the column where the run ends. Does nothing if the run begins in
 * the same word.
 */
const secondToggle = fn('secondToggle', bandedRun, { word: u32, bits: u32 }, (run) => {
  const { strip, word, bits } = endOf(run, run.to);
  return { word: select(word, u32(BEYOND), strip.eq(endOf(run, run.from).strip)), bits };
});

interface BandedRun {
  readonly band: U32;
  readonly region: U32;
  readonly boxes: ArrayValue<'i32'>;
}

/**
 * The end of a run at `column`: its strip, the index of its word, and the bits of this word from `column` on. If the
 * end is to the right of the last strip, the index is above all words, so that no bits are flipped.
 */
function endOf({ band, region, boxes }: BandedRun, column: I32): { strip: U32; word: U32; bits: U32 } {
  const box = bandedBoxOf(boxes, region);
  const across = bitsToU32(column.sub(box.left));
  const strip = across.shr(5);
  const word = box.words.add(strip.mul(box.slots)).add(band);
  return { strip, word: select(u32(BEYOND), word, strip.lt(stripsOf(box))), bits: u32(BEYOND).shl(across.and(31)) };
}

const BEYOND = 2 ** 32 - 1;

function stripsOf({ left, right }: BandedBox): U32 {
  return bitsToU32(right.sub(left)).sub(1).shr(5).add(1);
}

/**
 * Draws regions as masks in bands. Rows in which runs begin are marked, one bit per row. The number of marks above a
 * row is the index of the band that begins in the row. Every end of a run flips the bits to its right in the same word.
 * Then an XOR scan down the bands turns these flips into masks. A single scan covers all strips of all regions, because
 * the last word of each strip becomes 0 and so does not affect the next strip.
 *
 * - Work O(runs + words), span O(log words). Runs come in any order.
 */
export function bandedMasks(context: Context, runs: BandedRuns): BandedMasks {
  const { from, to, row, region, boxes, marks: starts, size } = runs;
  return context.scope(() => {
    const place = context.materialize(map(rowMark, { row, region, boxes, starts }));
    const marks = context.materialize(constant(u32, 0, size.marks));
    scatterReduce(place.bit, place.word, 'or', marks);
    const before = exclusiveScan(map(markCount, { marks }), plus(u32));
    const band = context.materialize(map(bandOf, { ...place, region, starts, marks, before }));
    const rows = scatter(row, map(slotOf, { band, region, boxes }), size.slots, {
      onto: constant(i32, NO_ROW, size.slots),
    });
    const words = context.materialize(constant(u32, 0, size.words));
    for (const toggle of [firstToggle, secondToggle]) {
      const { word, bits } = map(toggle, { from, to, band, region, boxes });
      scatterReduce(bits, word, 'xor', words);
    }
    return { boxes, rows, words: inclusiveScan(words, bitXor(u32)) };
  });
}

/** Number of bands of p that a thread examines. Most regions have fewer bands, so one thread suffices. */
const BANDS_A_THREAD = 64;

/** Pairs of regions on a device. Each pair is split into parts, one per thread. */
export interface BandedPairs {
  /** Three numbers per pair: its row in the result, and its two regions. */
  readonly pairs: Column<'u32'>;
  /** The pair to which a part belongs. `rank` is the index of the part in its pair. */
  readonly row: Column<'u32'>;
  readonly rank: Column<'u32'>;
}

/** Uploads pairs of regions whose runs have been uploaded. */
export function uploadBandedPairs(context: Context, { pair, p, q }: NumberedPairs, { slots }: BandedRuns): BandedPairs {
  const counts = p.map((region) => Math.ceil(slots[region]! / BANDS_A_THREAD));
  const parts = counts.reduce((sum, count) => sum + count, 0);
  return context.scope(() => ({
    pairs: context.column(interleave(pair, p, q)),
    ...expandRows(context.column(counts), parts),
  }));
}

const bandColumns = { rows: array(i32), words: array(u32) } as const;

interface Bands {
  readonly rows: ArrayValue<'i32'>;
  readonly words: ArrayValue<'u32'>;
}

/** Functor that counts the pixels that two regions share in a part of the bands of p. */
const bandedPart = fn(
  'bandedPart',
  { row: u32, rank: u32, pairs: array(u32), boxes: array(i32), ...bandColumns },
  { pair: u32, pixels: u32 },
  ({ row, rank, pairs, boxes, rows, words }) => {
    const at = row.mul(3);
    const [p, q] = [pairs.at(at.add(1)), pairs.at(at.add(2))];
    const firstBand = rank.mul(BANDS_A_THREAD);
    const pixels = Var(u32(0));
    If(p.eq(q), () => addOwn(pixels, bandedBoxOf(boxes, p), firstBand, { rows, words })).Else(() =>
      addShared(pixels, bandedBoxOf(boxes, p), bandedBoxOf(boxes, q), firstBand, { rows, words }),
    );
    return { pair: pairs.at(at), pixels };
  },
);

/** Adds the pixels of one region in some of its bands. Used if both regions of a pair are the same. */
function addOwn(pixels: Variable<'u32'>, box: BandedBox, firstBand: U32, { rows, words }: Bands): void {
  const end = Let(firstBand.add(BANDS_A_THREAD).min(box.slots));
  const strips = stripsOf(box);
  const y = Var(rowOf(box, firstBand, rows));
  For(firstBand, end, (band) => {
    const next = rowOf(box, band.add(1), rows);
    const first = Let(box.words.add(band));
    const inBand = Var(u32(0));
    const word = Var(u32(0));
    For(0, strips, (strip) => {
      word.set(words.at(first.add(strip.mul(box.slots))).xor(u32(0).sub(word.shr(31))));
      inBand.set(inBand.add(popcount(word)));
    });
    // The computed height of the last band is meaningless, but the band is empty, so it adds nothing.
    pixels.set(pixels.add(inBand.mul(bitsToU32(next.sub(y)))));
    y.set(next);
  });
}

/**
 * Adds the pixels that two regions share in a part of the bands of the first region. Walks down the bands of both
 * regions side by side.
 */
function addShared(pixels: Variable<'u32'>, a: BandedBox, b: BandedBox, firstBand: U32, { rows, words }: Bands): void {
  const { left, top, columns, rows: shared } = sharedBox(a, b);
  // A box may begin above the region's first band, because it also encloses vertices without runs.
  const start = rowOf(a, firstBand, rows)
    .max(rowOf(b, u32(0), rows))
    .max(top);
  const end = rowOf(a, firstBand.add(BANDS_A_THREAD), rows).min(a.bottom).min(b.bottom);
  If(shared.gt(0).and(start.lt(end)), () => {
    const y = Var(start);
    const i = Var(firstBand);
    const afterI = Var(rowOf(a, firstBand.add(1), rows));
    While(
      () => afterI.le(y),
      () => {
        i.set(i.add(1));
        afterI.set(rowOf(a, i.add(1), rows));
      },
    );
    const j = Var(lastBand(b, rows, y));
    const afterJ = Var(rowOf(b, j.add(1), rows));
    While(
      () => y.lt(end),
      () => {
        const next = Let(afterI.min(afterJ).min(end));
        const height = bitsToU32(next.sub(y));
        pixels.set(pixels.add(sharedInBand(a, i, b, j, words, left, columns).mul(height)));
        y.set(next);
        If(afterI.le(next), () => {
          i.set(i.add(1));
          afterI.set(rowOf(a, i.add(1), rows));
        });
        If(afterJ.le(next), () => {
          j.set(j.add(1));
          afterJ.set(rowOf(b, j.add(1), rows));
        });
      },
    );
  });
}

/** The first row of a band; {@link NO_ROW} after the last band. */
function rowOf({ rows: start, slots }: BandedBox, band: U32, rows: ArrayValue<'i32'>): I32 {
  return select(i32(NO_ROW), rows.at(start.add(band)), band.lt(slots));
}

/** The index of the last band that begins in `row` or above it. */
function lastBand({ rows: start, slots }: BandedBox, rows: ArrayValue<'i32'>, row: I32): U32 {
  const from = Var(u32(0));
  const to = Var(slots);
  While(
    () => from.add(1).lt(to),
    () => {
      const middle = from.add(to).shr(1);
      If(rows.at(start.add(middle)).le(row), () => from.set(middle)).Else(() => to.set(middle));
    },
  );
  return from;
}

/** Number of pixels that two regions share in one row, given the bands of both regions that contain the row. */
function sharedInBand(
  a: BandedBox,
  i: U32,
  b: BandedBox,
  j: U32,
  words: ArrayValue<'u32'>,
  left: I32,
  columns: U32,
): U32 {
  const inA = stripReader(a, i, words, left);
  const inB = stripReader(b, j, words, left);
  const pixels = Var(u32(0));
  For(0, columns.add(31).shr(5), (strip) => pixels.set(pixels.add(popcount(inA(strip).and(inB(strip))))));
  return pixels;
}

/**
 * Returns a function that reads a band of a region from column `left` on, 32 pixels at a time. Strips must be read in
 * order.
 */
function stripReader(box: BandedBox, band: U32, words: ArrayValue<'u32'>, left: I32): (strip: U32) => U32 {
  const across = bitsToU32(left.sub(box.left));
  const shift = across.and(31);
  const first = box.words.add(band);
  const strips = stripsOf(box);
  const word = Var(words.at(first));
  const advance = (strip: U32): void => {
    const next = words.at(first.add(strip.mul(box.slots))).xor(u32(0).sub(word.shr(31)));
    word.set(select(u32(0), next, strip.lt(strips)));
  };
  For(1, across.shr(5).add(1), advance);
  return (strip) => {
    const low = Var(word.shr(shift));
    advance(across.shr(5).add(strip).add(1));
    // Two shifts, because WebGPU and WebAssembly take a shift by 32 as a shift by 0.
    return low.or(word.shl(1).shl(u32(31).sub(shift)));
  };
}

/**
 * Adds ‖p∩q‖ in pixels of every pair to `areas`. Walks down the bands of both regions side by side.
 *
 * - Work O((bands of p + bands of q) · strips shared) per pair, with one thread for 64 bands of p. The sum is taken
 *   modulo 2³².
 */
export function addBandedAreas(pairs: BandedPairs, { boxes, rows, words }: BandedMasks, areas: Column<'u32'>): void {
  const { pair, pixels } = map(bandedPart, { ...pairs, boxes, rows, words });
  scatterReduce(pixels, pair, 'add', areas);
}
