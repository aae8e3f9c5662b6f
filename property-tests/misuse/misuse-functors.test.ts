import * as q from '../../index.ts';
import { arityOf, operationNames } from '../../primitives/ir/operations.ts';
import { arrow, c, double, type Loose, p, promise, type Row, refuses } from './misuse-support.ts';

const { u32 } = q;

const unaryFunctions = operationNames.filter((name) => name in q && arityOf(name) === 1);

/** Makes a call that writes a functor with a mistake in its body. */
const inBody =
  (write: (args: Record<'x' | 'table', Record<string, (...args: unknown[]) => unknown>>) => unknown) => () =>
    (p.fn!({ x: u32, table: q.array(u32) }, u32, write as never) as { module: unknown }).module;

/** Makes a call that writes a functor with a mistake about a local array of four u32. */
const ofArray = (write: (cells: Loose, x: Loose) => unknown) =>
  inBody(({ x }) => {
    write(p.LocalArray!(4, p.u32!(0)) as Loose, x);
    return x;
  });

const rows: readonly Row[] = [
  ['fn, nothing', () => p.fn!(), 'functor/argument', 'parameters'],
  ['fn, no body', () => p.fn!({ x: u32 }, u32), 'functor/argument', 'body'],
  ['fn, a number for the body', () => p.fn!({ x: u32 }, u32, 7), 'functor/argument', 'body'],
  ['fn, a promise for the body', () => p.fn!({ x: u32 }, u32, promise), 'functor/promise', 'body'],
  ['fn, an array of parameters', () => p.fn!([u32], u32, arrow), 'functor/argument', 'parameters'],
  ['fn, a parameter that is not a type', () => p.fn!({ x: 'u32' }, u32, arrow), 'functor/argument', 'parameters.x'],
  ['fn, a result that is not a type', () => p.fn!({ x: u32 }, { y: null }, arrow), 'functor/argument', 'result.y'],
  ['fn, an unknown option', () => p.fn!({ x: u32 }, u32, arrow, { slow: true }), 'functor/option', 'slow'],
  ['fn, a text for an option', () => p.fn!({ x: u32 }, u32, arrow, { fast: 'yes' }), 'functor/argument', 'fast'],
  ['fn, a number for the options', () => p.fn!({ x: u32 }, u32, arrow, 7), 'functor/argument', 'options'],
  ['array, nothing', () => p.array!(), 'functor/argument', 'type'],
  ['array, a record of a word', () => p.array!({ x: 'u32' }), 'functor/argument', 'type'],
  ['uniform, a promise', () => p.uniform!(promise), 'functor/promise', 'type'],
  ['neighbours, nothing', () => p.neighbours!(), 'functor/argument', 'shape'],
  ['wgsl, nothing', () => p.wgsl!(), 'functor/argument', 'text'],
  ['wgsl, a promise', () => p.wgsl!(promise), 'functor/promise', 'text'],
  ['wgsl, a functor', () => p.wgsl!(double), 'functor/argument', 'text'],
  [
    'wgsl, a promise in a template',
    () => q.wgsl`fn f(x: u32) -> u32 { return ${promise as never}; }`,
    'functor/promise',
    'text',
  ],
  [
    'wgsl, an unknown option',
    () => p.wgsl!('fn f(x: u32) -> u32 { return x; }', { entries: 'f' }),
    'functor/option',
    'entries',
  ],
  [
    'wgsl, a number for a name',
    () => p.wgsl!('fn f(x: u32) -> u32 { return x; }', { name: 7 }),
    'functor/argument',
    'name',
  ],
  [
    'wgsl, invalid parameters',
    () => p.wgsl!('fn f(x: u32) -> u32 { return x; }', { parameters: 7 }),
    'functor/argument',
    'parameters',
  ],
  [
    'wgsl, an invalid result',
    () => p.wgsl!('fn f(x: u32) -> u32 { return x; }', { result: { x: 1 } }),
    'functor/argument',
    'result',
  ],
  ['a functor called outside of a functor', () => p.mulU32!({ a: 1, b: 2 }), 'functor/outside-body', 'outside'],
  ['u32 outside of a functor', () => c.read!(p.u32!(1)), 'column/type', 'read'],
  ['Var outside of a functor', () => p.Var!(p.u32!(1)), 'functor/outside-body', 'outside'],
  ['Var of a number', inBody(() => p.Var!(0)), 'functor/argument', 'value'],
  ['LocalArray outside of a functor', () => p.LocalArray!(4, p.u32!(1)), 'functor/outside-body', 'outside'],
  ['LocalArray of nothing', inBody(() => p.LocalArray!()), 'functor/argument', 'length'],
  ['LocalArray of a value as length', inBody(({ x }) => p.LocalArray!(x, x)), 'functor/argument', 'length'],
  ['LocalArray of no elements', inBody(({ x }) => p.LocalArray!(0, x)), 'functor/argument', 'length'],
  ['LocalArray of too many elements', inBody(({ x }) => p.LocalArray!(257, x)), 'functor/argument', 'from 1 to 256'],
  ['LocalArray of a fraction of elements', inBody(({ x }) => p.LocalArray!(1.5, x)), 'functor/argument', '1.5'],
  ['LocalArray of a number', inBody(() => p.LocalArray!(4, 0)), 'functor/argument', 'value'],
  ['LocalArray of a record of numbers', inBody(() => p.LocalArray!(4, { a: 0 })), 'functor/argument', 'value.a'],
  ['LocalArray of a record without fields', inBody(() => p.LocalArray!(4, {})), 'functor/argument', 'a field'],
  [
    'LocalArrays of too many elements',
    inBody(({ x }) => [1, 2, 3, 4, 5].map(() => p.LocalArray!(256, x))),
    'functor/size',
    '1024',
  ],
  ['an index of f32', ofArray((cells) => cells.at!(p.f32!(1))), 'functor/type', 'f32'],
  ['an index that is a text', ofArray((cells) => cells.at!('1')), 'functor/type', "'1'"],
  ['no index', ofArray((cells) => cells.at!()), 'functor/type', 'nothing'],
  ['an element that an array does not have', ofArray((cells) => cells.at!(4)), 'functor/index', 'at(3)'],
  ['a negative element', ofArray((cells) => cells.set!(-1, 1)), 'functor/index', '-1'],
  ['half an element', ofArray((cells) => cells.at!(0.5)), 'functor/index', '0.5'],
  ['an element of another type', ofArray((cells, x) => cells.set!(x, p.f32!(1))), 'functor/type', 'f32'],
  ['set of an element without a value', ofArray((cells, x) => cells.set!(x)), 'functor/type', 'nothing'],
  ['an element by square brackets', ofArray((cells, x) => x.add!(cells[0])), 'functor/type', 'nothing'],
  ['an unknown method of a local array', ofArray((cells) => cells.push!(1)), 'functor/member', 'push'],
  [
    'a local array out of its block',
    inBody(({ x }) => {
      let cells = {} as Loose;
      p.If!(x.eq!(1), () => {
        cells = p.LocalArray!(4, x) as Loose;
      });
      return cells.at!(0);
    }),
    'functor/out-of-scope',
    'LocalArray before the block',
  ],
  [
    'a local array of another functor',
    inBody(({ x }) => {
      const cells = p.LocalArray!(4, x) as Loose;
      return (p.fn!({ y: u32 }, u32, () => cells.at!(0)) as Loose['x'])({ y: x });
    }),
    'functor/out-of-scope',
    'functor in which it was made',
  ],
  [
    'a local array passed to a functor',
    inBody(({ x }) => (p.fn!({ t: q.array(u32) }, u32, () => 1) as Loose['x'])({ t: p.LocalArray!(4, x) })),
    'functor/type',
    'array of u32',
  ],
  [
    'a record that an array is set to, with a field missing',
    inBody(({ x }) => (p.LocalArray!(4, { a: x, b: x }) as Loose).set!(0, { a: x })),
    'functor/missing-field',
    'b',
  ],
  [
    'a record that an array is set to, with a field too many',
    inBody(({ x }) => (p.LocalArray!(4, { a: x }) as Loose).set!(0, { a: x, c: x })),
    'functor/extra-field',
    'c',
  ],
  ['Let of nothing', inBody(() => p.Let!()), 'functor/argument', 'value'],
  ['If of a number', inBody(({ x }) => p.If!(x, () => {})), 'functor/argument', 'condition'],
  ['If of true', inBody(() => p.If!(true, () => {})), 'functor/argument', 'condition'],
  ['If without a body', inBody(({ x }) => p.If!(x.eq!(1))), 'functor/argument', 'body'],
  ['Else without a body', inBody(({ x }) => (p.If!(x.eq!(1), () => {}) as Loose).Else!()), 'functor/argument', 'body'],
  [
    'ElseIf of a value',
    inBody(({ x }) => (p.If!(x.eq!(1), () => {}) as Loose).ElseIf!(x.eq!(2), () => {})),
    'functor/argument',
    'condition',
  ],
  ['While of a value', inBody(({ x }) => p.While!(x.eq!(1), () => {})), 'functor/argument', 'condition'],
  [
    'While of a function of a number',
    inBody(() =>
      p.While!(
        () => 1,
        () => {},
      ),
    ),
    'functor/argument',
    'condition',
  ],
  ['For without a body', inBody(() => p.For!(0, 3)), 'functor/argument', 'body'],
  ['For to a text', inBody(() => p.For!(0, '3', () => {})), 'functor/type', "'3'"],
  ['Return of nothing', inBody(() => p.Return!()), 'functor/missing-field', 'value'],
  ['Break outside of a loop', inBody(() => p.Break!()), 'functor/outside-loop', 'Break'],
  ['select of two numbers', inBody(({ x }) => p.select!(1, 2, x.eq!(1))), 'functor/argument', 'select'],
  ['select without a condition', inBody(({ x }) => p.select!(x, x)), 'functor/argument', 'condition'],
  ['min of numbers', inBody(() => p.min!(1, 2)), 'functor/argument', 'first'],
  ['max of nothing', inBody(() => p.max!()), 'functor/argument', 'first'],
  ['clamp of a number', inBody(() => p.clamp!(1, 2, 3)), 'functor/argument', 'x'],
  ['mulhi of a number', inBody(({ x }) => p.mulhi!(x, 2)), 'functor/argument', 'b'],
  ...[...unaryFunctions, 'bitsToU32', 'bitsToI32', 'bitsToF32'].map(
    (name): Row => [`${name} of nothing`, inBody(() => p[name]!()), 'functor/argument', name],
  ),
  ['an unknown method', inBody(({ x }) => x.sin!()), 'functor/member', 'sin'],
  ['a field of a number', inBody(({ x }) => (x.lo as unknown as Loose).add!(1)), 'functor/member', 'add'],
  ['set of a value', inBody(({ x }) => x.set!(1)), 'functor/member', 'set'],
  ['an unknown method of an array', inBody(({ table }) => table.get!(0)), 'functor/member', 'get'],
  ['an element of an array by square brackets', inBody(({ x, table }) => x.add!(table[0])), 'functor/type', 'nothing'],
  ['a method without its operand', inBody(({ x }) => x.add!()), 'functor/type', 'nothing'],
  ['a promise as operand', inBody(({ x }) => x.add!(promise)), 'functor/promise', 'promise'],
  ['a text as operand', inBody(({ x }) => x.add!('1')), 'functor/type', "'1'"],
  ['a fraction as operand', inBody(({ x }) => x.add!(0.5)), 'functor/literal', '0.5'],
  ['a text as literal', inBody(() => p.u32!('1')), 'functor/literal', "'1'"],
  ['a promise as literal', inBody(() => p.f32!(promise)), 'functor/literal', 'promise'],
  ['nothing returned', inBody(() => undefined), 'functor/no-return', 'functor'],
  ['a promise returned', inBody(async ({ x }) => x), 'functor/promise', 'promise'],
  ['a functor called with nothing', inBody(() => (double as never as Loose['x'])!()), 'functor/argument', 'double'],
  ['a functor called with a number', inBody(() => p.mulU32!(1, 2)), 'functor/argument', 'mulU32'],
  ['a functor called without a field', inBody(() => p.mulU32!({ a: 1 })), 'functor/missing-field', 'b'],
];

refuses(rows);
