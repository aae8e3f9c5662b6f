import { array, bool, type Parameters, u32, uniform } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import type { ArrayValue, Bool, U32 } from '../../primitives/functors/value.ts';
import type { Column, Context } from '../../primitives/index.ts';
import type { Scaling, WideSample } from '../geometry/raster.ts';
import { intervalsOf } from './edge-search.ts';
import type { Words } from './fold.ts';
import type { NodataBand } from './nodata-ranges.ts';
import { isReversed, scaledValue } from './scaling.ts';
import { isBelow, isWideNaN, orderedBits, orderedWords, valueOfOrderedWords, wordsOfBits } from './wide-words.ts';
import { ABSENT } from './window-plan.ts';

/** The values of the parameters of {@link wideKeys} inside a functor. */
export interface CapturedWide {
  readonly wideTable?: ArrayValue<'u32'>;
  readonly wideBase?: U32;
  readonly wideBaseHigh?: U32;
  readonly wideCells?: U32;
  readonly wideEdges?: U32;
  readonly wideNodata?: U32;
  readonly wideNodataHigh?: U32;
  readonly hasWideNodata?: U32;
  readonly wideHead?: U32;
  readonly wideHeadBits?: U32;
}

/** What a classifier asks of cells of 64 bits, in the code of functors. `raw` is a stored cell, the low word first. */
export interface WideKeys {
  readonly parameters: Parameters;
  readonly captures: { readonly [name: string]: Column | number };
  /** The number of edges that the scaled value of a cell reaches. */
  countReached(raw: Words, captured: CapturedWide): U32;
  isData(raw: Words, captured: CapturedWide): Bool;
  /** Whether an f64 with this sign and exponent (its upper 12 bits) may lack data. */
  mayLackData(head: U32, captured: CapturedWide): Bool;
}

/**
 * Compares cells of 64 bits with the edges of bins and with the nodata value, as ordered words. Nothing is rounded: the
 * edges are moved to the smallest stored values that reach them.
 */
export function wideKeys(
  context: Context,
  sample: WideSample,
  nodata: NodataBand['nodata'],
  scaling: Scaling | undefined,
  edges: Float64Array,
): WideKeys {
  const isTurned = isReversed(scaling);
  const keyOf = (raw: Words): Words => {
    const key = orderedWords(sample, raw);
    return isTurned ? key.map((word) => word.xor(0xffffffff)) : key;
  };
  const { words, shift, steps, ...search } = planWideSearch(
    scaling === undefined ? wideThresholds(sample, edges) : scaledThresholds(sample, scaling, edges),
  );
  const marks = wideMarks(sample, nodata);
  const numbers = { ...search, ...marks };
  return {
    parameters: {
      wideTable: array(u32),
      ...Object.fromEntries(Object.keys(numbers).map((name) => [name, uniform(u32)])),
    },
    captures: { wideTable: context.column(words), ...numbers },
    countReached(raw, { wideTable, wideBase, wideBaseHigh, wideCells, wideEdges }) {
      const key = keyOf(raw);
      const [low, high] = [key[0]!.sub(wideBase!), key[1]!.sub(wideBaseHigh!).sub(u32(key[0]!.lt(wideBase!)))];
      let reached = wideTable!.at(shifted(low, high, shift).min(wideCells!));
      // In the table, the first `wideCells + 1` words are counts of edges, and the edges follow, two words each.
      const first = wideCells!.add(1);
      for (let step = 2 ** (steps - 1); step >= 1; step /= 2) {
        const at = first.add(reached.add(step - 1).shl(1));
        const edge = [wideTable!.at(at), wideTable!.at(at.add(1))];
        reached = select(reached.add(step), reached, isBelow(key, edge));
      }
      return select(reached.min(wideEdges!), u32(0), isBelow(key, [wideBase!, wideBaseHigh!]));
    },
    isData(raw, { wideNodata, wideNodataHigh, hasWideNodata }) {
      const [low, high] = orderedWords(sample, raw);
      const hasValue = low!.ne(wideNodata!).or(high!.ne(wideNodataHigh!)).or(hasWideNodata!.eq(0));
      return sample === 'f64' ? hasValue.and(isWideNaN(raw).not()) : hasValue;
    },
    mayLackData: (head, { wideHead, wideHeadBits }) =>
      sample === 'f64' ? head.and(0x7ff).eq(0x7ff).or(head.and(wideHeadBits!).eq(wideHead!)) : bool(true),
  };
}

/** An integer of two words, shifted right, as one word: 2³² − 1 if it does not fit. */
function shifted(low: U32, high: U32, shift: number): U32 {
  if (shift >= 32) return high.shr(shift - 32);
  if (shift === 0) return select(low, u32(ABSENT), high.ne(0));
  return select(low.shr(shift).or(high.shl(32 - shift)), u32(ABSENT), high.shr(shift).ne(0));
}

/** A value that cells of a type may equal: a bigint for integers. Undefined if none can. */
export function storableValue(sample: WideSample, nodata: NodataBand['nodata']): number | bigint | undefined {
  if (nodata === undefined || Number.isNaN(nodata)) return undefined;
  if (sample === 'f64')
    return typeof nodata === 'number' || BigInt(Number(nodata)) === nodata ? Number(nodata) : undefined;
  if (typeof nodata === 'number' && !Number.isInteger(nodata)) return undefined;
  const whole = BigInt(nodata);
  return (sample === 'u64' ? BigInt.asUintN(64, whole) : BigInt.asIntN(64, whole)) === whole ? whole : undefined;
}

/** The ordered words of the nodata value, and the sign and exponent of an f64. 0 and −0 have two signs. */
function wideMarks(sample: WideSample, nodata: NodataBand['nodata']) {
  const value = storableValue(sample, nodata);
  if (value === undefined)
    return { wideNodata: 0, wideNodataHigh: 0, hasWideNodata: 0, wideHead: ABSENT, wideHeadBits: 0 };
  const [low, high] = wordsOfBits(orderedBits(sample, value));
  const wideHeadBits = Number(value) === 0 ? 0x7ff : 0xfff;
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, Number(value));
  const head = bits.getUint32(0) >>> 20;
  return { wideNodata: low, wideNodataHigh: high, hasWideNodata: 1, wideHead: head & wideHeadBits, wideHeadBits };
}

const RANGES = { u64: [0n, 2n ** 64n - 1n], i64: [-(2n ** 63n), 2n ** 63n - 1n] } as const;

/**
 * For each edge, the ordered words of the smallest value that is not below the edge. Edges above all possible values are
 * left out.
 */
function wideThresholds(sample: WideSample, edges: Float64Array): bigint[] {
  if (sample === 'f64') return Array.from(edges, (edge) => orderedBits(sample, edge));
  const [min, max] = RANGES[sample];
  const finite = Array.from(edges).filter(Number.isFinite);
  const values = finite.map((edge) => BigInt(Math.ceil(edge))).filter((value) => value <= max);
  return values.map((value) => orderedBits(sample, value < min ? min : value));
}

/** Same as {@link wideThresholds} for scaled values. Rounding keeps their order, so bisection finds the words exactly. */
function scaledThresholds(sample: WideSample, scaling: Scaling, edges: Float64Array): bigint[] {
  const isTurned = isReversed(scaling);
  const turned = (bits: bigint): bigint => (isTurned ? ALL_BITS - bits : bits);
  const valueAt = (bits: bigint): number =>
    scaledValue(scaling, valueOfOrderedWords(sample, ...wordsOfBits(turned(bits))));
  const ends = sample === 'f64' ? [-Infinity, Infinity].map((end) => orderedBits(sample, end)) : [0n, ALL_BITS];
  const [min, max] = isTurned ? [turned(ends[1]!), turned(ends[0]!)] : [ends[0]!, ends[1]!];
  return Array.from(edges).flatMap((edge) => {
    if (valueAt(max) < edge) return [];
    let [low, high] = [min, max];
    while (low < high) {
      const middle = (low + high) / 2n;
      if (valueAt(middle) >= edge) high = middle;
      else low = middle + 1n;
    }
    return [low];
  });
}

const ALL_BITS = 2n ** 64n - 1n;

/** Maximum number of intervals in the lookup table. */
const MAX_CELLS = 2n ** 16n;

/** The table of a search in increasing u64 edges; see `createEdgeSearch`, which does the same for u32. */
function planWideSearch(edges: readonly bigint[]) {
  const base = edges[0] ?? 0n;
  const range = (edges.at(-1) ?? 0n) - base;
  let shift = 0n;
  while ((range >> shift) + 1n > MAX_CELLS) shift++;
  const { before, steps } = intervalsOf(
    edges.map((edge) => Number((edge - base) >> shift)),
    Number(range >> shift) + 1,
  );
  const words = new Uint32Array(before.length + 2 * (edges.length + 2 ** steps)).fill(ABSENT);
  words.set(before);
  for (const [i, edge] of edges.entries()) words.set(wordsOfBits(edge), before.length + 2 * i);
  const [wideBase, wideBaseHigh] = wordsOfBits(base);
  const counts = { wideCells: before.length - 1, wideEdges: edges.length };
  return { words, shift: Number(shift), steps, wideBase, wideBaseHigh, ...counts };
}
