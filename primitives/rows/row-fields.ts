import { ArgumentError } from '../checks/errors.ts';
import { Column, shapeOf, type Table } from '../columns/column.ts';
import type { Loader } from '../columns/program.ts';
import { type FunctorDescription, splitParameters, u32 } from '../functors/functor.ts';
import { assemble, flatten, leafTypes, type Scalar, type Shape, type Tree } from '../functors/shapes.ts';
import type { U32, Value } from '../functors/value.ts';
import type { ScalarType } from '../ir/ir.ts';
import { applyFunctor, type Captures } from '../map.ts';

/** The fields of the rows of a table, by name. A field is a column, or a table with fields of its own. */
export type Fields = { readonly [name: string]: Table };

type Values = readonly Value<ScalarType>[];

/**
 * Further values that a functor takes besides the fields of a row, by name. Examples are the state of a walk and the
 * rank of an element.
 */
export type State = { readonly [name: string]: Shape };

/**
 * The fields of a row that a functor takes as parameters; parameters that are part of `state` are left out. If the rows
 * are a single column, the one remaining parameter is that column.
 */
export function fieldsTaken(
  primitive: string,
  { functorName, parameters }: FunctorDescription,
  rows: Table,
  state: State,
): Fields {
  const { values } = splitParameters(parameters);
  const names = Object.keys(values).filter((name) => !Object.hasOwn(state, name));
  if (rows instanceof Column && names.length > 1) throw severalFields(functorName, names);
  const fields: Fields = rows instanceof Column ? Object.fromEntries(names.map((name) => [name, rows])) : rows;
  const common = Object.keys(fields).find((name) => Object.hasOwn(state, name));
  if (common !== undefined) throw fieldInBoth(primitive, common);
  const given = { ...mapFields(fields, shapeOf), ...state };
  const missing = (path: string): never => {
    throw new ArgumentError('rows/field', `Functor ${functorName} takes ${path}, which is not among its fields.`, {
      expected: Object.keys(given),
      got: path,
    });
  };
  const types = flatten<Scalar<ScalarType>>(values, given as Tree<Scalar<ScalarType>>, missing).map(({ type }) => type);
  const expected = leafTypes(values);
  if (types.join() !== expected.join()) throw otherTypes(functorName, expected, types);
  const shape = Object.fromEntries(names.map((name) => [name, values[name]!]));
  return assemble(shape, flatten<Column>(shape, fields as Tree<Column>, missing)) as Fields;
}

function mapFields<A, B>(fields: { readonly [name: string]: A }, change: (field: A) => B): { [name: string]: B } {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, change(field)]));
}

/**
 * The arguments of a functor, in the order of its parameters. For each parameter, the scalars of the state or of the
 * row's fields with the parameter's name are taken.
 */
export function argumentsOf(
  { parameters }: FunctorDescription,
  state: State,
  fields: Fields,
  stateLeaves: Values,
  fieldLeaves: Values,
): Value<ScalarType>[] {
  const row = assemble(mapFields(fields, shapeOf), fieldLeaves) as object;
  const given = { ...row, ...(assemble(state, stateLeaves) as object) };
  return leavesOf(splitParameters(parameters).values, given as Tree<Value<ScalarType>>);
}

/**
 * The leaves of a tree that belong to a shape, in the depth-first order of the shape. Throws if the tree lacks a field
 * of the shape.
 */
export function leavesOf<L>(shape: Shape, tree: Tree<L>): L[] {
  return flatten<L>(shape, tree, (path) => {
    throw new RangeError(`no ${path}`);
  });
}

function severalFields(functorName: string, names: readonly string[]): ArgumentError {
  return new ArgumentError('map/row-functor', `Functor ${functorName} cannot take the rows of a single column.`, {
    expected: 'one parameter for the column',
    got: names,
  });
}

function fieldInBoth(primitive: string, name: string): ArgumentError {
  return new ArgumentError('rows/state', `Rows and state given to ${primitive} both have a field called ${name}.`, {
    remedy: 'Rename one of them.',
  });
}

function otherTypes(functorName: string, expected: readonly string[], got: readonly string[]): ArgumentError {
  return new ArgumentError('rows/type', `Functor ${functorName} was given fields of the wrong type.`, {
    expected: expected.join(', '),
    got: got.join(', '),
  });
}

/** Columns, tables and numbers for a functor's array and uniform parameters, by name. */
export type CaptureArguments = { readonly [name: string]: Table | number | boolean };

const RANK = { rank: u32 };

/**
 * The fields of a row that a functor takes as parameters. The functor's parameter `rank` (the number of an element
 * within the row) is left out.
 */
export function fieldsBesideRank(primitive: string, functor: FunctorDescription, rows: Table): Fields {
  if (rows instanceof Column || !Object.hasOwn(rows, 'rank')) return fieldsTaken(primitive, functor, rows, RANK);
  throw new ArgumentError('rows/rank', `The rows given to ${primitive} have a field called rank.`, {
    remedy: 'Rename it: the functor takes the index of an element in its row as rank.',
  });
}

/**
 * Records a call of a functor for one element of a row. `values` are the values of the row's `fields`, and `rank` is
 * the number of the element within the row.
 */
export function applyToRank(
  functor: FunctorDescription,
  fields: Fields,
  values: readonly Value<ScalarType>[],
  rank: U32,
  captures: Captures,
  loader: Loader,
): Value<ScalarType>[] {
  return applyFunctor(functor, argumentsOf(functor, RANK, fields, [rank], values), captures, loader);
}
