import fc from 'fast-check';
import { lowerBound, upperBound } from '../../primitives/search.ts';
import { sort } from '../../primitives/sort.ts';
import { fewRows, type HostRows, rowsOf } from '../arbitraries/columns.ts';
import type { HostKind } from '../arbitraries/host-kinds.ts';
import { type Presentation, present, presentation } from '../arbitraries/presentations.ts';
import { assertSame } from './compare.ts';
import { type Law, law } from './law.ts';
import { rowsIn } from './rows.ts';
import { keysOf } from './sort-keys.ts';

type KeyKind = 'u32' | 'i32' | 'f32' | 'u64' | 'i8';

interface Case {
  readonly kind: KeyKind;
  readonly keys: HostRows<{ readonly [name: string]: HostKind }>;
  readonly needles: HostRows<{ readonly [name: string]: HostKind }>;
  readonly how: readonly [Presentation, Presentation];
  readonly descending: boolean;
}

const searchCase: fc.Arbitrary<Case> = fc.constantFrom<KeyKind[]>('u32', 'i32', 'f32', 'u64', 'i8').chain((kind) => {
  const fields: { [name: string]: HostKind } = kind === 'u64' ? { lo: 'tiny', hi: 'u32' } : { key: kind };
  const how = presentation;
  return fc.record({
    kind: fc.constant(kind),
    keys: rowsOf(fields, fewRows),
    needles: rowsOf(fields, fewRows),
    how: fc.tuple(how, how),
    descending: fc.boolean(),
  });
});

/** Converts keys to numbers that compare like the keys. */
function ordered(kind: KeyKind, host: Case['keys']): number[] {
  if (kind === 'u64') {
    const [lo, hi] = [host.lo, host.hi] as [Uint32Array, Uint32Array];
    return Array.from(lo, (word, i) => hi[i]! * 4 + word);
  }
  if (kind !== 'f32') return Array.from(host.key as Int32Array);
  const { buffer, byteOffset, length } = host.key as Float32Array;
  return Array.from(new Int32Array(buffer, byteOffset, length), (word) => (word >= 0 ? word : (word ^ 0x7fffffff) | 0));
}

export const searchLaws: readonly Law[] = [
  law(
    'lowerBound counts the keys before a needle, upperBound the keys before and equal to it',
    [searchCase],
    async (run, each) => {
      const { kind, keys, needles, how, descending } = each;
      const result = await run((context) => {
        const sorted = sort(keysOf(kind, present(context, keys, how[0])), { descending });
        const sought = keysOf(kind, present(context, needles, how[1]));
        return { lower: lowerBound(sorted, sought, { descending }), upper: upperBound(sorted, sought, { descending }) };
      });
      const [numbers, wanted] = [keys, needles].map((table) =>
        ordered(kind, table).map((number) => (descending ? -number : number)),
      ) as [number[], number[]];
      assertSame(result, {
        lower: Uint32Array.from(wanted, (needle) => numbers.filter((key) => key < needle).length),
        upper: Uint32Array.from(wanted, (needle) => numbers.filter((key) => key <= needle).length),
      });
    },
  ),
  law('searches in unsorted keys give a position, never an error', [searchCase], async (run, each) => {
    const { kind, keys, needles, how } = each;
    const { lower } = await run((context) => {
      const unsorted = keysOf(kind, present(context, keys, how[0]));
      return { lower: lowerBound(unsorted, keysOf(kind, present(context, needles, how[1]))) };
    });
    const wrong = lower.findIndex((position) => position > rowsIn(keys));
    if (wrong >= 0) throw new Error(`needle ${wrong} is placed at ${lower[wrong]} of ${rowsIn(keys)}`);
  }),
];
