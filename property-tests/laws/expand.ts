import fc from 'fast-check';
import { expand } from '../../primitives/expand.ts';
import { array, f32, fn, u32, uniform } from '../../primitives/functors/functor.ts';
import { fewRows, rowsOf } from '../arbitraries/columns.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { assertSame, assertSameBytes } from './compare.ts';
import { type Law, law } from './law.ts';
import { rowsIn, takeArray } from './rows.ts';

const rows = rowsOf({ count: 'tiny', id: 'u32', float: 'f32' }, fewRows);

const ranked = fn({ id: u32, float: f32, rank: u32 }, { id: u32, rank: u32, float: f32 }, (row) => row);

/** For every output row, the source row from which it comes, and its rank among the output rows of this source row. */
function flatMap(counts: ArrayLike<number>): { readonly row: number; readonly rank: number }[] {
  return Array.from(counts, (count, row) => Array.from({ length: count }, (_, rank) => ({ row, rank }))).flat();
}

/** A functor that reads the first `size` numbers of a captured column as a ring: the first number follows the last. */
const fromRing = fn(
  { start: u32, rank: u32, ring: array(u32), size: uniform(u32) },
  u32,
  ({ start, rank, ring, size }) => ring.at(start.add(rank).rem(size)),
);

export const expandLaws: readonly Law[] = [
  law(
    'expand equals flatMap, for an exact or a larger capacity',
    [rows, presentation, fc.nat({ max: 300 })],
    async (run, host, how, spare) => {
      const expected = flatMap(host.count);
      const result = await run((context) => {
        const { count, ...fields } = present(context, host, how);
        return expand(fields, count, ranked, { capacity: expected.length + spare });
      });
      const from = expected.map(({ row }) => row);
      assertSameBytes(
        result,
        {
          id: takeArray(host.id, from),
          rank: Uint32Array.from(expected, ({ rank }) => rank),
          float: takeArray(host.float, from),
        },
        'rows',
      );
    },
  ),
  law(
    'expand by one number makes that many rows of each row',
    [rowsOf({ id: 'u32' }, fewRows), presentation, fc.nat({ max: 5 })],
    async (run, host, how, times) => {
      const capacity = rowsIn(host) * times;
      const pair = fn({ id: u32, rank: u32 }, { id: u32, rank: u32 }, (row) => row);
      const result = await run((context) => expand(present(context, host, how).id, times, pair, { capacity }));
      const expected = flatMap(Array.from(host.id, () => times));
      assertSame(result, {
        id: takeArray(
          host.id,
          expected.map(({ row }) => row),
        ),
        rank: Uint32Array.from(expected, ({ rank }) => rank),
      });
    },
  ),
  law(
    'expand handles uneven counts: all output from one row, or from the last',
    [fc.integer({ min: 1, max: 40 }), fc.nat({ max: 39 }), fc.constantFrom(0, 1, 255, 256, 257, 4097, 65537)],
    async (run, length, place, many) => {
      const heavy = place % length;
      const counts = Uint32Array.from({ length }, (_, i) => (i === heavy ? many : i % 2));
      const result = await run((context) => {
        const start = context.column(Uint32Array.from({ length }, (_, i) => i));
        const ring = context.column(Uint32Array.of(5, 7, 11, 13, 17));
        const capacity = counts.reduce((sum, count) => sum + count, 0);
        return expand({ start }, context.column(counts), fromRing, { capacity, captures: { ring, size: 5 } });
      });
      assertSame(
        result,
        Uint32Array.from(flatMap(counts), ({ row, rank }) => [5, 7, 11, 13, 17][(row + rank) % 5]!),
      );
    },
  ),
];
