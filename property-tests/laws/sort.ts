import fc from 'fast-check';
import type { Column } from '../../primitives/columns/column.ts';
import { gather } from '../../primitives/gather.ts';
import { type SortKeys, type SortOptions, sort, sortByKey, sortPermutation } from '../../primitives/sort.ts';
import { type HostRows, rowsOf } from '../arbitraries/columns.ts';
import type { HostKind } from '../arbitraries/host-kinds.ts';
import { type Presentation, present, presentation } from '../arbitraries/presentations.ts';
import { assertSame, assertSameBytes } from './compare.ts';
import { type Law, law } from './law.ts';
import { rowsIn, take } from './rows.ts';
import { keysOf } from './sort-keys.ts';

type KeyKind = 'u32' | 'i32' | 'f32' | 'u64' | 'u8' | 'i16';

/** Columns that can be sorted along with the keys. A case has some of these columns. */
const payloads = { float: 'f32', byte: 'u8', flag: 'bool', index: 'i32' } as const;

interface Case {
  readonly kind: KeyKind;
  readonly rows: HostRows<{ readonly [name: string]: HostKind }>;
  /** Names of the payload columns that are sorted along with the keys. */
  readonly along: readonly string[];
  readonly options: SortOptions;
  readonly how: Presentation;
}

const bits = (width: number): fc.Arbitrary<SortOptions['bits']> =>
  fc
    .tuple(fc.nat({ max: width }), fc.nat({ max: width }))
    .map(([a, b]) => ({ from: Math.min(a, b), to: Math.max(a, b) }));

const options = (kind: KeyKind): fc.Arbitrary<SortOptions> =>
  fc.record(
    { descending: fc.boolean(), bits: fc.option(bits(kind === 'u64' ? 64 : 32), { nil: undefined }) },
    { requiredKeys: [] },
  ) as fc.Arbitrary<SortOptions>;

const sortCase: fc.Arbitrary<Case> = fc
  .constantFrom<KeyKind[]>('u32', 'i32', 'f32', 'u64', 'u8', 'i16')
  .chain((kind) => {
    const keys: { [name: string]: HostKind } = kind === 'u64' ? { lo: 'u32', hi: 'u32' } : { key: kind };
    return fc.record({
      kind: fc.constant(kind),
      rows: rowsOf({ ...keys, ...payloads }),
      along: fc.constantFrom([], ['float'], ['flag'], ['byte', 'float'], Object.keys(payloads)),
      options: options(kind),
      how: presentation,
    });
  });

/** Several keys of each row, of which the first have few values. */
const severalKeys = fc
  .uniqueArray(fc.constantFrom('tiny' as const, 'byte' as const, 'whole' as const, 'float' as const, 'wide' as const), {
    minLength: 1,
  })
  .chain((kinds) =>
    fc.record({
      kinds: fc.constant(kinds),
      rows: rowsOf({ tiny: 'tiny', byte: 'u8', whole: 'i32', float: 'f32', low: 'u32' }),
      descending: fc.oneof(fc.boolean(), fc.array(fc.boolean(), { minLength: kinds.length, maxLength: kinds.length })),
      how: presentation,
    }),
  );

/** The expected order of all rows, as a list of row numbers. */
function sortedOrder({ kind, rows, options }: Case): number[] {
  const order = Array.from({ length: rowsIn(rows) }, (_, i) => i);
  const sign = options.descending ? -1 : 1;
  const low = sortableBits(kind, (rows.lo ?? rows.key) as Uint32Array);
  const high = kind === 'u64' ? (rows.hi as Uint32Array) : new Uint32Array(low.length);
  const { from, to } = options.bits ?? { from: 0, to: kind === 'u64' ? 64 : 32 };
  const digits = Array.from(low, (word, i) => {
    const key = (BigInt(high[i]!) << 32n) | BigInt(word);
    return BigInt.asUintN(to, key) >> BigInt(from);
  });
  return order.sort((i, j) => sign * Number(digits[i]! - digits[j]!) || i - j);
}

function sortableBits(kind: KeyKind, keys: ArrayLike<number>): ArrayLike<number> {
  if (kind === 'i32' || kind === 'i16') return Array.from(keys, (key) => key + 2 ** 31);
  if (kind !== 'f32') return keys;
  const { buffer, byteOffset, length } = keys as Float32Array;
  return Array.from(new Uint32Array(buffer, byteOffset, length), (word) =>
    word >= 2 ** 31 ? 2 ** 32 - 1 - word : word + 2 ** 31,
  );
}

export const sortLaws: readonly Law[] = [
  law('sortByKey is a stable permutation in the order of the keys', [sortCase], async (run, each) => {
    const { rows, along, options, how } = each;
    const result = await run((context) => {
      const table = present(context, rows, how) as { readonly [name: string]: Column };
      const { keys, values } = sortByKey(keysOf(each.kind, table), pickFields(table, along), options);
      return keys instanceof Object && 'lo' in keys
        ? { lo: keys.lo, hi: keys.hi, ...values }
        : { key: keys as Column, ...values };
    });
    assertSameBytes(result, take(pickFields(rows, Object.keys(result)), sortedOrder(each)), 'rows', true);
  }),
  law(
    'sort returns the keys of sortByKey, and sortPermutation the rows that they come from',
    [sortCase],
    async (run, each) => {
      const { rows, options, how } = each;
      const result = await run((context) => {
        const keys = keysOf(each.kind, present(context, rows, how));
        const order = sortPermutation(keys, options);
        return { order, sorted: sort(keys, options), gathered: gather(keys, order) };
      });
      assertSame(result.order, Uint32Array.from(sortedOrder(each)), 'order');
      assertSameBytes(result.sorted as never, result.gathered as never, 'sorted', true);
    },
  ),
  law('several keys sort rows by the first, then by the second, and so on', [severalKeys], async (run, each) => {
    const { rows, kinds, descending, how } = each;
    const result = await run((context) => {
      const table = present(context, rows, how) as { readonly [name: string]: Column };
      const keys = kinds.map((name) =>
        name === 'wide' ? { lo: table.low, hi: table.tiny } : table[name],
      ) as SortKeys[];
      const sorted = sortByKey(keys, pickFields(table, Object.keys(rows)), { descending });
      const order = sortPermutation(keys, { descending });
      const [byKey, again] = [sorted.keys, sort(keys, { descending })].map((list) =>
        Object.fromEntries(list.entries()),
      );
      return { order, sorted: sorted.values, keys: byKey!, again: again! };
    });
    const numbers = kinds.map((name) => {
      if (name === 'wide') return Array.from(rows.low, (low, row) => rows.tiny[row]! * 2 ** 32 + low);
      return sortableBits(name === 'float' ? 'f32' : name === 'whole' ? 'i32' : 'u32', rows[name]);
    });
    const signs = kinds.map((_, i) => ((typeof descending === 'boolean' ? descending : descending[i]) ? -1 : 1));
    const compare = (i: number, j: number): number =>
      numbers.reduce((found, key, at) => found || signs[at]! * (key[i]! - key[j]!), 0) || i - j;
    const order = Array.from({ length: rowsIn(rows) }, (_, i) => i).sort(compare);
    assertSame(result.order, Uint32Array.from(order), 'order');
    assertSameBytes(result.sorted, take(rows, order), 'rows', true);
    assertSameBytes(result.again as never, result.keys as never, 'keys', true);
  }),
];

function pickFields<V>(
  table: { readonly [name: string]: V },
  names: readonly string[],
): { readonly [name: string]: V } {
  return Object.fromEntries(names.map((name) => [name, table[name]!]));
}
