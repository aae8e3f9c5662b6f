import { type Functor, fn, u32, u64 } from '../functor.ts';
import type { U32 } from '../value.ts';
import { mulhi } from './bits.ts';
import type { U64Shape } from './shapes.ts';
import { type U128Shape, u128 } from './wide-products.ts';

/** The parameters of {@link philox4x32}. */
export type PhiloxOperands = { readonly counter: U128Shape; readonly key: U64Shape };

const ROUNDS = 10;
const MULTIPLIERS = [0xd2511f53, 0xcd9e8d57] as const;
/** The fractions of the golden ratio and of √3, by which the words of the key grow from round to round. */
const INCREMENTS = [0x9e3779b9, 0xbb67ae85] as const;

/**
 * Philox4x32-10: four random words for a counter, under a key. It keeps no state. Every counter gives words of its own,
 * and another key gives other words; for one key, different counters give different results. So each row, thread or
 * particle takes a part of the counter of its own, and the rest of the counter numbers its draws.
 *
 * It passes the tests of TestU01 (BigCrush), and takes 20 products of two words. It is not for cryptography. The
 * results are those of Random123, of cuRAND's `Philox4_32_10`, and of `std::philox4x32`, whose first four numbers for
 * the seed s are those of the counter 0 and the key s. Exact on every backend.
 *
 * Source: Salmon, Moraes, Dror and Shaw, Parallel Random Numbers: As Easy as 1, 2, 3, 2011.
 *
 * @example
 * const draw = fn({ row: u32 }, u32, ({ row }) => {
 *   const counter = { lo: { lo: row, hi: 0 }, hi: { lo: 0, hi: 0 } };
 *   return philox4x32({ counter, key: { lo: 0, hi: 0 } }).lo.lo;
 * });
 * await ctx.read(map(draw, { row: sequence(2) })); // Uint32Array [1713891541, 4175744164]
 */
export const philox4x32: Functor<PhiloxOperands, U128Shape> = fn(
  'philox4x32',
  { counter: u128, key: u64 },
  u128,
  ({ counter, key }) => {
    let words: readonly [U32, U32, U32, U32] = [counter.lo.lo, counter.lo.hi, counter.hi.lo, counter.hi.hi];
    for (let round = 0; round < ROUNDS; round++) {
      const [a, b, c, d] = words;
      const [first, second] = MULTIPLIERS.map((by) => u32(by)) as [U32, U32];
      const low = key.lo.add(Math.imul(INCREMENTS[0], round) >>> 0);
      const high = key.hi.add(Math.imul(INCREMENTS[1], round) >>> 0);
      words = [mulhi(c, second).xor(b).xor(low), c.mul(second), mulhi(a, first).xor(d).xor(high), a.mul(first)];
    }
    return { lo: { lo: words[0], hi: words[1] }, hi: { lo: words[2], hi: words[3] } };
  },
);
