import fc from 'fast-check';
import { concatenate } from '../../primitives/concatenate.ts';
import { u32 } from '../../primitives/functors/functor.ts';
import { constant } from '../../primitives/sequence.ts';
import { slice } from '../../primitives/slice.ts';
import { rowsOf } from '../arbitraries/columns.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { assertSameBytes } from './compare.ts';
import { type Law, law } from './law.ts';
import { backwards, rowsIn, take } from './rows.ts';

const payload = rowsOf({ number: 'u32', float: 'f32', flag: 'bool', byte: 'i8', short: 'u16' });
const cut = fc.oneof(fc.nat({ max: 80 }), fc.constantFrom(0, 255, 256, 1023, 1024, 1025, 65536));

const range = (length: number): number[] => [...Array(length).keys()];

export const concatenateLaws: readonly Law[] = [
  law(
    'concatenate equals that of arrays, for any order of the fields',
    [payload, presentation, presentation],
    async (run, host, first, second) => {
      const result = await run((context) =>
        concatenate([
          present(context, host, first),
          backwards(present(context, host, second)),
          present(context, host, first),
        ]),
      );
      const all = range(rowsIn(host));
      assertSameBytes(result, take(host, [...all, ...all, ...all]), 'rows', true);
    },
  ),
  law(
    'concatenating consecutive slices gives the original table',
    [payload, presentation, cut, cut],
    async (run, host, how, a, b) => {
      const result = await run((context) => {
        const table = present(context, host, how);
        const [from, to] = [Math.min(a, b), Math.max(a, b)];
        return concatenate([slice(table, 0, from), slice(table, from, to), slice(table, to)]);
      });
      assertSameBytes(result, take(host, range(rowsIn(host))), 'rows', true);
    },
  ),
  law('concatenating a column without rows changes nothing', [payload, presentation], async (run, host, how) => {
    const result = await run((context) => {
      const { number } = present(context, host, how);
      const none = constant(u32, 1, 0);
      return { before: concatenate([none, number]), behind: concatenate([number, none]), alone: concatenate([number]) };
    });
    const number = take(host, range(rowsIn(host))).number!;
    assertSameBytes(result, { before: number, behind: number, alone: number }, 'rows', true);
  }),
];
