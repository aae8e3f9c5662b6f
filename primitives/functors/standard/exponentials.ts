import { Let } from '../control.ts';
import { deviceFunction, f32, fn, i32 } from '../functor.ts';
import type { F32, I32 } from '../value.ts';
import { select } from './choose.ts';
import { called, isNotANumber, LN2_HIGH, LN2_LOW, powerOfTwo, scaled, withSignOf } from './float-parts.ts';
import { round } from './rounding.ts';
import { polynomial } from './two-floats.ts';

const LOG2_E = Math.LOG2E;

/** e^x as (1 + q) · 2ᵏ, for x from −106 to 90. */
function exponentParts(x: F32): { readonly k: I32; readonly q: F32 } {
  const k = Let(round(x.mul(LOG2_E)));
  const high = Let(x.sub(k.mul(LN2_HIGH)));
  const low = Let(k.mul(LN2_LOW));
  const r = Let(high.sub(low));
  const rest = high.sub(r).sub(low);
  const tail = polynomial(
    r,
    [0.5, 0.16666513681411743, 0.04166639968752861, 0.008369527757167816, 0.001394093967974186],
  );
  return { k: i32(k), q: r.add(rest.add(r.mul(r).mul(tail))) };
}

/** e^x · 2ⁿ. */
function scaledExp(x: F32, exponent: number): F32 {
  const { k, q } = exponentParts(x.max(-106).min(90));
  return select(scaled(q.add(1), k.add(exponent)), x, isNotANumber(x));
}

const exponential = deviceFunction('exp', { x: f32 }, ({ x }) => scaledExp(x, 0));
/**
 * e to the power of x, within 1 unit in the last place; subnormal results are right or zero.
 * @example
 * const f = fn({ x: f32 }, f32, ({ x }) => exp(x));
 * await ctx.read(map(f, { x: ctx.column(Float32Array.of(0, 1, -Infinity)) })); // Float32Array [1, 2.7182817459106445, 0]
 */
export function exp(x: F32): F32 {
  return called(exponential, { x });
}

const exponential2 = deviceFunction('exp2', { x: f32 }, ({ x }) => {
  const within = Let(x.max(-152).min(129));
  const k = round(within);
  const r = Let(within.sub(k));
  const tail = polynomial(
    r,
    [
      0.6931471824645996, 0.24022650718688965, 0.05550357326865196, 0.009618065319955349, 0.0013392227701842785,
      0.0001546175335533917,
    ],
  );
  return select(scaled(r.mul(tail).add(1), i32(k)), x, isNotANumber(x));
});

/**
 * 2 to the power of x, within 2 units in the last place; exact for whole numbers. Subnormal results are right or zero.
 * @example
 * const f = fn({ x: f32 }, f32, ({ x }) => exp2(x));
 * await ctx.read(map(f, { x: ctx.column(Float32Array.of(10, 0.5, 128)) })); // Float32Array [1024, 1.4142135381698608, Infinity]
 */
export function exp2(x: F32): F32 {
  return called(exponential2, { x });
}

const exponentialLess1 = fn('expm1', { x: f32 }, f32, ({ x }) => {
  const { k, q } = exponentParts(x.max(-106).min(90));
  const power = Let(powerOfTwo(k.max(-100).min(60)));
  const near = power.sub(1).add(power.mul(q));
  const far = scaled(q.add(1), k);
  return select(select(select(near, far, k.gt(30)), x, x.abs().lt(2 ** -26)), x, isNotANumber(x));
});

/**
 * e to the power of x, less 1, within 2 units in the last place, also where x is near 0.
 * @example
 * const f = fn({ x: f32 }, f32, ({ x }) => expm1(x));
 * await ctx.read(map(f, { x: ctx.column(Float32Array.of(1e-10, 1, -Infinity)) })); // Float32Array [1.000000013351432e-10, 1.7182817459106445, -1]
 */
export function expm1(x: F32): F32 {
  return called(exponentialLess1, { x });
}

const hyperbolicSine = deviceFunction('sinh', { x: f32 }, ({ x }) => {
  const size = Let(x.abs());
  const half = Let(scaledExp(size, -1));
  const far = withSignOf(half.sub(f32(0.25).div(half)), x);
  const z = Let(x.mul(x));
  const near = x.add(
    x
      .mul(z)
      .mul(polynomial(z, [0.1666666716337204, 0.008333312347531319, 0.00019842357141897082, 2.7858825433213497e-6])),
  );
  return select(select(near, far, size.ge(1)), x, isNotANumber(x));
});

/**
 * The hyperbolic sine, within 2 units in the last place.
 * @example
 * const f = fn({ x: f32 }, f32, ({ x }) => sinh(x));
 * await ctx.read(map(f, { x: ctx.column(Float32Array.of(0, 1, 100)) })); // Float32Array [0, 1.175201177597046, Infinity]
 */
export function sinh(x: F32): F32 {
  return called(hyperbolicSine, { x });
}

const hyperbolicCosine = deviceFunction('cosh', { x: f32 }, ({ x }) => {
  const half = Let(scaledExp(x.abs(), -1));
  return half.add(f32(0.25).div(half));
});

/**
 * The hyperbolic cosine, within 2 units in the last place.
 * @example
 * const f = fn({ x: f32 }, f32, ({ x }) => cosh(x));
 * await ctx.read(map(f, { x: ctx.column(Float32Array.of(0, 1, 100)) })); // Float32Array [1, 1.5430805683135986, Infinity]
 */
export function cosh(x: F32): F32 {
  return called(hyperbolicCosine, { x });
}

const hyperbolicTangent = deviceFunction('tanh', { x: f32 }, ({ x }) => {
  const size = Let(x.abs());
  const grown = Let(expm1(size.min(20).mul(2)));
  const far = withSignOf(grown.div(grown.add(2)), x);
  const z = Let(x.mul(x));
  const tail = polynomial(
    z,
    [
      -0.3333333134651184, 0.1333322823047638, -0.05394969508051872, 0.02171746827661991, -0.008220629766583443,
      0.0021841933485120535,
    ],
  );
  return select(select(x.add(x.mul(z).mul(tail)), far, size.ge(0.6)), x, size.lt(2 ** -13).or(isNotANumber(x)));
});

/**
 * The hyperbolic tangent, within 2 units in the last place.
 * @example
 * const f = fn({ x: f32 }, f32, ({ x }) => tanh(x));
 * await ctx.read(map(f, { x: ctx.column(Float32Array.of(0, 1, 100)) })); // Float32Array [0, 0.7615941762924194, 1]
 */
export function tanh(x: F32): F32 {
  return called(hyperbolicTangent, { x });
}
