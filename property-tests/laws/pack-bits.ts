import { count } from '../../primitives/count.ts';
import { array, bool, fn, u32 } from '../../primitives/functors/functor.ts';
import { map } from '../../primitives/map.ts';
import { plus } from '../../primitives/monoid.ts';
import { bitPlaces, packBits } from '../../primitives/pack-bits.ts';
import { inclusiveScan } from '../../primitives/scan.ts';
import { sequence } from '../../primitives/sequence.ts';
import { rowsOf } from '../arbitraries/columns.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { assertSameBytes } from './compare.ts';
import { type Law, law } from './law.ts';

const rows = rowsOf({ flag: 'bool', number: 'u32' });

const hasBit = fn({ i: u32, words: array(u32) }, bool, ({ i, words }) =>
  words
    .at(i.shr(5))
    .and(u32(1).shl(i.and(31)))
    .ne(0),
);
const bitOrNumber = fn({ i: u32, number: u32, words: array(u32) }, u32, ({ i, number, words }) =>
  number.add(words.at(i.shr(5)).and(u32(1).shl(i))),
);

export const packBitsLaws: readonly Law[] = [
  law('packBits sets the bits of the flagged rows', [rows, presentation], async (run, { flag }, how) => {
    const { words, places } = await run((context) => {
      const packed = packBits(present(context, { flag }, how).flag);
      return { words: packed, places: bitPlaces(packed) };
    });
    const expected = new Uint32Array(words.length);
    flag.forEach((holds, i) => {
      if (holds) expected[i >> 5]! |= 1 << (i & 31);
    });
    assertSameBytes(words, expected, 'words');
    assertSameBytes(places, Uint32Array.from([...flag.keys()].filter((i) => flag[i])), 'places');
  }),
  law('packed bits are read back at their rows', [rows], async (run, host) => {
    const { length } = host.flag;
    const result = await run((context) => {
      const { flag, number } = present(context, host, 'stored');
      const words = packBits(flag);
      const args = { i: sequence(length), words };
      const sums = map(bitOrNumber, { ...args, number });
      return {
        flags: map(hasBit, args),
        count: count(map(hasBit, args), flagItself),
        sums: context.materialize(sums),
        scanned: inclusiveScan(sums, plus(u32)),
      };
    });
    const sums = host.number.map((number, i) => number + (host.flag[i] ? 2 ** (i & 31) : 0));
    let total = 0;
    assertSameBytes(
      result,
      {
        flags: Uint8Array.from(host.flag, Number),
        count: Uint32Array.of(host.flag.filter(Boolean).length),
        sums,
        scanned: sums.map((each) => (total = (total + each) >>> 0)),
      },
      'rows',
    );
  }),
];

const flagItself = fn({ flag: bool }, bool, ({ flag }) => flag);
