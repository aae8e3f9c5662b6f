import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import * as q from '../../../primitives/index.ts';
import { openReference } from '../../support/reference-context.ts';

const { array, fn, input, u32 } = q;

type Loose = { readonly [name: string]: (...args: unknown[]) => unknown };
const hostColumn = openReference().column(Uint32Array.of(1)) as unknown;

/** Slips of a functor's body that JavaScript allows. Each is refused with a remedy. */
const slips: {
  readonly [name: string]: readonly [code: string, remedy: string, body: (x: q.U32, t: never) => unknown];
} = {
  'If of two values': [
    'functor/argument',
    'select(ifFalse, ifTrue, condition)',
    (x) => q.If(x.eq(1), u32(1) as never, u32(2) as never),
  ],
  'If of two bodies': ['functor/argument', '.Else(', (x) => q.If(x.eq(1), () => {}, (() => {}) as never)],
  'For with a step after its body': [
    'functor/argument',
    'For({ from, to, step }',
    (x) => (q.For as Loose['For'])!(x, 0, () => {}, { step: -1 }),
  ],
  'a range of For with a step after its body': [
    'functor/argument',
    'For({ from, to, step }',
    (x) => (q.For as Loose['For'])!({ from: x, to: 0 }, () => {}, -1),
  ],
  'Var of a number': ['functor/argument', 'u32(0)', () => q.Var(0 as never)],
  'an index from the end': ['functor/index', 'length().sub(1)', (_, t: q.ArrayValue<'u32'>) => t.at(-1)],
  'an index in brackets': ['functor/javascript-operator', 't.at(i)', (x, t) => t[x as never]],
  'a template': ['functor/javascript-operator', 'no text', (x) => `${x}`],
  'a function of Math': ['functor/javascript-operator', 'x.max(0)', (x) => Math.max(x as never, 0)],
  'a method that is a function': ['functor/member', 'popcount(x)', (x) => (x as never as q.F32 & Loose).popcount!()],
  'a method of values on an array': ['functor/member', 't.at(i).sub(', (_, t) => (t as Loose).sub!(1)],
  'a column of the host': ['functor/member', 'array(f32)', () => (hostColumn as Loose).at!(0)],
  'an operator of JavaScript': ['functor/javascript-operator', '.lt(', (x) => ((x as never) < 2 ? x : u32(1))],
  '=== as a condition': ['functor/argument', '.eq(2)', (x) => q.select(u32(1), u32(2), ((x as never) === 2) as never)],
  '! as a condition': ['functor/argument', '.not()', (x) => q.select(u32(1), u32(2), !x.eq(2) as never)],
  '&& of comparisons': ['functor/unused-condition', '.and(', (x) => q.select(u32(1), x, (x.lt(2) && x.gt(0)) as never)],
  'a comparison in ?:': ['functor/unused-condition', 'select(', (x) => (x.eq(2) ? u32(1) : u32(2))],
};

test.each(Object.entries(slips))('%s is refused with a remedy', (_, [code, remedy, body]) => {
  const make = (): unknown => fn({ x: u32, t: array(u32) }, u32, ({ x, t }) => body(x, t as never) as q.U32).module;
  expect(make).toThrow(expect.objectContaining({ code, remedy: expect.stringContaining(remedy) }));
});

test('a body with a parameter for each argument is refused with a remedy', () => {
  const refusal = (remedy: string) => expect.objectContaining({ code: 'functor/member', remedy });
  const sum = (a: q.U32, b: q.U32) => a.add(b);
  const remedy = (names: string) => `A body has one parameter, a record: write ({ ${names} }) => ….`;
  expect(() => fn({ x: u32, y: u32 }, u32, sum as never).module).toThrow(refusal(remedy('x, y')));
  const added = () => q.monoid({ of: u32, identity: 0, exact: true, combine: sum as never }).combine.module;
  expect(added).toThrow(refusal(remedy('a, b')));
});

test('a third argument of map is refused, and a field that a result does not have', async () => {
  const context = openReference();
  const x = context.column(Uint32Array.of(1, 2));
  const same = fn({ x: u32 }, u32, (given) => given.x);
  const loose = q.map as unknown as Loose['map'];
  expect(() => loose!(same, { x }, 3)).toThrow(expect.objectContaining({ code: 'map/extra-argument' }));
  const wide = fn({ x: u32 }, { p: { x: u32 } }, (given) => ({ p: { x: given.x, y: 2 } }));
  const refusal = { code: 'functor/extra-field', message: expect.stringContaining('p.y') };
  expect(() => wide.module).toThrow(expect.objectContaining(refusal));
  // A wider table may be passed: nothing is lost.
  expect(await context.read(q.map(same, { x, y: x } as { x: q.Column<'u32'> }))).toEqual(Uint32Array.of(1, 2));
});

test('a console shows the type, the length and the place of a column', () => {
  const context = openReference();
  const x = context.column(Uint32Array.of(1, 2));
  const doubled = q.map(
    fn({ x: u32 }, u32, (given) => given.x.mul(2)),
    { x },
  );
  expect(inspect({ x, doubled }, { breakLength: Infinity })).toBe(
    '{ x: Column { u32, length 2, stored on reference }, doubled: Column { u32, length 2, view of map on reference } }',
  );
  const few = q.copyIf(
    x,
    q.map(
      fn({ x: u32 }, q.bool, (given) => given.x.gt(1)),
      { x },
    ),
  );
  expect(inspect(few)).toBe('Column { u32, length at most 2, stored on reference }');
  context.dispose(x);
  expect(inspect(x)).toBe('Column { u32, length 2, freed on reference }');
});

test('a step that swaps its tables is refused, and the remedy swaps them', async () => {
  const context = openReference();
  const args = { a: context.column(Uint32Array.of(1, 2)), b: context.column(Uint32Array.of(3, 4)) };
  const inputs = { a: input(u32, 2), b: input(u32, 2) };
  const swap = context.prepare(inputs, ({ a, b }) => ({ a: b, b: a }));
  const refusal = { code: 'iterate/state', remedy: expect.stringContaining('context.materialize(map(same') };
  await expect(context.iterate(swap, args, { maxRounds: 3 })).rejects.toMatchObject(refusal);
  const same = fn({ x: u32 }, u32, ({ x }) => x);
  const copies = context.prepare(inputs, ({ a, b }) =>
    context.materialize({ a: q.map(same, { x: b }), b: q.map(same, { x: a }) }),
  );
  for (const maxRounds of [1, 2, 3, 4]) {
    const { result } = await context.iterate(copies, args, { maxRounds });
    const [a, b] = [Uint32Array.of(1, 2), Uint32Array.of(3, 4)];
    expect(await context.read(result)).toEqual(maxRounds % 2 === 0 ? { a, b } : { a: b, b: a });
  }
});

test('x === 2 ? a : b is b for every row, and TypeScript refuses it', async () => {
  // @ts-expect-error A value of a functor is never equal to a number.
  const chosen = fn({ x: u32 }, u32, ({ x }) => (x === 2 ? u32(7) : u32(9)));
  const context = openReference();
  const read = await context.read(q.map(chosen, { x: context.column(Uint32Array.of(1, 2, 3)) }));
  expect(read).toEqual(Uint32Array.of(9, 9, 9));
});
