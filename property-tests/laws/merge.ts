import fc from 'fast-check';
import type { Column } from '../../primitives/columns/column.ts';
import type { HostArray } from '../../primitives/columns/host-array.ts';
import { count } from '../../primitives/count.ts';
import { bool, fn, u32, uniform } from '../../primitives/functors/functor.ts';
import { map } from '../../primitives/map.ts';
import { merge, mergeByKey } from '../../primitives/merge.ts';
import { type SortKeys, sortByKey } from '../../primitives/sort.ts';
import { rowsOf } from '../arbitraries/columns.ts';
import type { HostKind } from '../arbitraries/host-kinds.ts';
import { type Presentation, present, presentation } from '../arbitraries/presentations.ts';
import { assertSameBytes } from './compare.ts';
import { type Law, law } from './law.ts';
import { backwards, rowsIn, take } from './rows.ts';
import { type KeyColumns, type KeyKind, type KeyRows, keyOf, keysOf } from './sort-keys.ts';

/**
 * Columns that can be merged along with the keys. A case has some or all of these columns. A case with all of them
 * needs more bindings than a kernel may have.
 */
const payloads = { float: 'f32', byte: 'i8', flag: 'bool', row: 'u32' } as const;

interface Case {
  readonly kind: KeyKind;
  readonly sides: readonly [KeyRows, KeyRows];
  readonly how: readonly [Presentation, Presentation];
  readonly along: readonly string[];
  readonly descending: boolean;
}

/** The number of the first row. It is large, because unwritten memory is likely to contain small numbers. */
const FIRST = 0x5eed0000;

const isAmong = fn('isAmong', { x: u32, count: uniform(u32) }, bool, ({ x, count: rows }) => x.sub(FIRST).lt(rows));
const isEqual = fn('isEqual', { x: u32 }, bool, ({ x }) => x.eq(x));

const mergeCase: fc.Arbitrary<Case> = fc
  .constantFrom<KeyKind[]>('u32', 'i32', 'f32', 'u64', 'u8', 'tiny')
  .chain((kind) => {
    const fields: { [name: string]: HostKind } = kind === 'u64' ? { lo: 'u32', hi: 'tiny' } : { key: kind };
    const rows = rowsOf({ ...fields, ...payloads });
    return fc.record({
      kind: fc.constant(kind),
      sides: fc.tuple(rows, rows),
      how: fc.tuple(presentation, presentation),
      along: fc.constantFrom(['row'], ['float', 'flag'], Object.keys(payloads)),
      descending: fc.boolean(),
    });
  });

/**
 * The expected order of all rows, as a list of row numbers. Rows of the second table have higher numbers than rows of
 * the first.
 */
function mergedOrder({ kind, sides: [a, b], descending }: Case): number[] {
  const sign = descending ? -1 : 1;
  const keyAt = (side: KeyRows) => (row: number) => ({ row, key: sign * keyOf(kind, side, row) });
  const sorted = [a, b].map((side) =>
    Array.from({ length: rowsIn(side) }, (_, row) => keyAt(side)(row)).sort((x, y) => x.key - y.key || x.row - y.row),
  );
  const [first, second] = sorted as [(typeof sorted)[0], (typeof sorted)[0]];
  const order: number[] = [];
  for (let i = 0, j = 0; i < first.length || j < second.length; ) {
    const isFirst = j === second.length || (i < first.length && first[i]!.key <= second[j]!.key);
    order.push(isFirst ? first[i++]!.row : rowsIn(a) + second[j++]!.row);
  }
  return order;
}

/** Appends the rows of the second table to those of the first. */
export function together(a: KeyRows, b: KeyRows): KeyRows {
  const join = (first: HostArray, second: HostArray): HostArray => {
    if (!ArrayBuffer.isView(first)) return [...first, ...(second as readonly boolean[])];
    const joined = new (first.constructor as new (length: number) => Uint32Array)(first.length + second.length);
    joined.set(first as Uint32Array);
    joined.set(second as Uint32Array, first.length);
    return joined;
  };
  return Object.fromEntries(Object.keys(a).map((name) => [name, join(a[name]!, b[name]!)])) as KeyRows;
}

export function pickFields<V>(table: { readonly [name: string]: V }, names: readonly string[]): { [name: string]: V } {
  return Object.fromEntries(names.map((name) => [name, table[name]!]));
}

export const mergeLaws: readonly Law[] = [
  law('mergeByKey equals a stable sort of both tables', [mergeCase], async (run, each) => {
    const { kind, sides, how, along, descending } = each;
    const result = await run((context) => {
      const [a, b] = sides.map((rows, side) => {
        const table: KeyColumns = present(context, rows, how[side]!);
        return sortByKey(keysOf(kind, table), pickFields(table, along), { descending });
      });
      const { keys, values } = mergeByKey(a!, { keys: b!.keys, values: backwards(b!.values) }, { descending });
      const alone = merge(a!.keys, b!.keys, { descending });
      const fields = (named: SortKeys): KeyColumns => ('lo' in named ? { lo: named.lo, hi: named.hi } : { key: named });
      return { rows: { ...fields(keys), ...values }, keys: fields(alone) };
    });
    const keyNames = kind === 'u64' ? ['lo', 'hi'] : ['key'];
    const merged = take(together(...sides), mergedOrder(each));
    const expected = { rows: pickFields(merged, [...keyNames, ...along]), keys: pickFields(merged, keyNames) };
    assertSameBytes(result, expected, 'merged', true);
  }),
  // Backends may order the rows of unsorted tables differently. So this law only checks the number of rows in the
  // result, and that each of them comes from an input.
  law('merging unsorted tables gives as many rows, each from an input', [mergeCase], async (run, each) => {
    const { kind, sides, how, descending } = each;
    const [first, second] = sides.map(rowsIn) as [number, number];
    const result = await run((context) => {
      const [a, b] = sides.map((rows, side) => {
        const row = Uint32Array.from({ length: rowsIn(rows) }, (_, i) => FIRST + i + side * first);
        const table: KeyColumns = present(context, { ...rows, row }, how[side]!);
        return { keys: keysOf(kind, table), values: table.row! };
      });
      const values = mergeByKey(a!, b!, { descending }).values as Column<'u32'>;
      const isKnown = map(isAmong, { x: values, count: first + second });
      return { rows: count(values, map(isEqual, { x: values })), known: count(values, isKnown) };
    });
    const total = Uint32Array.of(first + second);
    assertSameBytes(result, { rows: total, known: total }, 'rows');
  }),
];
