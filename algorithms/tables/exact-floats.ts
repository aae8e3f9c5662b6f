import { u32 } from '../../primitives/functors/functor.ts';
import { bitsToF32, bitsToI32 } from '../../primitives/functors/standard/bits.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import { mulU32 } from '../../primitives/functors/standard/wide-products.ts';
import type { Bool, U32, Value } from '../../primitives/functors/value.ts';
import type { ScalarType } from '../../primitives/ir/ir.ts';
import { bitOr } from '../../primitives/monoid.ts';
import { ratio } from '../exact-ratio.ts';
import { type FloatPart, f32Bits } from './floats.ts';
import { combineParts, constantPart, type QuestionPart } from './part.ts';
import { integerOfWords, sumOfWords, type Total, unsignedSum } from './totals.ts';

/*
 * Sums of f32, and of their squares, in fixed point: integers of as many words as the magnitudes need, at most 10 for a
 * sum and 19 for a sum of squares. Nothing is rounded before the end, nothing is subnormal, and order does not matter.
 */

const FRACTION_BITS = 23;
const F32_BIAS = 127;
const MAX_F32 = (2 - 2 ** -23) * 2 ** 127;
/** Marks of values that are not finite. */
const [HAS_NAN, HAS_INFINITY, HAS_NEGATIVE] = [1, 2, 4];

type Values = readonly Value<ScalarType>[];

/** The totals of one operand, in the order in which {@link FloatSums} takes their words. */
export interface FloatTotals {
  readonly totals: readonly Total[];
  /** What the words of the totals say. */
  read(words: readonly (readonly number[])[]): FloatSums;
}

/** Exact sums of f32 values. */
export interface FloatSums {
  /** The sum, rounded once to f64. */
  sum(): number;
  /** The sum divided by a number of rows, rounded once. */
  average(count: number): number;
  /** The sample variance of at least two values, rounded once. */
  variance(count: number): number;
}

/** The totals that sum f32 values and, if asked for, their squares. */
export function floatTotals(
  operand: FloatPart,
  counts: QuestionPart<Bool>,
  rows: number,
  withSquares: boolean,
): FloatTotals {
  const { smallest, largest, areFinite } = operand;
  const first = Math.max(1, exponentOf(smallest));
  const bits = FRACTION_BITS + 1 + Math.max(0, exponentOf(largest) - first);
  const rowBits = Math.ceil(Math.log2(rows + 1)) + 1;
  const sized = (name: string, bits: number, wordsOf: (value: Scaled, words: number) => readonly U32[]): Total => {
    const words = Math.ceil((bits + rowBits) / 32);
    const element = scaledPart(`${name} ${words}`, operand, counts, first, (value): Values => wordsOf(value, words));
    return { name, element, monoid: unsignedSum(words) };
  };
  const totals = [
    sized('float sum', bits, signedWords),
    ...(withSquares ? [sized('float squares', 2 * bits, squaredWords)] : []),
    ...(areFinite ? [] : [specialTotal(operand, counts)]),
  ];
  const unit = first - F32_BIAS - FRACTION_BITS;
  return { totals, read: (words) => sumsOf(words, unit, areFinite) };
}

function sumsOf(words: readonly (readonly number[])[], unit: number, areFinite: boolean): FloatSums {
  const near = words[0]!.reduceRight(
    (above, word, i) => above * 2 ** 32 + (i + 1 === words[0]!.length ? word | 0 : word),
    0,
  );
  // A bigint takes longer, and most sums are small.
  const small = Math.abs(near) < 2 ** 53 ? near * 2 ** unit : undefined;
  const special = areFinite ? 0 : words.at(-1)![0]!;
  const [above, below] = [BigInt(Math.max(0, unit)), BigInt(Math.max(0, -unit))];
  const infinite = specialSum(special);
  return {
    sum: () => infinite ?? small ?? Number(sumOfWords(words[0]!)) * 2 ** unit,
    average(count) {
      if (infinite !== undefined) return infinite;
      return small === undefined ? ratio(sumOfWords(words[0]!) << above, BigInt(count) << below) : small / count;
    },
    variance(count) {
      if (infinite !== undefined) return Number.NaN;
      const [n, sum, squares] = [BigInt(count), sumOfWords(words[0]!), integerOfWords(false, words[1]!)];
      return ratio((n * squares - sum * sum) << (2n * above), (n * (n - 1n)) << (2n * below));
    },
  };
}

function specialSum(special: number): number | undefined {
  if (special === 0) return undefined;
  if (special === HAS_INFINITY) return Number.POSITIVE_INFINITY;
  return special === HAS_NEGATIVE ? Number.NEGATIVE_INFINITY : Number.NaN;
}

/** The biased exponent of an f32 of this magnitude, which may be below that of the normal numbers. */
function exponentOf(magnitude: number): number {
  if (magnitude === 0) return 0;
  const [, high] = new Uint32Array(Float64Array.of(Math.min(magnitude, MAX_F32)).buffer);
  return (high! >>> 20) - 1023 + F32_BIAS;
}

/** A finite f32 as `significand · 2^shift` units, with its sign. */
interface Scaled {
  readonly significand: U32;
  readonly shift: U32;
  /** All bits are set if the value is negative. */
  readonly sign: U32;
}

function scaledPart<T>(
  name: string,
  operand: FloatPart,
  counts: QuestionPart<Bool>,
  first: number,
  make: (value: Scaled) => T,
): QuestionPart<T> {
  return combineParts<U32 | Bool, T>(name, [f32Bits(operand), constantPart('u32', first), counts], (made) => {
    const [given, from, holds] = made as [U32, U32, Bool];
    const bits = select(u32(0), given, holds);
    const magnitude = bits.and(0x7fffffff);
    const biased = magnitude.shr(FRACTION_BITS);
    const fraction = magnitude.and(2 ** FRACTION_BITS - 1);
    const significand = select(fraction, fraction.or(2 ** FRACTION_BITS), biased.gt(0));
    return make({
      significand: select(significand, u32(0), biased.eq(255)),
      shift: biased.max(from).sub(from),
      sign: u32(0).sub(bits.shr(31)),
    });
  });
}

/** A power of two from 2^0 to 2^31. The vectors of workers cannot shift each lane by a different count. */
function powerOf(count: U32): U32 {
  return u32(bitsToF32(bitsToI32(count.and(31).add(F32_BIAS).shl(FRACTION_BITS))));
}

/** Words of an integer, lowest first, moved up by whole words. */
function movedUp(low: readonly U32[], by: U32, words: number): U32[] {
  return Array.from({ length: words }, (_, place) =>
    low.reduce((word, each, i) => (place < i ? word : select(word, each, by.eq(place - i))), u32(0)),
  );
}

function signedWords({ significand, shift, sign }: Scaled, words: number): readonly U32[] {
  const { lo, hi } = mulU32({ a: significand, b: powerOf(shift) });
  let carry = sign.and(1);
  return movedUp([lo, hi], shift.shr(5), words).map((word) => {
    const negated = word.xor(sign).add(carry);
    carry = carry.and(u32(negated.eq(0)));
    return negated;
  });
}

function squaredWords({ significand, shift }: Scaled, words: number): readonly U32[] {
  const square = mulU32({ a: significand, b: significand });
  const twice = shift.shl(1);
  const [low, high] = [square.lo, square.hi].map((word) => mulU32({ a: word, b: powerOf(twice) }));
  return movedUp([low!.lo, low!.hi.or(high!.lo), high!.hi], twice.shr(5), words);
}

function specialTotal(operand: FloatPart, counts: QuestionPart<Bool>): Total {
  const element = combineParts<U32 | Bool, Values>('special', [f32Bits(operand), counts], ([given, holds]) => {
    const bits = given as U32;
    const magnitude = bits.and(0x7fffffff);
    const infinite = select(u32(HAS_INFINITY), u32(HAS_NEGATIVE), bits.ge(0x80000000));
    const mark = select(infinite, u32(HAS_NAN), magnitude.gt(0x7f800000));
    return [select(u32(0), mark, magnitude.ge(0x7f800000).and(holds as Bool))];
  });
  return { name: 'special', element, monoid: bitOr(u32) };
}
