import { popcount } from '../../formats/tables/bits.ts';
/**
 * A source of pseudo-random numbers that are the same on every machine. Only integer and f64 arithmetic is used,
 * because engines may round functions such as `Math.sin` differently.
 */
export interface Random {
  /** 32 random bits. */
  bits(): number;
  /** A number from `from` (included) to `to` (excluded). */
  between(from: number, to: number): number;
  /** An integer from 0 to `count` − 1. */
  below(count: number): number;
  /** An approximately normal number with mean 0 and variance 1; always within ±5.9. */
  normal(): number;
}

/**
 * The generator sfc32 by Doty-Humphrey. Equal seeds and streams give equal numbers; different streams are independent.
 */
export function randomOf(seed: number, stream = 0): Random {
  let [a, b, c, counter] = [seed | 0, stream | 0, 0x9e3779b9 | 0, 1];
  const bits = (): number => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    c |= 0;
    return sum >>> 0;
  };
  for (let round = 0; round < 16; round++) bits();
  const uniform = (): number => bits() / 2 ** 32;
  return {
    bits,
    between: (from, to) => from + (to - from) * uniform(),
    below: (count) => Math.floor(count * uniform()),
    normal: () => (popcount(bits()) - 16 + uniform() - 0.5) * SCALE,
  };
}

/**
 * Scales the sum in `normal` to variance 1. Its terms are the number of ones among 32 random bits, with variance 8, and
 * a uniform number, with variance 1/12.
 */
const SCALE = 1 / Math.sqrt(8 + 1 / 12);
