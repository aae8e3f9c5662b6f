import { array, bool, type Parameters, u32, uniform } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import { f32BitsToSortable } from '../../primitives/functors/standard/sortable.ts';
import type { ArrayValue, Bool, U32 } from '../../primitives/functors/value.ts';
import { ArgumentError, type Column, type Context } from '../../primitives/index.ts';
import type { Cells, Sample, Scaling } from '../geometry/raster.ts';
import { type CapturedSearch, createEdgeSearch } from './edge-search.ts';
import { decimalsOf, evenBinCount } from './even-bins.ts';
import { isReversed, scaledValue } from './scaling.ts';
import type { Binning } from './types.ts';
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

const EVERY_NUMBER: BinEdges = {
  lower: Float64Array.of(-Number.MAX_VALUE),
  upper: Float64Array.of(Number.MAX_VALUE),
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

/** Indices of the counters (slots) in the histogram of a zone: first the bins, then `nodata`, `below` and `above`. */
export interface Slots {
  readonly bins: number;
  readonly nodata: number;
  readonly below: number;
  readonly above: number;
  readonly count: number;
}

export function slotsFor(bins: number): Slots {
  return { bins, nodata: bins, below: bins + 1, above: bins + 2, count: bins + 3 };
}

/** The values of the parameters of a {@link Classifier} inside a functor. */
export interface Captured extends CapturedSearch {
  readonly slotTable?: ArrayValue<'u32'>;
  readonly nodataKey?: U32;
  readonly hasNodata?: U32;
  readonly nodataHead?: U32;
  readonly nodataHeadBits?: U32;
}

/**
 * Maps the cells of a band to slots (counters) of the histogram, in the code of functors. A cell is given as its stored
 * bits: 32 bits, or 8 or 16 bits whose upper bits are 0.
 */
export interface Classifier {
  readonly slots: Slots;
  /** Parameters that the functor needs besides the cells. `captures` has their values. */
  readonly parameters: Parameters;
  readonly captures: { readonly [name: string]: Column | number };
  /** The slot of the histogram to which a stored cell belongs. */
  slotOf(raw: U32, captured: Captured): U32;
  /** Whether a stored cell has data. */
  isData(raw: U32, captured: Captured): Bool;
  /**
   * Whether a cell with this sign and exponent (its upper 9 bits) may lack data, so that `isData` must test it. Only
   * for f32.
   */
  mayLackData(head: U32, captured: Captured): Bool;
}

/** Data of a band from which its classifier is made. */
export interface ClassifiedBand {
  readonly sample: Sample;
  readonly nodata: number | undefined;
  readonly scaling?: Scaling | undefined;
}

/** Makes a classifier for bins. The tables of the classifier are columns of the context, and the caller frees them. */
export function createClassifier(context: Context, band: ClassifiedBand, { lower, upper }: BinEdges): Classifier {
  const { sample } = band;
  const edges = edgesOf(lower, upper);
  const slots = slotsFor(lower.length);
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
  { nodata, scaling }: ClassifiedBand,
  edges: Float64Array,
  slots: Slots,
): Classifier {
  const bits = sample === 'u8' || sample === 'i8' ? 8 : 16;
  const signed = sample === 'i8' || sample === 'i16';
  const numberOf = (raw: number): number => (signed && raw >= 2 ** (bits - 1) ? raw - 2 ** bits : raw);
  const table = slots.count <= 2 ** 16 ? new Uint16Array(2 ** bits) : new Uint32Array(2 ** bits);
  let nodataKey = ABSENT;
  for (let raw = 0; raw < table.length; raw++) {
    const stored = numberOf(raw);
    if (stored === nodata) nodataKey = raw;
    table[raw] = stored === nodata ? slots.nodata : slotOfNumber(scaledValue(scaling, stored), edges, slots);
  }
  return {
    slots,
    parameters: { slotTable: array(u32), nodataKey: uniform(u32) },
    captures: { slotTable: context.column(table), nodataKey },
    slotOf: (raw, { slotTable }) => slotTable!.at(raw),
    // Scaling turns integer samples into numbers or infinities, never into NaN. So only cells with the nodata value
    // lack data.
    isData: (raw, { nodataKey }) => raw.ne(nodataKey!),
    mayLackData: () => bool(true),
  };
}

/**
 * The slot of a value, computed on the host in f64. The functors of classifiers compute the same slots on the device.
 */
function slotOfNumber(value: number, edges: Float64Array, slots: Slots): number {
  if (Number.isNaN(value)) return slots.nodata;
  if (value < edges[0]!) return slots.below;
  if (value >= edges[edges.length - 1]!) return slots.above;
  let first = 0;
  let last = edges.length - 1;
  while (last - first > 1) {
    const middle = (first + last) >> 1;
    if (edges[middle]! <= value) first = middle;
    else last = middle;
  }
  return first;
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
  const marked = nodata !== undefined && isValueOf(sample, nodata);
  const search = createEdgeSearch(context, thresholds);
  return {
    slots,
    parameters: {
      ...search.parameters,
      nodataKey: uniform(u32),
      hasNodata: uniform(u32),
      nodataHead: uniform(u32),
      nodataHeadBits: uniform(u32),
    },
    captures: {
      ...search.captures,
      ...headsWithout(marked ? nodata : undefined),
      nodataKey: marked ? (orderedWord(sample, nodata) ^ turned) >>> 0 : 0,
      hasNodata: marked ? 1 : 0,
    },
    slotOf: (raw, captured) => {
      const key = keyOf(raw);
      const reached = search.countReached(key, captured);
      const bin = select(reached.sub(1), u32(slots.below), reached.eq(0));
      const inside = select(bin, u32(slots.above), reached.gt(slots.bins));
      return select(u32(slots.nodata), inside, isDataKey(sample, raw, key, captured));
    },
    isData: (raw, captured) => isDataKey(sample, raw, keyOf(raw), captured),
    mayLackData: (head, { nodataHead, nodataHeadBits }) =>
      head.and(0xff).eq(0xff).or(head.and(nodataHeadBits!).eq(nodataHead!)),
  };
}

/**
 * The sign and exponent bits of an f32 nodata value, and a mask of the bits to compare. If the nodata value is zero,
 * the mask leaves out the sign, so that both 0 and −0 match.
 */
function headsWithout(nodata: number | undefined): { readonly nodataHead: number; readonly nodataHeadBits: number } {
  if (nodata === undefined) return { nodataHead: ABSENT, nodataHeadBits: 0 };
  scratch.setFloat32(0, nodata);
  const nodataHeadBits = nodata === 0 ? 0xff : 0x1ff;
  return { nodataHead: (scratch.getUint32(0) >>> 23) & nodataHeadBits, nodataHeadBits };
}

/** Whether a 32-bit cell has data. `raw` is the stored cell, `key` the cell as an ordered word. */
function isDataKey(sample: Sample, raw: U32, key: U32, { nodataKey, hasNodata }: Captured): Bool {
  const isData = key.ne(nodataKey!).or(hasNodata!.eq(0));
  return sample === 'f32' ? isData.and(isNotANumber(raw).not()) : isData;
}

/**
 * Whether a cell with this sample type can equal the given nodata value. False for NaN, because NaN cells lack data
 * whatever the nodata value is.
 */
function isValueOf(sample: 'u32' | 'i32' | 'f32', value: number): boolean {
  if (sample === 'u32') return value === value >>> 0;
  return value === (sample === 'i32' ? value | 0 : Math.fround(value));
}

/** Maps a stored cell to an ordered word: a u32 that has the order of the sample's values. −0 becomes 0. */
export function orderedKey(sample: Sample, raw: U32): U32 {
  if (sample === 'i32') return raw.xor(0x80000000);
  if (sample !== 'f32') return raw;
  return f32BitsToSortable({ bits: select(raw, u32(0), raw.eq(0x80000000)) });
}

function isNotANumber(raw: U32): Bool {
  return raw.and(0x7fffffff).gt(0x7f800000);
}

/** Same as {@link orderedKey} for a number on the host. */
function orderedWord(sample: Sample, value: number): number {
  if (sample === 'i32') return (value ^ 0x80000000) >>> 0;
  if (sample !== 'f32') return value >>> 0;
  scratch.setFloat32(0, value === 0 ? 0 : value);
  const bits = scratch.getUint32(0);
  return (bits >= 0x80000000 ? ~bits : bits | 0x80000000) >>> 0;
}

/** The number whose ordered word is `word`. */
export function valueOfOrderedWord(sample: Sample, word: number): number {
  if (sample === 'i8') return word - 0x80;
  if (sample === 'i16') return word - 0x8000;
  if (sample === 'i32') return (word ^ 0x80000000) | 0;
  if (sample !== 'f32') return word;
  scratch.setUint32(0, word >= 0x80000000 ? word & 0x7fffffff : ~word >>> 0);
  return scratch.getFloat32(0);
}

/** Memory for conversions between f32 numbers and their bits. */
const scratch = new DataView(new ArrayBuffer(4));

/**
 * For each edge, the ordered word of the smallest value that is not below the edge. Edges above all possible values are
 * left out.
 */
function thresholdsOf(sample: 'u32' | 'i32' | 'f32', edges: Float64Array): Uint32Array {
  const [min, max] = sample === 'u32' ? [0, 2 ** 32 - 1] : [-(2 ** 31), 2 ** 31 - 1];
  if (sample === 'f32') return Uint32Array.from(edges, (edge) => orderedWord(sample, minF32NotBelow(edge)));
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
function wordRange(sample: Sample): readonly [min: number, max: number] {
  return sample === 'f32' ? [orderedWord(sample, -Infinity), orderedWord(sample, Infinity)] : [0, 2 ** 32 - 1];
}

/**
 * The smallest ordered word (a u32 that compares like the sample) whose scaled value is at least `edge`. Undefined if
 * all scaled values are below `edge`. With a negative scale, ordered words are inverted, so that scaled values never
 * decrease as words increase. Rounding preserves this order, so bisection finds the word exactly.
 */
function minWordReaching(sample: Sample, scaling: Scaling, edge: number): number | undefined {
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

function minF32NotBelow(edge: number): number {
  const near = Math.fround(edge);
  if (near >= edge) return near;
  scratch.setFloat32(0, near);
  const bits = scratch.getInt32(0);
  scratch.setInt32(0, near === 0 ? 1 : bits >= 0 ? bits + 1 : bits - 1);
  return scratch.getFloat32(0);
}

/** A column with the stored bits of cells. */
export function cellColumn(context: Context, cells: Cells): Column<'u32'> {
  const { buffer, byteOffset, length } = cells;
  switch (cells.BYTES_PER_ELEMENT) {
    case 1:
      return context.column(new Uint8Array(buffer, byteOffset, length));
    case 2:
      return context.column(new Uint16Array(buffer, byteOffset, length));
    default:
      return context.column(new Uint32Array(buffer, byteOffset, length));
  }
}
