import fc from 'fast-check';
import type { Column } from '../../primitives/columns/column.ts';
import { count } from '../../primitives/count.ts';
import { bool, fn, u32, uniform } from '../../primitives/functors/functor.ts';
import * as q from '../../primitives/index.ts';
import { map } from '../../primitives/map.ts';
import type { KeyedRows } from '../../primitives/merge.ts';
import { type SortKeys, sortByKey } from '../../primitives/sort.ts';
import { rowsOf } from '../arbitraries/columns.ts';
import type { HostKind } from '../arbitraries/host-kinds.ts';
import { type Presentation, present, presentation } from '../arbitraries/presentations.ts';
import { assertSameBytes } from './compare.ts';
import { type Law, law } from './law.ts';
import { pickFields, together } from './merge.ts';
import { backwards, rowsIn, take } from './rows.ts';
import { type KeyColumns, type KeyKind, type KeyRows, keyOf, keysOf } from './sort-keys.ts';

/** The columns that a case may have along with the keys. All of them need more bindings than a kernel may have. */
const payloads = { float: 'f32', byte: 'i8', flag: 'bool', row: 'u32' } as const;

type Rows = KeyedRows<SortKeys, q.Table>;

/** A set operation: its functions, and which of a pair and of other keys it keeps, of the first and the second table. */
interface SetCase {
  readonly ofKeys: typeof q.setUnion;
  readonly ofRows: (a: Rows, b: Rows, options: q.SetOptions) => Rows;
  readonly pairs: boolean;
  readonly alone: readonly [boolean, boolean];
}

const operations: readonly SetCase[] = [
  { ofKeys: q.setUnion, ofRows: q.setUnionByKey, pairs: true, alone: [true, true] },
  {
    ofKeys: q.setIntersection,
    ofRows: (a, b, options) => q.setIntersectionByKey(a, b.keys, options),
    pairs: true,
    alone: [false, false],
  },
  {
    ofKeys: q.setDifference,
    ofRows: (a, b, options) => q.setDifferenceByKey(a, b.keys, options),
    pairs: false,
    alone: [true, false],
  },
  { ofKeys: q.setSymmetricDifference, ofRows: q.setSymmetricDifferenceByKey, pairs: false, alone: [true, true] },
];

interface Case {
  readonly kind: KeyKind;
  readonly operation: SetCase;
  readonly sides: readonly [KeyRows, KeyRows];
  readonly how: readonly [Presentation, Presentation];
  readonly along: readonly string[];
  readonly descending: boolean;
}

const setCase: fc.Arbitrary<Case> = fc
  .constantFrom<KeyKind[]>('u32', 'i32', 'f32', 'u64', 'u8', 'tiny')
  .chain((kind) => {
    const fields: { [name: string]: HostKind } = kind === 'u64' ? { lo: 'tiny', hi: 'tiny' } : { key: kind };
    const rows = rowsOf({ ...fields, ...payloads });
    return fc.record({
      kind: fc.constant(kind),
      operation: fc.constantFrom(...operations),
      sides: fc.oneof(
        fc.tuple(rows, rows),
        rows.map((each): [KeyRows, KeyRows] => [each, each]),
      ),
      how: fc.tuple(presentation, presentation),
      along: fc.constantFrom(['row'], ['float', 'flag'], Object.keys(payloads)),
      descending: fc.boolean(),
    });
  });

/** The rows of the result, as numbers of rows, of which those of the second table follow those of the first. */
function expectedRows({ kind, operation: { pairs, alone }, sides, descending }: Case): number[] {
  const sign = descending ? -1 : 1;
  const [first, second] = sides.map((side) =>
    Array.from({ length: rowsIn(side) }, (_, row) => ({ row, key: sign * keyOf(kind, side, row) })).sort(
      (x, y) => x.key - y.key || x.row - y.row,
    ),
  ) as [{ row: number; key: number }[], { row: number; key: number }[]];
  const rows: number[] = [];
  for (let i = 0, j = 0; i < first.length || j < second.length; ) {
    const [a, b] = [first[i]?.key ?? Number.POSITIVE_INFINITY, second[j]?.key ?? Number.POSITIVE_INFINITY];
    if (a === b ? pairs : a < b && alone[0]) rows.push(first[i]!.row);
    if (b < a && alone[1]) rows.push(rowsIn(sides[0]) + second[j]!.row);
    [i, j] = [i + Number(a <= b), j + Number(b <= a)];
  }
  return rows;
}

/** The number of the first row. It is large, because unwritten memory is likely to contain small numbers. */
const FIRST = 0x5eed0000;

const isStranger = fn('isStranger', { x: u32, count: uniform(u32) }, bool, ({ x, count: rows }) =>
  x.sub(FIRST).ge(rows),
);

export const setLaws: readonly Law[] = [
  law('set operations equal a loop along both sorted tables', [setCase], async (run, each) => {
    const { kind, operation, sides, how, along, descending } = each;
    const result = await run((context) => {
      const [a, b] = sides.map((rows, side) => {
        const table: KeyColumns = present(context, rows, how[side]!);
        return sortByKey(keysOf(kind, table), pickFields(table, along), { descending });
      });
      const { keys, values } = operation.ofRows(a!, { keys: b!.keys, values: backwards(b!.values) }, { descending });
      const alone = operation.ofKeys(a!.keys, b!.keys, { descending });
      const fields = (named: SortKeys): KeyColumns => ('lo' in named ? { lo: named.lo, hi: named.hi } : { key: named });
      return { rows: { ...fields(keys), ...(values as KeyColumns) }, keys: fields(alone) };
    });
    const keyNames = kind === 'u64' ? ['lo', 'hi'] : ['key'];
    const kept = take(together(...sides), expectedRows(each));
    const expected = { rows: pickFields(kept, [...keyNames, ...along]), keys: pickFields(kept, keyNames) };
    assertSameBytes(result, expected, 'kept', true);
  }),
  // Backends may take other rows of unsorted tables. So this law only checks that each is from an input.
  law('set operations on unsorted tables give rows from the inputs', [setCase], async (run, each) => {
    const { kind, operation, sides, how, descending } = each;
    const [first, second] = sides.map(rowsIn) as [number, number];
    const result = await run((context) => {
      const [a, b] = sides.map((rows, side) => {
        const row = Uint32Array.from({ length: rowsIn(rows) }, (_, i) => FIRST + i + side * first);
        const table: KeyColumns = present(context, { ...rows, row }, how[side]!);
        return { keys: keysOf(kind, table), values: table.row! };
      });
      const values = operation.ofRows(a!, b!, { descending }).values as Column<'u32'>;
      return count(values, map(isStranger, { x: values, count: first + second }));
    });
    assertSameBytes(result, Uint32Array.of(0), 'rows that are from no input');
  }),
];
