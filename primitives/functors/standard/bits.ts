import { operate } from '../recorder.ts';
import { applied, type F32, type I32, requireOperand, type U32, Value } from '../value.ts';

/**
 * Number of zero bits above the highest set bit; 32 for 0.
 *
 * @example
 * const f = fn({ x: u32 }, u32, ({ x }) => clz(x));
 * await ctx.read(map(f, { x: ctx.column(Uint32Array.of(0, 1, 2 ** 31)) })); // Uint32Array [32, 31, 0]
 */
export function clz<T extends 'u32' | 'i32'>(x: Value<T>): Value<T> {
  return applied('clz', { x });
}

/**
 * Number of zero bits below the lowest set bit; 32 for 0.
 *
 * @example
 * const f = fn({ x: u32 }, u32, ({ x }) => ctz(x));
 * await ctx.read(map(f, { x: ctx.column(Uint32Array.of(0, 1, 12)) })); // Uint32Array [32, 0, 2]
 */
export function ctz<T extends 'u32' | 'i32'>(x: Value<T>): Value<T> {
  return applied('ctz', { x });
}

/**
 * Number of set bits.
 *
 * @example
 * const f = fn({ x: u32 }, u32, ({ x }) => popcount(x));
 * await ctx.read(map(f, { x: ctx.column(Uint32Array.of(0, 7, 2 ** 32 - 1)) })); // Uint32Array [0, 3, 32]
 */
export function popcount<T extends 'u32' | 'i32'>(x: Value<T>): Value<T> {
  return applied('popcount', { x });
}

/**
 * The bits in reverse order: the lowest becomes the highest.
 *
 * @example
 * const f = fn({ x: u32 }, u32, ({ x }) => reverseBits(x));
 * await ctx.read(map(f, { x: ctx.column(Uint32Array.of(0, 1, 6)) })); // Uint32Array [0, 2147483648, 1610612736]
 */
export function reverseBits<T extends 'u32' | 'i32'>(x: Value<T>): Value<T> {
  return applied('reverseBits', { x });
}

/**
 * The high word of the 64-bit product of two u32; `a.mul(b)` is the low word.
 *
 * @example
 * const f = fn({ x: u32 }, u32, ({ x }) => mulhi(x, u32(4)));
 * await ctx.read(map(f, { x: ctx.column(Uint32Array.of(2 ** 31, 7)) })); // Uint32Array [2, 0]
 */
export function mulhi(a: U32, b: U32): U32 {
  return applied('mulhi', { a, b });
}

/**
 * Reinterprets the 32 bits of a value as u32, without a conversion. The bits of a NaN are not specified.
 *
 * @example
 * const f = fn({ x: f32 }, u32, ({ x }) => bitsToU32(x));
 * await ctx.read(map(f, { x: ctx.column(Float32Array.of(1, 0)) })); // Uint32Array [1065353216, 0]
 */
export function bitsToU32(x: I32 | F32 | U32): U32 {
  return new Value<'u32'>(operate('bits', [requireOperand('bitsToU32', 'x', x)], 'u32'));
}

/**
 * Reinterprets the 32 bits of a value as i32, without a conversion. The bits of a NaN are not specified.
 *
 * @example
 * const f = fn({ x: u32 }, i32, ({ x }) => bitsToI32(x));
 * await ctx.read(map(f, { x: ctx.column(Uint32Array.of(1, 2 ** 32 - 1)) })); // Int32Array [1, -1]
 */
export function bitsToI32(x: U32 | F32 | I32): I32 {
  return new Value<'i32'>(operate('bits', [requireOperand('bitsToI32', 'x', x)], 'i32'));
}

/**
 * Reinterprets the 32 bits of a value as f32, without a conversion.
 *
 * @example
 * const ofBits = fn('ofBits', { bits: u32 }, f32, ({ bits }) => bitsToF32(bits));
 * await ctx.read(map(ofBits, { bits: ctx.column(Uint32Array.of(0x3f800000, 0xc0000000)) })); // Float32Array [1, -2]
 */
export function bitsToF32(x: U32 | I32 | F32): F32 {
  return new Value<'f32'>(operate('bits', [requireOperand('bitsToF32', 'x', x)], 'f32'));
}
