import fc from 'fast-check';
import { segmentedQuantiles } from '../../primitives/segmented-quantiles.ts';
import { segmentedSort, segmentedSortByKey, segmentedSortPermutation } from '../../primitives/segmented-sort.ts';
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
  readonly descending: boolean;
}

const sortCase: fc.Arbitrary<Case> = fc
  .constantFrom<KeyKind[]>('u32', 'i32', 'f32', 'u64', 'i16', 'tiny')
  .chain((kind) =>
    fc.record({
      kind: fc.constant(kind),
      rows: rowsOf(kind === 'u64' ? { lo: 'u32', hi: 'tiny' } : { key: kind }),
      how: presentation,
      descending: fc.boolean(),
    }),
  );

/** The rows of a segment, sorted by their keys. */
function sorted({ kind, rows, descending }: Case, [from, to]: readonly [number, number]): number[] {
  const keys = Array.from({ length: Math.max(0, to - from) }, (_, i) => ({
    row: from + i,
    key: keyOf(kind, rows, from + i),
  }));
  keys.sort((a, b) => (descending ? b.key - a.key : a.key - b.key) || a.row - b.row);
  return keys.map(({ row }) => row);
}

const fractions = fc.array(
  fc.oneof(
    fc.constantFrom(0, 1, 0.5, 0.1, 1 - 2 ** -33),
    fc.nat(100).map((n) => n / 100),
  ),
  {
    maxLength: 4,
  },
);

export const segmentedSortLaws: readonly Law[] = [
  law(
    'rows of segments are sorted among their places, and the last of segments that overlap stands',
    [sortCase, segmentsOfRows],
    async (run, each, make) => {
      const { kind, rows, how, descending } = each;
      const { given, bounds, total } = make(rowsIn(rows));
      const options = { descending, capacity: total };
      const result = await run((context) => {
        const table = present(context, rows, how);
        const [keys, segments] = [keysOf(kind, table), given(context)];
        const order = segmentedSortPermutation(keys, segments, options);
        const byKey = segmentedSortByKey(keys, table, segments, options);
        const alone = segmentedSort(keys, segments, options);
        return { order, values: byKey.values, byKey: byKey.keys as never, alone: alone as never };
      });
      const order = Uint32Array.from({ length: rowsIn(rows) }, (_, row) => row);
      for (const bound of bounds) order.set(sorted(each, bound), bound[0]);
      assertSame(result.order, order, 'order');
      assertSameBytes(result.values, take(rows, [...order]), 'rows', true);
      assertSameBytes(result.alone, result.byKey, 'keys', true);
    },
  ),
  law(
    'quantiles of segments are keys at fractions of the last place of each',
    [sortCase, segmentsOfRows, fractions],
    async (run, each, make, wanted) => {
      const { kind, rows, how, descending } = each;
      const { given, bounds, total } = make(rowsIn(rows));
      const options = { descending, capacity: total };
      const result = await run((context) => {
        const found = segmentedQuantiles(keysOf(kind, present(context, rows, how)), given(context), wanted, options);
        return 'lo' in found ? { lo: found.lo, hi: found.hi } : { key: found };
      });
      const expected = bounds.flatMap((bound) => {
        const order = sorted(each, bound);
        const last = BigInt(Math.max(1, order.length) - 1);
        return wanted.map((f) => order[Number((BigInt(Math.ceil(f * 2 ** 32)) * last) >> 32n)] ?? rowsIn(rows));
      });
      const heads = Object.entries(result).map(([name, found]) => [name, found.slice(0, expected.length)]);
      assertSameBytes(Object.fromEntries(heads), take(rows, expected), 'quantiles', true);
    },
  ),
];
