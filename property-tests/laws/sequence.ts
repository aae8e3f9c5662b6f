import fc from 'fast-check';
import { bool, f32, fn, i32, u32 } from '../../primitives/functors/functor.ts';
import { constant, fill, sequence, tabulate } from '../../primitives/sequence.ts';
import { rowCount, rowsOf } from '../arbitraries/columns.ts';
import { integer32, word } from '../arbitraries/integers.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { assertSame } from './compare.ts';
import { type Law, law } from './law.ts';

const squareAndParity = fn({ i: u32 }, { square: u32, odd: bool }, ({ i }) => ({
  square: i.mul(i),
  odd: i.and(1).eq(1),
}));

export const sequenceLaws: readonly Law[] = [
  law(
    'sequence counts from the start by the step, modulo 2^32',
    [rowCount, word, integer32],
    async (run, length, start, step) => {
      const result = await run(() => sequence(length, start, step));
      const expected = new Uint32Array(length);
      for (let i = 0, next = start; i < length; i++, next = (next + step) >>> 0) expected[i] = next;
      assertSame(result, expected);
    },
  ),
  law(
    'constant and fill give every row one value, also for a device count',
    [rowsOf({ row: 'u32' }), presentation, word, fc.float({ noNaN: true }), fc.boolean()],
    async (run, host, how, number, float, flag) => {
      const result = await run((context) => {
        const { row } = present(context, host, how);
        return {
          constant: constant(f32, float, row.length),
          record: constant({ number: u32, flag: bool }, { number, flag }, row.length),
          fill: fill(
            context,
            { number: u32, signed: i32, flag: bool },
            { number, signed: number | 0, flag },
            row.length,
          ),
        };
      });
      const length = host.row.length;
      assertSame(result, {
        constant: new Float32Array(length).fill(float),
        record: { number: new Uint32Array(length).fill(number), flag: new Uint8Array(length).fill(Number(flag)) },
        fill: {
          number: new Uint32Array(length).fill(number),
          signed: new Int32Array(length).fill(number | 0),
          flag: new Uint8Array(length).fill(Number(flag)),
        },
      });
    },
  ),
  law('tabulate applies the functor to the row numbers', [rowCount], async (run, length) => {
    const result = await run(() => tabulate(length, squareAndParity));
    assertSame(result, {
      square: Uint32Array.from({ length }, (_, i) => Math.imul(i, i)),
      odd: Uint8Array.from({ length }, (_, i) => i % 2),
    });
  }),
];
