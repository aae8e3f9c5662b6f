import { expect } from 'vitest';
import { narrowed } from '../../../algorithms/zonal/digit-search.ts';
import { pairRanks } from '../../../algorithms/zonal/pair-ranks.ts';
import { createRankSearch } from '../../../algorithms/zonal/rank-search.ts';
import { lackingAreas, type ShareRows } from '../../../algorithms/zonal/share-rows.ts';
import type { RankStatistic } from '../../../algorithms/zonal/statistic-kinds.ts';
import { statisticsNamed } from '../../../algorithms/zonal/zone-statistics.ts';
import { scaledCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';

const STATISTICS = Object.values(
  statisticsNamed(['quantile(0)', 'quantile(0.3)', 'median', 'quantile_disc(0.3)', 'quantile(0.8)', 'quantile(1)']),
) as RankStatistic[];

/** Bits of a digit; words have two digits. */
const DIGIT_BITS = 4;
const UNIT = 2 ** 30;

/** A value of a zone: its word, the number of its whole cells, and the shares of others, which may be rounded below 0. */
const valued = fc.record({
  word: fc.nat(2 ** (2 * DIGIT_BITS) - 1),
  whole: fc.nat(3),
  shares: fc.array(fc.constantFrom(-1, 0, 1, UNIT / 2, UNIT - 1), { maxLength: 3 }),
});

test.prop(
  [
    fc.uniqueArray(valued, { minLength: 1, maxLength: 12, selector: ({ word }) => word }),
    fc.constantFrom(undefined, { scale: -0.5, offset: 3 }),
  ],
  { numRuns: scaledCount(1, 5000, 300) },
)('two readings of digits tell the values that statistics lie between', (given, scaling) => {
  const values = given
    .filter(({ whole, shares }) => whole + shares.length > 0)
    .sort((a, b) => a.word - b.word)
    .map(({ word, whole, shares }) => ({ word, count: whole + shares.length, shares }));
  const partial = values.filter(({ shares }) => shares.length > 0);
  const differences = partial.map(({ shares }) => shares.reduce((sum, share) => sum + BigInt(share - UNIT), 0n));
  const shares: ShareRows = {
    zone: new Uint32Array(partial.length),
    value: Uint32Array.from(partial, ({ word }) => word),
    low: Uint32Array.from(differences, (each) => Number(BigInt.asUintN(32, each))),
    up: Int32Array.from(differences, (each) => Number(each >> 32n)),
    over: Uint32Array.from(partial, (each) => each.shares.filter((share) => share < 0).length),
  };
  const rows = {
    zone: new Uint32Array(values.length),
    value: Uint32Array.from(values, ({ word }) => word),
    count: Float64Array.from(values, ({ count }) => count),
  };
  const all = pairRanks({ sample: 'u16', scaling }, STATISTICS, rows, shares, 1);
  for (const isByArea of [true, false]) {
    const count = values.reduce((sum, each) => sum + each.count, 0);
    if (count === 0) return;
    const isReversed = scaling !== undefined;
    const numberOf = (word: number): number => (scaling ? word * scaling.scale + scaling.offset : word);
    const lacking = isByArea ? lackingAreas(shares, 0, shares.zone.length, shares.value) : undefined;
    const search = createRankSearch(STATISTICS, { count, isReversed, numberOf }, lacking);
    const digits = (low: number, shift: number): Float64Array => {
      const counts = new Float64Array(2 ** DIGIT_BITS);
      for (const { word, count: own } of values)
        if ((word - low) >> shift in counts) counts[(word - low) >> shift]! += own;
      return counts;
    };
    const whole = { zone: 0, low: 0, bits: 2 * DIGIT_BITS, before: 0, targets: search.open() };
    const next = narrowed(whole, digits(0, DIGIT_BITS), DIGIT_BITS, () => undefined, true);
    for (const own of next) {
      narrowed(own, digits(own.low, 0), DIGIT_BITS, (_, value, target) => search.found(value, target), true);
    }
    expect(search.open()).toEqual([]);
    const found = STATISTICS.map((statistic) => Number(search.resultOf(statistic)));
    const sorted = values.flatMap((each) => Array<number>(each.count).fill(numberOf(each.word))).sort((a, b) => a - b);
    const byCells = (): number[] =>
      STATISTICS.map((statistic) =>
        Number(
          statistic.ofRanked(
            statistic.ranksOf(count).map((rank) => sorted[rank]!),
            count,
          ),
        ),
      );
    expect(found).toEqual(isByArea ? STATISTICS.map((statistic) => Number(all.columnOf(statistic)[0])) : byCells());
  }
});
