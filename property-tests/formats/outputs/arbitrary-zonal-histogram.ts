import fc from 'fast-check';
import type { WithStatistics } from '../../../algorithms/zonal/types.ts';
import { perStatistic, STATISTIC_FIELDS } from '../../../algorithms/zonal/zone-statistics.ts';

interface ZoneDraft {
  readonly name: string;
  readonly counts: readonly bigint[];
  readonly nodata: bigint;
  readonly below: bigint;
  readonly above: bigint;
}

const EDGES = [-2, -0.5, 0, 0.1, 0.30000000000000004, 1e-7 + 1, 12345.678, 1e21];

/** Values of statistics, one after the other. */
const VALUES = [-3.5, 1e22, 1 / 3, 0.1 + 0.2];

/** Names of zones, with all characters that could confuse a CSV reader. */
export const awkwardName: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: fc.constantFrom(',', '"', '\n', '\r', ' ', 'a', 'é', '\t', ';') }),
);

// A count. A zone has ten counts, whose sum must fit in a u64.
const count = fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 2n ** 60n }), fc.bigInt({ min: 0n, max: 9n }));

const draft: fc.Arbitrary<ZoneDraft> = fc.record({
  name: awkwardName,
  counts: fc.array(count, { minLength: EDGES.length - 1, maxLength: EDGES.length - 1 }),
  nodata: count,
  below: count,
  above: count,
});

/**
 * Valid results of zonal histograms. The bins of a zone are in order and not empty. The counts of its bins and its
 * cells below, above and without data add up to its number of cells.
 */
export const zonalHistogram: fc.Arbitrary<WithStatistics> = fc.array(draft, { maxLength: 8 }).map(toHistogram);

function toHistogram(zones: readonly ZoneDraft[]): WithStatistics {
  const rows = zones.flatMap((zone, index) =>
    zone.counts.flatMap((n, bin) => (n === 0n ? [] : [{ zone: index, bin, count: n }])),
  );
  const valid = zones.map((zone) => zone.counts.reduce((sum, n) => sum + n, zone.below + zone.above));
  const blankOr = (value: number) => Float64Array.from(valid, (cells) => (cells === 0n ? Number.NaN : value));
  return {
    names: zones.map((zone) => zone.name),
    binning: { kind: 'edges', edges: EDGES },
    sample: 'f32',
    bins: {
      zone: Uint32Array.from(rows, (row) => row.zone),
      lower: Float64Array.from(rows, (row) => EDGES[row.bin]!),
      upper: Float64Array.from(rows, (row) => EDGES[row.bin + 1]!),
      count: BigUint64Array.from(rows, (row) => row.count),
    },
    cells: BigUint64Array.from(zones, (zone, index) => valid[index]! + zone.nodata),
    nodata: BigUint64Array.from(zones, (zone) => zone.nodata),
    below: BigUint64Array.from(zones, (zone) => zone.below),
    above: BigUint64Array.from(zones, (zone) => zone.above),
    statistics: perStatistic((field) => blankOr(VALUES[STATISTIC_FIELDS.indexOf(field) % VALUES.length]!)),
    gridStep: [2 ** -20, 2 ** -21],
    notes: [],
  };
}
