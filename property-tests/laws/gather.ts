import { fn, u32 } from '../../primitives/functors/functor.ts';
import { gather } from '../../primitives/gather.ts';
import { map } from '../../primitives/map.ts';
import { hostColumn, recipe, rowsOf } from '../arbitraries/columns.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { assertSameBytes } from './compare.ts';
import { type Law, law } from './law.ts';
import { rowsIn, take } from './rows.ts';

const lowByte = fn('lowByte', { word: u32 }, u32, ({ word }) => word.and(0xff));

const payload = rowsOf({ number: 'u32', float: 'f32', flag: 'bool', byte: 'i8', short: 'u16' });

export const gatherLaws: readonly Law[] = [
  law(
    'gather takes the rows at the indices, and zeros for indices out of range',
    [payload, presentation, rowsOf({ index: 'u32' }), presentation],
    async (run, host, how, { index: words }, indexHow) => {
      const rows = rowsIn(host);
      const index = words.map((word, i) => (i % 5 === 0 ? word : word % (rows + 1)));
      const result = await run((context) =>
        gather(present(context, host, how), present(context, { index }, indexHow).index),
      );
      assertSameBytes(result, take(host, [...index]), 'rows', true);
    },
  ),
  law(
    'gather gives zeros for indices with a known bound too: bytes, shorts, and words with masked bits',
    [payload, rowsOf({ byte: 'u8', short: 'u16', word: 'u32' }), presentation],
    async (run, host, indices, how) => {
      const result = await run((context) => {
        const { byte, short, word } = present(context, indices, how);
        const from = context.column(host.number);
        return { byte: gather(from, byte), short: gather(from, short), word: gather(from, map(lowByte, { word })) };
      });
      const numbers = (places: ArrayLike<number>): Uint32Array =>
        Uint32Array.from(places, (at) => host.number[at] ?? 0);
      const word = numbers(indices.word.map((bits) => bits & 0xff));
      assertSameBytes(result, { byte: numbers(indices.byte), short: numbers(indices.short), word }, 'rows', true);
    },
  ),
  law('gathers compose', [payload, presentation, recipe, recipe], async (run, host, how, first, second) => {
    const rows = rowsIn(host);
    const [a, b] = [first, second].map((each) => hostColumn('u32', rows, each).map((word) => word % (rows + 1)));
    const result = await run((context) => {
      const taken = gather(present(context, host, how), context.column(a!));
      return gather(taken, context.column(b!));
    });
    const through = Array.from(b!, (place) => a![place] ?? rows);
    assertSameBytes(result, take(host, through), 'rows', true);
  }),
];
