import { describe, expect } from 'vitest';
import { exactSum, meanOf, ratiosOf } from '../../../algorithms/cross-compare/areas.ts';
import { filterPairs, indexBoxes, type PairColumns } from '../../../algorithms/cross-compare/filter.ts';
import type { MatchOptions } from '../../../algorithms/cross-compare/matching.ts';
import { compareTile, type TileComparison } from '../../../algorithms/cross-compare/tile-comparison.ts';
import { RATIO_BINS, totalsOf } from '../../../algorithms/cross-compare/totals.ts';
import type { PairAreas } from '../../../algorithms/pixelbox/pair-areas.ts';
import { fc, test } from '../../law-test.ts';
import { countLabels, type LabelPair, labelPair, sideOf } from '../../support/random-label-images.ts';

const MATCHING: MatchOptions = { minIou: 0.5, method: 'optimal' };

/** The expected areas of pairs, computed by counting pixels. */
function countedAreas({ p, q }: LabelPair, pairs: PairColumns): PairAreas {
  const areas = (holds: (pair: number, labelP: number | undefined, labelQ: number | undefined) => boolean) =>
    BigUint64Array.from(pairs.p, (_, pair) =>
      BigInt(p.labels.filter((label, at) => holds(pair, label - 1, q.labels[at]! - 1)).length),
    );
  return {
    intersection: areas((pair, labelP, labelQ) => labelP === pairs.p[pair] && labelQ === pairs.q[pair]),
    p: areas((pair, labelP) => labelP === pairs.p[pair]),
    q: areas((pair, _, labelQ) => labelQ === pairs.q[pair]),
  };
}

function compared(images: LabelPair, tile = 'tile'): TileComparison {
  const [p, q] = [sideOf(images.p), sideOf(images.q)];
  const candidates = filterPairs(p.regions, indexBoxes(q.regions));
  return compareTile({ tile, p, q, candidates }, countedAreas(images, candidates), MATCHING);
}

const area = fc.bigInt({ min: 0n, max: 2n ** 62n });

describe('ratiosOf', () => {
  test.prop([fc.array(fc.tuple(area, area, area), { maxLength: 20 })])(
    'returns the nearest f64 for small areas, and is within 2⁻⁵¹ for larger ones',
    (areas) => {
      const sorted = areas.map((three) => three.sort((a, b) => (a < b ? -1 : 1)));
      const columns = {
        intersection: BigUint64Array.from(sorted, ([min]) => min),
        p: BigUint64Array.from(sorted, ([, middle]) => middle),
        q: BigUint64Array.from(sorted, ([, , max]) => max),
      };
      for (const [i, ratio] of ratiosOf(columns).entries()) {
        const [common, p, q] = sorted[i]!;
        const union = p! + q! - common!;
        if (union === 0n) expect(ratio).toBe(0);
        else if (q! < 2n ** 51n) expect(ratio).toBe(Number(common) / Number(union));
        else expect(Math.abs(ratio - Number((common! << 60n) / union) / 2 ** 60)).toBeLessThanOrEqual(2 ** -51);
      }
    },
  );

  test('returns 1 for equal areas of any size', () => {
    const areas = BigUint64Array.of(1n, 3n, 2n ** 53n + 1n, 2n ** 62n - 1n, 2n ** 62n);
    expect([...ratiosOf({ intersection: areas, p: areas, q: areas })]).toEqual([1, 1, 1, 1, 1]);
  });
});

describe('exactSum', () => {
  const ratios = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 200 });

  test.prop([ratios, ratios])('does not depend on grouping or order', (some, others) => {
    const together = exactSum(Float64Array.from([...some, ...others]));
    expect(exactSum(Float64Array.from(some)) + exactSum(Float64Array.from(others))).toBe(together);
    expect(exactSum(Float64Array.from([...others, ...some]).reverse())).toBe(together);
  });

  test.prop([ratios])('is within n · 2⁻⁵³ of the sum', (numbers) => {
    const exact = numbers.reduce((sum, ratio) => sum + BigInt(Math.round(ratio * 2 ** 52)), 0n);
    expect(exactSum(Float64Array.from(numbers))).toBe(exact);
    const plain = numbers.reduce((sum, ratio) => sum + ratio, 0);
    expect(Math.abs(Number(exact) / 2 ** 52 - plain)).toBeLessThanOrEqual(numbers.length * numbers.length * 2 ** -52);
  });

  test.prop([fc.integer({ min: 1, max: 1000 }), fc.nat({ max: 1024 })])('gives exact means', (count, units) => {
    const ratio = units / 1024;
    expect(meanOf(exactSum(new Float64Array(count).fill(ratio)), count)).toBe(ratio);
  });
});

describe('compareTile', () => {
  test.prop([labelPair])('finds the same pairs, ratios and missing polygons as counting labels', (images) => {
    const { pairs, p, q } = compared(images);
    const counted = countLabels(images);
    expect([...pairs.p]).toEqual(counted.pairs.map((pair) => pair.p));
    expect([...pairs.q]).toEqual(counted.pairs.map((pair) => pair.q));
    expect([...pairs.areas.intersection].map(Number)).toEqual(counted.pairs.map((pair) => pair.intersection));
    expect([...pairs.ratio]).toEqual(counted.pairs.map(({ intersection, union }) => intersection / union));
    expect([...p.missing]).toEqual(counted.missing.p);
    expect([...q.missing]).toEqual(counted.missing.q);
  });

  test.prop([labelPair])('finds an image equal to itself', ({ p }) => {
    const { pairs, ...sides } = compared({ p, q: p });
    expect([...pairs.ratio]).toEqual([...pairs.p].map(() => 1));
    expect([...pairs.matched]).toEqual([...pairs.p].map(() => 1));
    expect(sides.p.missing).toEqual(sides.q.missing);
  });
});

describe('totalsOf', () => {
  const tiles = fc.array(labelPair, { maxLength: 8 });

  test.prop([
    tiles.chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray([...all.keys()], { minLength: all.length }))),
  ])('returns the same bytes for any order of tiles', ([images, order]) => {
    const all = images.map((pair) => compared(pair));
    const [inOrder, shuffled] = [totalsOf(MATCHING), totalsOf(MATCHING)];
    for (const tile of all) inOrder.add(tile);
    for (const tile of order) shuffled.add(all[tile]!);
    expect(shuffled.comparison()).toEqual(inOrder.comparison());
  });

  test.prop([tiles])('returns the mean, the counts and the missing polygons of all tiles', (images) => {
    const totals = totalsOf(MATCHING);
    for (const pair of images) totals.add(compared(pair));
    const { similarity, pairs, missing, histogram, candidates, meeting, matching } = totals.comparison();
    const counted = images.map(countLabels);
    const ratios = counted.flatMap((tile) => tile.pairs.map(({ intersection, union }) => intersection / union));
    if (ratios.length === 0) expect(similarity).toBeNaN();
    else expect(similarity).toBeCloseTo(ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length, 13);
    expect(pairs).toBe(ratios.length);
    expect(missing.p).toBe(counted.reduce((sum, tile) => sum + tile.missing.p.length, 0));
    expect(missing.q).toBe(counted.reduce((sum, tile) => sum + tile.missing.q.length, 0));
    expect(histogram.reduce((sum, count) => sum + count, 0)).toBe(pairs);
    expect(candidates).toBeGreaterThanOrEqual(pairs);
    expect(meeting).toBeGreaterThanOrEqual(candidates);
    // If polygons of the same set do not overlap each other, every pair with a ratio above ½ is a match.
    expect(matching.matches).toBeGreaterThanOrEqual(ratios.filter((ratio) => ratio > 0.5).length);
  });

  test('returns NaN ratios and zero counts for no tiles', () => {
    const { similarity, pairs, tiles, matching } = totalsOf(MATCHING).comparison();
    const { precision, recall, f1, meanIou } = matching;
    expect([similarity, precision, recall, f1, meanIou]).toEqual([NaN, NaN, NaN, NaN, NaN]);
    expect([pairs, tiles]).toEqual([0, 0]);
  });

  test.prop([fc.integer({ min: 1, max: RATIO_BINS - 1 })])(
    'puts a ratio on the edge of two bins into the upper bin',
    (bin) => {
      const totals = totalsOf(MATCHING);
      const side = sideOf({ width: 1, height: 1, labels: [1], polygons: 1 });
      const candidates = { p: Uint32Array.of(0), q: Uint32Array.of(0), meeting: 1 };
      const [part, whole] = [BigUint64Array.of(BigInt(bin)), BigUint64Array.of(BigInt(RATIO_BINS))];
      totals.add(
        compareTile({ tile: 't', p: side, q: side, candidates }, { intersection: part, p: whole, q: part }, MATCHING),
      );
      expect(totals.comparison().histogram[bin]).toBe(1);
    },
  );
});
