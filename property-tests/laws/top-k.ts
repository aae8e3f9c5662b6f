import fc from 'fast-check';
import { gather } from '../../primitives/gather.ts';
import { segmentedTopK, topK } from '../../primitives/top-k.ts';
import { rowsOf } from '../arbitraries/columns.ts';
import { type Presentation, present, presentation } from '../arbitraries/presentations.ts';
import { assertSame, assertSameBytes } from './compare.ts';
import { type Law, law } from './law.ts';
import { rowsIn, take } from './rows.ts';
import { segmentsOfRows } from './segments.ts';
import { type KeyKind, type KeyRows, keyOf, keysOf } from './sort-keys.ts';

interface Case {
  readonly kind: KeyKind;
  readonly rows: KeyRows;
  readonly how: Presentation;
  readonly smallest: boolean;
}

const topCase: fc.Arbitrary<Case> = fc
  .constantFrom<KeyKind[]>('u32', 'i32', 'f32', 'u64', 'i16', 'tiny', 'sign')
  .chain((kind) =>
    fc.record({
      kind: fc.constant(kind),
      rows: rowsOf(kind === 'u64' ? { lo: 'u32', hi: 'tiny' } : { key: kind }),
      how: presentation,
      smallest: fc.boolean(),
    }),
  );

const NONE = 2 ** 32 - 1;

/** The best rows from `from` to `to − 1`. */
function bestOf({ kind, rows, smallest }: Case, from: number, to: number, k: number): number[] {
  const isFloat = rows.key instanceof Float32Array;
  const ranks = Array.from({ length: Math.max(0, to - from) }, (_, i) => {
    const isNan = isFloat && Number.isNaN((rows.key as Float32Array)[from + i]);
    return { row: from + i, rank: isNan ? Number.MAX_VALUE : keyOf(isFloat ? 'f32' : kind, rows, from + i) };
  });
  ranks.sort((a, b) => (smallest ? a.rank - b.rank : b.rank - a.rank) || a.row - b.row);
  return ranks.slice(0, k).map(({ row }) => row);
}

/** The rows again and again, so that many are equal, `count` of them; none if there are none. */
function repeated(rows: KeyRows, count: number): KeyRows {
  const of = rowsIn(rows);
  const places = Array.from({ length: of === 0 ? 0 : count }, (_, i) => i % of);
  return take(rows, places) as KeyRows;
}

/** Numbers of keys: few, about as many as a thread keeps in variables, and more. */
const places = fc.oneof(fc.nat({ max: 5 }), fc.constantFrom(8, 15, 16, 17, 40), fc.constantFrom(511, 512, 1024));

export const topKLaws: readonly Law[] = [
  law('topK is the head of the sorted rows, NaN greatest', [topCase, places], async (run, each, k) => {
    const { kind, rows, how, smallest } = each;
    const result = await run((context) => {
      const keys = keysOf(kind, present(context, rows, how));
      const { keys: found, rows: numbers } = topK(keys, k, { smallest });
      return { found: 'lo' in found ? found : { key: found }, numbers };
    });
    const best = bestOf(each, 0, rowsIn(rows), k);
    assertSame(result.numbers, Uint32Array.from(best), 'rows');
    assertSameBytes(result.found, take(rows, best), 'keys', true);
  }),
  law(
    'topK of many rows is the head of the sorted rows too',
    [topCase, fc.integer({ min: 1, max: 17 }), fc.constantFrom(4097, 4159, 4160, 4161, 9000)],
    async (run, each, k, count) => {
      const { kind, how, smallest } = each;
      const rows = repeated(each.rows, count);
      const result = await run((context) => topK(keysOf(kind, present(context, rows, how)), k, { smallest }).rows);
      assertSame(result, Uint32Array.from(bestOf({ ...each, rows }, 0, rowsIn(rows), k)), 'rows');
    },
  ),
  law(
    'segmentedTopK of a long segment is topK of its rows, with short segments and without',
    [
      topCase,
      fc.integer({ min: 1, max: 17 }),
      fc.constantFrom(4096, 4097, 8191, 8192, 12_345),
      fc.record({ before: fc.nat({ max: 130 }), after: fc.nat({ max: 4200 }), short: fc.constantFrom(0, 1, 40) }),
    ],
    async (run, each, k, count, { before, after, short }) => {
      const { kind, how, smallest } = each;
      const rows = repeated(each.rows, count);
      const all = rowsIn(rows);
      const bounds = [
        [Math.min(before, all), Math.max(0, all - after)],
        ...Array.from({ length: short }, (_, s) => [Math.min(97 * s, all), Math.min(97 * s + (s % 5) * 3, all)]),
      ] as [number, number][];
      const result = await run((context) => {
        const [first, end] = [0, 1].map((side) => context.column(Uint32Array.from(bounds, (bound) => bound[side]!)));
        const keys = keysOf(kind, present(context, rows, how));
        return segmentedTopK(keys, { first: first!, end: end! }, k, { smallest, capacity: 2 * all });
      });
      const best = bounds.map(([from, to]) => bestOf({ ...each, rows }, from, to, k));
      const cells = best.flatMap((found) => Array.from({ length: k }, (_, j) => found[j] ?? NONE));
      assertSame(result.rows, Uint32Array.from(cells), 'rows');
      assertSame(
        result.counts,
        Uint32Array.from(best, (found) => found.length),
        'counts',
      );
    },
  ),
  law(
    'segmentedTopK is topK of the rows of each segment',
    [topCase, fc.oneof(fc.nat({ max: 5 }), fc.constantFrom(16, 17)), segmentsOfRows],
    async (run, each, k, make) => {
      const { kind, rows, how, smallest } = each;
      const { given, bounds, total } = make(rowsIn(rows));
      const result = await run((context) => {
        const keys = keysOf(kind, present(context, rows, how));
        const tops = segmentedTopK(keys, given(context), k, { smallest, capacity: total });
        const { keys: found, rows: numbers, counts } = tops;
        return {
          found: 'lo' in found ? found : { key: found },
          gathered: gather(present(context, rows, how), numbers),
          numbers,
          counts,
        };
      });
      const best = bounds.map(([from, to]) => bestOf(each, from, to, k));
      const cells = best.flatMap((found) => Array.from({ length: k }, (_, j) => found[j] ?? NONE));
      // The number of segments may be known to the device only: then there may be more cells.
      assertSame(result.numbers.slice(0, cells.length), Uint32Array.from(cells), 'rows');
      assertSame(
        result.counts.slice(0, bounds.length),
        Uint32Array.from(best, (found) => found.length),
        'counts',
      );
      if (result.numbers.slice(cells.length).some((row) => row !== NONE)) throw new Error('A row of no segment.');
      assertSameBytes(result.found, result.gathered as never, 'keys', true);
    },
  ),
];
