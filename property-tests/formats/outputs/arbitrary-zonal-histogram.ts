import fc from 'fast-check';
import type { HostColumn } from '../../../algorithms/tables/host-table.ts';
import type { Areas } from '../../../algorithms/zonal/areas.ts';
import type { WithStatistics } from '../../../algorithms/zonal/types.ts';
import { perStatistic, STATISTIC_FIELDS } from '../../../algorithms/zonal/zone-statistics.ts';
import type { ZoneAttribute } from '../../../formats/polygons/zone-attributes.ts';

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

/** Results by fractions. */
export const byFractions: fc.Arbitrary<WithStatistics & { readonly areas: Areas }> = zonalHistogram.chain(
  (histogram) => {
    const areas = (rows: number): fc.Arbitrary<Float64Array> =>
      fc
        .array(fc.oneof(fc.constantFrom(0, 2 ** -30), fc.double({ min: 0, max: 2 ** 40, noNaN: true })), {
          minLength: rows,
          maxLength: rows,
        })
        .map((all) => Float64Array.from(all));
    const zones = histogram.names.length;
    return fc
      .record({
        ...{ count: areas(zones), nodata: areas(zones), below: areas(zones), above: areas(zones) },
        bins: areas(histogram.bins.zone.length),
      })
      .map((own) => ({ ...histogram, areas: own }));
  },
);

/** The value of a row of a column, as it would stand in a JSON file: undefined for null. */
export function valueAt(column: HostColumn, row: number): unknown {
  if (column.validity !== undefined && ((column.validity[row >> 5]! >> (row & 31)) & 1) === 0) return undefined;
  if (column.type === 'string') return column.dictionary[column.codes[row]!];
  return column.type === 'bool' ? column.values[row] === 1 : column.values[row];
}

/** A histogram, and attributes of its zones under names that no other column has. */
export const withAttributes: fc.Arbitrary<{
  readonly histogram: WithStatistics;
  readonly attributes: readonly ZoneAttribute[];
}> = fc.oneof(zonalHistogram, byFractions).chain((histogram) => {
  const zones = histogram.names.length;
  const validity = fc.option(
    fc
      .array(fc.integer({ min: 0, max: 2 ** 32 - 1 }), { minLength: 1, maxLength: 1 })
      .map((words) => Uint32Array.from(words)),
    { nil: undefined },
  );
  const rows = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
    fc.array(value, { minLength: zones, maxLength: zones });
  const column = fc.oneof<fc.Arbitrary<HostColumn>[]>(
    rows(fc.double({ noNaN: true })).map((all) => ({ type: 'f64', values: Float64Array.from(all) })),
    rows(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })).map((all) => ({
      type: 'i64',
      values: BigInt64Array.from(all),
    })),
    rows(fc.nat(1)).map((all) => ({ type: 'bool', values: Uint8Array.from(all) })),
    rows(awkwardName).map((all) => {
      const dictionary = [...new Set(all)];
      return { type: 'string', codes: Uint32Array.from(all, (text) => dictionary.indexOf(text)), dictionary };
    }),
  );
  const attribute = fc
    .tuple(awkwardName, column, validity)
    .map(([name, own, bits]): ZoneAttribute => ({ name: `a${name}`, column: { ...own, validity: bits } }));
  const attributes = fc.uniqueArray(attribute, { selector: ({ name }) => name, maxLength: 4 });
  return attributes.map((all) => ({ histogram, attributes: all }));
});
