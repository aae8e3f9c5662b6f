import { describe, expect } from 'vitest';
import { type MatchMethod, matchPairs, type RatedPairs } from '../../../algorithms/cross-compare/matching.ts';
import { ArgumentError } from '../../../primitives/checks/errors.ts';
import { fc, test } from '../../law-test.ts';

type Pair = readonly [p: number, q: number, ratio: number];

const columns = (pairs: readonly Pair[]): RatedPairs => {
  const sorted = [...pairs].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return {
    p: Uint32Array.from(sorted, ([p]) => p),
    q: Uint32Array.from(sorted, ([, q]) => q),
    ratio: Float64Array.from(sorted, ([, , ratio]) => ratio),
  };
};

/** Pairs of polygons with ratios that are multiples of 2⁻¹⁰, so that sums of ratios are exact. */
const ratedPairs = (polygons: number, maxLength: number): fc.Arbitrary<RatedPairs> =>
  fc
    .uniqueArray(
      fc.tuple(
        fc.nat({ max: polygons }),
        fc.nat({ max: polygons }),
        fc.integer({ min: 1, max: 1024 }).map((ratio) => ratio / 1024),
      ),
      { selector: ([p, q]) => `${p} ${q}`, maxLength },
    )
    .map(columns);

const few = ratedPairs(4, 10);
const many = ratedPairs(40, 300);
const threshold = fc.integer({ min: 1, max: 1024 }).map((ratio) => ratio / 1024);
const method = fc.constantFrom<MatchMethod>('greedy', 'optimal');

const swapped = ({ p, q, ratio }: RatedPairs): RatedPairs =>
  columns(Array.from(p, (i, pair): Pair => [q[pair]!, i, ratio[pair]!]));

const figures = (pairs: RatedPairs, minIou: number, method: MatchMethod): { count: number; sum: number } =>
  figuresOf(pairs, matchPairs(pairs, { minIou, method }));
const figuresOf = ({ ratio }: RatedPairs, matches: Uint32Array): { count: number; sum: number } => ({
  count: matches.length,
  sum: matches.reduce((sum, pair) => sum + ratio[pair]!, 0),
});

/**
 * The best choice of matches, found by trying all choices. Returns the maximum number of matches, and the highest sum
 * of ratios for this number.
 */
function exhaustive({ p, q, ratio }: RatedPairs, minIou: number): { count: number; sum: number } {
  const best = (pair: number, usedP: number, usedQ: number): { count: number; sum: number } => {
    if (pair === p.length) return { count: 0, sum: 0 };
    const without = best(pair + 1, usedP, usedQ);
    const [bitP, bitQ] = [1 << p[pair]!, 1 << q[pair]!];
    if (ratio[pair]! < minIou || usedP & bitP || usedQ & bitQ) return without;
    const rest = best(pair + 1, usedP | bitP, usedQ | bitQ);
    const chosen = { count: rest.count + 1, sum: rest.sum + ratio[pair]! };
    const isBetter = chosen.count > without.count || (chosen.count === without.count && chosen.sum > without.sum);
    return isBetter ? chosen : without;
  };
  return best(0, 0, 0);
}

describe('matchPairs', () => {
  test.prop([many, threshold, method])(
    'uses no polygon twice and no pair below the threshold',
    (pairs, minIou, how) => {
      const matches = matchPairs(pairs, { minIou, method: how });
      expect(matches).toEqual(Uint32Array.from(new Set(matches)).sort());
      expect(new Set(Array.from(matches, (pair) => pairs.p[pair])).size).toBe(matches.length);
      expect(new Set(Array.from(matches, (pair) => pairs.q[pair])).size).toBe(matches.length);
      expect(Array.from(matches).every((pair) => pairs.ratio[pair]! >= minIou)).toBe(true);
    },
  );

  test.prop([many, threshold, method])('leaves no pair whose polygons are both unmatched', (pairs, minIou, how) => {
    const matches = matchPairs(pairs, { minIou, method: how });
    const usedP = new Set(Array.from(matches, (pair) => pairs.p[pair]));
    const usedQ = new Set(Array.from(matches, (pair) => pairs.q[pair]));
    const left = Array.from(pairs.ratio.keys()).filter(
      (pair) => pairs.ratio[pair]! >= minIou && !usedP.has(pairs.p[pair]) && !usedQ.has(pairs.q[pair]),
    );
    expect(left).toEqual([]);
  });

  test.prop([few, threshold])(
    'optimal: finds the most matches, with the highest sum of ratios among those',
    (pairs, minIou) => {
      expect(figures(pairs, minIou, 'optimal')).toEqual(exhaustive(pairs, minIou));
    },
  );

  test.prop([many, threshold])('optimal: gives the same figures with the sides swapped', (pairs, minIou) => {
    expect(figures(swapped(pairs), minIou, 'optimal')).toEqual(figures(pairs, minIou, 'optimal'));
  });

  test.prop([many, threshold])('optimal: finds at least as many matches as greedy', (pairs, minIou) => {
    const [greedy, optimal] = [figures(pairs, minIou, 'greedy'), figures(pairs, minIou, 'optimal')];
    expect(optimal.count).toBeGreaterThanOrEqual(greedy.count);
    if (optimal.count === greedy.count) expect(optimal.sum).toBeGreaterThanOrEqual(greedy.sum);
  });

  test.prop([many, threshold])(
    'greedy: every rejected pair conflicts with a match of equal or higher ratio',
    (pairs, minIou) => {
      const { p, q, ratio } = pairs;
      const matches = matchPairs(pairs, { minIou, method: 'greedy' });
      for (const [pair, value] of ratio.entries()) {
        if (value < minIou || matches.includes(pair)) continue;
        const rivals = matches.filter((match) => p[match] === p[pair] || q[match] === q[pair]);
        expect(Math.max(...Array.from(rivals, (match) => ratio[match]!))).toBeGreaterThanOrEqual(value);
      }
    },
  );

  /** Polygons that consist of adjacent pixels of one row, so that the polygons of a side do not overlap. */
  const runs = fc
    .array(fc.tuple(fc.boolean(), fc.integer({ min: 1, max: 5 })), { maxLength: 12 })
    .map((lengths) => lengths.flatMap(([inside, length], run) => Array<number>(length).fill(inside ? run : -1)));

  test.prop([runs, runs, fc.integer({ min: 512, max: 1024 })])(
    'both methods agree for thresholds of ½ and above when polygons of a side do not overlap',
    (rowP, rowQ, units) => {
      const size = (row: readonly number[], run: number): number => row.filter((other) => other === run).length;
      const met = new Map<string, Pair>();
      for (const [pixel, p] of rowP.entries()) {
        const q = rowQ[pixel] ?? -1;
        if (p < 0 || q < 0) continue;
        const common = rowP.filter((other, at) => other === p && rowQ[at] === q).length;
        met.set(`${p} ${q}`, [p, q, common / (size(rowP, p) + size(rowQ, q) - common)]);
      }
      const pairs = columns([...met.values()]);
      const [greedy, optimal] = [figures(pairs, units / 1024, 'greedy'), figures(pairs, units / 1024, 'optimal')];
      expect(greedy.count).toBe(optimal.count);
      expect(greedy.sum).toBeCloseTo(optimal.sum, 12);
    },
  );

  test('matches one connected group of thousands of polygons in reasonable time', () => {
    const side = 3000;
    const chain = Array.from({ length: side }, (_, i): Pair[] => [
      [i, i, 0.5],
      [i, (i + 1) % side, 0.25 + i / (8 * side)],
    ]).flat();
    const { count, sum } = figures(columns(chain), 0.1, 'optimal');
    expect([count, sum]).toEqual([side, side / 2]);
  });

  test.prop([fc.constantFrom(0, -0.5, 1.01, Number.NaN, Number.POSITIVE_INFINITY), method])(
    'refuses a threshold that is not above 0 and at most 1',
    (minIou, how) => {
      expect(() => matchPairs(columns([]), { minIou, method: how })).toThrow(ArgumentError);
    },
  );
});
