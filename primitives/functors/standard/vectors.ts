import { requireFunction } from '../../checks/arguments.ts';
import { isRecord } from '../../checks/given.ts';
import { f32 } from '../functor.ts';
import { wrongInput } from '../recorder.ts';
import type { Scalar } from '../shapes.ts';
import { type F32, requireOperand, Value } from '../value.ts';
import { sqrt } from './rounding.ts';

/**
 * The shape of a vector of two f32: a record, so a parameter, a result, or the rows of a table with a column for each
 * component. Its components are values like others, and {@link byComponent} computes with all of them.
 */
export const vec2f: { readonly x: Scalar<'f32'>; readonly y: Scalar<'f32'> } = { x: f32, y: f32 };

/** The shape of a vector of three f32, as {@link vec2f}. */
export const vec3f: { readonly x: Scalar<'f32'>; readonly y: Scalar<'f32'>; readonly z: Scalar<'f32'> } = {
  x: f32,
  y: f32,
  z: f32,
};

/** The shape of a vector of four f32, as {@link vec2f}. */
export const vec4f: {
  readonly x: Scalar<'f32'>;
  readonly y: Scalar<'f32'>;
  readonly z: Scalar<'f32'>;
  readonly w: Scalar<'f32'>;
} = {
  ...{ x: f32, y: f32 },
  ...{ z: f32, w: f32 },
};

/**
 * Computes a vector component by component, from the same components of one vector, or of two or three with the same
 * components.
 *
 * @throws FunctorError `functor/argument` if a vector is no record of f32, or a component is missing.
 * @example
 * const between = fn({ a: vec2f, b: vec2f, t: f32 }, vec2f, ({ a, b, t }) => byComponent((x, y) => mix(x, y, t), a, b));
 * const a = { x: ctx.column(Float32Array.of(0)), y: ctx.column(Float32Array.of(1)) };
 * const b = { x: ctx.column(Float32Array.of(4)), y: ctx.column(Float32Array.of(3)) };
 * await ctx.read(map(between, { a, b, t: ctx.column(Float32Array.of(0.25)) })); // { x: Float32Array [1], y: Float32Array [1.5] }
 */
export function byComponent<V extends { readonly [K in keyof V]: F32 }>(
  component: (a: F32) => F32,
  a: V,
): { readonly [K in keyof V]: F32 };
export function byComponent<V extends { readonly [K in keyof V]: F32 }>(
  component: (a: F32, b: F32) => F32,
  a: V,
  b: NoInfer<V>,
): { readonly [K in keyof V]: F32 };
export function byComponent<V extends { readonly [K in keyof V]: F32 }>(
  component: (a: F32, b: F32, c: F32) => F32,
  a: V,
  b: NoInfer<V>,
  c: NoInfer<V>,
): { readonly [K in keyof V]: F32 };
export function byComponent(component: (a: F32, b: F32, c: F32) => F32, a: object, b?: object, c?: object): unknown {
  requireFunction('byComponent', 'component', component);
  const first = partsOf('byComponent', 'a', a);
  const names = Object.keys(first);
  const second = b && partsOf('byComponent', 'b', b, names);
  const third = c && partsOf('byComponent', 'c', c, names);
  return Object.fromEntries(
    names.map((name) => [name, component(first[name]!, second?.[name] as F32, third?.[name] as F32)]),
  );
}

/** The components of a vector, which must have those of `names`, or one at least. */
function partsOf(call: string, argument: string, given: unknown, names?: readonly string[]): Record<string, F32> {
  if (!isRecord(given) || given instanceof Value) throw wrongInput(call, argument, given, 'a record of f32');
  const own = names ?? Object.keys(given);
  if (own.length === 0) throw wrongInput(call, argument, given, 'a record of f32 with a component');
  return Object.fromEntries(
    own.map((name): [string, F32] => {
      const operand = requireOperand(call, `${argument}.${name}`, given[name]);
      if (operand.type === 'f32') return [name, new Value<'f32'>(operand)];
      throw wrongInput(call, `${argument}.${name}`, given[name], 'a value of f32');
    }),
  );
}

/**
 * The sum of the products of the components of two vectors, in the order of the fields of `a`. Every product and sum is
 * rounded.
 *
 * @example
 * const f = fn({ a: vec3f }, f32, ({ a }) => sqrt(dot(a, a)));
 * const a = { x: ctx.column(Float32Array.of(2)), y: ctx.column(Float32Array.of(3)), z: ctx.column(Float32Array.of(6)) };
 * await ctx.read(map(f, { a })); // Float32Array [7]
 */
export function dot<V extends { readonly [K in keyof V]: F32 }>(a: V, b: NoInfer<V>): F32 {
  const left = partsOf('dot', 'a', a);
  const right = partsOf('dot', 'b', b, Object.keys(left));
  return Object.keys(left)
    .map((name) => left[name]!.mul(right[name]!))
    .reduce((sum, product) => sum.add(product));
}

/**
 * The cross product of two vectors of three components. Every product and difference is rounded.
 *
 * @example
 * const f = fn({ a: vec3f, b: vec3f }, vec3f, ({ a, b }) => cross(a, b));
 * const [one, zero] = [ctx.column(Float32Array.of(1)), ctx.column(Float32Array.of(0))];
 * await ctx.read(map(f, { a: { x: one, y: zero, z: zero }, b: { x: zero, y: one, z: zero } }));
 * // { x: Float32Array [0], y: Float32Array [0], z: Float32Array [1] }
 */
export function cross(
  a: { readonly x: F32; readonly y: F32; readonly z: F32 },
  b: { readonly x: F32; readonly y: F32; readonly z: F32 },
): { readonly x: F32; readonly y: F32; readonly z: F32 } {
  const left = partsOf('cross', 'a', a, ['x', 'y', 'z']);
  const right = partsOf('cross', 'b', b, ['x', 'y', 'z']);
  const across = (p: string, q: string): F32 => left[p]!.mul(right[q]!).sub(left[q]!.mul(right[p]!));
  return { x: across('y', 'z'), y: across('z', 'x'), z: across('x', 'y') };
}

/**
 * The length of a vector: the square root of `dot(a, a)`, each operation rounded. It is 0 or inexact where the squares of
 * components are subnormal (components below 1e-19), and infinite where they overflow (above 1.8e19); `hypot` has
 * neither limit.
 *
 * @example
 * const f = fn({ a: vec3f }, f32, ({ a }) => length(a));
 * const a = { x: ctx.column(Float32Array.of(2)), y: ctx.column(Float32Array.of(3)), z: ctx.column(Float32Array.of(6)) };
 * await ctx.read(map(f, { a })); // Float32Array [7]
 */
export function length<V extends { readonly [K in keyof V]: F32 }>(a: V): F32 {
  return lengthOf(partsOf('length', 'a', a));
}

const lengthOf = (a: Record<string, F32>): F32 => sqrt(dot(a, a));

/**
 * The distance between two points: the {@link length} of the vector from one to the other, each operation rounded.
 *
 * @example
 * const f = fn({ a: vec2f, b: vec2f }, f32, ({ a, b }) => distance(a, b));
 * const [one, four, five] = [1, 4, 5].map((value) => ctx.column(Float32Array.of(value)));
 * await ctx.read(map(f, { a: { x: one, y: one }, b: { x: four, y: five } })); // Float32Array [5]
 */
export function distance<V extends { readonly [K in keyof V]: F32 }>(a: V, b: NoInfer<V>): F32 {
  const from = partsOf('distance', 'a', a);
  const to = partsOf('distance', 'b', b, Object.keys(from));
  return lengthOf(byComponent((p, q) => p.sub(q), from, to));
}

/**
 * A vector of length 1 in the direction of a vector: each component divided by the {@link length}, with its limits. The
 * components of a zero vector become NaN.
 *
 * @example
 * const f = fn({ a: vec2f }, vec2f, ({ a }) => normalize(a));
 * const a = { x: ctx.column(Float32Array.of(3)), y: ctx.column(Float32Array.of(-4)) };
 * await ctx.read(map(f, { a })); // { x: Float32Array [0.6000000238418579], y: Float32Array [-0.800000011920929] }
 */
export function normalize<V extends { readonly [K in keyof V]: F32 }>(a: V): { readonly [K in keyof V]: F32 } {
  const parts = partsOf('normalize', 'a', a);
  const size = lengthOf(parts);
  return byComponent((x) => x.div(size), parts) as { readonly [K in keyof V]: F32 };
}
