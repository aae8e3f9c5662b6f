import { u32 } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import type { Bool } from '../../primitives/functors/value.ts';
import type { WideSample } from '../geometry/raster.ts';
import type { Words } from './fold.ts';

/**
 * Maps a stored cell of 64 bits, the low word first, to ordered words: a u64 that has the order of the sample's values.
 * −0 becomes 0.
 */
export function orderedWords(sample: WideSample, [low, high]: Words): Words {
  if (sample === 'u64') return [low!, high!];
  if (sample === 'i64') return [low!, high!.xor(0x80000000)];
  const upper = select(high!, u32(0), high!.eq(0x80000000).and(low!.eq(0)));
  // All bits of a negative number are inverted, and the sign bit of others.
  const turn = u32(0).sub(upper.shr(31));
  return [low!.xor(turn), upper.xor(turn.or(0x80000000))];
}

/** Whether an integer of two words, the low one first, is below another. */
export function isBelow([low, high]: Words, [otherLow, otherHigh]: Words): Bool {
  return high!.lt(otherHigh!).or(high!.eq(otherHigh!).and(low!.lt(otherLow!)));
}

/** The smaller and the larger of two integers of two words. */
export function sortedPair(a: Words, b: Words): readonly [smaller: Words, larger: Words] {
  const isInOrder = isBelow(a, b);
  const pick = (one: Words, other: Words): Words => one.map((word, i) => select(word, other[i]!, isInOrder));
  return [pick(b, a), pick(a, b)];
}

/** Whether the bits of an f64 are a NaN. */
export function isWideNaN([low, high]: Words): Bool {
  const upper = high!.and(0x7fffffff);
  return upper.gt(0x7ff00000).or(upper.eq(0x7ff00000).and(low!.ne(0)));
}

const view = new DataView(new ArrayBuffer(8));

const SIGN = 1n << 63n;

/** Same as {@link orderedWords} for a value on the host, which a cell can have. */
export function orderedBits(sample: WideSample, value: number | bigint): bigint {
  if (sample === 'u64') return BigInt(value);
  if (sample === 'i64') return BigInt(value) + SIGN;
  view.setFloat64(0, Number(value) + 0);
  const bits = view.getBigUint64(0);
  return (bits & SIGN) === 0n ? bits | SIGN : BigInt.asUintN(64, ~bits);
}

/** The value that has these ordered words: a bigint for integers. */
export function valueOfOrderedWords(sample: WideSample, low: number, high: number): number | bigint {
  if (sample !== 'f64') return ((BigInt(high) << 32n) | BigInt(low)) - (sample === 'i64' ? SIGN : 0n);
  const isPositive = high >= 0x80000000;
  view.setUint32(0, isPositive ? high & 0x7fffffff : ~high);
  view.setUint32(4, isPositive ? low : ~low);
  return view.getFloat64(0);
}

/** The low and the high word of a u64. */
export function wordsOfBits(bits: bigint): [low: number, high: number] {
  return [Number(bits & 0xffffffffn), Number(bits >> 32n)];
}
