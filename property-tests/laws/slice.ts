import fc from 'fast-check';
import { reverse, slice } from '../../primitives/slice.ts';
import { rowsOf } from '../arbitraries/columns.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { assertSameBytes } from './compare.ts';
import { type Law, law } from './law.ts';
import { rowsIn, take } from './rows.ts';

const payload = rowsOf({ number: 'u32', float: 'f32', flag: 'bool', byte: 'i8', short: 'u16' });
const row = fc.oneof(fc.nat({ max: 80 }), fc.constantFrom(255, 256, 1023, 1024, 1025, 65536, 2 ** 32 - 1));

const range = (length: number): number[] => [...Array(length).keys()];

export const sliceLaws: readonly Law[] = [
  law('slice equals that of arrays', [payload, presentation, row, row], async (run, host, how, from, to) => {
    const result = await run((context) => {
      const table = present(context, host, how);
      return { between: slice(table, from, to), rest: slice(table, from) };
    });
    const all = range(rowsIn(host));
    const expected = { between: take(host, all.slice(from, to)), rest: take(host, all.slice(from)) };
    assertSameBytes(result, expected, 'rows', true);
  }),
  law('slices of slices compose', [payload, presentation, row, row], async (run, host, how, first, second) => {
    const result = await run((context) => {
      const table = present(context, host, how);
      const twice = slice(slice(table, first), second);
      return { twice, once: slice(table, Math.min(first + second, 2 ** 32 - 1)), turned: reverse(twice) };
    });
    assertSameBytes(result.twice, result.once, 'rows', true);
    const rest = range(rowsIn(host)).slice(first + second);
    assertSameBytes(result.turned, take(host, rest.toReversed()), 'rows', true);
  }),
  law('reverse reverses the rows, and twice changes nothing', [payload, presentation], async (run, host, how) => {
    const result = await run((context) => {
      const table = present(context, host, how);
      return { once: reverse(table), twice: reverse(reverse(table)) };
    });
    const all = range(rowsIn(host));
    assertSameBytes(result, { once: take(host, all.toReversed()), twice: take(host, all) }, 'rows', true);
  }),
];
