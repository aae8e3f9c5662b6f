import { type Functor, fn, u32 } from '../functor.ts';
import type { U32 } from '../value.ts';
import { clz } from './bits.ts';
import { select } from './choose.ts';
import type { U32Shape } from './shapes.ts';

/** Half of the distance between two f16 of the same exponent, in bits of an f32 less one. */
const ALMOST_HALF = 0xfff;

/**
 * The bits of an f32 as those of an f16 (IEEE 754 binary16), by integers alone, so with the same bits on all backends.
 * Numbers are rounded to the nearest f16, and to that with an even last bit if two are equally near; subnormal f16 are
 * made as others. From 65520 on, which lies between the largest f16, 65504, and what would be the next, the result is
 * infinite. A NaN stays one: it keeps its sign and the highest 9 bits of its payload, and becomes quiet.
 *
 * {@link f32BitsOfF16} is the inverse, and `narrow(values, 'f16')` stores columns of f16.
 *
 * @example
 * const x = ctx.column(Float32Array.of(1, -0.1, 65519, 65520, 2 ** -24));
 * const f = fn({ x: f32 }, u32, ({ x }) => f16OfF32Bits({ bits: bitsToU32(x) }));
 * await ctx.read(map(f, { x })); // Uint32Array [15360, 44646, 31743, 31744, 1]
 */
export const f16OfF32Bits: Functor<{ readonly bits: U32Shape }, U32Shape> = fn(
  'f16OfF32Bits',
  { bits: u32 },
  u32,
  ({ bits }) => {
    const sign = bits.shr(16).and(0x8000);
    const size = bits.and(0x7fffffff);
    const lastKept = size.shr(13).and(1);
    // Exponents of f32 are 112 greater. What rounds up may carry into the exponent, up to infinity, as it must.
    const normal = size
      .sub(112 << 23)
      .add(lastKept)
      .add(ALMOST_HALF)
      .shr(13);
    const hasNoValue = size.gt(0x7f800000);
    const special = select(u32(0x7c00), size.shr(13).and(0x1ff).or(0x7e00), hasNoValue);
    const finite = select(subnormal(size), normal, size.ge(113 << 23));
    return sign.or(select(finite, special, size.ge(143 << 23)));
  },
);

/** A number below 2⁻¹⁴ in units of 2⁻²⁴, rounded. Below 2⁻²⁵ it is 0, and so are all subnormal f32. */
function subnormal(size: U32): U32 {
  const exponent = size.shr(23).max(101);
  const digits = size.and(0x7fffff).or(0x800000);
  const shift = u32(126).sub(exponent.min(112));
  const whole = digits.shr(shift);
  const half = u32(1).shl(shift.sub(1));
  const rest = digits.sub(whole.shl(shift));
  const isUp = rest.gt(half).or(rest.eq(half).and(whole.and(1).eq(1)));
  return select(u32(0), whole.add(u32(isUp)), size.ge(102 << 23));
}

/**
 * The bits of the f32 that an f16 is (IEEE 754 binary16), by integers alone, so with the same bits on all backends. Every
 * f16 is an f32, and subnormal f16 are normal f32. A NaN keeps its sign and payload. Only the lower 16 bits are read.
 *
 * @example
 * const half = ctx.column(Uint16Array.of(0x3c00, 0x8001, 0x7c00));
 * const f = fn({ half: u32 }, f32, ({ half }) => bitsToF32(f32BitsOfF16({ half })));
 * await ctx.read(map(f, { half })); // Float32Array [1, -5.960464477539063e-8, Infinity]
 */
export const f32BitsOfF16: Functor<{ readonly half: U32Shape }, U32Shape> = fn(
  'f32BitsOfF16',
  { half: u32 },
  u32,
  ({ half }) => {
    const sign = half.and(0x8000).shl(16);
    const size = half.and(0x7fff);
    const normal = size.shl(13).add(112 << 23);
    const special = size.shl(13).or(0x7f800000);
    // The highest bit of a subnormal number becomes the one that is not stored.
    const shift = clz(size).sub(21);
    const small = size.shl(shift).and(0x3ff).shl(13).or(u32(113).sub(shift).shl(23));
    const finite = select(select(u32(0), small, size.ne(0)), normal, size.ge(0x400));
    return sign.or(select(finite, special, size.ge(0x7c00)));
  },
);
