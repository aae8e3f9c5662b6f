import { isRecord } from '../given.ts';
import type { ScalarType } from '../ir/ir.ts';
import { wrongInput } from './recorder.ts';
import type { Input, Value } from './value.ts';

/** A scalar type as a value: it names the type in signatures, and makes or converts values inside a functor. */
export interface Scalar<T extends ScalarType> {
  (value: Value<ScalarType> | number | boolean): Value<T>;
  readonly type: T;
}

/** The shape of a functor's parameter or result, or of a column or table: a scalar or a record of shapes. */
export type Shape = Scalar<ScalarType> | { readonly [name: string]: Shape };

/** A tree of `X` in the form of a shape. */
export type ValuesOf<S extends Shape> =
  S extends Scalar<infer T> ? Value<T> : { readonly [K in keyof S]: S[K] extends Shape ? ValuesOf<S[K]> : never };

/** Inputs accepted for values of a shape; they may include literals. */
export type InputsOf<S extends Shape> =
  S extends Scalar<infer T> ? Input<T> : { readonly [K in keyof S]: S[K] extends Shape ? InputsOf<S[K]> : never };

/** Plain JavaScript values of a shape. */
export type PlainOf<S extends Shape> =
  S extends Scalar<infer T>
    ? T extends 'bool'
      ? boolean
      : number
    : { readonly [K in keyof S]: S[K] extends Shape ? PlainOf<S[K]> : never };

/** A tree with leaves of type `L`, in the form of some shape. */
export type Tree<L> = L | { readonly [name: string]: Tree<L> };

export function isScalar(shape: Shape): shape is Scalar<ScalarType> {
  return typeof shape === 'function';
}

const SCALARS: readonly unknown[] = ['u32', 'i32', 'f32', 'bool'] satisfies readonly ScalarType[];

/** Whether something is one of the scalar types. */
export function isScalarType(given: unknown): given is Scalar<ScalarType> {
  return typeof given === 'function' && SCALARS.includes((given as { readonly type?: unknown }).type);
}

/** Maximum depth of a shape; only circular records are deeper. */
const DEEPEST_SHAPE = 100;

/** The part of something that is not a shape, and its path; undefined for a valid shape. */
export function flawOfShape(
  given: unknown,
  path: string,
  depth = 0,
): { readonly path: string; readonly part: unknown } | undefined {
  if (isScalarType(given)) return undefined;
  if (!isRecord(given) || depth > DEEPEST_SHAPE) return { path, part: given };
  for (const [name, field] of Object.entries(given)) {
    const flaw = flawOfShape(field, depth < 3 ? `${path}.${name}` : path, depth + 1);
    if (flaw !== undefined) return flaw;
  }
  return undefined;
}

/** A shape as text: the types with their field names, in alphabetical order. */
export function shapeText(shape: Shape): string {
  if (isScalar(shape)) return shape.type;
  const fields = Object.entries(shape).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{ ${fields.map(([name, field]) => `${name}: ${shapeText(field)}`).join(', ')} }`;
}

/** The scalar types of a shape, depth first in the order of its fields. */
export function leafTypes(shape: Shape): ScalarType[] {
  return isScalar(shape) ? [shape.type] : Object.values(shape).flatMap(leafTypes);
}

/** The paths of the scalars of a shape, in the same order. */
export function leafPaths(shape: Shape): string[] {
  if (isScalar(shape)) return [''];
  return Object.entries(shape).flatMap(([name, field]) =>
    leafPaths(field).map((path) => (path === '' ? name : `${name}.${path}`)),
  );
}

/** A tree in the form of a shape, from its leaves in order. */
export function assemble<L>(shape: Shape, leaves: readonly L[]): Tree<L> {
  let next = 0;
  const build = (part: Shape): Tree<L> =>
    isScalar(part)
      ? leaves[next++]!
      : Object.fromEntries(Object.entries(part).map(([name, field]) => [name, build(field)]));
  return build(shape);
}

/** The leaves of a tree in the order of the shape's fields. `missing` is called with the path of a missing field. */
export function flatten<L>(shape: Shape, tree: Tree<L>, missing: (path: string) => never, path = ''): L[] {
  if (isScalar(shape)) {
    if (tree === undefined || tree === null) missing(path === '' ? 'value' : path);
    return [tree as L];
  }
  if (typeof tree !== 'object' || tree === null) missing(path === '' ? 'record' : path);
  return Object.entries(shape).flatMap(([name, field]) =>
    flatten<L>(field, fieldOf(tree, name), missing, path === '' ? name : `${path}.${name}`),
  );
}

/** Reads only own fields, because every object has others, such as `constructor`. */
function fieldOf<L>(tree: object, name: string): Tree<L> {
  return (Object.hasOwn(tree, name) ? (tree as { readonly [name: string]: Tree<L> })[name] : undefined) as Tree<L>;
}

/** Requires a shape, for a parameter or result of a functor. */
export function requireShapeOf(call: string, argument: string, given: unknown): void {
  const flaw = flawOfShape(given, argument);
  if (flaw !== undefined) throw wrongInput(call, flaw.path, flaw.part, 'u32, i32, f32, bool or a record of these');
}
