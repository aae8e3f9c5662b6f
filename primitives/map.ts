import { requireFunctor, requireRecord, requireValue, wrongArgument } from './checks/arguments.ts';
import { ArgumentError } from './checks/errors.ts';
import { describeGiven } from './checks/given.ts';
import {
  Column,
  type ColumnOwner,
  type ColumnsOf,
  commonLength,
  requireAlive,
  type Table,
  viewColumns,
} from './columns/column.ts';
import { contextOf, currentContext } from './columns/current-context.ts';
import { commonGrid } from './columns/grid.ts';
import { fuse, type Loader, type UniformValue } from './columns/program.ts';
import { columnsIn } from './columns/reachable.ts';
import { SymbolicUniform } from './columns/symbolic.ts';
import {
  type ArrayParameter,
  type Functor,
  type FunctorDescription,
  type Parameters,
  splitParameters,
  type UniformParameter,
} from './functors/functor.ts';
import type { NeighboursParameter } from './functors/neighbours.ts';
import type { OwnedParameter } from './functors/owned.ts';
import { call } from './functors/recorder.ts';
import { nameOfLeaf, type RecordsParameter } from './functors/records.ts';
import { flatten, leafPaths, leafTypes, type Shape, type Tree } from './functors/shapes.ts';
import { Value } from './functors/value.ts';
import { entryOf, type Operand, type ScalarType } from './ir/ir.ts';

/**
 * The type of the argument for a functor's parameter in {@link map}: a column for a scalar, a record of columns for a
 * record, a column for an array, a record of columns for an array of records, a plain number or boolean for a uniform.
 */
export type ColumnArgument<P> =
  P extends ArrayParameter<infer T>
    ? Column<T>
    : P extends UniformParameter<infer T>
      ? T extends 'bool'
        ? boolean
        : number
      : P extends NeighboursParameter<Shape> | OwnedParameter<ScalarType>
        ? never
        : P extends RecordsParameter<infer S>
          ? ColumnsOf<S>
          : P extends Shape
            ? ColumnsOf<P>
            : never;

/** The arguments for a functor's parameters in {@link map}, by name. */
export type ColumnArguments<P extends Parameters> = { readonly [K in keyof P]: ColumnArgument<P[K]> };

/**
 * Applies a functor to every row: `out[i] = f(a[i], b[i], …)`.
 *
 * Returns a view. Nothing is computed until a primitive that stores its result, `materialize` or `read` needs the view.
 * Then the functor is fused into the command that needs the view. A functor can read captured arrays at any index.
 * Therefore, views that are passed as captured arrays are stored first.
 *
 * - Work O(n), span O(1), per use of the view. Deterministic.
 * - The columns passed for values must have the same length. An empty input gives an empty view. If columns have the
 *   shape of a grid, the result has it too.
 * - Equivalent loop: `for (let i = 0; i < n; i++) out[i] = f(a[i])`.
 *
 * @throws {@link ArgumentError} if lengths or contexts differ, or an argument is missing.
 * @example
 * const twice = fn({ x: u32 }, u32, ({ x }) => x.mul(2));
 * await ctx.read(map(twice, { x: ctx.column(Uint32Array.of(1, 2, 3)) })); // Uint32Array [2, 4, 6]
 */
export function map<P extends Parameters, R extends Shape>(
  functor: Functor<P, R>,
  args: ColumnArguments<P>,
): ColumnsOf<R>;
export function map(functor: FunctorDescription, args: object, ...more: unknown[]): ColumnsOf<Shape> {
  requireFunctor('map', 'functor', functor);
  requireRecord('map', 'args', args, 'a record of columns and numbers, by parameter name');
  if (more.length > 0) {
    throw new ArgumentError('map/extra-argument', 'map was given more than a functor and its arguments.', {
      expected: 'map(functor, { name: column, … })',
      got: `${more.length + 2} arguments, the third of them ${describeGiven(more[0])}`,
      remedy: 'Pass all columns in one record, by the names of the parameters.',
    });
  }
  return mapOf(functor, args as { readonly [name: string]: unknown });
}

function mapOf(functor: FunctorDescription, given: { readonly [name: string]: unknown }): ColumnsOf<Shape> {
  const { functorName: name, result } = functor;
  const { values, neighbours } = splitParameters(functor.parameters);
  if (neighbours.size > 0) throw needsNeighbours(functor);
  const columns = bindRows(functor, given, values);
  const length = commonLength(columns, name);
  const grid = commonGrid(columns, name);
  const context = homeOf(functor, given);
  const build = (): ColumnsOf<Shape> => {
    const bound = bindCaptures(functor, given, context);
    const view = fuse(
      { name, kind: 'map' },
      [],
      leafTypes(result),
      (index, _, loader) => applyFunctor(functor, loader.load(columns, index), bound, loader),
      { by: [mapOf, functor], columns: [...columns, ...bound.columns.values()], values: [...bound.uniforms.values()] },
    );
    return viewColumns(result, context, length, view, grid);
  };
  return context === undefined ? build() : context.scope(build);
}

/**
 * The context to which a functor's arguments belong. If the arguments belong to no context but the functor captures
 * arrays, this is the context of the current scope, where the captured views will be stored.
 */
export function homeOf(
  { functorName, parameters }: FunctorDescription,
  args: { readonly [name: string]: unknown },
): ColumnOwner | undefined {
  const context = contextOf(columnsIn(args), functorName);
  if (context !== undefined || splitParameters(parameters).arrays.size === 0) return context;
  return currentContext()?.context;
}

/** The columns passed for the parameters in `shapes`, one for each scalar, depth first. */
export function bindRows(
  { functorName: name }: FunctorDescription,
  args: { readonly [name: string]: unknown },
  shapes: { readonly [name: string]: Shape },
): Column[] {
  const columns = flatten<Column>(shapes, args as never, (path) => missing(name, path));
  const types = leafTypes(shapes);
  for (const [leaf, column] of columns.entries()) {
    requireColumn(column, types[leaf]!, name, () => leafPaths(shapes)[leaf]!);
  }
  return columns;
}

/** The columns and numbers that the caller passed for a functor's array and uniform parameters, by parameter name. */
export interface Captures {
  readonly columns: ReadonlyMap<string, Column>;
  readonly uniforms: ReadonlyMap<string, UniformValue>;
}

/** The arguments for a functor's array and uniform parameters. Views among the arrays are stored first. */
export function bindCaptures(
  functor: FunctorDescription,
  args: { readonly [name: string]: unknown },
  context: ColumnOwner | undefined,
): Captures {
  const { functorName: name, parameters } = functor;
  const { arrays, records, uniforms } = splitParameters(parameters);
  const rows = [...records].flatMap(([key, shape]) => columnsOfTable(functor, key, shape, args[key]));
  const given = { ...args, ...Object.fromEntries(rows) };
  const columns = [...arrays].map(([key, type]): [string, Column] => [
    key,
    stored(captured(given[key], type, name, key), context),
  ]);
  const numbers = [...uniforms].map(([key, type]): [string, UniformValue] => [
    key,
    uniformValue(args[key], type, name, key),
  ]);
  return { columns: new Map(columns), uniforms: new Map(numbers) };
}

/** The columns of the table passed for an array of records, by the names under which the functor reads them. */
function columnsOfTable(
  { functorName: name }: FunctorDescription,
  key: string,
  shape: Shape,
  table: unknown,
): [string, Column][] {
  const columns = flatten<Column>(shape, table as Tree<Column>, (path) => missing(name, nameOfLeaf(key, path)));
  const types = leafTypes(shape);
  const named = leafPaths(shape).map((path, leaf): [string, Column] => [
    nameOfLeaf(key, path),
    captured(columns[leaf], types[leaf]!, name, nameOfLeaf(key, path)),
  ]);
  commonLength(columns, name);
  return named;
}

function uniformValue(given: unknown, type: ScalarType, name: string, key: string): UniformValue {
  if (given instanceof SymbolicUniform && given.type === type) return given;
  return requireValue(
    type,
    given,
    'map/uniform',
    given === undefined
      ? `Functor ${name} is missing its uniform ${key}.`
      : `Uniform ${key} of functor ${name} has the wrong type.`,
  );
}

function captured(given: unknown, type: ScalarType, name: string, key: string): Column {
  const column = given ?? missing(name, key);
  requireColumn(column, type, name, () => key);
  return column;
}

function stored(column: Column, context: ColumnOwner | undefined): Column {
  if (column.source.kind === 'stored') return column;
  if (context !== undefined) return context.materialize(column);
  throw new ArgumentError('column/no-context', 'A view without a context was captured as an array.', {
    remedy: 'Call it in context.scope(…), or store the view with context.materialize(column).',
  });
}

function requireColumn(given: unknown, type: ScalarType, name: string, path: () => string): asserts given is Column {
  if (!(given instanceof Column) || given.type !== type) {
    throw wrongArgument(`Functor ${name}`, path(), given, `a column of ${type}`, { code: 'map/column' });
  }
  requireAlive(given, `Functor ${name}`, path);
}

function missing(name: string, path: string): never {
  throw new ArgumentError('map/argument', `Functor ${name} is missing its argument ${path}.`, {
    remedy: 'Pass a column for every parameter.',
  });
}

/**
 * Records a call of a functor inside a fusion. `values` are the scalars of the functor's value parameters, followed by
 * the scalars of its neighbours parameters.
 */
export function applyFunctor(
  functor: FunctorDescription,
  values: readonly Value<ScalarType>[],
  { columns, uniforms }: Captures,
  loader: Loader,
): Value<ScalarType>[] {
  if (entryOf(functor.module).parameters.length !== values.length) throw needsNeighbours(functor);
  const types = splitParameters(functor.parameters).uniforms;
  const names = [...columns].map(([key, column]): [string, string] => [key, loader.capture(column)]);
  const numbers = [...uniforms].map(([key, value]): [string, Operand] => [
    key,
    loader.uniform(types.get(key)!, value).operand,
  ]);
  const links = { arrays: new Map(names), uniforms: new Map(numbers) };
  const operands = values.map(({ operand }) => operand);
  return call(functor.module, links, operands).map((local) => new Value(local));
}

function needsNeighbours({ functorName }: FunctorDescription): ArgumentError {
  return new ArgumentError(
    'map/neighbours',
    `Functor ${functorName} takes the neighbours of a cell, which only stencil provides.`,
    {
      remedy: 'Call stencil with it, and pass the result to the other primitive.',
    },
  );
}

/**
 * A functor that takes a row of a table. Its parameters have the names of the table's fields. If the table is a single
 * column, the functor has one parameter, whose name does not matter.
 */
export type RowFunctor<R extends Shape> = FunctorDescription & { readonly result: R };

/** Applies a functor to every row of a table, as a view; see {@link map}. */
export function mapRows<R extends Shape>(functor: RowFunctor<R>, table: Table): ColumnsOf<R> {
  const args = table instanceof Column ? { [soleParameter(functor)]: table } : table;
  return mapOf(functor, args) as ColumnsOf<R>;
}

/**
 * The name of the only value parameter of a functor that is applied to a single column. Throws unless the functor has
 * exactly one value parameter.
 */
function soleParameter({ functorName, parameters }: FunctorDescription): string {
  const names = Object.keys(splitParameters(parameters).values);
  if (names.length === 1) return names[0]!;
  throw new ArgumentError('map/row-functor', `Functor ${functorName} cannot take the rows of a single column.`, {
    expected: 'one parameter',
    got: names.length,
  });
}
