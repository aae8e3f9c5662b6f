import fc from 'fast-check';
import { gather } from '../../primitives/gather.ts';
import { randomIntegers, randomNormal, randomUniform, randomWords } from '../../primitives/random.ts';
import { reverse, slice } from '../../primitives/slice.ts';
import { fewRows, rowsOf } from '../arbitraries/columns.ts';
import { word } from '../arbitraries/integers.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { assertSame, assertSameBytes } from './compare.ts';
import { type Law, law } from './law.ts';
import { randomOptions, wordsOfRow } from './philox.ts';

const below = fc.oneof(
  fc.constantFrom(1, 2, 3, 6, 2 ** 31, 2 ** 31 + 1, 3 * 2 ** 30, 2 ** 32 - 1, 2 ** 32),
  word.map((x) => Math.max(1, x)),
);

/** The number of a row by Lemire's method, in bigints. */
function integerOfRow(row: number, bound: number, options: Parameters<typeof wordsOfRow>[0]): number {
  const rejected = 2n ** 32n % BigInt(bound);
  for (let attempt = 0; ; attempt++) {
    for (const each of wordsOfRow(options, row, attempt)) {
      const product = BigInt(each) * BigInt(bound);
      if ((product & 0xffffffffn) >= rejected) return Number(product >> 32n);
    }
  }
}

/** The normal number of two words, by the formulas that `normalsOfWords` states, in f64. */
export function normalByHand(a: number, b: number): readonly [number, number] {
  const u = Math.fround(Math.fround(Math.min(a, 2 ** 32 - 129)) + 0.5) * 2 ** -32;
  const radius = Math.sqrt(-2 * Math.log(u));
  // Quarters of a turn are taken off first, so that small cosines are exact.
  const quarter = Math.floor((b + 2 ** 29) / 2 ** 30);
  const rest = 2 * Math.PI * (b - quarter * 2 ** 30 + 0.5) * 2 ** -32;
  const [sine, cosine] = [Math.sin(rest), Math.cos(rest)];
  const turned = [
    [cosine, sine],
    [-sine, cosine],
    [-cosine, -sine],
    [sine, -cosine],
  ][quarter % 4]!;
  return [radius * turned[0]!, radius * turned[1]!];
}

/** The distance of an f32 from a number, in units of its last place. */
export function unitsBetween(found: number, exact: number): number {
  return Math.abs(found - exact) / 2 ** (Math.floor(Math.log2(Math.abs(exact))) - 23);
}

export const randomLaws: readonly Law[] = [
  law(
    'random words and uniform numbers are those of Philox4x32-10',
    [fewRows, randomOptions],
    async (run, length, options) => {
      const result = await run(() => ({
        words: randomWords(length, options),
        uniform: randomUniform(length, options),
      }));
      const rows = Array.from({ length }, (_, row) => wordsOfRow(options, row));
      const column = (at: number): Uint32Array => Uint32Array.from(rows, (words) => words[at]!);
      assertSame(result, {
        words: { lo: { lo: column(0), hi: column(1) }, hi: { lo: column(2), hi: column(3) } },
        uniform: Float32Array.from(rows, ([first]) => Math.floor(first! / 2 ** 8) / 2 ** 24),
      });
    },
  ),
  law(
    'random integers are those of Lemire in bigints, with words rejected in order',
    [fewRows, below, randomOptions],
    async (run, length, bound, options) => {
      const result = await run(() => randomIntegers(length, bound, options));
      assertSame(
        result,
        Uint32Array.from({ length }, (_, row) => integerOfRow(row, bound, options)),
      );
      if (result.some((number) => number >= bound)) throw new Error(`A number is not below ${bound}.`);
    },
  ),
  law(
    'normal numbers are within 5 units in the last place of the formulas of Box and Muller',
    [fewRows, randomOptions],
    async (run, length, options) => {
      const found = await run(() => randomNormal(length, options));
      found.forEach((number, row) => {
        const [a, b] = wordsOfRow(options, row) as [number, number];
        const [exact] = normalByHand(a, b);
        if (!(unitsBetween(number, exact) <= 5)) throw new Error(`Row ${row} is ${number} and should be ${exact}.`);
      });
      if (found.length !== length) throw new Error(`${found.length} rows in place of ${length}`);
    },
  ),
  law(
    'a random number depends on its row, not on the number of rows or on what reads it',
    [rowsOf({ row: 'u32' }), presentation, fc.nat({ max: 300 }), below, randomOptions],
    async (run, host, how, from, bound, options) => {
      const result = await run((context) => {
        const { row } = present(context, host, how);
        const { length } = row;
        const all = (rows: typeof length) => ({
          words: randomWords(rows, options).hi,
          uniform: randomUniform(rows, options),
          normal: randomNormal(rows, options),
          integer: randomIntegers(rows, bound, options),
        });
        const more = host.row.length + from;
        const places = context.column(Uint32Array.from(host.row, (_, i) => i));
        return {
          own: all(length),
          sliced: slice(all(more), 0, host.row.length),
          turned: reverse(reverse(all(length))),
          gathered: gather(all(more), places),
        };
      });
      for (const other of [result.sliced, result.turned, result.gathered]) assertSameBytes(other, result.own, 'rows');
    },
  ),
];
