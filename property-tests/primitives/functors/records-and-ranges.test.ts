import { expect } from 'vitest';
import {
  array,
  For,
  type FunctorDescription,
  f32,
  fn,
  i32,
  type Records,
  u32,
  uniform,
  Var,
} from '../../../primitives/functors/index.ts';
import { map } from '../../../primitives/map.ts';
import { sequence } from '../../../primitives/sequence.ts';
import { onEveryBackend } from '../../backends.ts';
import { costlyCaseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';

const STEPS = [-1_000_000_000, -7, -2, -1, 1, 2, 3, 2 ** 31 - 1];

/** Bounds near the ends of the type or around 0, which a step leads from one to the other in few rounds. */
function bounds(min: number, max: number): fc.Arbitrary<[number, number, number]> {
  const near = fc.tuple(fc.constantFrom(min, max, 0, 5), fc.integer({ min: -12, max: 12 }));
  const bound = near.map(([at, by]) => Math.min(max, Math.max(min, at + by)));
  const inFewRounds = ([from, to, step]: readonly number[]): boolean => (to! - from!) / step! < 40;
  return fc.tuple(bound, bound, fc.constantFrom(...STEPS)).filter(inFewRounds);
}

function indicesOf(from: number, to: number, step: number): number[] {
  const indices: number[] = [];
  for (let i = from; step > 0 ? i < to : i > to; i += step) indices.push(i);
  return indices;
}

onEveryBackend((opened) => {
  for (const [type, min, max] of [
    [u32, 0, 2 ** 32 - 1],
    [i32, -(2 ** 31), 2 ** 31 - 1],
  ] as const) {
    test.prop([fc.array(bounds(min, max), { minLength: 1, maxLength: 20 })], { numRuns: costlyCaseCount(10) })(
      `loops over a range count in ${type.type} without wrapping around`,
      async (cases) => {
        const { context } = opened();
        const words = (values: readonly number[]) =>
          context.column(type.type === 'u32' ? Uint32Array.from(values) : Int32Array.from(values));
        const step = cases[0]![2];
        const counted = fn(
          { from: type as typeof u32, to: type as typeof u32 },
          { sum: type as typeof u32, rounds: u32, known: u32 },
          ({ from, to }) => {
            const [sum, rounds, known] = [Var((type as typeof u32)(0)), Var(u32(0)), Var(u32(0))];
            For({ from, to, step }, (i) => {
              rounds.set(rounds.add(1));
              sum.set(sum.mul(3).add(i));
            });
            const [first, last] = [cases[0]![0], cases[0]![1]];
            For({ from: (type as typeof u32)(first), to: last, step }, () => known.set(known.add(1)));
            return { sum, rounds, known };
          },
        );
        const rows = cases.filter(([from, to]) => (to - from) / step < 40);
        const columns = { from: words(rows.map(([from]) => from)), to: words(rows.map(([, to]) => to)) };
        const got = await context.read(map(counted, columns as never));
        const indices = rows.map(([from, to]) => indicesOf(from, to, step));
        expect([...got.rounds]).toEqual(indices.map(({ length }) => length));
        const sums = indices.map((each) => each.reduce((sum, i) => (Math.imul(sum, 3) + i) | 0, 0));
        expect([...got.sum].map((sum) => sum | 0)).toEqual(sums);
        expect([...got.known]).toEqual(rows.map(() => indices[0]!.length));
      },
    );
  }
});

onEveryBackend((opened) => {
  test.prop([fc.array(fc.tuple(fc.integer(), fc.nat()), { maxLength: 40 }), fc.nat({ max: 6 })], {
    numRuns: costlyCaseCount(10),
  })('records of variables are set at once', async (rows, rounds) => {
    const { context } = opened();
    const shape = { p: { x: i32, y: i32 }, n: u32 };
    const turned = fn({ given: shape, rounds: uniform(u32) }, shape, ({ given, rounds }) => {
      // A record of variables is copied as other records are.
      const all = Var(Var(given) as typeof given);
      For(0, rounds, (k) => {
        all.p.set({ x: all.p.y, y: all.p.x.add(1) });
        all.set({ n: all.n.add(k), p: { x: all.p.y, y: 7 } });
      });
      all.p.x.set(all.p.x.add(all.p.y));
      return all;
    });
    const p = {
      x: context.column(Int32Array.from(rows, ([x]) => x)),
      y: context.column(Int32Array.from(rows, ([x]) => x ^ 5)),
    };
    const got = await context.read(
      map(turned, { given: { p, n: context.column(Uint32Array.from(rows, ([, n]) => n)) }, rounds }),
    );
    const expected = rows.map(([x0, n0]) => {
      let [x, y, n] = [x0, x0 ^ 5, n0];
      for (let k = 0; k < rounds; k++) {
        [x, y] = [y, (x + 1) | 0];
        [n, x, y] = [(n + k) >>> 0, y, 7];
      }
      return [(x + y) | 0, y, n];
    });
    expect(rows.map((_, i) => [got.p.x[i], got.p.y[i], got.n[i]])).toEqual(expected);
  });

  test.prop([fc.array(fc.tuple(fc.nat({ max: 2 ** 20 }), fc.nat()), { maxLength: 40 }), fc.nat({ max: 50 })], {
    numRuns: costlyCaseCount(10),
  })('records of a captured table are read at any index', async (rows, count) => {
    const { context } = opened();
    const shape = { at: { x: f32, y: u32 }, n: u32 };
    const second = fn({ i: u32, table: array({ n: u32, at: { y: u32, x: f32 } }) }, u32, ({ i, table }) => {
      return table.at(i.mul(2)).n.add(table.length());
    });
    const look = fn({ i: u32, table: array(shape) }, { x: f32, sum: u32 }, ({ i, table }) => {
      const { at, n } = table.at(i);
      return { x: at.x, sum: n.add(at.y).add(second({ i, table: table as never })) };
    });
    const table = {
      at: {
        x: context.column(Float32Array.from(rows, ([x]) => x)),
        y: map(
          fn({ n: u32 }, u32, ({ n }) => n.add(1)),
          { n: context.column(Uint32Array.from(rows, ([x]) => x)) },
        ),
      },
      n: context.column(Uint32Array.from(rows, ([, n]) => n)),
    };
    const got = await context.read(context.scope(() => map(look, { i: sequence(count), table })));
    const row = (i: number): readonly [number, number, number] => [
      rows[i]?.[0] ?? 0,
      rows[i] === undefined ? 0 : rows[i][0] + 1,
      rows[i]?.[1] ?? 0,
    ];
    const expected = Array.from({ length: count }, (_, i) => {
      const [x, y, n] = row(i);
      return [x, (n + y + row(2 * i)[2] + rows.length) >>> 0];
    });
    expect(Array.from({ length: count }, (_, i) => [got.x[i], got.sum[i]])).toEqual(expected);
  });

  test('records of a captured table have the same length and all columns', () => {
    const { context } = opened();
    const look = fn('look', { i: u32, table: array({ x: u32, y: u32 }) }, u32, ({ i, table }) => table.at(i).x);
    const column = (length: number) => context.column(new Uint32Array(length));
    const call = (table: object) => () => map(look, { i: column(1), table } as never);
    expect(call({ x: column(3), y: column(4) })).toThrow(expect.objectContaining({ code: 'column/length' }));
    expect(call({ x: column(3) })).toThrow(/missing its argument table\.y/);
    expect(call({ x: column(3), y: 5 })).toThrow(expect.objectContaining({ code: 'map/column' }));
    expect(() => map(look, { i: column(1) } as never)).toThrow(expect.objectContaining({ code: 'map/argument' }));
  });
});

/** The error of a functor whose body is `body`. */
function refusal(body: (x: ReturnType<typeof u32>, table: Records<{ x: typeof u32 }>) => void): string {
  const functor: FunctorDescription = fn({ x: u32, table: array({ x: u32 }) }, u32, ({ x, table }) => {
    body(x, table);
    return x;
  });
  try {
    void functor.module;
  } catch (error) {
    return (error as Error).message;
  }
  return 'no error';
}

test('slips are errors that say what to write', () => {
  const nothing = (): void => {};
  const other = fn('other', { table: array({ x: f32 }) }, f32, ({ table }) => table.at(0).x);
  const slips: readonly (readonly [RegExp, (x: never, table: never) => void])[] = [
    [/range\.step of For must be a whole number other than 0/, () => For({ from: 0, to: 3, step: 0 }, nothing)],
    [/must be known when the functor is recorded/, (x) => For({ from: 0, to: 3, step: x }, nothing)],
    [/range\.step of For/, () => For({ from: 0, to: 3, step: 1.5 }, nothing)],
    [
      /range\.to of For must be a u32 .*To count in i32, write i32\(-1\)/s,
      () => For({ from: 3, to: -1, step: -1 }, nothing),
    ],
    [/range\.from of For must be an i32/, () => For({ from: 2 ** 31, to: i32(0), step: -1 }, nothing)],
    [/The range of For has no by/, () => For({ from: 0, to: 3, by: 2 } as never, nothing)],
    [/must be a function/, () => For({ from: 0, to: 3 }, 5 as never)],
    [/method set/, (x) => Var({ set: x })],
    [/set is missing the value of y/, (x) => Var({ x, y: x }).set({ x } as never)],
    [/has no variable z/, (x) => Var({ x }).set({ x, z: x } as never)],
    [/Argument value\.x of Var/, () => Var({ x: 5 } as never)],
    [/must be an array of \{ x: f32 \}/, (_, table) => other({ table })],
    [/Argument type of array/, () => array('u32' as never)],
    [/with a field/, () => array({})],
  ];
  expect(
    slips
      .filter(([expected, body]) => !expected.test(refusal(body as never)))
      .map(([, body]) => [`${body}`, refusal(body as never)]),
  ).toEqual([]);
});

test('two parameters must not name the same column', () => {
  const parameters = { points: array({ x: u32 }), 'points.x': array(u32) };
  expect(() => fn(parameters, u32, ({ points }) => points.at(0).x)).toThrow(/Two parameters have the name points\.x/);
});
