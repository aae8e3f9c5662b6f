import fc from 'fast-check';
import type { RandomOptions } from '../../primitives/random.ts';
import { word64 } from '../arbitraries/integers.ts';

/** Philox4x32-10 in numbers of JavaScript, as its authors write it. Words have the low ones first. */
export function philoxByHand(counter: readonly number[], key: readonly number[]): number[] {
  let [a, b, c, d] = counter as [number, number, number, number];
  let [low, high] = key as [number, number];
  for (let round = 0; round < 10; round++) {
    const [first, second] = [highOf(0xd2511f53, a), highOf(0xcd9e8d57, c)];
    [a, b, c, d] = [second ^ b ^ low, Math.imul(0xcd9e8d57, c), first ^ d ^ high, Math.imul(0xd2511f53, a)];
    [low, high] = [low + 0x9e3779b9, high + 0xbb67ae85];
  }
  return [a, b, c, d].map((word) => word >>> 0);
}

/** The high word of a product, by halves of a word, whose products are exact. */
function highOf(a: number, b: number): number {
  const low = a * (b & 0xffff);
  return Math.floor((a * (b >>> 16) + Math.floor(low / 2 ** 16)) / 2 ** 16);
}

/** The words of a row of random numbers at some attempt. */
export function wordsOfRow({ seed, stream = 0 }: RandomOptions, row: number, attempt = 0): number[] {
  const [low, high] = halvesOf(stream);
  return philoxByHand([row, attempt, low, high], halvesOf(seed));
}

function halvesOf(number: number | bigint): [number, number] {
  return [Number(BigInt(number) & 0xffffffffn), Number(BigInt(number) >> 32n)];
}

/** The 64-bit keys of rows of random numbers. */
export function keysOfRows(options: RandomOptions, length: number): bigint[] {
  return Array.from({ length }, (_, row) => {
    const [low, high] = wordsOfRow(options, row) as [number, number];
    return BigInt(low) | (BigInt(high) << 32n);
  });
}

/** A seed or a stream, as a bigint or, where it is a safe integer, as a number. */
const seed: fc.Arbitrary<number | bigint> = fc.oneof(
  word64,
  fc.maxSafeNat(),
  fc.constantFrom(0, 1, 2 ** 32, Number.MAX_SAFE_INTEGER),
);

/** Options of random numbers. */
export const randomOptions: fc.Arbitrary<RandomOptions> = fc.oneof(
  fc.record({ seed }),
  fc.record({ seed, stream: seed }),
);
