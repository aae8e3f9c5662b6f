import { describe, expect } from 'vitest';
import * as q from '../../../primitives/index.ts';
import {
  array,
  bool,
  type Column,
  type Context,
  For,
  f32,
  fn,
  If,
  i32,
  LocalArray,
  map,
  neighbours,
  owned,
  type Scalar,
  sequence,
  type U32,
  u32,
  Var,
  While,
} from '../../../primitives/index.ts';
import { onEveryBackend } from '../../backends.ts';
import { costlyCaseCount, someOf } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';

type Name = 'u32' | 'i32' | 'f32' | 'bool';
const TYPES: { readonly [T in Name]: Scalar<T> } = { u32, i32, f32, bool };

/** Numbers that the operations of a row do to its array: what, where, and with which value. */
type Operation = readonly [kind: number, index: number, value: number];

const edges = [0, 1, 2, 3, 15, 16, 17, 18, 254, 255, 256, 257, 258, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 2, 2 ** 32 - 1];
const operation: fc.Arbitrary<Operation> = fc.tuple(
  fc.nat(5),
  fc.oneof(fc.nat(4), fc.constantFrom(...edges)),
  fc.nat(60_000),
);

/**
 * Does the operations of a row to an array of the type, one after the other, and adds up what it reads. Rows have
 * different numbers of operations, so that lanes differ in rounds, branches and indices.
 */
function machine(name: Name, length: number) {
  const type = TYPES[name] as typeof u32;
  const of = (value: U32) => (name === 'bool' ? value.and(1).eq(1) : type(value)) as U32;
  const parameters = { row: u32, starts: array(u32), kinds: array(u32), indices: array(u32), values: array(u32) };
  return fn(parameters, u32, ({ row, starts, kinds, indices, values }) => {
    const elements = LocalArray(length, of(row.add(1)));
    const sum = Var(u32(7));
    const see = (value: U32) => sum.set(sum.mul(31).add(u32(value)));
    For(starts.at(row), starts.at(row.add(1)), (k) => {
      const [kind, index, value] = [kinds.at(k), indices.at(k), values.at(k)];
      If(kind.eq(0), () => see(elements.at(index)))
        .ElseIf(
          () => kind.eq(1),
          () => elements.set(index, of(value)),
        )
        .ElseIf(
          () => kind.eq(2),
          () => elements.set(length - 1, of(value.add(elements.length))),
        )
        .ElseIf(
          () => kind.eq(3),
          () => elements.set(i32(index), elements.at(0)),
        )
        .ElseIf(
          () => kind.eq(4),
          () => For(0, length + 2, (i) => If(i.lt(value), () => elements.set(i, of(value.add(i))))),
        )
        .Else(() => For(0, Math.min(length, 5), (i) => see(elements.at(i.add(index)))));
    });
    see(elements.at(length - 1));
    return sum;
  });
}

/** The same as {@link machine} by an array of JavaScript. */
function byHand(name: Name, length: number, row: number, operations: readonly Operation[]): number {
  const of = (value: number): number => (name === 'bool' ? value & 1 : value);
  const elements: number[] = Array(length).fill(of(row + 1));
  let sum = 7;
  const see = (index: number) => {
    sum = (Math.imul(sum, 31) + (elements[index >>> 0] ?? 0)) >>> 0;
  };
  const set = (index: number, value: number) => {
    if (index < length) elements[index] = value;
  };
  for (const [kind, index, value] of operations) {
    if (kind === 0) see(index);
    else if (kind === 1) set(index, of(value));
    else if (kind === 2) set(length - 1, of(value + length));
    else if (kind === 3) set(index, elements[0]!);
    else if (kind === 4) for (let i = 0; i < length + 2 && i < value; i++) set(i, of(value + i));
    else for (let i = 0; i < Math.min(length, 5); i++) see(index + i);
  }
  see(length - 1);
  return sum;
}

onEveryBackend((opened) => {
  const cases = (Object.keys(TYPES) as Name[]).flatMap((name) =>
    [1, 3, 17, 256].map((length) => [name, length] as const),
  );
  for (const [name, length] of someOf(cases, 3)) {
    test.prop([fc.array(fc.array(operation, { maxLength: 9 }), { minLength: 1, maxLength: 70 })], {
      numRuns: costlyCaseCount(10),
      examples: [
        [
          [
            [
              [1, length, 5],
              [0, length, 0],
              [1, 0, 9],
              [0, 2 ** 32 - 1, 0],
              [0, 0, 0],
            ],
          ],
        ],
      ],
    })(`an array of ${length} ${name} is read and written as an array of JavaScript`, async (rows) => {
      const { context } = opened();
      const column = (values: readonly number[]) => context.column(Uint32Array.from(values));
      const starts = [0];
      for (const row of rows) starts.push(starts.at(-1)! + row.length);
      const [kinds, indices, values] = [0, 1, 2].map((part) => column(rows.flat().map((each) => each[part]!)));
      const given = {
        row: sequence(rows.length),
        starts: column(starts),
        kinds: kinds!,
        indices: indices!,
        values: values!,
      };
      const got = await context.read(context.materialize(map(machine(name, length), given)));
      expect([...got]).toEqual(rows.map((operations, row) => byHand(name, length, row, operations)));
    });
  }

  test.prop([fc.array(fc.integer(), { minLength: 1, maxLength: 50 })], { numRuns: costlyCaseCount(6) })(
    'arrays of records are arrays of their fields',
    async (rows) => {
      const { context } = opened();
      const shape = { key: i32, of: { index: u32, odd: bool } };
      const ranked = fn({ x: i32, row: u32, xs: array(i32) }, shape, ({ x, row, xs }) => {
        const best = LocalArray(3, { key: x, of: { index: row, odd: x.and(1).eq(1) } });
        For(0, xs.length(), (i) => {
          const next = Var({ key: xs.at(i), of: { index: i, odd: xs.at(i).and(1).eq(1) } });
          For(0, 3, (k) => {
            const kept = best.at(k);
            If(next.key.lt(kept.key), () => {
              best.set(k, next);
              next.set(kept);
            });
          });
        });
        return best.at(row.rem(4));
      });
      const xs = context.column(Int32Array.from(rows));
      const got = await context.read(map(ranked, { x: xs, row: sequence(rows.length), xs }));
      const expected = rows.map((x, row) => {
        const own = { key: x, index: row };
        const best = [own, own, own];
        for (const [index, key] of rows.entries()) {
          let next = { key, index };
          for (let k = 0; k < 3; k++) if (next.key < best[k]!.key) [best[k], next] = [next, best[k]!];
        }
        return best[row % 4] ?? { key: 0, index: 0 };
      });
      expect([...got.key]).toEqual(expected.map(({ key }) => key));
      expect([...got.of.index]).toEqual(expected.map(({ index }) => index));
      expect([...got.of.odd]).toEqual(expected.map(({ key }) => key & 1));
    },
  );
});

/** x + 7, by an array whose indices are computed. `length` is at least 4, and changes nothing. */
function plusSeven(x: U32, length = 4): U32 {
  const elements = LocalArray(length, u32(7));
  elements.set(x.and(3), x);
  elements.set(x.add(1).and(3), x.mul(5));
  return elements.at(x.and(3)).add(elements.at(x.add(2).and(3)));
}

/** The same without an array. */
const seven = (x: U32): U32 => x.add(7);

/**
 * Every position in which the library takes a functor. Each call is made twice: with an array, and with what the array
 * computes.
 */
const positions: Readonly<Record<string, (x: Column<'u32'>, f: (x: U32) => U32, context: Context) => unknown>> = {
  map: (x, f) =>
    map(
      fn({ x: u32 }, u32, ({ x }) => f(x)),
      { x },
    ),
  'a map of a map': (x, f) => {
    const once = fn({ x: u32 }, u32, ({ x }) => f(x));
    return map(once, { x: map(once, { x }) });
  },
  'functors that call functors': (x, f) => {
    const once = fn({ x: u32 }, u32, ({ x }) => f(x));
    return map(
      fn({ x: u32 }, u32, ({ x }) => once({ x: once({ x }) }).add(f(once({ x })))),
      { x },
    );
  },
  'within a loop': (x, f) =>
    map(
      fn({ x: u32 }, u32, ({ x }) => {
        const at = Var(x);
        While(
          () => at.lt(60),
          () => at.set(f(at)),
        );
        return at;
      }),
      { x },
    ),
  stencil: (x, f) =>
    q.stencil(
      fn({ x: neighbours(u32) }, u32, ({ x }) => f(x.at(1)).add(x.at(-1))),
      { x },
    ),
  reduce: (x, f) =>
    q.reduce(
      map(
        fn({ x: u32 }, u32, ({ x }) => f(x)),
        { x },
      ),
      q.plus(u32),
    ),
  'the monoid of a reduce': (x, f) => q.reduce(x, sums(f)),
  'the monoid of a scan': (x, f) => q.inclusiveScan(x, sums(f)),
  'the monoid of a reduceByKey': (x, f) =>
    q.reduceByKey(
      map(
        fn({ x: u32 }, u32, ({ x }) => x.shr(2)),
        { x },
      ),
      x,
      sums(f),
    ),
  'a f32 scan': (x, f) =>
    q.inclusiveScan(
      map(
        fn({ x: u32 }, f32, ({ x }) => f32(f(x))),
        { x },
      ),
      q.plus(f32),
    ),
  sort: (x, f) =>
    q.sort(
      map(
        fn({ x: u32 }, u32, ({ x }) => f(x).mul(2654435761)),
        { x },
      ),
    ),
  copyIf: (x, f) =>
    q.copyIf(
      x,
      map(
        fn({ x: u32 }, bool, ({ x }) => f(x).and(2).eq(0)),
        { x },
      ),
    ),
  packBits: (x, f) =>
    q.packBits(
      map(
        fn({ x: u32 }, bool, ({ x }) => f(x).and(2).eq(0)),
        { x },
      ),
    ),
  histogram: (x, f) =>
    q.histogram(
      map(
        fn({ x: u32 }, u32, ({ x }) => f(x).and(7)),
        { x },
      ),
      8,
    ),
  'both sides of crossReduce': (x, f) => {
    const once = fn({ x: u32 }, u32, ({ x }) => f(x));
    const pair = fn({ a: u32, b: u32 }, u32, ({ a, b }) => a.xor(b));
    return q.crossReduce({ a: map(once, { x }) }, { b: map(once, { x }) }, pair, q.plus(u32));
  },
  disjointSets: (x, f) => {
    const once = fn({ x: u32 }, u32, ({ x }) => f(x).and(63));
    return q.disjointSets({ a: map(once, { x }), b: x }, 1001);
  },
  weightedHistogram: (x, f) => {
    const once = fn({ x: u32 }, u32, ({ x }) => f(x).and(7));
    return q.weightedHistogram(map(once, { x }), 8, { x: map(once, { x }) }).x;
  },
  gather: (x, f) =>
    q.gather(
      x,
      map(
        fn({ x: u32 }, u32, ({ x }) => f(x).and(15)),
        { x },
      ),
    ),
  expand: (x, f) =>
    q.expand(
      { x },
      2,
      fn({ x: u32, rank: u32 }, u32, ({ x, rank }) => f(x.add(rank))),
      { capacity: 2000 },
    ),
  unfold: (x, f) =>
    q.unfold(
      { x },
      fn({ x: u32 }, { at: u32 }, ({ x }) => ({ at: f(x) })),
      fn({ at: u32 }, { more: bool, emits: bool, state: { at: u32 }, value: u32 }, ({ at }) => ({
        more: at.lt(50),
        emits: true,
        state: { at: f(at) },
        value: f(at),
      })),
      { capacity: 20_000 },
    ),
  forEachStrip: (x, f) =>
    q.forEachStrip({ x }, [
      {
        rows: 5,
        each: fn({ first: u32, end: u32, x: owned(u32) }, {}, ({ first, end, x }) => {
          For(first.add(1), end, (i) => x.set(i, f(x.at(i.sub(1))).add(x.at(i))));
        }),
      },
    ]),
  relax: (x, f) => {
    const until = fn({ total: u32 }, bool, ({ total }) => total.gt(1000));
    const change = fn({ after: u32 }, u32, ({ after }) => f(after));
    const step = fn({ x: neighbours(u32) }, u32, ({ x }) => f(x.at(0, 0)).max(x.at(0, 1)));
    const { state } = q.relax(
      { width: 4, height: 4 },
      step,
      { x },
      { change, total: sums(f), until },
      { maxRounds: 3 },
    );
    return state;
  },
};

/** The sum, by a functor that gives x + 7. */
function sums(f: (x: U32) => U32): q.Monoid<typeof u32> {
  return q.monoid({ of: u32, identity: 0, combine: ({ a, b }) => f(a.add(b)).sub(7), exact: true });
}

onEveryBackend((opened) => {
  for (const name of someOf(Object.keys(positions), 6)) {
    test.prop([fc.array(fc.nat(1000), { minLength: 1, maxLength: 200 })], { numRuns: costlyCaseCount(4) })(
      `an array changes nothing where a functor is given as ${name}`,
      async (values) => {
        const { context } = opened();
        const x = context.column(Uint32Array.from(values));
        const read = async (f: (x: U32) => U32) => context.read(positions[name]!(x, f, context) as Column<'u32'>);
        expect(await read(plusSeven)).toEqual(await read(seven));
      },
    );
  }

  test('arrays of different lengths, types and first values are different functors', async () => {
    const { context } = opened();
    const x = context.column(Uint32Array.of(0, 3, 4, 5, 300));
    const last = (length: number, first: number) =>
      fn({ x: u32 }, u32, ({ x }) => {
        const elements = LocalArray(length, u32(first));
        elements.set(x.add(1), 9);
        return elements.at(x);
      });
    const expected = (length: number, first: number) => [0, 3, 4, 5, 300].map((at) => (at < length ? first : 0));
    for (const [length, first] of [
      [4, 1],
      [5, 1],
      [5, 2],
      [256, 2],
    ] as const) {
      expect([...(await context.read(map(last(length, first), { x })))]).toEqual(expected(length, first));
    }
  });
});

describe('local arrays', () => {
  test('of constant indices are variables, which run in vectors', () => {
    const kinds = (index: (x: U32) => number | U32) => {
      const { functions } = fn({ x: u32 }, u32, ({ x }) => {
        const elements = LocalArray(2, x);
        elements.set(1, x.mul(3));
        return elements.at(index(x));
      }).module;
      return new Set(functions[0]!.body.map(({ kind }) => kind));
    };
    expect(kinds(() => 1)).toEqual(new Set(['var', 'let', 'set', 'return']));
    expect(kinds((x) => x)).toContain('readLocal');
  });
});
