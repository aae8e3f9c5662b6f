import {
  bitsToF32,
  bitsToI32,
  bitsToU32,
  ceil,
  type F32,
  f32,
  floor,
  i32,
  round,
  sqrt,
  trunc,
  type U32,
  u32,
} from '../../primitives/functors/index.ts';
import { f32OfBits, f32ToI32, f32ToU32, fmax, fmin, roundEven, toF32 } from '../../primitives/ir/semantics.ts';

/** The words of up to three operands; unused operands are 0. */
export interface Operands {
  readonly a: U32;
  readonly b: U32;
  readonly c: U32;
}

/**
 * A test case: an operation, and its operands for each index. `device` computes the bits of the result, and `host`
 * computes the expected result as a number.
 */
export interface F32Case {
  readonly name: string;
  readonly count: number;
  readonly result: 'f32' | 'integer';
  readonly operands: (index: U32) => Operands;
  readonly device: (operands: Operands) => U32;
  readonly host: (words: readonly number[]) => number;
}

/** A bijection on 32-bit words that mixes their bits well: lowbias32 (Chris Wellons, 2018). */
function mix(x: U32): U32 {
  const one = x.xor(x.shr(16)).mul(0x7feb352d);
  const two = one.xor(one.shr(15)).mul(0x846ca68b);
  return two.xor(two.shr(16));
}

/** A pseudorandom word for an index; `which` selects one of several such words. */
const random = (index: U32, which: number): U32 => mix(index.mul(8).add(which).xor(0x5bd1e995));

/** The bits of a normal f32 with random sign and mantissa, whose exponent field is from `low` to `low + span − 1`. */
function normal(index: U32, which: number, low: number, span: number): U32 {
  const exponent = random(index, which + 4)
    .rem(span)
    .add(low);
  return random(index, which).and(0x807fffff).or(exponent.shl(23));
}

const anyNormal = (index: U32, which: number): U32 => normal(index, which, 1, 254);

/** A bijection on the numbers from 0 to 2²⁴ − 1. It spreads any range of indices over all of these numbers. */
const permuted = (index: U32): U32 => index.mul(0x9e3779b1).and(0xffffff);

const pairs = (index: U32): Operands => ({ a: anyNormal(index, 0), b: anyNormal(index, 1), c: u32(0) });

/** Two numbers whose exponents are so close that their mantissas overlap when they are added. */
function neighbours(index: U32): Operands {
  const exponent = random(index, 3).rem(200).add(27);
  const other = exponent.add(random(index, 2).rem(53)).sub(26);
  const withExponent = (word: U32, field: U32): U32 => word.and(0x807fffff).or(field.shl(23));
  return { a: withExponent(random(index, 0), exponent), b: withExponent(random(index, 1), other), c: u32(0) };
}

/**
 * The factors of a product, and a summand that is about as large as the product. With such operands, a fused
 * multiply-add often gives another result than a multiplication and an addition that are rounded separately.
 */
function productAndSummand(index: U32): Operands {
  const [a, b] = [normal(index, 0, 80, 94), normal(index, 1, 80, 94)];
  const exponent = (word: U32): U32 => word.shr(23).and(0xff);
  const size = exponent(a).add(exponent(b)).sub(129).add(random(index, 3).rem(5));
  return { a, b, c: random(index, 2).and(0x807fffff).or(size.shl(23)) };
}

/** Numbers with magnitudes from 2⁻¹² to 2³⁶: inside the range of 32-bit integers and just outside this range. */
const aboutInteger = (index: U32): Operands => ({ a: normal(index, 0, 115, 48), b: u32(0), c: u32(0) });

const words = (index: U32): Operands => {
  // A random shift, so that words have all bit lengths.
  const a = random(index, 0).shr(random(index, 1).and(31));
  return { a: a.xor(random(index, 2).and(1).neg()), b: u32(0), c: u32(0) };
};

const many = 2 ** 24;

interface FloatCase {
  readonly name: string;
  readonly count?: number;
  readonly operands: (index: U32) => Operands;
  readonly device: (a: F32, b: F32, c: F32) => F32;
  readonly host: (a: number, b: number, c: number) => number;
}

/** Makes a case with f32 operands and an f32 result. */
function float({ name, count = many, operands, device, host }: FloatCase): F32Case {
  return {
    name,
    count,
    result: 'f32',
    operands,
    device: ({ a, b, c }) => bitsToU32(device(bitsToF32(a), bitsToF32(b), bitsToF32(c))),
    host: ([a, b, c]) => host(f32OfBits(a!), f32OfBits(b!), f32OfBits(c!)),
  };
}

const roots: readonly F32Case[] = [
  float({
    name: 'sqrt(a), all mantissas, both parities',
    operands: (index) => ({ a: permuted(index).add(0x3f800000), b: u32(0), c: u32(0) }),
    device: sqrt,
    host: (a) => toF32(Math.sqrt(a)),
  }),
  float({
    name: 'sqrt(a), all exponents',
    operands: (index) => ({ a: anyNormal(index, 0).and(0x7fffffff), b: u32(0), c: u32(0) }),
    device: sqrt,
    host: (a) => toF32(Math.sqrt(a)),
  }),
];

const arithmetic: readonly F32Case[] = [
  float({
    name: 'a / b, all exponents',
    count: 2 ** 26,
    operands: pairs,
    device: (a, b) => a.div(b),
    host: (a, b) => toF32(a / b),
  }),
  float({
    name: 'a / b, all divisors in [1, 2)',
    operands: (index) => ({ a: neighbours(index).a, b: permuted(index).shr(1).or(0x3f800000), c: u32(0) }),
    device: (a, b) => a.div(b),
    host: (a, b) => toF32(a / b),
  }),
  float({ name: 'a · b', operands: pairs, device: (a, b) => a.mul(b), host: (a, b) => toF32(a * b) }),
  float({ name: 'a + b', operands: neighbours, device: (a, b) => a.add(b), host: (a, b) => toF32(a + b) }),
  float({ name: 'a − b', operands: neighbours, device: (a, b) => a.sub(b), host: (a, b) => toF32(a - b) }),
  float({
    name: 'a · b + c',
    operands: productAndSummand,
    device: (a, b, c) => a.mul(b).add(c),
    host: (a, b, c) => toF32(toF32(a * b) + c),
  }),
  float({
    name: 'c − a · b',
    operands: productAndSummand,
    device: (a, b, c) => c.sub(a.mul(b)),
    host: (a, b, c) => toF32(c - toF32(a * b)),
  }),
  float({
    name: '(a + b) − a',
    operands: neighbours,
    device: (a, b) => a.add(b).sub(a),
    host: (a, b) => toF32(toF32(a + b) - a),
  }),
  float({
    name: 'a / b · b',
    operands: neighbours,
    device: (a, b) => a.div(b).mul(b),
    host: (a, b) => toF32(toF32(a / b) * b),
  }),
  float({ name: 'min(a, b)', operands: pairs, device: (a, b) => a.min(b), host: fmin }),
  float({ name: 'max(a, b)', operands: neighbours, device: (a, b) => a.max(b), host: fmax }),
];

const roundings: readonly F32Case[] = [
  float({ name: 'floor(a)', operands: aboutInteger, device: floor, host: Math.floor }),
  float({ name: 'ceil(a)', operands: aboutInteger, device: ceil, host: Math.ceil }),
  float({ name: 'trunc(a)', operands: aboutInteger, device: trunc, host: Math.trunc }),
  float({ name: 'round(a)', operands: aboutInteger, device: round, host: roundEven }),
];

const conversions: readonly F32Case[] = [
  {
    name: 'u32 → f32',
    count: many,
    result: 'f32',
    operands: words,
    device: ({ a }) => bitsToU32(f32(a)),
    host: ([a]) => toF32(a!),
  },
  {
    name: 'i32 → f32',
    count: many,
    result: 'f32',
    operands: words,
    device: ({ a }) => bitsToU32(f32(bitsToI32(a))),
    host: ([a]) => toF32(a! | 0),
  },
  {
    name: 'f32 → u32',
    count: many,
    result: 'integer',
    operands: aboutInteger,
    device: ({ a }) => u32(bitsToF32(a)),
    host: ([a]) => f32ToU32(f32OfBits(a!)),
  },
  {
    name: 'f32 → i32',
    count: many,
    result: 'integer',
    operands: aboutInteger,
    device: ({ a }) => bitsToU32(i32(bitsToF32(a))),
    host: ([a]) => f32ToI32(f32OfBits(a!)),
  },
  {
    name: 'a < b, a = b',
    count: many,
    result: 'integer',
    operands: (index) => ({ ...neighbours(index), c: u32(0) }),
    device: ({ a, b }) => u32(bitsToF32(a).lt(bitsToF32(b))).add(u32(bitsToF32(a).eq(bitsToF32(b))).mul(2)),
    host: ([a, b]) => Number(f32OfBits(a!) < f32OfBits(b!)) + 2 * Number(f32OfBits(a!) === f32OfBits(b!)),
  },
];

/** All cases, in the order in which they are run and printed. */
export const cases: readonly F32Case[] = [...roots, ...arithmetic, ...roundings, ...conversions];
