import fc from 'fast-check';
import { copyIf } from '../../primitives/copy-if.ts';
import { fn, i32, u32 } from '../../primitives/functors/functor.ts';
import { map } from '../../primitives/map.ts';
import { plus } from '../../primitives/monoid.ts';
import { narrow } from '../../primitives/narrow.ts';
import { packBits } from '../../primitives/pack-bits.ts';
import { inclusiveScan } from '../../primitives/scan.ts';
import { sequence } from '../../primitives/sequence.ts';
import { rowsOf } from '../arbitraries/columns.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { bitsOfHalf, nearestHalf } from '../support/half-floats.ts';
import { assertSameBytes } from './compare.ts';
import { type Law, law } from './law.ts';

const rows = rowsOf({ natural: 'u32', whole: 'i32' });
const ARRAYS = { u8: Uint8Array, u16: Uint16Array, i8: Int8Array, i16: Int16Array };
const asHalf = (numbers: Float32Array): Float32Array => {
  const words = new Uint32Array(numbers.buffer, numbers.byteOffset, numbers.length);
  return new Float32Array(words.map((bits) => bitsOfHalf(nearestHalf(bits))).buffer);
};

const tripled = fn({ x: i32 }, i32, ({ x }) => x.mul(3));

export const narrowLaws: readonly Law[] = [
  law(
    'narrow integers are what elements of a typed array keep of them',
    [rows, presentation, fc.constantFrom('u8', 'u16'), fc.constantFrom('i8', 'i16')],
    async (run, host, how, unsigned, signed) => {
      const results = await run((context) => {
        const given = present(context, host, how);
        const [natural, whole] = [narrow(given.natural, unsigned), narrow(given.whole, signed)];
        return { natural, whole, sums: inclusiveScan(natural, plus(u32)), tripled: map(tripled, { x: whole }) };
      });
      const [natural, whole] = [ARRAYS[unsigned].from(host.natural), ARRAYS[signed].from(host.whole)];
      let sum = 0;
      const expected = {
        natural: Uint32Array.from(natural),
        whole: Int32Array.from(whole),
        sums: Uint32Array.from(natural, (x) => (sum = (sum + x) >>> 0)),
        tripled: Int32Array.from(whole, (x) => 3 * x),
      };
      assertSameBytes(results, expected, 'packed');
    },
  ),
  law('flags are packed as bits', [rowsOf({ flag: 'bool' }), presentation], async (run, host, how) => {
    const { flags, words, odd } = await run((context) => {
      const { flag } = present(context, host, how);
      const flags = narrow(flag, 'bits');
      return { flags, words: packBits(flags), odd: copyIf(sequence(flag.length), flags) };
    });
    const set = Uint32Array.from(host.flag.keys()).filter((row) => host.flag[row]);
    const packed = new Uint32Array(words.length);
    for (const row of set) packed[row >> 5]! |= 1 << (row & 31);
    assertSameBytes(
      { flags, words, odd },
      { flags: Uint8Array.from(host.flag, Number), words: packed, odd: set },
      'bits',
    );
  }),
  law('f16 are the nearest numbers that IEEE 754 has', [rowsOf({ x: 'f32' }), presentation], async (run, host, how) => {
    const results = await run((context) => narrow(present(context, host, how).x, 'f16'));
    assertSameBytes(results, asHalf(host.x), 'packed as f16', true);
  }),
];
