import { expect } from 'vitest';
import { distanceTally } from '../../cli/neighbours-tally.ts';
import { caseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';

const small = fc.integer({ min: -40, max: 40 }).map((steps) => steps * Number.MIN_VALUE);
// The edges of bins of larger numbers are infinite.
const any = fc
  .double({ noNaN: true })
  .filter((distance) => !(Math.abs(distance) >= 2 ** 1023) || !Number.isFinite(distance));
const distances = fc.array(fc.oneof(any, small, fc.integer({ min: -9, max: 2000 })), {
  maxLength: 60,
});

test.prop([distances, fc.nat({ max: 60 })], {
  numRuns: caseCount(2000),
  examples: [
    [[-Number.MIN_VALUE, 63], 1],
    [[1.7e-322, Number.MIN_VALUE], 0],
    [[0, 1e307, -1e307], 1],
  ],
})('distances of any size are counted in the bins that hold them, in whatever batches they come', (distances, cut) => {
  const figuresOf = (...batches: readonly number[][]) => {
    const tally = distanceTally();
    for (const batch of batches) tally.add(Float64Array.from(batch));
    const { mean: _, ...figures } = tally.figures();
    return figures;
  };
  const { histogram, ...found } = figuresOf(distances.slice(0, cut), distances.slice(cut));
  expect(figuresOf(distances.toReversed())).toEqual({ histogram, ...found });
  const finite = distances.filter(Number.isFinite);
  const sorted = finite.toSorted((a, b) => a - b);
  expect(found).toEqual({
    count: finite.length,
    infinite: distances.length - finite.length,
    min: sorted[0] ?? null,
    max: sorted.at(-1) ?? null,
  });
  const { start, width, counts } = histogram;
  // Comparisons, because quotients of small distances are rounded to 0.
  const inBin = (bin: number): number =>
    finite.filter((distance) => start + bin * width <= distance && distance < start + (bin + 1) * width).length;
  expect(counts).toEqual(counts.map((_, bin) => inBin(bin)));
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(finite.length);
  expect(counts.length).toBeLessThanOrEqual(64);
});
