import fc from 'fast-check';
import type { Column, Table } from '../../primitives/columns/column.ts';
import type { Context } from '../../primitives/context/context.ts';
import { copyIf } from '../../primitives/copy-if.ts';
import { array, bool, fn, u32, uniform } from '../../primitives/functors/functor.ts';
import { gather } from '../../primitives/gather.ts';
import { histogram } from '../../primitives/histogram.ts';
import { map } from '../../primitives/map.ts';
import { plus } from '../../primitives/monoid.ts';
import { reduce } from '../../primitives/reduce.ts';
import { reduceByKey } from '../../primitives/reduce-by-key.ts';
import { exclusiveScan, inclusiveScan } from '../../primitives/scan.ts';
import { lowerBound, upperBound } from '../../primitives/search.ts';
import { selectKth } from '../../primitives/select-kth.ts';
import { constant, sequence } from '../../primitives/sequence.ts';
import { reverse, slice } from '../../primitives/slice.ts';
import { sort } from '../../primitives/sort.ts';
import { assertSameBytes, type HostTable } from './compare.ts';
import { type Law, law } from './law.ts';

/** Parameters of all `functors`. The first and the last functor compute the same function. */
const parameters = { x: u32, y: u32, z: u32, table: array(u32), by: uniform(u32) };
const functors = [
  fn('first', parameters, u32, ({ x, y, z, table, by }) => x.mul(by).add(y).sub(z.mul(5)).add(table.at(x))),
  fn('second', parameters, u32, ({ x, y, z, table, by }) => y.mul(by).add(x).sub(z).xor(table.length())),
  fn('first', parameters, u32, ({ x, y, z, table, by }) => x.mul(by).add(y).sub(z.mul(5)).add(table.at(x))),
];
const hosts: readonly ((x: number, y: number, z: number, table: Uint32Array, by: number) => number)[] = [
  (x, y, z, table, by) => Math.imul(x, by) + y - 5 * z + (table[x] ?? 0),
  (x, y, z, table, by) => (Math.imul(y, by) + x - z) ^ table.length,
  (x, y, z, table, by) => Math.imul(x, by) + y - 5 * z + (table[x] ?? 0),
];
const isSmaller = fn('isSmaller', { x: u32, y: u32 }, bool, ({ x, y }) => x.lt(y));
const pair = fn('pair', { x: u32 }, { more: u32, less: u32 }, ({ x }) => ({ more: x.add(3), less: x.shr(1) }));
const plusOne = fn('plusOne', { x: u32 }, u32, ({ x }) => x.add(1));

/** A column that is passed to a call, with its expected contents. */
interface Given {
  readonly column: Column<'u32'>;
  readonly host: Uint32Array;
}

/** Columns of equal length in many forms: in one buffer or several, packed, sliced, and computed. */
function columnsOf(context: Context, words: Uint32Array): readonly Given[] {
  const n = words.length;
  const other = words.map((word, i) => (word + i) % 7);
  const padded = Uint32Array.from({ length: n + 3 }, (_, i) => words[i - 2] ?? 99);
  const whole = context.column(words);
  const two = { x: context.column(other), padded: context.column(padded) };
  const bytes = words.map((word) => word % 256);
  const [pairs, others] = [map(pair, { x: whole }), map(pair, { x: two.x })];
  return [
    { column: whole, host: words },
    { column: two.x, host: other },
    { column: context.column(Uint8Array.from(bytes)), host: bytes },
    { column: slice(two.padded, 2, n + 2), host: words },
    { column: slice(two.padded, 1, n + 1), host: padded.slice(1, n + 1) },
    { column: map(plusOne, { x: two.x }), host: other.map((word) => word + 1) },
    { column: reverse(whole), host: words.toReversed() },
    { column: inclusiveScan(two.x, plus(u32)), host: sums(other, false) },
    { column: pairs.more, host: words.map((word) => word + 3) },
    { column: pairs.less, host: words.map((word) => word >>> 1) },
    { column: others.less, host: other.map((word) => word >>> 1) },
    { column: map(plusOne, { x: pairs.less }), host: words.map((word) => (word >>> 1) + 1) },
    { column: map(plusOne, { x: others.less }), host: other.map((word) => (word >>> 1) + 1) },
  ];
}
const FORMS = 13;

/** The arguments of a call: numbers that select its columns and its functor, and the value of a uniform. */
interface Call {
  readonly kind: keyof typeof calls;
  readonly x: number;
  readonly y: number;
  readonly z: number;
  readonly table: number;
  readonly which: number;
  readonly by: number;
}

/** The result of a call, and the expected result. */
type Outcome = readonly [table: Table, expected: HostTable];
type Make = (
  rows: { readonly x: Given; readonly y: Given; readonly z: Given },
  table: Given,
  which: number,
  by: number,
) => Outcome;

const sum = (words: Uint32Array): Uint32Array => Uint32Array.of(words.reduce((total, word) => (total + word) >>> 0, 0));
const sums = (words: Uint32Array, isExclusive: boolean): Uint32Array => {
  let total = 0;
  return words.map((word) => {
    const before = total;
    total = (total + word) >>> 0;
    return isExclusive ? before : total;
  });
};

const calls = {
  map: ({ x, y, z }, table, which, by) => [
    { mapped: map(functors[which]!, { x: x.column, y: y.column, z: z.column, table: table.column, by }) },
    { mapped: x.host.map((value, i) => hosts[which]!(value, y.host[i]!, z.host[i]!, table.host, by)) },
  ],
  'map of counted rows': ({ x, y, z }, table, which, by) => {
    const rows = copyIf({ x: x.column, y: y.column, z: z.column }, isSmaller);
    const chosen = [...x.host.keys()].filter((i) => x.host[i]! < y.host[i]!);
    const mappedOf = (i: number): number => hosts[which]!(x.host[i]!, y.host[i]!, z.host[i]!, table.host, by);
    const mapped = map(functors[which]!, { ...rows, table: table.column, by });
    return [
      { mapped, counts: histogram(rows.x, 9), found: upperBound(sort(rows.x), y.column) },
      {
        mapped: Uint32Array.from(chosen, mappedOf),
        counts: Uint32Array.from({ length: 9 }, (_, bin) => chosen.filter((i) => x.host[i] === bin).length),
        found: y.host.map((needle) => chosen.filter((i) => x.host[i]! <= needle).length),
      },
    ];
  },
  copyIf: ({ x, y }) => [
    copyIf({ x: x.column, y: y.column }, isSmaller),
    { x: x.host.filter((value, i) => value < y.host[i]!), y: y.host.filter((value, i) => x.host[i]! < value) },
  ],
  scan: ({ x }, _table, which) => [
    { scanned: (which === 0 ? exclusiveScan : inclusiveScan)(x.column, plus(u32)) },
    { scanned: sums(x.host, which === 0) },
  ],
  reduce: ({ x }) => [{ total: reduce(x.column, plus(u32)) }, { total: sum(x.host) }],
  histogram: ({ x }, _table, which) => [
    { counts: histogram(x.column, 5 + which) },
    { counts: Uint32Array.from({ length: 5 + which }, (_, bin) => x.host.filter((value) => value === bin).length) },
  ],
  gather: ({ x, y }, table) => [
    gather({ x: x.column, y: y.column }, table.column),
    { x: table.host.map((at) => x.host[at] ?? 0), y: table.host.map((at) => y.host[at] ?? 0) },
  ],
  reduceByKey: ({ x, y }) => {
    const starts = [...x.host.keys()].filter((i) => x.host[i] !== x.host[i - 1]);
    const ofRun = (start: number, run: number): number => sum(y.host.slice(start, starts[run + 1]))[0]!;
    const { keys, values } = reduceByKey(x.column, y.column, plus(u32));
    return [
      { keys, values },
      { keys: Uint32Array.from(starts, (i) => x.host[i]!), values: Uint32Array.from(starts, ofRun) },
    ];
  },
  sort: ({ x }) => [{ sorted: sort(x.column) }, { sorted: x.host.toSorted() }],
  search: ({ x, y }, _table, which) => {
    const sorted = x.host.toSorted();
    const isBefore = (key: number, needle: number): boolean => (which === 0 ? key < needle : key <= needle);
    return [
      { found: (which === 0 ? lowerBound : upperBound)(sort(x.column), y.column) },
      { found: y.host.map((needle) => sorted.filter((key) => isBefore(key, needle)).length) },
    ];
  },
  selectKth: ({ x }, _table, _which, by) => [
    { kth: selectKth(x.column, constant(u32, by % 8, 1)) },
    { kth: Uint32Array.of(x.host.toSorted()[by % 8] ?? 0) },
  ],
  generate: ({ x }, _table, which, by) => [
    { ramp: sequence(x.host.length, by, which), same: constant(u32, by, x.host.length) },
    { ramp: x.host.map((_, i) => by + which * i), same: x.host.map(() => by) },
  ],
  slice: ({ x, y }, _table, which) => [
    slice({ x: x.column, y: y.column }, which),
    { x: x.host.slice(which), y: y.host.slice(which) },
  ],
} satisfies { readonly [kind: string]: Make };

const form = fc.nat({ max: FORMS - 1 });
const call: fc.Arbitrary<Call> = fc.record({
  kind: fc.constantFrom(...(Object.keys(calls) as (keyof typeof calls)[])),
  x: form,
  y: form,
  z: form,
  table: form,
  which: fc.nat({ max: 2 }),
  by: fc.oneof(fc.nat({ max: 9 }), fc.constantFrom(65, 2 ** 31, 2 ** 32 - 1)),
});

const fewWords = fc.uint32Array({ minLength: 1, maxLength: 70, max: 300 });

/** The laws of repeated calls. */
export const againLaws: readonly Law[] = [
  law(
    'repeated calls use the arguments of each call',
    [fewWords, fc.array(call, { minLength: 1, maxLength: 12 })],
    async (run, words, made) => {
      const expected: { [name: string]: HostTable } = {};
      const result = await run((context) => {
        const given = columnsOf(context, words);
        const results: { [name: string]: Table } = {};
        for (const [i, { kind, x, y, z, table, which, by }] of made.entries()) {
          const make: Make = calls[kind];
          const [got, host] = make({ x: given[x]!, y: given[y]!, z: given[z]! }, given[table]!, which, by);
          results[`${i} ${kind}`] = got;
          expected[`${i} ${kind}`] = host;
        }
        return results;
      });
      assertSameBytes(result as HostTable, expected as never, 'calls');
    },
  ),
];
