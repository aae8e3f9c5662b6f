import { type Functor, f32, fn, u32 } from '../functor.ts';
import type { F32, U32 } from '../value.ts';
import { log } from './logarithms.ts';
import { sqrt } from './rounding.ts';
import type { F32Shape, TwoOperands, U32Shape } from './shapes.ts';
import { turned } from './trigonometry.ts';

/**
 * A number from 0 to below 1 of a random word: its upper 24 bits, as a multiple of 2⁻²⁴. All these multiples are equally
 * probable, if all words are. Exact on every backend.
 *
 * @example
 * await ctx.read(map(uniformOfWord, { word: ctx.column(Uint32Array.of(0, 2 ** 31, 2 ** 32 - 1)) }));
 * // Float32Array [0, 0.5, 0.9999999403953552]
 */
export const uniformOfWord: Functor<{ readonly word: U32Shape }, F32Shape> = fn(
  'uniformOfWord',
  { word: u32 },
  f32,
  ({ word }) => f32(word.shr(8)).mul(2 ** -24),
);

/** The largest word that f32 does not round to 2³². */
const LAST_BELOW = 2 ** 32 - 129;

/**
 * A number from 2⁻³³ to 1 − 2⁻²⁴ of a random word: the middle of one of 2³² parts of the unit interval, rounded to f32.
 */
export function openUniform(word: U32): F32 {
  return f32(word.min(LAST_BELOW))
    .add(0.5)
    .mul(2 ** -32);
}

/**
 * Two independent numbers of the standard normal distribution (mean 0, standard deviation 1) of two random words, by
 * the method of Box and Muller: r · cos φ and r · sin φ, with r = √(−2 ln u) for u = (a + ½) · 2⁻³², at most 1 − 2⁻²⁴,
 * and φ = 2π · (b + ½) · 2⁻³². The greatest magnitude is √(66 ln 2) = 6.764, and no result is 0. Results are within 5
 * units in the last place of these formulas, and have the same bits on all backends.
 *
 * Source: Box and Muller, A Note on the Generation of Random Normal Deviates, 1958.
 *
 * @example
 * const words = { a: ctx.column(Uint32Array.of(0, 2 ** 31)), b: ctx.column(Uint32Array.of(2 ** 29, 2 ** 30)) };
 * await ctx.read(map(normalsOfWords, words));
 * // { a: Float32Array [4.782662391662598, -8.612272006658372e-10], b: Float32Array [4.7826619148254395, 1.1774100065231323] }
 */
export const normalsOfWords: Functor<TwoOperands<U32Shape>, TwoOperands<F32Shape>> = fn(
  'normalsOfWords',
  { a: u32, b: u32 },
  { a: f32, b: f32 },
  ({ a, b }) => {
    const radius = sqrt(log(openUniform(a)).mul(-2));
    const { cosine, sine } = turned(b);
    return { a: radius.mul(cosine), b: radius.mul(sine) };
  },
);
