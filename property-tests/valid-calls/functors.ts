import * as q from '../../primitives/index.ts';
import { fn, u32 } from '../../primitives/index.ts';
import { factsOf, operationNames } from '../../primitives/ir/operations.ts';
import { type Arguments, opaque, type ValidCall, type ValidCalls } from './valid-call.ts';

/** Values that exist only in the body of a functor. They can be arguments of calls in the body. */
interface Body {
  readonly a: q.U32;
  readonly i: q.I32;
  readonly f: q.F32;
  readonly flag: q.Bool;
}

/**
 * Names of the values in a functor's body. The values exist only while the body is recorded, so until then the
 * arguments are placeholders with these names.
 */
const VALUES: readonly (keyof Body)[] = ['a', 'i', 'f', 'flag'];
const values = Object.fromEntries(VALUES.map((name) => [name, opaque({ name })])) as Record<keyof Body, object>;
const { a, i, f, flag } = values;

/** A valid call that has to be made inside a functor's body. */
function inBody(call: (...args: unknown[]) => unknown, args: () => Arguments): ValidCall {
  return {
    args,
    unnamed: 'errors of functors name the line, the operand and its type',
    call: (...given: unknown[]) => {
      const written = fn({ a: u32, i: q.i32, f: q.f32, flag: q.bool }, u32, (body) => {
        call(...(given.map((each) => inside(each, body as unknown as Body)) as never[]));
        return body.a;
      });
      return written.module;
    },
  };
}

function inside(given: unknown, body: Body): unknown {
  const name = VALUES.find((each) => values[each] === given);
  if (name !== undefined) return body[name];
  if (typeof given !== 'object' || given === null || Object.getPrototypeOf(given) !== Object.prototype) return given;
  return Object.fromEntries(Object.entries(given).map(([key, part]) => [key, inside(part, body)]));
}

/** A valid call of a functor itself, with a value for every parameter. */
export function callOfFunctor(functor: q.Functor<q.Parameters, q.Shape>): ValidCall {
  return inBody(functor as never, () => ({ args: valuesOf(functor.parameters as never) }));
}

function valuesOf(shape: Arguments | { readonly type: string }): unknown {
  if (typeof shape === 'function') return { u32: a, i32: i, f32: f, bool: flag }[(shape as { type: 'u32' }).type];
  return Object.fromEntries(Object.entries(shape).map(([name, part]) => [name, valuesOf(part as Arguments)]));
}

const one = (value: object) => (): Arguments => ({ x: value });
const ofFloat = <N extends string>(name: N): [N, () => Arguments] => [name, one(f)];
const body = (): void => {};
const literal = (): Arguments => ({ value: 1 });
const identity = fn({ x: u32 }, u32, ({ x }) => x);

const inBodies: readonly (readonly [name: keyof typeof q, args: () => Arguments])[] = [
  ['For', () => ({ from: 0, to: 3, body })],
  ['If', () => ({ condition: flag, body })],
  ['Let', () => ({ value: a })],
  ['LocalArray', () => ({ length: 4, value: a })],
  ['Return', () => ({ value: a })],
  ['Var', () => ({ value: a })],
  ['bitsToF32', one(a)],
  ['bitsToI32', one(a)],
  ['bitsToU32', one(i)],
  ['bool', () => ({ value: true })],
  ['clamp', () => ({ x: a, low: 1, high: 2 })],
  ['dotOfHalves', () => ({ a, b: a })],
  ['f32', literal],
  ...(['sin', 'cos', 'tan', 'asin', 'acos', 'atan', 'exp', 'exp2', 'expm1', 'log', 'log2', 'log1p'] as const).map(
    ofFloat,
  ),
  ...(['sinh', 'cosh', 'tanh', 'cbrt', 'fract', 'sign'] as const).map(ofFloat),
  ['atan2', () => ({ y: f, x: f })],
  ['pow', () => ({ x: f, y: f })],
  ['hypot', () => ({ x: f, y: f })],
  ['remainder', () => ({ x: f, y: f })],
  ['fma', () => ({ a: f, b: f, c: f })],
  ['byComponent', () => ({ component: (x: q.F32) => x, a: { x: f, y: f } })],
  ['dot', () => ({ a: { x: f }, b: { x: f } })],
  ['cross', () => ({ a: { x: f, y: f, z: f }, b: { x: f, y: f, z: f } })],
  ['length', () => ({ a: { x: f } })],
  ['distance', () => ({ a: { x: f }, b: { x: f } })],
  ['normalize', () => ({ a: { x: f } })],
  ['mix', () => ({ a: f, b: f, t: f })],
  ['i32', literal],
  ['i64OfI32', () => ({ a: i })],
  ['max', () => ({ first: a, second: 2 })],
  ['min', () => ({ first: a, second: 2 })],
  ['packHalves', () => ({ low: i, high: i })],
  ['select', () => ({ a, b: 2, condition: flag })],
  ['u32', literal],
  ['u64OfU32', () => ({ a })],
];

/** The functions that are operations of the same name. Their parameters are `x`, or `x` and `count`, or `a` and `b`. */
const ofOperations = operationNames
  .filter((name) => name in q && !inBodies.some(([other]) => other === name))
  .map((name) => {
    const { on, signature } = factsOf(name);
    const value = { u32: a, i32: i, f32: f, bool: flag }[on[0]!];
    const others = { unary: { x: value }, shift: { x: value, count: a } };
    return [name, () => others[signature as keyof typeof others] ?? { a: value, b: value }] as const;
  });

const type = (): Arguments => ({ type: u32 });
const exported: Readonly<Record<string, unknown>> = q;

export const functorCalls: ValidCalls = {
  ...Object.fromEntries(
    [...ofOperations, ...inBodies].map(([name, args]) => [name, inBody(exported[name] as never, args)]),
  ),
  While: inBody(
    ((condition: () => unknown, own: unknown) => q.While(condition as never, own as never)) as never,
    () => ({ condition: () => q.u32(1).eq(2), body }),
  ),
  array: type,
  uniform: type,
  owned: { args: () => ({ type: u32 }) },
  neighbours: { args: () => ({ shape: u32 }), takes: { 'shape: an object': 'a shape without fields' } },
  fn: {
    unnamed: 'what is no name is taken for the parameters, which may come first',
    takes: { 'result: an object': 'a result without fields' },
    args: () => ({
      'name?': 'same',
      parameters: { x: u32 },
      result: u32,
      body: ({ x }: { x: q.U32 }) => x,
      'options?': { 'fast?': true },
    }),
    call: (...args: unknown[]) => (q.fn as (...all: unknown[]) => typeof identity)(...args).module,
  },
  wgsl: {
    args: () => ({
      text: 'fn same(x: u32) -> u32 { return x; }',
      'options?': { 'name?': 'same', 'fast?': true, 'entry?': 'same' },
    }),
  },
  isFunctor: { args: () => ({ thing: identity }), takes: { '*': 'it tells of anything whether it is a functor' } },
};
