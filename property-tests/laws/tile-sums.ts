import fc from 'fast-check';
import { tileSums } from '../../primitives/tile-sums.ts';
import { rowsOf } from '../arbitraries/columns.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { assertSameBytes } from './compare.ts';
import { type Law, law } from './law.ts';

const side = fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constantFrom(16, 31, 32, 33, 64, 255, 256));

/** Sums of the elements above and to the left, with one pass for rows and one for columns. */
function sumsByHand<A extends Uint32Array | Int32Array>(values: A, columns: number, rows: number): A {
  const sums = values.slice() as A;
  const row = (i: number): number => Math.floor(i / columns) % rows;
  for (let i = 0; i < sums.length; i++) if (i % columns > 0) sums[i]! += sums[i - 1]!;
  for (let i = 0; i < sums.length; i++) if (row(i) > 0) sums[i]! += sums[i - columns]!;
  return sums;
}

export const tileSumsLaws: readonly Law[] = [
  law(
    'tileSums adds up what lies above and to the left within a tile',
    [rowsOf({ natural: 'u32', whole: 'i32' }), presentation, side, side],
    async (run, host, how, columns, rows) => {
      const results = await run((context) => {
        const { natural, whole } = present(context, host, how);
        return { natural: tileSums(natural, { columns, rows }), whole: tileSums(whole, { columns, rows }) };
      });
      const { natural, whole } = host;
      const expected = { natural: sumsByHand(natural, columns, rows), whole: sumsByHand(whole, columns, rows) };
      assertSameBytes(results, expected, 'sums');
    },
  ),
];
