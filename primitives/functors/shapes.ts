import { isRecord } from '../checks/given.ts';
import type { ScalarType } from '../ir/ir.ts';
import { wrongInput } from './recorder.ts';
import type { Input, Value } from './value.ts';

/**
 * A scalar type as a JavaScript value, such as `u32`. It stands for the type in signatures. Inside a functor, it can be
 * called to make a literal or convert a value.
 */
export interface Scalar<T extends ScalarType> {
  (value: Value<ScalarType> | number | boolean): Value<T>;
  readonly type: T;
}

/**
 * The type of a functor's parameter or result, or of the rows of a column or table: a scalar type, or a record of
 * shapes.
 */
export type Shape = Scalar<ScalarType> | { readonly [name: string]: Shape };

/** The functor values for a shape: a value for a scalar, a record of values for a record. */
export type ValuesOf<S extends Shape> =
  S extends Scalar<infer T> ? Value<T> : { readonly [K in keyof S]: S[K] extends Shape ? ValuesOf<S[K]> : never };

/** The inputs that can be passed for a shape: each scalar may be a functor value or a JavaScript literal. */
export type InputsOf<S extends Shape> =
  S extends Scalar<infer T> ? Input<T> : { readonly [K in keyof S]: S[K] extends Shape ? InputsOf<S[K]> : never };

/** The plain JavaScript values of a shape: a number or boolean for a scalar, a record of these for a record. */
export type PlainOf<S extends Shape> =
  S extends Scalar<infer T>
    ? T extends 'bool'
      ? boolean
      : number
    : { readonly [K in keyof S]: S[K] extends Shape ? PlainOf<S[K]> : never };

/** A tree with one leaf of type `L` for each scalar of a shape: a single leaf, or a record of trees. */
export type Tree<L> = L | { readonly [name: string]: Tree<L> };

export function isScalar(shape: Shape): shape is Scalar<ScalarType> {
  return typeof shape === 'function';
}

const SCALARS: readonly unknown[] = ['u32', 'i32', 'f32', 'bool'] satisfies readonly ScalarType[];

/** Whether something is one of the scalar types `u32`, `i32`, `f32` and `bool`. */
export function isScalarType(given: unknown): given is Scalar<ScalarType> {
  return typeof given === 'function' && SCALARS.includes((given as { readonly type?: unknown }).type);
}

/** Maximum nesting depth of a shape. A record that contains itself exceeds this depth, and so is detected. */
const DEEPEST_SHAPE = 100;

/**
 * Finds the first part of a value that is neither a scalar type nor a record, or that is nested too deeply. Returns
 * this part and the path to it, with at most three field names. Returns undefined if the whole value is a valid shape.
 */
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

/** A shape as text: the field names in alphabetical order, each with its type. */
export function shapeText(shape: Shape): string {
  if (isScalar(shape)) return shape.type;
  const fields = Object.entries(shape).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{ ${fields.map(([name, field]) => `${name}: ${shapeText(field)}`).join(', ')} }`;
}

/** The scalar types of a shape, in depth-first order of the shape's fields. */
export function leafTypes(shape: Shape): ScalarType[] {
  return isScalar(shape) ? [shape.type] : Object.values(shape).flatMap(leafTypes);
}

/** The paths of the scalars of a shape, such as `point.x`, in depth-first order of the shape's fields. */
export function leafPaths(shape: Shape): string[] {
  if (isScalar(shape)) return [''];
  return Object.entries(shape).flatMap(([name, field]) =>
    leafPaths(field).map((path) => (path === '' ? name : `${name}.${path}`)),
  );
}

/** Builds a tree with the fields of a shape. `leaves` holds the tree's leaves in depth-first order of these fields. */
export function assemble<L>(shape: Shape, leaves: readonly L[]): Tree<L> {
  let next = 0;
  const build = (part: Shape): Tree<L> =>
    isScalar(part)
      ? leaves[next++]!
      : Object.fromEntries(Object.entries(part).map(([name, field]) => [name, build(field)]));
  return build(shape);
}

/**
 * The leaves of a tree, in depth-first order of the shape's fields. If the tree lacks a field, `missing` is called with
 * the path of that field.
 */
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

/** The path of the first field of a tree that a shape does not have. Undefined if there is none. */
export function strangerIn(shape: Shape, tree: unknown, path = ''): string | undefined {
  if (isScalar(shape) || !isRecord(tree)) return undefined;
  for (const [name, field] of Object.entries(tree)) {
    const own = path === '' ? name : `${path}.${name}`;
    if (!Object.hasOwn(shape, name)) return own;
    const stranger = strangerIn((shape as { readonly [name: string]: Shape })[name]!, field, own);
    if (stranger !== undefined) return stranger;
  }
  return undefined;
}

/**
 * Returns the field of a record, or undefined if the record has no such field. Reads only own properties, because every
 * object inherits properties such as `constructor`.
 */
function fieldOf<L>(tree: object, name: string): Tree<L> {
  return (Object.hasOwn(tree, name) ? (tree as { readonly [name: string]: Tree<L> })[name] : undefined) as Tree<L>;
}

/** Throws an error that names the call and the argument if the given value is not a shape. */
export function requireShapeOf(call: string, argument: string, given: unknown): void {
  const flaw = flawOfShape(given, argument);
  if (flaw !== undefined) throw wrongInput(call, flaw.path, flaw.part, 'u32, i32, f32, bool or a record of these');
}
