import type { Comparison, OperationName, OperationOn, ScalarType } from './operations.ts';

/**
 * The definition of every operation, on every backend, in plain JavaScript.
 *
 * - u32 and i32 wrap modulo 2³².
 * - Shift counts are taken modulo 32; `shr` of i32 keeps the sign.
 * - x / 0 = x and x % 0 = 0 for integers; −2³¹ / −1 = −2³¹ and −2³¹ % −1 = 0; i32 division truncates, % has the sign of
 *   x.
 * - f32 rounds to nearest even after every single operation; division and square root too.
 * - `min`/`max` of f32: −0 is less than +0; if one operand is NaN, the result is the other.
 * - Comparisons with NaN are false, except `ne`, which is true.
 * - Conversions from f32 to u32 or i32 truncate and saturate; NaN gives 0. Conversions from integers to f32 round to
 *   nearest even. bool gives 0 or 1; conversion to bool gives x ≠ 0.
 * - `round` returns the nearest integer; halves are rounded to even.
 * - `abs` and `neg` of −2³¹ are −2³¹. clz and ctz of 0 are 32. `reverseBits` of i32 reverses all 32 bits, including the
 *   sign bit.
 * - The bits of a NaN are not specified: JavaScript makes signalling NaNs quiet even when an f32 is only read. So
 *   primitives that only move values move them as u32 words, which preserves every bit. A device may flush f32 below
 *   {@link SMALLEST_NORMAL_F32}, subnormal numbers, to zero.
 */

/**
 * Smallest magnitude above zero for which f32 arithmetic in functors has the same bytes on every backend. Algorithms
 * must not let answers depend on smaller ones.
 */
export const SMALLEST_NORMAL_F32: number = 2 ** -126;

/**
 * The steps that reverse the bits of a word: swap neighbouring bits, then neighbouring pairs of bits, and so on. Each
 * step has the distance of the swap and the mask of the bits that move up.
 */
export const REVERSALS = [
  [1, 0x55555555],
  [2, 0x33333333],
  [4, 0x0f0f0f0f],
  [8, 0x00ff00ff],
  [16, 0x0000ffff],
] as const;

const view = new DataView(new ArrayBuffer(4));

export const toU32 = (x: number): number => x >>> 0;
export const toI32 = (x: number): number => x | 0;
export const toF32: (x: number) => number = Math.fround;

export function udiv(a: number, b: number): number {
  return b === 0 ? a : Math.floor(a / b);
}
export function urem(a: number, b: number): number {
  return b === 0 ? 0 : a % b;
}
export function idiv(a: number, b: number): number {
  return b === 0 ? a : (a / b) | 0;
}
export function irem(a: number, b: number): number {
  return b === 0 ? 0 : (a % b) | 0;
}
export function mulhi(a: number, b: number): number {
  return Number((BigInt(a) * BigInt(b)) >> 32n);
}
export function fmin(a: number, b: number): number {
  if (Number.isNaN(a)) return b;
  return Number.isNaN(b) ? a : Math.min(a, b);
}
export function fmax(a: number, b: number): number {
  if (Number.isNaN(a)) return b;
  return Number.isNaN(b) ? a : Math.max(a, b);
}
export function ctz(x: number): number {
  return x === 0 ? 32 : 31 - Math.clz32(x & -x);
}
export function popcount(x: number): number {
  let v = x >>> 0;
  v -= (v >>> 1) & 0x55555555;
  v = (v & 0x33333333) + ((v >>> 2) & 0x33333333);
  return Math.imul((v + (v >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
export function reverseBits(x: number): number {
  let v = x >>> 0;
  for (const [by, mask] of REVERSALS) v = (((v >>> by) & mask) | ((v & mask) << by)) >>> 0;
  return v;
}
export function roundEven(x: number): number {
  const floor = Math.floor(x);
  const rest = x - floor;
  if (rest < 0.5) return Object.is(floor, 0) && Object.is(x, -0) ? -0 : floor;
  const up = rest > 0.5 || floor % 2 !== 0 ? floor + 1 : floor;
  return up === 0 && x < 0 ? -0 : up;
}
export function f32ToU32(x: number): number {
  return !(x > 0) ? 0 : x >= 4294967296 ? 4294967295 : Math.trunc(x);
}
export function f32ToI32(x: number): number {
  if (Number.isNaN(x)) return 0;
  return x >= 2147483648 ? 2147483647 : x <= -2147483648 ? -2147483648 : Math.trunc(x) | 0;
}
export function bitsOfF32(x: number): number {
  view.setFloat32(0, x);
  return view.getUint32(0);
}
export function f32OfBits(bits: number): number {
  view.setUint32(0, bits);
  return view.getFloat32(0);
}

/** The 32-bit word that stores a value: the bit pattern of an f32; 0 or 1 for a bool. */
export function wordOfValue(type: ScalarType, value: Value): number {
  return type === 'f32' ? bitsOfF32(value as number) : Number(value) >>> 0;
}

type Value = number | boolean;

/** Evaluates one operation. `from` is the type of the first operand, `to` the type of the result. */
export function evaluate(name: OperationName, from: ScalarType, to: ScalarType, args: readonly Value[]): Value {
  if (name === 'select') return args[2] ? args[1]! : args[0]!;
  if (name === 'convert') return convert(from, to, args[0]!);
  if (name === 'bits') return reinterpret(from, to, args[0] as number);
  if (from === 'bool') return evaluateBool(name as OperationOn<'bool'>, args as readonly boolean[]);
  const [a, b] = args as readonly [number, number];
  if (from === 'f32') return evaluateF32(name as OperationOn<'f32'>, a, b);
  return evaluateInteger(name as IntegerOperation, from, a, b);
}

function convert(from: ScalarType, to: ScalarType, x: Value): Value {
  if (to === 'bool') return from === 'bool' ? x : x !== 0;
  if (from === 'f32') return to === 'f32' ? x : to === 'u32' ? f32ToU32(x as number) : f32ToI32(x as number);
  const number = Number(x);
  return to === 'f32' ? toF32(number) : to === 'u32' ? toU32(number) : toI32(number);
}

function reinterpret(from: ScalarType, to: ScalarType, x: number): number {
  const bits = from === 'f32' ? bitsOfF32(x) : x >>> 0;
  return to === 'f32' ? f32OfBits(bits) : to === 'u32' ? bits : bits | 0;
}

type IntegerOperation = OperationOn<'u32' | 'i32'>;

function evaluateBool(name: OperationOn<'bool'>, [a, b]: readonly boolean[]): boolean {
  switch (name) {
    case 'and':
      return a! && b!;
    case 'or':
      return a! || b!;
    case 'xor':
    case 'ne':
      return a !== b;
    case 'eq':
      return a === b;
    case 'not':
      return !a;
  }
}

function compare(name: Comparison, a: number, b: number): boolean {
  switch (name) {
    case 'eq':
      return a === b;
    case 'ne':
      return a !== b;
    case 'lt':
      return a < b;
    case 'le':
      return a <= b;
    case 'gt':
      return a > b;
    case 'ge':
      return a >= b;
  }
}

function evaluateF32(name: OperationOn<'f32'>, a: number, b: number): Value {
  switch (name) {
    case 'add':
      return toF32(a + b);
    case 'sub':
      return toF32(a - b);
    case 'mul':
      return toF32(a * b);
    case 'div':
      return toF32(a / b);
    case 'min':
      return fmin(a, b);
    case 'max':
      return fmax(a, b);
    case 'neg':
      return -a;
    case 'abs':
      return Math.abs(a);
    case 'floor':
      return Math.floor(a);
    case 'ceil':
      return Math.ceil(a);
    case 'trunc':
      return Math.trunc(a);
    case 'round':
      return roundEven(a);
    case 'sqrt':
      return toF32(Math.sqrt(a));
    case 'eq':
    case 'ne':
    case 'lt':
    case 'le':
    case 'gt':
    case 'ge':
      return compare(name, a, b);
  }
}

function evaluateInteger(name: IntegerOperation, type: 'u32' | 'i32', a: number, b: number): Value {
  const wrap = type === 'u32' ? toU32 : toI32;
  switch (name) {
    case 'add':
      return wrap(a + b);
    case 'sub':
      return wrap(a - b);
    case 'mul':
      return wrap(Math.imul(a, b));
    case 'div':
      return type === 'u32' ? udiv(a, b) : idiv(a, b);
    case 'rem':
      return type === 'u32' ? urem(a, b) : irem(a, b);
    case 'min':
      return Math.min(a, b);
    case 'max':
      return Math.max(a, b);
    case 'and':
      return wrap(a & b);
    case 'or':
      return wrap(a | b);
    case 'xor':
      return wrap(a ^ b);
    case 'shl':
      return wrap(a << b);
    case 'shr':
      return type === 'u32' ? a >>> b : a >> b;
    case 'neg':
      return wrap(-a);
    case 'not':
      return wrap(~a);
    case 'abs':
      return wrap(Math.abs(a));
    case 'clz':
      return Math.clz32(a);
    case 'ctz':
      return ctz(a);
    case 'popcount':
      return popcount(a);
    case 'mulhi':
      return mulhi(a, b);
    case 'reverseBits':
      return wrap(reverseBits(a));
    case 'eq':
    case 'ne':
    case 'lt':
    case 'le':
    case 'gt':
    case 'ge':
      return compare(name, a, b);
  }
}
