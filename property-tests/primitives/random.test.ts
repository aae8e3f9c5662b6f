import { afterAll, describe, expect } from 'vitest';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import { Context } from '../../primitives/context/context.ts';
import * as q from '../../primitives/index.ts';
import { backendsThatLaunchOnce, testLaws } from '../backends.ts';
import { test } from '../law-test.ts';
import { wordsOfRow } from '../laws/philox.ts';
import { randomLaws } from '../laws/random.ts';

testLaws(randomLaws);

const context = new Context(createReferenceBackend());
afterAll(() => context.close());

const ROWS = 2 ** 16;

/** The statistic of Pearson's test, in standard deviations from its mean. */
function deviationOf(counts: readonly number[], shares: readonly number[]): number {
  const rows = counts.reduce((sum, count) => sum + count, 0);
  const total = shares.reduce((sum, share) => sum + share, 0);
  const statistic = counts.reduce((sum, count, i) => sum + (count - (rows * shares[i]!) / total) ** 2 / shares[i]!, 0);
  const freedom = counts.length - 1;
  return ((statistic * total) / rows - freedom) / Math.sqrt(2 * freedom);
}

function countsOf(bins: Iterable<number>, number: number): number[] {
  const counts = Array<number>(number).fill(0);
  for (const bin of bins) counts[bin]!++;
  return counts;
}

const even = (number: number): number[] => Array<number>(number).fill(1);

/** The mean of a power of numbers. */
function momentOf(numbers: ArrayLike<number>, power: number): number {
  return Array.from(numbers, (x) => x ** power).reduce((sum, x) => sum + x, 0) / numbers.length;
}

// All seeds are fixed, so these cannot fail by chance.
describe('the distribution of random numbers', () => {
  test.each([1, 2n ** 63n])(
    'uniform numbers fill bins evenly, and so do pairs of neighbours, seed %s',
    async (seed) => {
      const numbers = await context.read(q.randomUniform(ROWS, { seed }));
      const bins = Array.from(numbers, (x) => Math.floor(x * 16));
      expect(Math.abs(deviationOf(countsOf(bins, 16), even(16)))).toBeLessThan(4);
      const pairs = bins.slice(1).map((bin, i) => 16 * bin + bins[i]!);
      expect(Math.abs(deviationOf(countsOf(pairs, 256), even(256)))).toBeLessThan(4);
    },
  );

  test('normal numbers have the moments and tails of the normal distribution', async () => {
    const numbers = await context.read(q.randomNormal(ROWS, { seed: 7 }));
    const error = 4 / Math.sqrt(ROWS);
    // The variance of a power is the mean of its square less the square of its mean.
    for (const [power, mean, square] of [
      [1, 0, 1],
      [2, 1, 3],
      [3, 0, 15],
      [4, 3, 105],
    ] as const)
      expect(Math.abs(momentOf(numbers, power) - mean)).toBeLessThan(error * Math.sqrt(square - mean ** 2));
    const bins = Array.from(numbers, (x) => Math.min(4, Math.floor(Math.abs(x))));
    const shares = [0.6826894921, 0.2718102, 0.0428026, 0.0026364, 0.0000633];
    expect(Math.abs(deviationOf(countsOf(bins, 5), shares))).toBeLessThan(4);
  });

  test.each([3, 6, 1000, 3 * 2 ** 30, 2 ** 32 - 1])('integers below %d have no bias', async (below) => {
    const numbers = await context.read(q.randomIntegers(ROWS, below, { seed: 11 }));
    const number = Math.min(below, 300);
    const bins = Array.from(numbers, (x) => Math.floor((x * number) / below));
    const shares = Array.from(
      even(number),
      (_, i) => Math.ceil(((i + 1) * below) / number) - Math.ceil((i * below) / number),
    );
    expect(Math.abs(deviationOf(countsOf(bins, number), shares))).toBeLessThan(4);
  });

  test('seeds and streams give other numbers, which are not correlated', async () => {
    const rows = 2 ** 14;
    const options = [
      { seed: 0 },
      { seed: 1 },
      { seed: 2n ** 32n },
      { seed: 0, stream: 1 },
      { seed: 0, stream: 2n ** 32n },
      { seed: 1, stream: 1 },
    ];
    const all = await context.read(Object.fromEntries(options.map((each, i) => [i, q.randomUniform(rows, each)])));
    const words = await context.read(Object.fromEntries(options.map((each, i) => [i, q.randomWords(rows, each).lo])));
    const keys = Object.values(words).flatMap(({ lo, hi }) => Array.from(lo, (low, i) => low + 2 ** 21 * hi[i]!));
    expect(new Set(keys).size).toBeGreaterThan(keys.length - 3);
    const columns = Object.values(all).map((numbers) => Array.from(numbers, (x) => (x - 0.5) * Math.sqrt(12)));
    for (const [i, a] of columns.entries())
      for (const b of columns.slice(i + 1)) {
        const correlation = a.reduce((sum, x, row) => sum + x * b[row]!, 0) / rows;
        expect(Math.abs(correlation) * Math.sqrt(rows)).toBeLessThan(4);
      }
  });

  test('all orders of four rows are equally frequent', async () => {
    const orders = 1200;
    const columns = Array.from({ length: orders }, (_, stream) =>
      q.shuffle(q.sequence(4), { seed: 3, stream, context }),
    );
    const found = await context.read(Object.fromEntries(columns.map((column, i) => [i, column])));
    context.dispose(...columns);
    const counts = new Map<string, number>();
    for (const order of Object.values(found)) counts.set(`${order}`, (counts.get(`${order}`) ?? 0) + 1);
    expect(counts.size).toBe(24);
    expect(Math.abs(deviationOf([...counts.values()], even(24)))).toBeLessThan(4);
  });

  test('rows are drawn in proportion to their weights', async () => {
    const shares = [5, 1, 0.5, 10, 3, 0.25, 7];
    const weights = context.column(Float32Array.from(shares));
    const again = await context.read(q.sampleWeighted(weights, ROWS, { seed: 5, replacement: true }));
    expect(Math.abs(deviationOf(countsOf(again, 7), shares))).toBeLessThan(4);
    // The first and the second of the rows that are drawn once each.
    const pairs = Array.from({ length: 700 }, (_, stream) => q.sampleWeighted(weights, 2, { seed: 5, stream }));
    const found = await context.read(Object.fromEntries(pairs.map((pair, i) => [i, pair])));
    context.dispose(...pairs);
    const drawn = Object.values(found) as Uint32Array[];
    expect(
      Math.abs(
        deviationOf(
          countsOf(
            drawn.map(([first]) => first!),
            7,
          ),
          shares,
        ),
      ),
    ).toBeLessThan(4);
    const total = shares.reduce((sum, share) => sum + share, 0);
    const second = shares.map((share, i) =>
      shares.reduce((sum, other, j) => (i === j ? sum : sum + (other / total) * (share / (total - other))), 0),
    );
    expect(
      Math.abs(
        deviationOf(
          countsOf(
            drawn.map(([, second]) => second!),
            7,
          ),
          second,
        ),
      ),
    ).toBeLessThan(4);
  });
});

describe('random numbers', () => {
  test.each(backendsThatLaunchOnce())('of another seed, stream or bound compile nothing on $name', async ({ open }) => {
    const own = new Context(await open());
    const compiled = async (seed: bigint, bound: number): Promise<number> => {
      const options = { seed, stream: seed * 3n };
      await own.read({
        normal: q.randomNormal(70, options),
        integer: q.randomIntegers(70, bound, options),
        order: q.shuffle(q.sequence(70), { ...options, context: own }),
      });
      return own.backend.counters.compilations;
    };
    const first = await compiled(1n, 10);
    for (let i = 2; i < 5; i++) expect(await compiled(BigInt(i) << 40n, 2 ** (6 * i) + 1)).toBe(first);
    await own.close();
  });

  test('of a prepared pipeline may have a seed and a stream for each call', async () => {
    const declared = { seed: q.uniform(q.u32), stream: q.uniform(q.u32) };
    const drawn = context.prepare(declared, (options) =>
      context.materialize({ word: q.randomWords(9, options).lo.lo, six: q.randomIntegers(9, 6, options) }),
    );
    for (const options of [
      { seed: 1, stream: 0 },
      { seed: 2 ** 32 - 1, stream: 5 },
    ]) {
      const found = await context.read(drawn(options));
      expect(Array.from(found.word)).toEqual(Array.from(found.word, (_, row) => wordsOfRow(options, row)[0]));
      expect(found.six).toEqual(await context.read(q.randomIntegers(9, 6, options)));
    }
  });
});
