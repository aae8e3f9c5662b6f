/**
 * The rules of all operations, on every backend, and the functions of them that JavaScript lacks. `operations.ts` says
 * what each operation computes.
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
