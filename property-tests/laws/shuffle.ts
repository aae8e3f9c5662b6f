import fc from 'fast-check';
import { sequence } from '../../primitives/sequence.ts';
import { sample, shuffle } from '../../primitives/shuffle.ts';
import { rowsOf } from '../arbitraries/columns.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { assertSameBytes } from './compare.ts';
import { type Law, law } from './law.ts';
import { keysOfRows, randomOptions } from './philox.ts';
import { rowsIn, take } from './rows.ts';

const payload = rowsOf({ number: 'u32', float: 'f32', flag: 'bool', byte: 'i8', short: 'u16' });

export const shuffleLaws: readonly Law[] = [
  law(
    'shuffled rows are all rows in the order of their keys, and a sample the first of them',
    [payload, presentation, fc.nat({ max: 70 }), randomOptions],
    async (run, host, how, most, options) => {
      const length = rowsIn(host);
      const k = Math.min(most, length);
      const result = await run((context) => {
        const table = present(context, host, how);
        return {
          shuffled: shuffle(table, options),
          column: shuffle(table.number, options),
          sampled: sample(table, k, options),
          permutation: shuffle(sequence(length), { ...options, context }),
        };
      });
      const keys = keysOfRows(options, length);
      const order = keys
        .map((_, row) => row)
        .sort((a, b) => (keys[a]! < keys[b]! ? -1 : keys[a]! > keys[b]! ? 1 : a - b));
      const shuffled = take(host, order);
      assertSameBytes(
        result,
        {
          shuffled,
          column: shuffled.number!,
          sampled: take(host, order.slice(0, k)),
          permutation: Uint32Array.from(order),
        },
        'rows',
        true,
      );
      const rows = Array.from(result.permutation).sort((a, b) => a - b);
      if (rows.some((row, i) => row !== i)) throw new Error('The shuffled sequence is no permutation.');
    },
  ),
  law(
    'a sample of rows whose number only the device knows has at most all of them',
    [rowsOf({ number: 'u32' }), fc.nat({ max: 5000 }), randomOptions],
    async (run, host, k, options) => {
      const result = await run((context) => {
        const { number } = present(context, host, 'device count');
        return { sampled: sample(number, k, options), shuffled: shuffle(number, options) };
      });
      assertSameBytes(result.sampled, result.shuffled.slice(0, k), 'rows');
    },
  ),
];
