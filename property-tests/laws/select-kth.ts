import fc from 'fast-check';
import { quantiles, selectKth } from '../../primitives/select-kth.ts';
import type { SortKeys } from '../../primitives/sort.ts';
import { rowsOf } from '../arbitraries/columns.ts';
import { type Presentation, present, presentation } from '../arbitraries/presentations.ts';
import { assertSameBytes, type HostTable } from './compare.ts';
import { type Law, law } from './law.ts';
import { rowsIn, take } from './rows.ts';
import { type KeyColumns, type KeyKind, type KeyRows, keyOf, keysOf } from './sort-keys.ts';

interface Case {
  readonly kind: KeyKind;
  readonly rows: KeyRows;
  readonly how: Presentation;
  readonly descending: boolean;
}

const selectCase: fc.Arbitrary<Case> = fc
  .constantFrom<KeyKind[]>('u32', 'i32', 'f32', 'u64', 'i16', 'tiny')
  .chain((kind) =>
    fc.record({
      kind: fc.constant(kind),
      rows: rowsOf(kind === 'u64' ? { lo: 'u32', hi: 'tiny' } : { key: kind }),
      how: presentation,
      descending: fc.boolean(),
    }),
  );

/** Ranks to select: a few ranks, or so many that selectKth sorts the keys and gathers from the sorted keys. */
const manyPlaces = rowsOf({ place: 'u32' }, fc.oneof(fc.integer({ min: 0, max: 9 }), fc.constantFrom(255, 256, 257)));

/** The keys at given positions of the sorted order. A position past the end gives zero. */
function keysAt({ kind, rows, descending }: Case, places: Iterable<number>): HostTable {
  const keys = Array.from({ length: rowsIn(rows) }, (_, row) => ({ row, key: keyOf(kind, rows, row) }));
  const order = keys.sort((a, b) => (descending ? b.key - a.key : a.key - b.key)).map(({ row }) => row);
  return take(
    rows,
    Array.from(places, (place) => order[place] ?? rowsIn(rows)),
  );
}

const named = (keys: SortKeys): KeyColumns => ('lo' in keys ? { lo: keys.lo, hi: keys.hi } : { key: keys });

export const selectKthLaws: readonly Law[] = [
  law(
    'selectKth returns the keys at the given places of the sorted order, and zero out of range',
    [selectCase, manyPlaces, presentation],
    async (run, each, { place: words }, placesHow) => {
      const { kind, rows, how, descending } = each;
      const place = words.map((word, i) => (i % 7 === 6 ? word : word % (rowsIn(rows) + 1)));
      const result = await run((context) => {
        const keys = keysOf(kind, present(context, rows, how));
        return named(selectKth(keys, present(context, { place }, placesHow).place, { descending }));
      });
      assertSameBytes(result, keysAt(each, place), 'keys', true);
    },
  ),
  law(
    'selectKth with a place on the host equals one in a column',
    [selectCase, fc.nat()],
    async (run, each, number) => {
      const { kind, rows, how, descending } = each;
      const place = number % Math.max(1, rowsIn(rows));
      const result = await run((context) => {
        const keys = keysOf(kind, present(context, rows, rowsIn(rows) === 0 ? 'device count' : how));
        return named(selectKth(keys, place, { descending }));
      });
      assertSameBytes(result, keysAt(each, [place]), 'keys', true);
    },
  ),
  law(
    'quantiles returns the keys at fractions of the last place',
    [
      selectCase,
      fc.array(
        fc.oneof(
          fc.constantFrom(0, -0, 1, 0.5, 0.25, 0.1, 1 - 2 ** -33),
          fc.nat(100).map((n) => n / 100),
        ),
      ),
    ],
    async (run, each, fractions) => {
      const { kind, rows, how, descending } = each;
      const result = await run((context) => {
        return named(quantiles(keysOf(kind, present(context, rows, how)), fractions, { descending }));
      });
      const last = BigInt(Math.max(1, rowsIn(rows)) - 1);
      const places = fractions.map((f) => Number((BigInt(Math.ceil(f * 2 ** 32)) * last) >> 32n));
      assertSameBytes(result, keysAt(each, places), 'keys', true);
    },
  ),
];
