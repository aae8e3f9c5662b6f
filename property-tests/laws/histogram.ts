import fc from 'fast-check';
import type { Column } from '../../primitives/columns/column.ts';
import { array, fn, u32, uniform } from '../../primitives/functors/functor.ts';
import { binOf, histogram, histogramEdges, histogramEven } from '../../primitives/histogram.ts';
import { rankHistogram } from '../../primitives/rank-histogram.ts';
import { fewRows, type HostRows, rowsOf } from '../arbitraries/columns.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { assertSame } from './compare.ts';
import { type Law, law } from './law.ts';
import { rowsIn } from './rows.ts';

function countInto(length: number, bins: Iterable<number>): Uint32Array {
  const counts = new Uint32Array(length);
  for (const bin of bins) if (bin < length) counts[bin]!++;
  return counts;
}

/**
 * Returns the bin of a value: the index of the last edge that is not above the value, or −1 if all edges are above it.
 * Compares in f64. NaN counts as above all edges.
 */
function binByRule(value: number, edges: readonly number[]): number {
  if (Number.isNaN(value)) return edges.length - 1;
  return edges.filter((edge) => edge <= value).length - 1;
}

const someEdges: fc.Arbitrary<readonly number[]> = fc
  .uniqueArray(
    fc.oneof(
      fc.constantFrom(
        0,
        -0,
        1e-46,
        -1e-46,
        2 ** -149,
        0.1,
        1,
        2.5,
        3,
        -1,
        2 ** 31,
        2 ** 32 - 1,
        2 ** 32,
        -(2 ** 31),
        1e39,
        -1e39,
      ),
      fc.integer({ min: -40, max: 70 }),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
    ),
    { minLength: 2, maxLength: 40, comparator: (a, b) => a === b },
  )
  .map((edges) => edges.sort((a, b) => a - b));

const numbers = rowsOf({ u32: 'u32', i32: 'i32', f32: 'f32', u8: 'u8' }, fewRows);
type Numbers = HostRows<{ u32: 'u32'; i32: 'i32'; f32: 'f32'; u8: 'u8' }>;

/** The bins of the values of all columns, by {@link binByRule}. */
const binsByRule = (host: Numbers, edges: readonly number[]): { [K in keyof Numbers]: Uint32Array } => {
  const bins = (values: ArrayLike<number>): Uint32Array => Uint32Array.from(values, (value) => binByRule(value, edges));
  return { u32: bins(host.u32), i32: bins(host.i32), f32: bins(host.f32), u8: bins(host.u8) };
};

const rowOfRanks = rowsOf({ active: 'bool', group: 'tiny', start: 'u32' }, fewRows);

/**
 * Computes the bin and the histogram for element `rank` of a row. The bin comes from a captured column, which is read
 * as a ring: the first number follows the last. The number of the histogram is the group of the row.
 */
const element = fn(
  { group: u32, start: u32, rank: u32, ring: array(u32), size: uniform(u32) },
  { histogram: u32, bin: u32 },
  ({ group, start, rank, ring, size }) => ({ bin: ring.at(start.rem(size).add(rank).rem(size)), histogram: group }),
);

export const histogramLaws: readonly Law[] = [
  law(
    'histogram counts by bin, and ignores values not below the number of bins',
    [rowsOf({ bin: 'u32' }), presentation, fc.constantFrom(1, 3, 256, 5000)],
    async (run, { bin }, how, bins) => {
      const result = await run((context) => histogram(present(context, { bin }, how).bin, bins));
      assertSame(result, countInto(bins, bin));
    },
  ),
  law(
    'histograms of segments equal the histograms of the slices',
    [rowsOf({ bin: 'tiny' }), fc.constantFrom(1, 2, 3, 64, 255, 256, 257, 1024, 100000), fc.constantFrom(1, 5)],
    async (run, { bin }, segment, bins) => {
      const runs = Math.ceil(bin.length / segment);
      const result = await run((context) => histogram(context.column(bin), bins, { segment }));
      const cells = Array.from(bin, (value, i) =>
        value < bins ? Math.floor(i / segment) * bins + value : runs * bins,
      );
      assertSame(result, countInto(runs * bins, cells));
    },
  ),
  law(
    'the last segment ends at the device count',
    [rowsOf({ bin: 'tiny' }), fc.constantFrom(1, 7, 256), presentation],
    async (run, { bin }, segment, how) => {
      const result = await run((context) => histogram(present(context, { bin }, how).bin, 4, { segment }));
      const cells = Array.from(bin, (value, i) => Math.floor(i / segment) * 4 + value);
      assertSame(result, countInto(result.length, cells));
    },
  ),
  law('binOf compares as in f64, for every type', [numbers, someEdges, presentation], async (run, host, edges, how) => {
    const result = await run((context) => {
      const { u32, i32, f32, u8 } = present(context, host, how);
      return { u32: binOf(u32, edges), i32: binOf(i32, edges), f32: binOf(f32, edges), u8: binOf(u8, edges) };
    });
    assertSame(result, binsByRule(host, edges));
  }),
  law(
    'histogramEdges and histogramEven count the bins of binOf',
    [numbers, fc.constantFrom([0, 1], [-1, 1], [0, 64], [0.1, 0.7], [-5, 2 ** 32]), fc.constantFrom(1, 3, 20)],
    async (run, host, [low, high], bins) => {
      const edges = Array.from({ length: bins + 1 }, (_, i) =>
        i === bins ? high! : low! + i * ((high! - low!) / bins),
      );
      const result = await run((context) => {
        const { u32, i32, f32, u8 } = present(context, host, 'stored');
        const even = (column: typeof u32 | typeof i32 | typeof f32): Column<'u32'> =>
          histogramEven(column, low!, high!, bins);
        return { u32: even(u32), i32: even(i32), f32: even(f32), u8: even(u8), edges: histogramEdges(f32, edges) };
      });
      const expected = binsByRule(host, edges);
      assertSame(result, {
        u32: countInto(bins, expected.u32),
        i32: countInto(bins, expected.i32),
        f32: countInto(bins, expected.f32),
        u8: countInto(bins, expected.u8),
        edges: countInto(bins, expected.f32),
      });
    },
  ),
  law(
    'rankHistogram counts every rank of every active row',
    [rowOfRanks, presentation, fc.constantFrom(1, 2, 19), fc.constantFrom(1, 5)],
    async (run, host, how, ranks, histograms) => {
      const ring = Uint32Array.of(0, 2, 1, 2, 9, 1, 0);
      const bins = 3;
      const result = await run((context) => {
        const rows = present(context, host, how);
        const captures = { ring: context.column(ring), size: ring.length };
        return rankHistogram(rows, element, { ranks, bins, histograms, captures });
      });
      const counts = new Uint32Array(bins * histograms);
      for (let row = 0; row < rowsIn(host); row++) {
        for (let rank = 0; host.active[row] && rank < ranks; rank++) {
          const bin = ring[((host.start[row]! % ring.length) + rank) % ring.length]!;
          if (bin < bins && host.group[row]! < histograms) counts[host.group[row]! * bins + bin]!++;
        }
      }
      assertSame(result, counts);
    },
  ),
];
