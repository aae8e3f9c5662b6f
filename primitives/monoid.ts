import {
  isValueOf,
  requireFunction,
  requireOptions,
  requireRecord,
  requireScalar,
  requireShape,
  wrongArgument,
} from './checks/arguments.ts';
import { ArgumentError } from './checks/errors.ts';
import { describeGiven, isRecord } from './checks/given.ts';
import { aFlag, anything, aText, type FieldKinds } from './checks/kinds.ts';
import type { MonoidProgram } from './contract/backend.ts';
import { bool, type Functor, type FunctorDescription, fn, isFunctor, u32, u64 } from './functors/functor.ts';
import { literal, operate, wrongInput } from './functors/recorder.ts';
import {
  flatten,
  type InputsOf,
  leafTypes,
  type PlainOf,
  type Scalar,
  type Shape,
  shapeText,
  type ValuesOf,
} from './functors/shapes.ts';
import { select, type ValueTree } from './functors/standard/choose.ts';
import { type Bool, Value } from './functors/value.ts';
import type { OperationName, ScalarType } from './ir/ir.ts';
import { memoized } from './ir/memo.ts';

/** Those properties of a monoid whose types do not depend on the shape of the monoid. */
export interface AnyMonoid {
  readonly shape: Shape;
  readonly identity: unknown;
  readonly combine: FunctorDescription;
  /** Whether every bracketing gives the same bytes. */
  readonly exact: boolean;
  /** Whether every order of the operands is known to give the same bytes. */
  readonly commutative: boolean;
}

/** An associative operator with an identity, on values of a shape. The operator need not be commutative. */
export interface Monoid<S extends Shape> extends AnyMonoid {
  readonly shape: S;
  readonly identity: PlainOf<S>;
  readonly combine: Functor<{ readonly a: S; readonly b: S }, S>;
}

/** The argument of {@link monoid}. */
export interface MonoidDefinition<S extends Shape> {
  readonly of: S;
  readonly identity: PlainOf<S>;
  readonly combine: (operands: { readonly a: ValuesOf<S>; readonly b: ValuesOf<S> }) => InputsOf<S>;
  /** Whether every bracketing gives the same bytes. By default, true unless the shape has an f32 field. */
  readonly exact?: boolean;
  /**
   * Whether operands may be swapped without changing the bytes; false by default. A monoid that is exact and
   * commutative is folded in the order that is fastest. This also applies, without this declaration, to an exact monoid
   * that combines each field by a single commutative operation, because the library recognizes such monoids.
   */
  readonly commutative?: boolean;
  readonly name?: string;
}

const DEFINITION: FieldKinds<MonoidDefinition<Shape>> = {
  of: anything,
  identity: anything,
  combine: anything,
  exact: aFlag,
  commutative: aFlag,
  name: aText,
};

/**
 * Makes a monoid. If the shape of the monoid is a record, the fields of the shape are matched by name with the columns
 * of tables. `combine` must be associative, and `identity` must be neutral on both sides. If `commutative` is set,
 * swapping the operands must not change the result. If `exact` is set, these laws must hold to the byte; otherwise the
 * laws must hold in real arithmetic. If a law does not hold, results are unspecified.
 *
 * @example
 * const affine = monoid({ of: { m: u32, c: u32 }, identity: { m: 1, c: 0 },
 *   combine: ({ a, b }) => ({ m: a.m.mul(b.m), c: b.m.mul(a.c).add(b.c) }) });
 * const maps = { m: ctx.column(Uint32Array.of(2, 3)), c: ctx.column(Uint32Array.of(1, 4)) };
 * await ctx.read(reduce(maps, affine)); // { m: Uint32Array [6], c: Uint32Array [7] }
 */
export function monoid<const S extends Shape>(definition: MonoidDefinition<S>): Monoid<S> {
  requireOptions<MonoidDefinition<S>>('monoid', DEFINITION, definition, undefined, 'definition');
  requireRecord('monoid', 'definition', definition, '{ of, identity, combine }');
  const { of: shape, identity, combine, exact, commutative = false, name = 'combine' } = definition;
  requireShape('monoid', 'of', shape);
  identityLeaves(shape, identity);
  requireFunction('monoid', 'combine', combine);
  const functor = fn(name, { a: shape, b: shape }, shape, combine as never);
  return {
    shape,
    identity,
    combine: functor as unknown as Functor<{ readonly a: S; readonly b: S }, S>,
    exact: exact ?? !leafTypes(shape).includes('f32'),
    commutative,
  };
}

/**
 * The scalars of an identity, depth first. Throws if a field is missing, but does not check the types of the scalars;
 * {@link monoidProgram} checks these types.
 */
function identityLeaves(shape: Shape, identity: unknown): unknown[] {
  return flatten<unknown>(shape, identity as never, (path) => {
    throw new ArgumentError('monoid/identity', `The identity of a monoid is missing ${path}.`, {
      expected: shapeText(shape),
      got: describeGiven(identity),
    });
  });
}

function neutralValue(type: ScalarType, given: unknown): number | boolean {
  if (isValueOf(type, given)) return literal(type, given).value;
  throw wrongInput('monoid', 'identity', given, type === 'f32' ? 'a number' : `a value of ${type}`);
}

/** Throws if the argument is not a monoid: its `combine` must be a functor. */
function requireMonoid(call: string, argument: string, given: AnyMonoid): void {
  if (typeof given === 'object' && isFunctor(given?.combine)) return;
  throw wrongArgument(call, argument, given, 'a monoid, such as plus(u32)', { code: 'monoid/none' });
}

const programs = new WeakMap<AnyMonoid, MonoidProgram>();

/** Converts a monoid to the form that backends use. */
export function monoidProgram(monoid: AnyMonoid, call = 'A primitive', argument = 'monoid'): MonoidProgram {
  let program = programs.get(monoid);
  if (program === undefined) {
    requireMonoid(call, argument, monoid);
    const { shape, identity, combine, exact, commutative } = monoid;
    requireShape(call, `${argument}.shape`, shape);
    const leaves = identityLeaves(shape, identity);
    const types = leafTypes(shape);
    const neutral = leaves.map((leaf, i) => neutralValue(types[i]!, leaf));
    program = { module: combine.module, types, identity: neutral, exact, commutative };
    programs.set(monoid, program);
  }
  return program;
}

type NumericType = 'u32' | 'i32' | 'f32';

/** Whether a shape is {@link u64} or has the same fields. */
function isU64(type: unknown): boolean {
  return isRecord(type) && type.lo === u32 && type.hi === u32;
}

/** The monoids of an operation: the identity for every type that it takes, and whether it is exact for f32 too. */
interface Family {
  readonly operation: OperationName;
  readonly identities: { readonly [T in ScalarType]?: number | boolean };
  readonly exact?: boolean;
}

const FAMILIES = {
  plus: { operation: 'add', identities: { u32: 0, i32: 0, f32: 0 } },
  times: { operation: 'mul', identities: { u32: 1, i32: 1, f32: 1 } },
  minimum: { operation: 'min', identities: { u32: 2 ** 32 - 1, i32: 2 ** 31 - 1, f32: Number.NaN }, exact: true },
  maximum: { operation: 'max', identities: { u32: 0, i32: -(2 ** 31), f32: Number.NaN }, exact: true },
  bitAnd: { operation: 'and', identities: { u32: 2 ** 32 - 1, i32: -1, bool: true } },
  bitOr: { operation: 'or', identities: { u32: 0, i32: 0, bool: false } },
  bitXor: { operation: 'xor', identities: { u32: 0, i32: 0, bool: false } },
} as const satisfies { readonly [call: string]: Family };

/** Makes a function that returns the monoid for a scalar type. Each monoid is made only once. */
function family(call: keyof typeof FAMILIES): <T extends ScalarType>(type: Scalar<T>) => Monoid<Scalar<T>> {
  const { operation, identities, exact = false }: Family = FAMILIES[call];
  const types = Object.keys(identities) as ScalarType[];
  const made = memoized((type: Scalar<ScalarType>): AnyMonoid => {
    requireScalar(call, 'type', type, types);
    return monoid({
      of: type,
      identity: identities[type.type] as never,
      combine: (({ a, b }: { a: Value<ScalarType>; b: Value<ScalarType> }) =>
        new Value(operate(operation, [a.operand, b.operand]))) as never,
      exact: exact || type.type !== 'f32',
      commutative: true,
      name: operation,
    });
  });
  return (type) => made(type) as never;
}

const addScalars = family('plus');

const addU64: Monoid<typeof u64> = monoid({
  of: u64,
  identity: { lo: 0, hi: 0 },
  combine: ({ a, b }) => {
    const lo = a.lo.add(b.lo);
    return { lo, hi: a.hi.add(b.hi).add(u32(lo.lt(a.lo))) };
  },
  commutative: true,
  name: 'add64',
});

/**
 * Addition: for u32 and i32 modulo 2³², for u64 modulo 2⁶⁴. f32 sums are rounded, and bracketed as in the canonical
 * combination tree, whose shape depends only on the length.
 *
 * @example
 * await ctx.read(reduce(ctx.column(Uint32Array.of(1, 2, 3)), plus(u32))); // Uint32Array [6]
 */
export function plus<T extends NumericType>(type: Scalar<T>): Monoid<Scalar<T>>;
export function plus(type: typeof u64): Monoid<typeof u64>;
export function plus(type: Scalar<NumericType> | typeof u64): unknown {
  return isU64(type) ? addU64 : addScalars(type as Scalar<NumericType>);
}

/**
 * Multiplication: for integers modulo 2³². f32 products are rounded, and bracketed as in the canonical combination
 * tree, whose shape depends only on the length.
 *
 * @example
 * await ctx.read(reduce(ctx.column(Uint32Array.of(2, 3, 4)), times(u32))); // Uint32Array [24]
 */
export const times: <T extends NumericType>(type: Scalar<T>) => Monoid<Scalar<T>> = family('times');

/**
 * The smaller operand. For f32, −0 is less than +0. If one operand is NaN, which is the identity, the result is the
 * other operand.
 *
 * @example
 * await ctx.read(reduce(ctx.column(Float32Array.of(2, NaN, -1)), minimum(f32))); // Float32Array [-1]
 */
export const minimum: <T extends NumericType>(type: Scalar<T>) => Monoid<Scalar<T>> = family('minimum');

/**
 * The larger operand. For f32, −0 is less than +0. If one operand is NaN, which is the identity, the result is the
 * other operand.
 *
 * @example
 * await ctx.read(reduce(ctx.column(Float32Array.of(2, NaN, -1)), maximum(f32))); // Float32Array [2]
 */
export const maximum: <T extends NumericType>(type: Scalar<T>) => Monoid<Scalar<T>> = family('maximum');

/**
 * Bitwise or logical AND.
 *
 * @example
 * await ctx.read(reduce(ctx.column(Uint32Array.of(6, 3)), bitAnd(u32))); // Uint32Array [2]
 */
export const bitAnd: <T extends 'u32' | 'i32' | 'bool'>(type: Scalar<T>) => Monoid<Scalar<T>> = family('bitAnd');

/**
 * Bitwise or logical OR.
 *
 * @example
 * await ctx.read(reduce(ctx.column(Uint32Array.of(6, 3)), bitOr(u32))); // Uint32Array [7]
 */
export const bitOr: <T extends 'u32' | 'i32' | 'bool'>(type: Scalar<T>) => Monoid<Scalar<T>> = family('bitOr');

/**
 * Bitwise or logical XOR.
 *
 * @example
 * await ctx.read(reduce(ctx.column(Uint32Array.of(6, 3)), bitXor(u32))); // Uint32Array [5]
 */
export const bitXor: <T extends 'u32' | 'i32' | 'bool'>(type: Scalar<T>) => Monoid<Scalar<T>> = family('bitXor');

/** The monoid that combines the right operand with the left one, for rows that are read from the last to the first. */
export const reversed: (inner: AnyMonoid) => AnyMonoid = memoized((inner: AnyMonoid): AnyMonoid => {
  if (inner.commutative) return inner;
  const combine = inner.combine as never as (operands: { readonly a: ValueTree; readonly b: ValueTree }) => ValueTree;
  return monoid({
    of: inner.shape,
    identity: inner.identity as never,
    combine: (({ a, b }: { readonly a: ValueTree; readonly b: ValueTree }) => combine({ a: b, b: a })) as never,
    exact: inner.exact,
    name: 'reversed',
  });
});

/** u32 addition that stops at 2³² − 1 instead of wrapping, so that a caller can detect totals that are too large. */
export const saturatingPlus: Monoid<Scalar<'u32'>> = monoid({
  of: u32,
  identity: 0,
  combine: ({ a, b }) => {
    const sum = a.add(b);
    return select(sum, 2 ** 32 - 1, sum.lt(a));
  },
  commutative: true,
  name: 'saturatingAdd',
});

/**
 * Makes a monoid on records that combines each field by a monoid of its own.
 *
 * @example
 * const x = ctx.column(Uint32Array.of(4, 9, 2));
 * const range = product({ min: minimum(u32), max: maximum(u32) });
 * await ctx.read(reduce({ min: x, max: x }, range)); // { min: Uint32Array [2], max: Uint32Array [9] }
 */
export function product<const M extends { readonly [name: string]: AnyMonoid }>(
  fields: M,
): Monoid<{ readonly [K in keyof M]: M[K]['shape'] }> {
  requireRecord('product', 'fields', fields, 'a record of monoids');
  for (const [name, field] of Object.entries(fields)) requireMonoid('product', `fields.${name}`, field);
  const entries = Object.entries(fields);
  const pick = <X>(of: (monoid: AnyMonoid) => X): { [name: string]: X } =>
    Object.fromEntries(entries.map(([name, field]) => [name, of(field)]));
  type Combine = (operands: { readonly a: unknown; readonly b: unknown }) => unknown;
  type Operands = { readonly a: Record<string, unknown>; readonly b: Record<string, unknown> };
  return monoid({
    of: pick(({ shape }) => shape) as Shape,
    identity: pick(({ identity }) => identity) as never,
    combine: (({ a, b }: Operands) =>
      Object.fromEntries(
        entries.map(([name, { combine }]) => [name, (combine as never as Combine)({ a: a[name], b: b[name] })]),
      )) as never,
    exact: entries.every(([, { exact }]) => exact),
    commutative: entries.every(([, { commutative }]) => commutative),
    name: 'product',
  }) as never;
}

/** A monoid on pairs of a head flag and a value, where a true flag starts a segment; see {@link segmented}. */
export type Segmented<S extends Shape> = Monoid<{ readonly head: Scalar<'bool'>; readonly value: S }>;

const segmentedOnce = memoized(makeSegmented);

/**
 * Makes a monoid on pairs (head, value) that starts a new combination at every row whose head is true. With this
 * monoid, a scan becomes a segmented scan (Blelloch 1990).
 *
 * @example
 * const rows = { head: ctx.column([true, false, true]), value: ctx.column(Uint32Array.of(1, 2, 3)) };
 * const { value } = await ctx.read(inclusiveScan(rows, segmented(plus(u32))));
 * value; // Uint32Array [1, 3, 3]
 */
export function segmented<S extends Shape>(inner: Monoid<S>): Segmented<S> {
  requireMonoid('segmented', 'inner', inner);
  return segmentedOnce(inner) as Segmented<S>;
}

function makeSegmented<S extends Shape>(inner: Monoid<S>): AnyMonoid {
  type Operand = { readonly head: Bool; readonly value: ValueTree };
  const combine = inner.combine as never as (operands: { readonly a: ValueTree; readonly b: ValueTree }) => ValueTree;
  return monoid({
    of: { head: bool, value: inner.shape } as Shape,
    identity: { head: false, value: inner.identity } as never,
    combine: (({ a, b }: { readonly a: Operand; readonly b: Operand }) => ({
      head: a.head.or(b.head),
      value: select(combine({ a: a.value, b: b.value }), b.value, b.head),
    })) as never,
    exact: inner.exact,
    name: 'segmented',
  });
}
