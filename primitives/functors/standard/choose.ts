import { isRecord } from '../../checks/given.ts';
import type { ScalarType } from '../../ir/ir.ts';
import { operate, wrongInput } from '../recorder.ts';
import { type Bool, type Input, operandOf, requireCondition, requireOperand, Value } from '../value.ts';

/** A value, or a record of values, nested to any depth. */
export type ValueTree = Value<ScalarType> | { readonly [name: string]: ValueTree };

/**
 * Returns `a` if the condition is false, and `b` if the condition is true, like `select` in WGSL. Both `a` and `b`
 * are always evaluated. They may be records with equal fields.
 *
 * @throws FunctorError `functor/type` if `a` and `b` differ in type or fields.
 * @example
 * const larger = fn('larger', { x: i32, y: i32 }, i32, ({ x, y }) => select(x, y, y.gt(x)));
 * const pairs = { x: ctx.column(Int32Array.of(1, 5)), y: ctx.column(Int32Array.of(2, -5)) };
 * await ctx.read(map(larger, pairs)); // Int32Array [2, 5]
 */
export function select<T extends ScalarType>(a: Value<T>, b: Input<NoInfer<T>>, condition: Bool): Value<T>;
export function select<T extends ScalarType>(a: Input<NoInfer<T>>, b: Value<T>, condition: Bool): Value<T>;
export function select<S extends ValueTree>(a: S, b: NoInfer<S>, condition: Bool): S;
export function select(a: unknown, b: unknown, condition: Bool): unknown {
  return selectTree(a, b, condition);
}

function selectTree(a: unknown, b: unknown, condition: Bool): unknown {
  if (a instanceof Value || b instanceof Value) return selectScalar(a, b, condition);
  if (!isRecord(a)) throw wrongInput('select', 'a', a, 'a value, or a record of values');
  if (!isRecord(b)) throw wrongInput('select', 'b', b, 'a value, or a record of values');
  const [left, right] = [a, b];
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return Object.fromEntries([...names].map((name) => [name, selectTree(left[name], right[name], condition)]));
}

function selectScalar(a: unknown, b: unknown, condition: Bool): Value<ScalarType> {
  const { type } = (a instanceof Value ? a : (b as Value<ScalarType>)).operand;
  const sides = [a, b].map((side) => operandOf(type, side as Input<ScalarType>));
  return new Value(operate('select', [...sides, requireCondition('select', condition)]));
}

/**
 * The minimum of its arguments. For f32, −0 is less than +0, and NaN is ignored unless all arguments are NaN.
 *
 * @example
 * const f = fn({ x: i32 }, i32, ({ x }) => min(x, 3, 7));
 * await ctx.read(map(f, { x: ctx.column(Int32Array.of(-5, 1, 9)) })); // Int32Array [-5, 1, 3]
 */
export function min<T extends 'u32' | 'i32' | 'f32'>(first: Value<T>, ...rest: readonly Input<NoInfer<T>>[]): Value<T> {
  requireOperand('min', 'first', first);
  return rest.reduce<Value<T>>((min, next) => min.min<T>(next), first);
}

/**
 * The maximum of its arguments. For f32, −0 is less than +0, and NaN is ignored unless all arguments are NaN.
 *
 * @example
 * const f = fn({ x: i32 }, i32, ({ x }) => max(x, 3, 7));
 * await ctx.read(map(f, { x: ctx.column(Int32Array.of(-5, 1, 9)) })); // Int32Array [7, 7, 9]
 */
export function max<T extends 'u32' | 'i32' | 'f32'>(first: Value<T>, ...rest: readonly Input<NoInfer<T>>[]): Value<T> {
  requireOperand('max', 'first', first);
  return rest.reduce<Value<T>>((max, next) => max.max<T>(next), first);
}

/**
 * Limits x to the range from `low` to `high`: `min(max(x, low), high)`. The result is `high` if low > high, and `low`
 * if x is NaN.
 *
 * @example
 * const toByte = fn('toByte', { x: i32 }, i32, ({ x }) => clamp(x, 0, 255));
 * await ctx.read(map(toByte, { x: ctx.column(Int32Array.of(-1, 7, 300)) })); // Int32Array [0, 7, 255]
 */
export function clamp<T extends 'u32' | 'i32' | 'f32'>(
  x: Value<T>,
  low: Input<NoInfer<T>>,
  high: Input<NoInfer<T>>,
): Value<T> {
  requireOperand('clamp', 'x', x);
  return x.max<T>(low).min<T>(high);
}
