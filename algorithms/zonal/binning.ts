import { array, bool, type Parameters, u32, uniform } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import type { ArrayValue, Bool, U32 } from '../../primitives/functors/value.ts';
import { minF32From } from '../../primitives/histogram.ts';
import { ArgumentError, type Column, type Context } from '../../primitives/index.ts';
import { type Cells, isWide, type NarrowSample, type Scaling, type WideSample } from '../geometry/raster.ts';
import { type CapturedSearch, createEdgeSearch } from './edge-search.ts';
import { decimalsOf, evenBinCount } from './even-bins.ts';
import type { Words } from './fold.ts';
import { type CapturedMarks, isDataKey, isMarked, marksOf, uniformsFor } from './nodata-marks.ts';
import { type NodataBand, rangesOf } from './nodata-ranges.ts';
import { isNotANumber, orderedKey, orderedWord, valueOfOrderedWord } from './ordered-words.ts';
import { isReversed, scaledValue } from './scaling.ts';
import type { Binning } from './types.ts';
import { type CapturedWide, wideKeys } from './wide-keys.ts';
import { ABSENT } from './window-plan.ts';

/** The bins of a job. Bin i has the values with `edges[i] ≤ value < edges[i + 1]`. Edges are f64. */
export interface BinEdges {
  readonly lower: Float64Array;
  readonly upper: Float64Array;
}

/** Number of bins of a binning. For unique values, or without bins, it is 1: a single bin for all values. */
export function binCount(binning: Binning): number {
  if (hasOneBin(binning)) return 1;
  return binning.kind === 'edges'
    ? Math.max(0, binning.edges.length - 1)
    : requireEvenBins(binning.low, binning.high, binning.width);
}

/** Whether all values go into a single bin. */
function hasOneBin(binning: Binning): binning is Extract<Binning, { kind: 'unique' | 'none' }> {
  return binning.kind === 'unique' || binning.kind === 'none';
}

/** A bin has no values at its upper edge, so the largest number needs an infinite one. */
const EVERY_NUMBER: BinEdges = {
  lower: Float64Array.of(-Number.MAX_VALUE),
  upper: Float64Array.of(Number.POSITIVE_INFINITY),
};

/** The bin edges of a binning. */
export function binEdges(binning: Binning): BinEdges {
  if (hasOneBin(binning)) return EVERY_NUMBER;
  const edges =
    binning.kind === 'edges'
      ? Float64Array.from(binning.edges)
      : evenBinEdges(binning.low, binning.high, binning.width);
  const wrong = edges.findIndex((edge, i) => !Number.isFinite(edge) || (i > 0 && edge <= edges[i - 1]!));
  if (edges.length < 2 || wrong !== -1) {
    throw new ArgumentError('zonal/edges', 'The edges of the bins do not increase strictly.', {
      expected: 'at least two finite, increasing edges',
      got: edges.length < 2 ? `${edges.length}` : `${edges[wrong]} as edge ${wrong}`,
    });
  }
  return { lower: edges.subarray(0, -1), upper: edges.subarray(1) };
}

function requireEvenBins(low: number, high: number, width: number): number {
  const bins = evenBinCount(low, high, width);
  if (bins === undefined) {
    throw new ArgumentError('zonal/bins', 'The bins must have equal width.', {
      expected: 'high above low, and a width that divides their distance',
      got: `${low}:${high}:${width}`,
    });
  }
  return bins;
}

function evenBinEdges(low: number, high: number, width: number): Float64Array {
  const bins = requireEvenBins(low, high, width);
  const decimals = Math.max(decimalsOf(low), decimalsOf(width));
  const edge = (i: number): number => (i === bins ? high : meant(low + i * width, decimals));
  return Float64Array.from({ length: bins + 1 }, (_, i) => edge(i));
}

/**
 * Rounds the f64 sum of decimal numbers to the exact decimal result. For example, the edge 0 + 3 · 0.05 becomes 0.15,
 * not 0.15000000000000002. Computed edges then equal the edges that a user writes out. `decimals` is the number of
 * decimal places of the summands.
 */
function meant(sum: number, decimals: number): number {
  return decimals > MAX_DECIMALS ? sum : Number(sum.toFixed(decimals));
}

/** Maximum argument that `toFixed` accepts. */
const MAX_DECIMALS = 100;

/**
 * Indices of the counters (slots) in the histogram of a zone: first the bins, then `nodata`, `below` and `above`. `near`
 * counts the cells without data that match the nodata value without being equal to it; it is `nodata` if the band, or no
 * band of those that are counted together, can have such a cell.
 */
export interface Slots {
  readonly bins: number;
  readonly nodata: number;
  readonly below: number;
  readonly above: number;
  readonly near: number;
  readonly count: number;
}

export function slotsFor(bins: number, bands: readonly NodataBand[]): Slots {
  const slots = { bins, nodata: bins, below: bins + 1, above: bins + 2 };
  return bands.flatMap(rangesOf).some(({ low, high }) => low < high)
    ? { ...slots, near: bins + 3, count: bins + 4 }
    : { ...slots, near: bins, count: bins + 3 };
}

/** The values of the parameters of a {@link Classifier} inside a functor. */
export interface Captured extends CapturedSearch, CapturedMarks, CapturedWide {
  readonly slotTable?: ArrayValue<'u32'>;
}

/**
 * Maps the cells of a band to slots (counters) of the histogram, in the code of functors. A cell is given as its stored
 * bits: one word, of which 8 or 16 bits leave the upper bits 0; or two words, the low one first.
 */
export interface Classifier {
  readonly slots: Slots;
  /** Parameters that the functor needs besides the cells. `captures` has their values. */
  readonly parameters: Parameters;
  readonly captures: { readonly [name: string]: Column | number };
  /** The stored bits of a cell of the column that {@link cellColumn} makes. */
  cellAt(cells: ArrayValue<'u32'>, index: U32): Words;
  /** The slot of the histogram to which a stored cell belongs. */
  slotOf(raw: Words, captured: Captured): U32;
  /** Whether all stored values from `smallest` to `largest` belong to one slot, computed on the host. */
  areInOneSlot(smallest: number, largest: number): boolean;
  /** Whether a stored cell has data. */
  isData(raw: Words, captured: Captured): Bool;
  /** Whether a stored cell matches the nodata value without being equal to it. */
  isNear(raw: Words, captured: Captured): Bool;
  /**
   * Whether a cell with this sign and exponent (the upper 9 bits of an f32, 12 of an f64) may lack data, so that `isData`
   * must test it. Only for floats.
   */
  mayLackData(head: U32, captured: Captured): Bool;
}

/** Data of a band from which its classifier is made. */
export interface ClassifiedBand extends NodataBand {
  readonly scaling?: Scaling | undefined;
}

/**
 * Makes a classifier for bins. The tables of the classifier are columns of the context, and the caller frees them.
 *
 * @param slots - The slots of this band, or of all bands that are counted together; see {@link slotsFor}.
 */
export function createClassifier(
  context: Context,
  band: ClassifiedBand,
  { lower, upper }: BinEdges,
  slots: Slots = slotsFor(lower.length, [band]),
): Classifier {
  const { sample } = band;
  const edges = edgesOf(lower, upper);
  if (isWide(sample)) return wideClassifier(context, sample, band, edges, slots);
  return sample === 'u8' || sample === 'i8' || sample === 'u16' || sample === 'i16'
    ? tableClassifier(context, sample, band, edges, slots)
    : searchClassifier(context, sample, band, edges, slots);
}

function edgesOf(lower: Float64Array, upper: Float64Array): Float64Array {
  const edges = new Float64Array(lower.length + 1);
  edges.set(lower);
  edges.set(upper.subarray(-1), lower.length);
  return edges;
}

/** Classifier for 8- and 16-bit samples: looks up the slot in a table of all possible values. */
function tableClassifier(
  context: Context,
  sample: 'u8' | 'i8' | 'u16' | 'i16',
  band: ClassifiedBand,
  edges: Float64Array,
  slots: Slots,
): Classifier {
  const { nodata, scaling } = band;
  const bits = sample === 'u8' || sample === 'i8' ? 8 : 16;
  const size = 2 ** bits;
  const table = slots.count <= 2 ** 16 ? new Uint16Array(size) : new Uint32Array(size);
  const least = sample === 'i8' || sample === 'i16' ? -size / 2 : 0;
  // In this order, scaled values never decrease, so the edges are passed once.
  const [first, step] = isReversed(scaling) ? [least + size - 1, -1] : [least, 1];
  let [nodataKey, reached] = [ABSENT, 0];
  for (let at = 0, stored = first; at < size; at++, stored += step) {
    const raw = stored & (size - 1);
    const value = scaledValue(scaling, stored);
    while (reached < edges.length && edges[reached]! <= value) reached++;
    table[raw] = slotReached(reached, edges, slots);
    if (stored !== nodata) continue;
    nodataKey = raw;
    table[raw] = slots.nodata;
  }
  return {
    slots,
    parameters: { slotTable: array(u32), nodataKey: uniform(u32) },
    captures: { slotTable: context.column(table), nodataKey },
    cellAt: oneWord,
    slotOf: ([raw], { slotTable }) => slotTable!.at(raw!),
    areInOneSlot: oneSlot(band, (stored) => table[stored & (table.length - 1)]!),
    // Scaling turns integer samples into numbers or infinities, never into NaN. So only cells with the nodata value
    // lack data.
    isData: ([raw], { nodataKey }) => raw!.ne(nodataKey!),
    isNear: () => bool(false),
    mayLackData: () => bool(true),
  };
}

/**
 * The slot of a value, computed on the host in f64. The functors of classifiers compute the same slots on the device.
 */
function slotOfNumber(value: number, edges: Float64Array, slots: Slots): number {
  if (Number.isNaN(value)) return slots.nodata;
  let first = 0;
  let last = edges.length;
  while (first < last) {
    const middle = (first + last) >> 1;
    if (edges[middle]! <= value) first = middle + 1;
    else last = middle;
  }
  return slotReached(first, edges, slots);
}

/** The slot of a value that so many edges do not exceed. */
function slotReached(reached: number, edges: Float64Array, slots: Slots): number {
  if (reached === 0) return slots.below;
  return reached === edges.length ? slots.above : reached - 1;
}

/** Makes {@link Classifier.areInOneSlot}. Slots never decrease as values grow, so those of the ends decide. */
function oneSlot({ sample, nodata }: NodataBand, slotOf: (stored: number) => number): Classifier['areInOneSlot'] {
  return (smallest, largest) => {
    // Other values than the nodata value may lack data in a band of f32.
    const lacksNone = sample !== 'f32' && !(nodata !== undefined && smallest <= nodata && nodata <= largest);
    return lacksNone && slotOf(smallest) === slotOf(largest);
  };
}

/**
 * Classifier for 32-bit samples: searches the sorted edges of the bins. Cells and edges are converted to ordered words
 * (u32 words that compare like the values).
 */
function searchClassifier(
  context: Context,
  sample: 'u32' | 'i32' | 'f32',
  { nodata, scaling }: ClassifiedBand,
  edges: Float64Array,
  slots: Slots,
): Classifier {
  const thresholds = scaling === undefined ? thresholdsOf(sample, edges) : scaledThresholds(sample, scaling, edges);
  // With a negative scale, larger stored values mean smaller numbers. Inverting the words corrects the order.
  const turned = isReversed(scaling) ? 0xffffffff : 0;
  const keyOf = (raw: U32): U32 => (turned === 0 ? orderedKey(sample, raw) : orderedKey(sample, raw).xor(turned));
  const marks = marksOf({ sample, nodata }, turned);
  const search = createEdgeSearch(context, thresholds);
  const isData = (raw: U32, key: U32, captured: Captured): Bool =>
    sample === 'f32' ? isMarked(key, captured).or(isNotANumber(raw)).not() : isDataKey(key, captured);
  const isNear = (raw: U32, key: U32, captured: Captured): Bool =>
    isMarked(key, captured).and(key.ne(captured.nodataKey!)).and(isNotANumber(raw).not());
  return {
    slots,
    parameters: { ...search.parameters, ...uniformsFor(marks) },
    captures: { ...search.captures, ...marks },
    cellAt: oneWord,
    slotOf: ([word], captured) => {
      const raw = word!;
      const key = keyOf(raw);
      const inside = slotOfReached(search.countReached(key, captured), slots);
      const slot = select(u32(slots.nodata), inside, isData(raw, key, captured));
      return slots.near === slots.nodata ? slot : select(slot, u32(slots.near), isNear(raw, key, captured));
    },
    areInOneSlot: oneSlot({ sample, nodata }, (stored) => slotOfNumber(scaledValue(scaling, stored), edges, slots)),
    isData: ([raw], captured) => isData(raw!, keyOf(raw!), captured),
    isNear: ([raw], captured) => (slots.near === slots.nodata ? bool(false) : isNear(raw!, keyOf(raw!), captured)),
    mayLackData: (head, { nodataHead, nodataHeadSpan, nodataHeadBits }) =>
      head.and(0xff).eq(0xff).or(head.and(nodataHeadBits!).sub(nodataHead!).le(nodataHeadSpan!)),
  };
}

/** Classifier for 64-bit samples. Only values that equal the nodata value have no data, also of f64. */
function wideClassifier(
  context: Context,
  sample: WideSample,
  { nodata, scaling }: ClassifiedBand,
  edges: Float64Array,
  slots: Slots,
): Classifier {
  const { countReached, ...keys } = wideKeys(context, sample, nodata, scaling, edges);
  return {
    slots,
    ...keys,
    cellAt(cells, index) {
      const at = index.shl(1);
      return [cells.at(at), cells.at(at.add(1))];
    },
    slotOf: (raw, captured) => {
      const inside = slotOfReached(countReached(raw, captured), slots);
      return select(u32(slots.nodata), inside, keys.isData(raw, captured));
    },
    // No raster gives encoded cells of 64 bits.
    areInOneSlot: () => false,
    isNear: () => bool(false),
  };
}

function oneWord(cells: ArrayValue<'u32'>, index: U32): Words {
  return [cells.at(index)];
}

/** The slot of a value that so many edges do not exceed, in the code of functors. */
function slotOfReached(reached: U32, slots: Slots): U32 {
  const bin = select(reached.sub(1), u32(slots.below), reached.eq(0));
  return select(bin, u32(slots.above), reached.gt(slots.bins));
}

/**
 * For each edge, the ordered word of the smallest value that is not below the edge. Edges above all possible values are
 * left out.
 */
function thresholdsOf(sample: 'u32' | 'i32' | 'f32', edges: Float64Array): Uint32Array {
  const [min, max] = sample === 'u32' ? [0, 2 ** 32 - 1] : [-(2 ** 31), 2 ** 31 - 1];
  if (sample === 'f32') return Uint32Array.from(edges, (edge) => orderedWord(sample, minF32From(edge)));
  const reached = edges.findIndex((edge) => Math.ceil(edge) > max);
  const reachable = reached === -1 ? edges : edges.subarray(0, reached);
  return Uint32Array.from(reachable, (edge) => orderedWord(sample, Math.max(min, Math.ceil(edge))));
}

/** Same as {@link thresholdsOf} for scaled values. */
function scaledThresholds(sample: 'u32' | 'i32' | 'f32', scaling: Scaling, edges: Float64Array): Uint32Array {
  const thresholds = Array.from(edges, (edge) => minWordReaching(sample, scaling, edge));
  return Uint32Array.from(thresholds.filter((word) => word !== undefined));
}

/** The minimum and maximum ordered word that values of a sample type have. */
function wordRange(sample: NarrowSample): readonly [min: number, max: number] {
  return sample === 'f32' ? [orderedWord(sample, -Infinity), orderedWord(sample, Infinity)] : [0, 2 ** 32 - 1];
}

/**
 * The smallest ordered word (a u32 that compares like the sample) whose scaled value is at least `edge`. Undefined if
 * all scaled values are below `edge`. With a negative scale, ordered words are inverted, so that scaled values never
 * decrease as words increase. Rounding preserves this order, so bisection finds the word exactly.
 */
function minWordReaching(sample: NarrowSample, scaling: Scaling, edge: number): number | undefined {
  const [min, max] = wordRange(sample);
  const reversed = isReversed(scaling);
  const valueAt = (word: number): number =>
    scaledValue(scaling, valueOfOrderedWord(sample, reversed ? ~word >>> 0 : word));
  let [low, high] = reversed ? [~max >>> 0, ~min >>> 0] : [min, max];
  if (valueAt(high) < edge) return undefined;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (valueAt(middle) >= edge) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** A column with the stored bits of cells: a row for each, or two rows for each of 64 bits, the low word first. */
export function cellColumn(context: Context, cells: Cells): Column<'u32'> {
  const { buffer, byteOffset, length } = cells;
  switch (cells.BYTES_PER_ELEMENT) {
    case 1:
      return context.column(new Uint8Array(buffer, byteOffset, length));
    case 2:
      return context.column(new Uint16Array(buffer, byteOffset, length));
    case 4:
      return context.column(new Uint32Array(buffer, byteOffset, length));
    default:
      return context.column(new Uint32Array(buffer, byteOffset, 2 * length));
  }
}
