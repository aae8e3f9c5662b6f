import fc from 'fast-check';
import type { Context } from '../../primitives/context/context.ts';
import type { AtomicCombination } from '../../primitives/contract/backend.ts';
import { gather } from '../../primitives/gather.ts';
import { fmax, fmin } from '../../primitives/ir/semantics.ts';
import { scatter, scatterIf } from '../../primitives/scatter.ts';
import { scatterReduce } from '../../primitives/scatter-reduce.ts';
import { sequence } from '../../primitives/sequence.ts';
import { fewRows, type HostRows, hostColumn, randomWords, recipe, rowsOf } from '../arbitraries/columns.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { canonicalPrefixes } from './canonical-tree.ts';
import { assertSame, assertSameBytes } from './compare.ts';
import { type Law, law } from './law.ts';
import { backwards, rowsIn, take } from './rows.ts';

const payload = rowsOf({ number: 'u32', float: 'f32', flag: 'bool', byte: 'i8' });
type Payload = HostRows<{ number: 'u32'; float: 'f32'; flag: 'bool'; byte: 'i8' }>;

/**
 * Random target indices, one per row. Most are distinct indices below `length`. Some rows get an index past the end,
 * and so do all rows for which no distinct index is left.
 */
function places(rows: number, length: number, seed: number): Uint32Array {
  const next = randomWords(seed);
  const free = Array.from({ length }, (_, i) => i);
  return Uint32Array.from({ length: rows }, () => {
    if (free.length === 0 || next() % 8 === 0) return length + (next() % 3) * 1000;
    const [place] = free.splice(next() % free.length, 1);
    return place!;
  });
}

/** A pseudorandom permutation of all row numbers. */
function permutation(rows: number, seed: number): Uint32Array {
  const next = randomWords(seed);
  const order = Uint32Array.from({ length: rows }, (_, i) => i);
  for (let i = rows - 1; i > 0; i--) {
    const j = next() % (i + 1);
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order;
}

/**
 * For every index of the result, the row that is stored there. Indices without a row get the number after the last row,
 * which stands for the initial contents.
 */
function rowsByPlace(indices: Uint32Array, length: number, placed: (row: number) => boolean): number[] {
  const rows = new Array<number>(length).fill(indices.length);
  for (const [row, place] of indices.entries()) if (placed(row) && place < length) rows[place] = row;
  return rows;
}

/** Appends a row with the initial contents of the result. Laws expect this row wherever no other row is stored. */
function withRow(host: Payload, byte: number): Payload {
  const { number, float, flag } = host;
  return {
    number: Uint32Array.of(...number, byte),
    float: appended(float, byte),
    flag: [...flag, byte !== 0],
    byte: Int8Array.of(...host.byte, byte),
  };
}

function appended(floats: Float32Array, value: number): Float32Array {
  const longer = new Float32Array(floats.length + 1);
  new Uint32Array(longer.buffer).set(new Uint32Array(floats.buffer));
  longer[floats.length] = value;
  return longer;
}

const combinations: Readonly<Record<AtomicCombination, (a: number, b: number) => number>> = {
  add: (a, b) => a + b,
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
  min: Math.min,
  max: Math.max,
};
const combinationNames = Object.keys(combinations) as AtomicCombination[];

const someRows = fc.oneof(fc.integer({ min: 0, max: 70 }), fc.constantFrom(255, 256, 257, 1025, 4097));
const fewPayload = rowsOf({ number: 'u32', float: 'f32', flag: 'bool', byte: 'i8' }, someRows);

export const scatterLaws: readonly Law[] = [
  law(
    'scatter puts every row at its place, and zeros elsewhere',
    [fewPayload, presentation, someRows, fc.nat()],
    async (run, host, how, length, seed) => {
      const indices = places(rowsIn(host), length, seed);
      const result = await run((context) => {
        const { indices: to, ...rows } = present(context, { ...host, indices }, how);
        return scatter(rows, to, length);
      });
      assertSameBytes(
        result,
        take(
          withRow(host, 0),
          rowsByPlace(indices, length, () => true),
        ),
        'rows',
        true,
      );
    },
  ),
  law(
    'scatterIf onto a table keeps the rows of the table where no flagged row goes',
    [fewPayload, presentation, someRows, fc.nat()],
    async (run, host, how, length, seed) => {
      const indices = places(rowsIn(host), length, seed);
      const result = await run((context) => {
        const { indices: to, ...rows } = present(context, { ...host, indices }, how);
        return scatterIf(rows, to, rows.flag, length, { onto: backwards(sevens(context, length)) });
      });
      const expected = take(
        withRow(host, 7),
        rowsByPlace(indices, length, (row) => host.flag[row]!),
      );
      assertSameBytes(result, expected, 'rows', true);
    },
  ),
  law(
    'scatter onto a shorter table gives zeros past its end, for views and device counts too',
    [rowsOf({ value: 'u32' }, someRows), presentation, someRows],
    async (run, { value }, how, length) => {
      const result = await run((context) => {
        const nothing = context.column(new Uint32Array());
        return scatter(nothing, nothing, length, { onto: present(context, { value }, how).value });
      });
      assertSame(
        result,
        Uint32Array.from({ length }, (_, i) => value[i] ?? 0),
      );
    },
  ),
  law('gather undoes scatter by a permutation', [payload, presentation, fc.nat()], async (run, host, how, seed) => {
    const rows = rowsIn(host);
    const order = permutation(rows, seed);
    const result = await run((context) => {
      const { order: indices, ...table } = present(context, { ...host, order }, how);
      return gather(scatter(table, indices, rows), indices);
    });
    assertSameBytes(result, take(host, [...Array(rows).keys()]), 'rows', true);
  }),
  law(
    'scatterReduce combines all rows with the same target, in any order',
    [
      rowsOf({ value: 'u32', other: 'u32' }),
      recipe,
      fc.constantFrom(1, 2, 5, 64, 300),
      fc.constantFrom(...combinationNames),
      presentation,
    ],
    async (run, { value, other }, indexRecipe, length, name, how) => {
      const indices = hostColumn('u32', value.length, indexRecipe).map((word) => word % (length + 1));
      const start = hostColumn('u32', length, indexRecipe);
      const result = await run((context) => {
        const { indices: to, ...values } = present(context, { value, other, indices }, how);
        const onto = { value: context.column(start), other: context.column(start) };
        scatterReduce(backwards(values), to, name, onto);
        const alone = context.column(start);
        scatterReduce(values.value, to, name, alone);
        return { onto, alone };
      });
      const combined = (values: Uint32Array): Uint32Array => {
        const expected = start.slice();
        for (const [i, place] of indices.entries()) {
          if (place < length) expected[place] = combinations[name](expected[place]!, values[i]!) >>> 0;
        }
        return expected;
      };
      assertSame(result, { onto: { value: combined(value), other: combined(other) }, alone: combined(value) });
    },
  ),
  law(
    'scatterReduce of i32, and of f32 with min and max, is that of numbers',
    [
      rowsOf({ whole: 'i32', float: 'f32' }, fewRows),
      recipe,
      fc.constantFrom(1, 2, 5, 64, 300),
      fc.constantFrom(...combinationNames),
      presentation,
    ],
    async (run, host, indexRecipe, length, name, how) => {
      const indices = hostColumn('u32', host.whole.length, indexRecipe).map((word) => word % (length + 1));
      const isOrder = name === 'min' || name === 'max';
      const start = { whole: hostColumn('i32', length, indexRecipe), float: hostColumn('f32', length, indexRecipe) };
      const result = await run((context) => {
        const { indices: to, whole, float } = present(context, { ...host, indices }, how);
        const onto = { whole: context.column(start.whole), float: context.column(start.float) };
        if (isOrder) scatterReduce({ whole, float }, to, name, onto);
        else scatterReduce(whole, to, name, onto.whole);
        return onto;
      });
      const float = { min: fmin, max: fmax } as Readonly<Record<string, (a: number, b: number) => number>>;
      const expected = { whole: start.whole.slice(), float: start.float.slice() };
      for (const [i, place] of indices.entries()) {
        if (place >= length) continue;
        expected.whole[place] = combinations[name](expected.whole[place]!, host.whole[i]!) | 0;
        if (isOrder) expected.float[place] = float[name]!(expected.float[place]!, host.float[i]!);
      }
      assertSameBytes(result, expected, 'onto');
    },
  ),
  law(
    'scatterReduce leaves rows without values as they are, bit by bit',
    [rowsOf({ float: 'f32' }, fewRows), recipe, fc.constantFrom(1, 2, 33, 64, 300), presentation],
    async (run, { float }, startRecipe, length, how) => {
      const indices = hostColumn('u32', float.length, startRecipe).map((word) => 2 * (word % length));
      const start = hostColumn('f32', 2 * length, startRecipe);
      new Uint32Array(start.buffer).set([0x7fc12345, 0xff812345], 2 * length - 2);
      const result = await run((context) => {
        const { indices: to, float: values } = present(context, { float, indices }, how);
        const onto = { min: context.column(start), max: context.column(start), add: context.column(start) };
        for (const name of ['min', 'max', 'add'] as const) scatterReduce(values, to, name, onto[name]);
        const odd = sequence(length, 1, 2);
        return gather(onto, odd);
      });
      const kept = Float32Array.from({ length });
      const words = new Uint32Array(start.buffer);
      new Uint32Array(kept.buffer).set(Array.from(kept, (_, i) => words[2 * i + 1]!));
      assertSameBytes(result, { min: kept, max: kept, add: kept }, 'onto', true);
    },
  ),
  law(
    'scatterReduce adds f32 in the order of the rows, by the canonical tree over the sorted rows',
    [rowsOf({ a: 'calm', b: 'calm' }, fewRows), recipe, fc.constantFrom(0, 1, 2, 5, 64, 300), presentation],
    async (run, host, indexRecipe, length, how) => {
      const indices = hostColumn('u32', host.a.length, indexRecipe).map((word) => word % (length + 2));
      const start = hostColumn('calm', length, indexRecipe);
      const result = await run((context) => {
        const { indices: to, a, b } = present(context, { ...host, indices }, how);
        const onto = { a: context.column(start), b: context.column(start) };
        scatterReduce({ a, b }, to, 'add', onto);
        return onto;
      });
      const order = [...indices.keys()].sort(
        (i, j) => Math.min(indices[i]!, length) - Math.min(indices[j]!, length) || i - j,
      );
      const added = (values: Float32Array): Float32Array => {
        const sums = start.slice();
        const places = order.map((i) => Math.min(indices[i]!, length));
        const pairs = order.map((i, row): [number, number] => [Number(places[row] !== places[row - 1]), values[i]!]);
        const prefixes = canonicalPrefixes(pairs, ([a, x], [b, y]): [number, number] => [
          a | b,
          b === 1 ? y : Math.fround(x + y),
        ]);
        for (const [row, place] of places.entries()) {
          if (place < length && places[row + 1] !== place) sums[place]! += prefixes[row]!.inclusive[1];
        }
        return sums;
      };
      assertSameBytes(result, { a: added(host.a), b: added(host.b) }, 'onto');
    },
  ),
];

function sevens(context: Context, length: number): ReturnType<typeof present<Payload>> {
  const of = { length };
  return present(
    context,
    {
      number: Uint32Array.from(of, () => 7),
      float: Float32Array.from(of, () => 7),
      flag: Array.from(of, () => true),
      byte: Int8Array.from(of, () => 7),
    },
    'stored',
  );
}
