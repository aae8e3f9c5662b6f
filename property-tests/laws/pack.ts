import fc from 'fast-check';
import { pack, unpack } from '../../primitives/pack.ts';
import { rowsOf } from '../arbitraries/columns.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { assertSameBytes } from './compare.ts';
import { type Law, law } from './law.ts';

/** Values of which every block of 32 has a width of its own. */
const rows = fc.tuple(rowsOf({ value: 'u32' }), fc.nat({ max: 40 })).map(([{ value }, some]) =>
  value.map((x, i) => {
    const width = (some * (1 + (i >> 5))) % 33;
    return width === 0 ? 0 : x >>> (32 - width);
  }),
);

function bitsOf(words: Uint32Array, at: number, width: number): number {
  let value = 0;
  for (let bit = 0; bit < width; bit++) value += (((words[(at + bit) >> 5] ?? 0) >>> ((at + bit) & 31)) & 1) * 2 ** bit;
  return value;
}

export const packLaws: readonly Law[] = [
  law(
    'pack takes the bits of the largest of every 32, and unpack inverts it',
    [rows, presentation],
    async (run, values, how) => {
      const results = await run((context) => {
        const packed = pack(present(context, { values }, how).values);
        return { ...packed, values: unpack(packed) };
      });
      const { words, widths } = results;
      const blocks = Array.from({ length: widths.length }, (_, b) => values.subarray(32 * b, 32 * b + 32));
      const expected = blocks.map((block) => 32 - Math.clz32(block.reduce((bits, x) => bits | x, 0)));
      assertSameBytes(widths, Uint32Array.from(expected), 'widths');
      if (words.length !== expected.reduce((sum, width) => sum + width, 0)) throw new Error(`${words.length} words`);
      const whole = new Uint32Array(32 * widths.length);
      whole.set(values);
      assertSameBytes(results.values, whole, 'values');
    },
  ),
  law(
    'unpack reads the bits of any words',
    [rowsOf({ words: 'u32' }), fc.array(fc.nat({ max: 34 }), { maxLength: 40 })],
    async (run, { words }, given) => {
      const values = await run((context) =>
        context.materialize(unpack({ words: context.column(words), widths: context.column(Uint32Array.from(given)) })),
      );
      const expected: number[] = [];
      let start = 0;
      for (const width of given.map((each) => Math.min(each, 32))) {
        for (let i = 0; i < 32; i++) expected.push(bitsOf(words, 32 * start + i * width, width));
        start += width;
      }
      assertSameBytes(values, Uint32Array.from(expected), 'values');
    },
  ),
];
