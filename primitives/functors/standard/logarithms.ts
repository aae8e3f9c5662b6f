import { Let } from '../control.ts';
import { deviceFunction, f32, fn } from '../functor.ts';
import type { F32 } from '../value.ts';
import { bitsToF32, bitsToU32 } from './bits.ts';
import { select } from './choose.ts';
import { called, isNotANumber, LN2_HIGH, LN2_LOW, logParts } from './float-parts.ts';
import { polynomial } from './two-floats.ts';

/** ln(1 + f) − f + f²/2, divided by f³. */
const LOG_TAIL = [
  0.33333316445350647, -0.25000816583633423, 0.2000230848789215, -0.16624335944652557, 0.14180605113506317,
  -0.13130483031272888, 0.12886375188827515, -0.07860413938760757,
];

/** The logarithms of what is not positive and finite. */
function logOrSpecial(x: F32, log: F32): F32 {
  const isOrdinary = x.gt(0).and(x.lt(Number.POSITIVE_INFINITY));
  const special = select(
    select(f32(Number.NaN), x, x.gt(0)),
    f32(-Number.POSITIVE_INFINITY),
    bitsToU32(x).shl(1).eq(0),
  );
  return select(special, log, isOrdinary.or(bitsToU32(x).sub(1).lt(0x7fffff)));
}

const logarithm = deviceFunction('log', { x: f32 }, ({ x }) => {
  const { k, f } = logParts(x);
  return logOrSpecial(x, logOf(k, f, f32(0)));
});

/** k · ln 2 + ln(1 + f) + less. */
function logOf(k: F32, f: F32, more: F32): F32 {
  const square = Let(f.mul(f));
  const tail = square.mul(f).mul(polynomial(f, LOG_TAIL));
  const rest = k.mul(LN2_LOW).add(more).add(tail).sub(square.mul(0.5));
  return k.mul(LN2_HIGH).add(f.add(rest));
}

/**
 * The natural logarithm, within 1 unit in the last place, also of subnormal numbers; −∞ for zeros, NaN below.
 * @example
 * const f = fn({ x: f32 }, f32, ({ x }) => log(x));
 * await ctx.read(map(f, { x: ctx.column(Float32Array.of(1, 10, 0, -1)) })); // Float32Array [0, 2.3025851249694824, -Infinity, NaN]
 */
export function log(x: F32): F32 {
  return called(logarithm, { x });
}

const logarithm1 = fn('log1p', { x: f32 }, f32, ({ x }) => {
  const sum = Let(x.add(1));
  const { k, f } = logParts(sum);
  const isNear = Let(k.eq(0));
  // What the sum lost.
  const lost = select(sum.sub(x).sub(1).neg(), x.sub(sum.sub(1)), x.lt(1)).div(sum);
  const log = logOf(k, select(f, x, isNear), select(select(lost, f32(0), isNear), f32(0), x.gt(2 ** 26)));
  return select(
    logOrSpecial(sum, log),
    x,
    x
      .abs()
      .lt(2 ** -26)
      .or(isNotANumber(x)),
  );
});

/**
 * The natural logarithm of 1 + x, within 1 unit in the last place, also where x is near 0; −∞ for −1, NaN below.
 * @example
 * const f = fn({ x: f32 }, f32, ({ x }) => log1p(x));
 * await ctx.read(map(f, { x: ctx.column(Float32Array.of(1e-10, 1, -1)) })); // Float32Array [1.000000013351432e-10, 0.6931471824645996, -Infinity]
 */
export function log1p(x: F32): F32 {
  return called(logarithm1, { x });
}

const logarithm2 = deviceFunction('log2', { x: f32 }, ({ x }) => {
  const { k, f } = logParts(x);
  const square = Let(f.mul(f).mul(0.5));
  const tail = f.mul(f).mul(f).mul(polynomial(f, LOG_TAIL));
  const near = f.sub(square);
  // The upper 12 bits, so that the product with the upper bits of log2 e is exact.
  const high = Let(bitsToF32(bitsToU32(near).and(0xfffff000)));
  const low = Let(f.sub(high).sub(square).add(tail));
  const rest = low.mul(1.4423828125).add(low.add(high).mul(0.00031222839606925845));
  const first = high.mul(1.4423828125);
  const sum = k.add(first);
  const lost = select(first.sub(sum.sub(k)), k.sub(sum).add(first), k.ne(0));
  return logOrSpecial(x, sum.add(lost.add(rest)));
});

/**
 * The logarithm to base 2, within 1 unit in the last place; exact for powers of 2. −∞ for zeros, NaN below.
 * @example
 * const f = fn({ x: f32 }, f32, ({ x }) => log2(x));
 * await ctx.read(map(f, { x: ctx.column(Float32Array.of(8, 10, 0)) })); // Float32Array [3, 3.321928024291992, -Infinity]
 */
export function log2(x: F32): F32 {
  return called(logarithm2, { x });
}
