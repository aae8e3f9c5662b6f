import fc from 'fast-check';
import { forEachStrip } from '../../primitives/for-each-strip.ts';
import { For, If, Let, Return } from '../../primitives/functors/control.ts';
import { array, bool, f32, fn, i32, u32, uniform } from '../../primitives/functors/functor.ts';
import { type OwnedValue, owned } from '../../primitives/functors/owned.ts';
import { bitsToI32, bitsToU32 } from '../../primitives/functors/standard/bits.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import type { ArrayValue, U32 } from '../../primitives/functors/value.ts';
import { constant } from '../../primitives/sequence.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { assertSame } from './compare.ts';
import { type Law, law } from './law.ts';

/** Numbers of rows; some need several chunks and workgroups. */
const size = fc.oneof(
  { arbitrary: fc.integer({ min: 0, max: 40 }), weight: 6 },
  { arbitrary: fc.constantFrom(255, 256, 257, 1023, 1024, 1025, 3000), weight: 2 },
);
/** Rows of a strip: from one to more than there are. */
const stripRows = fc.oneof(
  { arbitrary: fc.integer({ min: 1, max: 9 }), weight: 4 },
  { arbitrary: fc.constantFrom(31, 32, 33, 256, 1000, 2 ** 32 - 1), weight: 4 },
);

/** Pseudorandom words; equal seeds give equal words. */
function words(length: number, seed: number): Uint32Array {
  let state = seed >>> 0;
  return Uint32Array.from({ length }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state ^ (state >>> 15)) >>> 0;
  });
}

/** Calls `each` for every strip of n rows. */
function strips(n: number, rows: number, each: (first: number, end: number, strip: number) => void): void {
  for (let first = 0; first < n; first += rows) each(first, Math.min(n, first + rows), first / rows);
}

/** A value of a random program, from the words that it reads. */
type Expression =
  | { readonly kind: 'literal'; readonly value: number }
  | { readonly kind: 'index' }
  | { readonly kind: 'strip' }
  | { readonly kind: 'own'; readonly column: number; readonly at: Expression }
  | { readonly kind: 'capture'; readonly at: Expression }
  | { readonly kind: 'add' | 'xor'; readonly a: Expression; readonly b: Expression };

type Step =
  | { readonly kind: 'set'; readonly column: number; readonly at: Expression; readonly value: Expression }
  | {
      readonly kind: 'if';
      readonly condition: Expression;
      readonly yes: readonly Step[];
      readonly no: readonly Step[];
    }
  | { readonly kind: 'repeat'; readonly times: number; readonly body: readonly Step[] }
  | { readonly kind: 'return'; readonly condition: Expression };

const column = fc.nat({ max: 3 });
const { steps } = fc.letrec<{ expression: Expression; step: Step; steps: readonly Step[] }>((tie) => ({
  expression: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'expression' },
    fc.record({ kind: fc.constant('index' as const) }),
    fc.record({ kind: fc.constant('literal' as const), value: fc.constantFrom(0, 1, 2, 3, 2 ** 32 - 1) }),
    fc.record({ kind: fc.constant('strip' as const) }),
    fc.record({ kind: fc.constant('own' as const), column, at: tie('expression') }),
    fc.record({ kind: fc.constant('capture' as const), at: tie('expression') }),
    fc.record({ kind: fc.constantFrom('add' as const, 'xor' as const), a: tie('expression'), b: tie('expression') }),
  ),
  step: fc.oneof(
    { maxDepth: 2, depthIdentifier: 'step' },
    fc.record({ kind: fc.constant('set' as const), column, at: tie('expression'), value: tie('expression') }),
    fc.record({ kind: fc.constant('return' as const), condition: tie('expression') }),
    fc.record({
      kind: fc.constant('if' as const),
      condition: tie('expression'),
      yes: tie('steps'),
      no: tie('steps'),
    }),
    fc.record({ kind: fc.constant('repeat' as const), times: fc.nat({ max: 3 }), body: tie('steps') }),
  ),
  steps: fc.array(tie('step'), { minLength: 1, maxLength: 4, depthIdentifier: 'step' }),
}));

/** Rows beside a strip, before and after, that a random program tries to read and write. */
const BESIDE = 2;

type Columns = { readonly a: OwnedValue<'u32'>; readonly b: OwnedValue<'i32'> } & {
  readonly c: OwnedValue<'f32'>;
  readonly d: OwnedValue<'bool'>;
};

/** The functor of a random program. Whole numbers below 2²⁴ are exact in f32. */
function functorOf(program: readonly Step[]) {
  return fn(
    'randomStrip',
    {
      ...{ strip: u32, first: u32, end: u32, before: array(u32), salt: uniform(u32) },
      ...{ a: owned(u32), b: owned(i32), c: owned(f32), d: owned(bool) },
    },
    {},
    ({ strip, first, end, before, salt, ...columns }) => {
      For(0, end.sub(first).add(2 * BESIDE), (k) => {
        record(program, columns, before, first.add(k).sub(BESIDE), strip.xor(salt));
      });
    },
  );
}

function record(
  program: readonly Step[],
  { a, b, c, d }: Columns,
  before: ArrayValue<'u32'>,
  i: U32,
  strip: U32,
): void {
  const readers = [
    (at: U32) => a.at(at),
    (at: U32) => bitsToU32(b.at(at)),
    (at: U32) => u32(c.at(at)),
    (at: U32) => u32(d.at(at)),
  ];
  const value = (of: Expression): U32 => {
    if (of.kind === 'literal') return u32(of.value);
    if (of.kind === 'index') return i;
    if (of.kind === 'strip') return strip;
    if (of.kind === 'own') return readers[of.column]!(value(of.at));
    if (of.kind === 'capture') return before.at(value(of.at));
    return of.kind === 'add' ? value(of.a).add(value(of.b)) : value(of.a).xor(value(of.b));
  };
  const writers = [
    (at: U32, x: U32) => a.set(at, x),
    (at: U32, x: U32) => b.set(at, bitsToI32(x)),
    (at: U32, x: U32) => c.set(at, f32(x.and(0xffffff))),
    (at: U32, x: U32) => d.set(at, x.and(1).eq(1)),
  ];
  const odd = (of: Expression) => value(of).and(1).eq(1);
  const run = (block: readonly Step[]): void => {
    for (const step of block) {
      if (step.kind === 'set') writers[step.column]!(value(step.at), value(step.value));
      else if (step.kind === 'return') If(odd(step.condition), () => Return({}));
      else if (step.kind === 'repeat') For(0, step.times, () => run(step.body));
      else If(odd(step.condition), () => run(step.yes)).Else(() => run(step.no));
    }
  };
  run(program);
}

/** Columns of a random program as plain words: f32 by its whole number, bools as 0 and 1. */
type Words = readonly [Uint32Array, Uint32Array, Uint32Array, Uint32Array];

/** What {@link functorOf} does, as a plain loop. */
function interpret(program: readonly Step[], n: number, rows: number, state: Words, before: Uint32Array, salt: number) {
  strips(n, rows, (first, end, strip) => {
    const owns = (i: number): boolean => i >= first && i < end;
    let isOver = false;
    for (let k = 0; k < end - first + 2 * BESIDE && !isOver; k++) {
      const index = (first + k - BESIDE) >>> 0;
      const value = (of: Expression): number => {
        if (of.kind === 'literal') return of.value;
        if (of.kind === 'index') return index;
        if (of.kind === 'strip') return (strip ^ salt) >>> 0;
        if (of.kind === 'own') return owns(value(of.at)) ? state[of.column]![value(of.at)]! : 0;
        if (of.kind === 'capture') return before[value(of.at)] ?? 0;
        return (of.kind === 'add' ? value(of.a) + value(of.b) : value(of.a) ^ value(of.b)) >>> 0;
      };
      const run = (block: readonly Step[]): void => {
        for (const step of block) {
          if (isOver) return;
          if (step.kind === 'set') {
            const [at, x] = [value(step.at), value(step.value)];
            if (owns(at)) state[step.column]![at] = step.column === 2 ? x & 0xffffff : step.column === 3 ? x & 1 : x;
          } else if (step.kind === 'return') isOver = value(step.condition) % 2 === 1;
          else if (step.kind === 'repeat') for (let round = 0; round < step.times; round++) run(step.body);
          else run(value(step.condition) % 2 === 1 ? step.yes : step.no);
        }
      };
      run(program);
    }
  });
}

/** Rows that a strip tries to give one value, many of which are not its own. An end beyond 2³² wraps around, before its beginning. */
const range = fc.record({
  relative: fc.boolean(),
  from: fc.oneof(fc.integer({ min: -9, max: 40 }), fc.constantFrom(250, 256, 2 ** 31, 2 ** 32 - 20)),
  length: fc.oneof(fc.nat({ max: 12 }), fc.constantFrom(16, 17, 31, 32, 33, 70)),
});

const filling = fn(
  {
    ...{ first: u32, begins: array(u32), lengths: array(u32), relative: array(bool), given: uniform(u32) },
    ...{ a: owned(u32), b: owned(i32), c: owned(f32), d: owned(bool) },
  },
  {},
  ({ first, begins, lengths, relative, given, a, b, c, d }) => {
    For(0, begins.length(), (k) => {
      const begin = Let(begins.at(k).add(select(u32(0), first, relative.at(k))));
      const end = Let(begin.add(lengths.at(k)));
      // Values differ from strip to strip, but for the literal.
      const [mixed, sum] = [Let(first.xor(k)), Let(f32(first.add(given)))];
      const isOdd = Let(mixed.and(1).eq(1));
      For(begin, end, (i) => a.set(i, mixed));
      For(begin, end, (i) => b.set(i, -7));
      For(begin, end, (i) => c.set(i, sum));
      For(begin, end, (i) => d.set(i, isOdd));
    });
  },
);

export const forEachStripLaws: readonly Law[] = [
  law(
    'forEachStrip reads what its strip has written, and nothing of other strips',
    [size, stripRows, presentation, fc.nat(2 ** 20)],
    async (run, n, rows, how, seed) => {
      const x = Float32Array.from(words(n, seed), (word) => (word % 2000) / 8 - 100);
      const running = fn({ first: u32, end: u32, x: owned(f32) }, {}, ({ first, end, x }) => {
        // Writes beside the strip do nothing, and the rows there are 0.
        for (const beside of [first.sub(1), end]) {
          x.set(beside, 1000);
          x.set(first, x.at(first).add(x.at(beside)));
        }
        For(first, end, (i) => x.set(i, x.at(i).add(x.at(i.sub(1)).mul(0.75))));
      });
      const expected = x.slice();
      strips(n, rows, (first, end) => {
        for (let i = first + 1; i < end; i++) {
          expected[i] = Math.fround(expected[i]! + Math.fround(expected[i - 1]! * 0.75));
        }
      });
      assertSame(await run((context) => forEachStrip(present(context, { x }, how), [{ rows, each: running }])), {
        x: expected,
      });
    },
  ),
  law(
    'a program of strips equals a plain loop, whatever rows it reads and writes',
    [fc.nat({ max: 70 }), stripRows, presentation, fc.nat(2 ** 20), steps],
    async (run, n, rows, how, seed, program) => {
      const a = words(n, seed);
      const b = new Int32Array(words(n, seed + 1).buffer);
      const c = Float32Array.from(words(n, seed + 2), (word) => word & 0xffffff);
      const d = Array.from(words(n, seed + 3), (word) => word % 2 === 1);
      const state: Words = [
        a.slice(),
        new Uint32Array(b.slice().buffer),
        Uint32Array.from(c),
        Uint32Array.from(d, Number),
      ];
      interpret(program, n, rows, state, a, seed);
      const each = functorOf(program);
      const result = await run((context) => {
        const columns = present(context, { a, b, c, d }, how);
        return forEachStrip(columns, [{ rows, each }], { captures: { before: columns.a, salt: seed } });
      });
      const [as, bs, cs, ds] = state;
      assertSame(result, { a: as, b: new Int32Array(bs.buffer), c: Float32Array.from(cs), d: Uint8Array.from(ds) });
    },
  ),
  law(
    'the steps of forEachStrip follow one another, captures and columns keep the values from before the call',
    [size, fc.array(fc.option(stripRows, { nil: undefined }), { maxLength: 3 }), presentation, fc.nat(2 ** 20)],
    async (run, n, lengths, how, seed) => {
      const x = words(n, seed);
      const mix = fn(
        { first: u32, end: u32, x: owned(u32), count: owned(u32), before: array(u32) },
        {},
        ({ first, end, x, count, before }) => {
          For(first, end, (i) => {
            x.set(
              i,
              x
                .at(i.sub(1))
                .mul(3)
                .add(x.at(i))
                .xor(before.at(i.add(1))),
            );
            count.set(
              i,
              count
                .at(i)
                .add(select(u32(0), 1, x.at(i).and(1).eq(1)))
                .add(count.length().shl(8)),
            );
          });
        },
      );
      const expected = { x: x.slice(), count: new Uint32Array(n) };
      for (const rows of lengths) {
        strips(n, rows ?? Math.max(1, n), (first, end) => {
          for (let i = first; i < end; i++) {
            const left = i > first ? expected.x[i - 1]! : 0;
            expected.x[i] = (Math.imul(left, 3) + expected.x[i]!) ^ (x[i + 1] ?? 0);
            expected.count[i] = expected.count[i]! + (expected.x[i]! % 2) + (n << 8);
          }
        });
      }
      const result = await run((context) => {
        const given = present(context, { x }, how);
        const state = { ...given, count: constant(u32, 0, given.x.length) };
        const steps = lengths.map((rows) => ({ rows, each: mix }));
        return { made: forEachStrip(state, steps, { captures: { before: given.x } }), given: given.x };
      });
      assertSame(result, { made: expected, given: x });
    },
  ),
  law(
    'loops that give ranges of rows one value change the rows of their strip alone',
    [size, stripRows, presentation, fc.nat(2 ** 20), fc.array(range, { minLength: 4, maxLength: 8 })],
    async (run, n, rows, how, seed, ranges) => {
      const a = words(n, seed);
      const b = new Int32Array(words(n, seed + 1).buffer);
      const c = Float32Array.from(words(n, seed + 2), (word) => word & 0xffffff);
      const d = Array.from(words(n, seed + 3), (word) => word % 2 === 1);
      const expected = { a: a.slice(), b: b.slice(), c: c.slice(), d: Uint8Array.from(d, Number) };
      strips(n, rows, (first, end) => {
        for (const [k, { relative, from, length }] of ranges.entries()) {
          const begin = (from + (relative ? first : 0)) >>> 0;
          for (let i = Math.max(first, begin); i < Math.min(end, (begin + length) >>> 0); i++) {
            expected.a[i] = first ^ k;
            expected.b[i] = -7;
            expected.c[i] = first + seed;
            expected.d[i] = (first ^ k) & 1;
          }
        }
      });
      const result = await run((context) => {
        const begins = Uint32Array.from(ranges, ({ from }) => from);
        const lengths = Uint32Array.from(ranges, ({ length }) => length);
        const relative = ranges.map((each) => each.relative);
        const captures = { ...present(context, { begins, lengths, relative }, how), given: seed };
        return forEachStrip(present(context, { a, b, c, d }, how), [{ rows, each: filling }], { captures });
      });
      assertSame(result, expected);
    },
  ),
  law('a functor that reads and writes no column changes nothing', [size, stripRows], async (run, n, rows) => {
    const x = words(n, n);
    const idle = fn({ x: owned(u32) }, {}, () => ({}));
    const reading = fn({ x: owned(u32), strip: u32 }, {}, ({ x, strip }) => void x.at(strip));
    const result = await run((context) =>
      forEachStrip({ x: context.column(x) }, [
        { rows, each: idle },
        { rows, each: reading },
      ]),
    );
    assertSame(result, { x });
  }),
];
