import fc from 'fast-check';
import { fn, u32 } from '../../primitives/functors/functor.ts';
import { map } from '../../primitives/map.ts';
import { type WideSums, weightedHistogram } from '../../primitives/weighted-histogram.ts';
import { rowsOf } from '../arbitraries/columns.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { assertSame } from './compare.ts';
import { type Law, law } from './law.ts';

type Named<T> = { readonly [name: string]: T };

/** The expected sums of every weight column, one sum per bin, computed in 64 bits. */
function sumsByBin(bins: ArrayLike<number>, count: number, weights: Named<ArrayLike<number>>) {
  const sumsOf = (weight: ArrayLike<number>) => {
    const sums = new BigUint64Array(count);
    for (let i = 0; i < bins.length; i++) if (bins[i]! < count) sums[bins[i]!]! += BigInt(weight[i]!);
    return {
      lo: Uint32Array.from(sums, (sum) => Number(sum & 0xffffffffn)),
      hi: Uint32Array.from(sums, (sum) => Number(sum >> 32n)),
    };
  };
  return Object.fromEntries(Object.entries(weights).map(([name, weight]) => [name, sumsOf(weight)]));
}

const binCount = fc.constantFrom(1, 2, 7, 256, 1365, 4096, 4097, 70000);

/**
 * Functions that map a row to its bin. They give a random bin, always the same bin, neighbouring bins, or bins past the
 * last one.
 */
const binOfRow = fc.constantFrom<(row: number, given: number, count: number) => number>(
  (_row, given, count) => given % count,
  () => 0,
  (row, _given, count) => row % (count + 1),
  (_row, _given, count) => count - 1,
  (_row, given) => given,
  (_row, _given, count) => count,
);

const max = fn({ x: u32 }, u32, ({ x }) => x.or(0xf0000000));

export const weightedHistogramLaws: readonly Law[] = [
  law(
    'weightedHistogram sums any number of weights by bin in 64 bits',
    [
      rowsOf({ bin: 'u32', a: 'u32', b: 'u32', c: 'u32' }),
      presentation,
      binCount,
      binOfRow,
      fc.integer({ min: 1, max: 3 }),
    ],
    async (run, { bin: given, ...all }, how, count, place, number) => {
      const bin = Uint32Array.from(given, (value, row) => place(row, value, count));
      const weights = Object.fromEntries(Object.entries(all).slice(0, number));
      const sums = await run((context) => {
        const { bin: bins, ...columns } = present(context, { bin, ...weights }, how);
        return weightedHistogram(bins, count, columns);
      });
      assertSame(sums, sumsByBin(bin, count, weights));
    },
  ),
  law(
    'weightedHistogram carries from word to word, for views and for a repeated weight',
    [rowsOf({ bin: 'tiny', x: 'u32' }), presentation],
    async (run, host, how) => {
      const sums = await run((context) => {
        const { bin, x } = present(context, host, how);
        const weight = map(max, { x });
        return weightedHistogram(bin, 5, { weight, again: weight, bin });
      });
      const weight = Uint32Array.from(host.x, (x) => (x | 0xf0000000) >>> 0);
      assertSame(sums, sumsByBin(host.bin, 5, { weight, again: weight, bin: host.bin }));
    },
  ),
  law('weightedHistogram returns nothing for no weights, and zeros for no rows', [binCount], async (run, count) => {
    const sums = await run((context) => {
      const none = context.column(new Uint32Array());
      const of: Named<WideSums> = weightedHistogram(none, count, { none });
      return { ...of, ...weightedHistogram(none, count, {}) };
    });
    assertSame(sums, sumsByBin([], count, { none: [] }));
  }),
];
