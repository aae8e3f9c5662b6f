import { requireFunctor, requireRecord, wrongArgument } from './arguments.ts';
import type { Boundary } from './backend.ts';
import { type Column, type ColumnsOf, commonLength, viewColumns } from './columns/column.ts';
import { requireValue } from './columns/plain-value.ts';
import { fuse, type Loader } from './columns/program.ts';
import { ArgumentError } from './errors.ts';
import { type Functor, type Parameters, splitParameters } from './functors/functor.ts';
import type { ScalarType } from './functors/ir.ts';
import { type NeighbourOffset, type NeighboursParameter, offsetsOf } from './functors/neighbours.ts';
import { flatten, leafTypes, type PlainOf, type Shape } from './functors/shapes.ts';
import { select } from './functors/standard/choose.ts';
import type { Bool, U32, Value } from './functors/value.ts';
import { isRecord } from './given.ts';
import { anything, someRecord } from './kinds.ts';
import { applyFunctor, bindCaptures, bindRows, type ColumnArgument, homeOf } from './map.ts';
import { requireOptions } from './options.ts';
import { type Axis, type AxisStep, requireBoundary, stepAlong } from './stencil-axis.ts';

/** What {@link stencil} takes for a functor's parameters, by name: as `map`, and the columns that neighbours are read in. */
export type StencilArguments<P extends Parameters> = {
  readonly [K in keyof P]: P[K] extends NeighboursParameter<infer S> ? ColumnsOf<S> : ColumnArgument<P[K]>;
};

/** What neighbours outside of the grid are, by parameter. */
export type OutsideOf<P extends Parameters> = {
  readonly [K in keyof P as P[K] extends NeighboursParameter<Shape> ? K : never]?: P[K] extends NeighboursParameter<
    infer S
  >
    ? PlainOf<S>
    : never;
};

export interface StencilOptions<P extends Parameters = Parameters> {
  /** The cells of a row: makes the columns a grid, row after row. Left out, they are one row. */
  readonly width?: number;
  /** What stands for neighbours outside of the grid, along both axes or along each; `clamp` where it is left out. */
  readonly boundary?: Boundary | { readonly x: Boundary; readonly y: Boundary };
  /** The values outside where the boundary is `constant`; zero where they are left out. */
  readonly outside?: OutsideOf<P>;
}

/**
 * The functor of every cell and of those around it: `map` with a functor that takes `neighbours(…)`, over a row of cells or,
 * with a `width`, over a grid of them. A view, fused into what reads it: a reduction of a stencil is one kernel.
 *
 * - Neighbours outside of the grid are, by `boundary`: those on the edge (`clamp`), those at the other end (`wrap`), those as
 *   far on this side of the edge's cell, which is not repeated (`reflect`), or the values that `outside` gives (`constant`).
 * - Work O(n · neighbours), span O(1), per use of the view. Deterministic. Every neighbour is computed anew for every cell, as in
 *   a stencil of a stencil, unless that costs more than storing the view that is read: {@link explain} tells which it is.
 * - Of no cells: none. Accepts device counts; of a grid whose last row the count cuts off, neighbours in the missing part of
 *   that row are zero. Offsets may be larger than the grid.
 * - Equivalent loop: `for (let i = 0; i < n; i++) out[i] = f((dx) => cells[Math.min(n - 1, Math.max(0, i + dx))])`.
 *
 * @throws {@link ArgumentError} where the cells are no whole number of rows, an offset goes to other rows and there is no
 * width, the boundary is none, values outside are of no neighbours, or as `map` does.
 * @example
 * const alive = fn({ cell: neighbours(u32) }, u32, ({ cell }) => {
 *   const [above, below] = [-1, 1].map((dy) => cell.at(-1, dy).add(cell.at(0, dy)).add(cell.at(1, dy)));
 *   const around = above.add(below).add(cell.at(-1)).add(cell.at(1));
 *   return u32(around.or(cell.at(0)).eq(3));
 * });
 * const blinker = ctx.column(Uint8Array.of(0, 1, 0, 0, 1, 0, 0, 1, 0));
 * await ctx.read(stencil(alive, { cell: blinker }, { width: 3, boundary: 'constant' }));
 * // Uint32Array [0, 0, 0, 1, 1, 1, 0, 0, 0]
 */
export function stencil<P extends Parameters, R extends Shape>(
  functor: Functor<P, R>,
  args: StencilArguments<P>,
  options: StencilOptions<P> = {},
): ColumnsOf<R> {
  requireOptions<StencilOptions<P>>('stencil', { width: anything, boundary: anything, outside: someRecord }, options);
  requireFunctor('stencil', 'functor', functor);
  requireRecord('stencil', 'args', args, 'a record of columns and numbers, by the names of the parameters');
  const { functorName: name, module, parameters, result } = functor;
  const given = args as { readonly [name: string]: unknown };
  const shapes = splitParameters(parameters);
  requireNeighbours(options.outside ?? {}, shapes.neighbours);
  const own = bindRows(functor, given, shapes.values);
  const around = [...shapes.neighbours].map(([key, shape]): [string, Around] => [
    key,
    {
      columns: bindRows(functor, given, { [key]: shape }),
      outside: outsideOf(key, shape, (options.outside as { readonly [name: string]: unknown } | undefined)?.[key]),
    },
  ]);
  const columns = [...own, ...around.flatMap(([, each]) => each.columns)];
  const length = commonLength(columns, name);
  const offsets = offsetsOf(module);
  const grid = gridOf(name, length, offsets, options);
  const context = homeOf(functor, given);
  const build = (): ColumnsOf<R> => {
    const bound = bindCaptures(functor, given, context);
    const view = fuse({ name, kind: 'stencil' }, [], leafTypes(result), (index, _, loader) => {
      const neighbour = neighboursAround(grid, new Map(around), index, loader);
      return applyFunctor(functor, [...loader.load(own, index), ...offsets.flatMap(neighbour)], bound, loader);
    });
    return viewColumns(result, context, length, view);
  };
  return context === undefined ? build() : context.scope(build);
}

/** The columns that a parameter's neighbours are read in, and what they are outside of them. */
interface Around {
  readonly columns: readonly Column[];
  readonly outside: readonly (number | boolean)[];
}

/** The values of a parameter's neighbours outside of the grid, leaf by leaf; zeros where none are given. */
export function outsideOf(key: string, shape: Shape, given: unknown): (number | boolean)[] {
  const types = leafTypes(shape);
  if (given === undefined) return types.map((type) => (type === 'bool' ? false : 0));
  const leaves = flatten<unknown>(shape, given as never, (path) => {
    throw new ArgumentError('stencil/outside', `What is outside of ${key} lacks ${path}.`);
  });
  const sentence = `What is outside of ${key} was given a value of another type.`;
  return types.map((type, leaf) => requireValue(type, leaves[leaf], 'stencil/outside', sentence));
}

/** Values outside are those of parameters that take neighbours. */
function requireNeighbours(outside: object, neighbours: ReadonlyMap<string, Shape>): void {
  const stranger = Object.keys(outside).find((name) => !neighbours.has(name));
  if (stranger === undefined) return;
  throw new ArgumentError('stencil/outside', `No neighbours are called ${stranger}.`, {
    expected: [...neighbours.keys()].join(', '),
    got: stranger,
  });
}

interface Grid {
  readonly length: Column['length'];
  readonly width: number | undefined;
  readonly boundary: { readonly x: Boundary; readonly y: Boundary };
}

function gridOf(
  name: string,
  length: Column['length'],
  offsets: readonly NeighbourOffset[],
  { width, boundary = 'clamp' }: Pick<StencilOptions, 'width' | 'boundary'>,
): Grid {
  const { x, y } = isRecord(boundary) ? boundary : { x: boundary, y: boundary };
  for (const rule of [x, y]) requireBoundary(rule);
  const beyond = offsets.find(({ dy }) => dy !== 0);
  if (width === undefined && beyond !== undefined) {
    throw new ArgumentError('stencil/rows', `Functor ${name} reads other rows, and the cells are one row.`, {
      expected: 'a width, or offsets within the row',
      got: `a neighbour at (${beyond.dx}, ${beyond.dy})`,
      remedy: 'Give stencil the number of cells in a row: { width }.',
    });
  }
  if (width !== undefined) requireWidth(width, length);
  return { length, width, boundary: { x, y } };
}

function requireWidth(width: number, length: Column['length']): void {
  if (typeof width !== 'number')
    throw wrongArgument('stencil', 'the option width', width, 'a positive whole number', { code: 'stencil/width' });
  const isSize = Number.isInteger(width) && width > 0 && width < 2 ** 32;
  if (isSize && (typeof length !== 'number' || length % width === 0)) return;
  throw new ArgumentError('stencil/width', 'stencil was given cells that are no whole number of rows.', {
    expected: isSize ? `a multiple of ${width} cells` : 'a positive whole number as width',
    got: isSize ? length : width,
  });
}

/** The values of the neighbour at an offset from the cell at an index. */
function neighboursAround(
  { length, width, boundary }: Grid,
  around: ReadonlyMap<string, Around>,
  index: U32,
  loader: Loader,
): (offset: NeighbourOffset) => Value<ScalarType>[] {
  const known = typeof length === 'number' ? length : undefined;
  const [x, y] = axesOf(index, width, known, loader.length(length), loader);
  const alongX = once((dx) => stepAlong(x, dx, boundary.x));
  const alongY = once((dy) => stepAlong(y!, dy, boundary.y));
  // A count may cut off the last row.
  const isWhole = width === undefined || known !== undefined;
  const placeOf = ({ dx, dy }: NeighbourOffset): AxisStep => {
    if (dx === 0 && dy === 0) return { place: index };
    if (y === undefined) return alongX(dx);
    const [column, row] = [alongX(dx), alongY(dy)];
    const start = dy === 0 ? index.sub(x.at) : row.place.mul(x.size);
    return { place: start.add(column.place), inside: both(column.inside, row.inside) };
  };
  return (offset) => {
    const { columns, outside } = around.get(offset.parameter)!;
    const { place, inside } = placeOf(offset);
    const values = isWhole ? loader.load(columns, place) : loader.loadWithin(columns, place, length);
    if (inside === undefined) return values;
    return values.map((value, leaf) => {
      const { type } = columns[leaf]!;
      return select(loader.uniform(type, outside[leaf]!), value, inside);
    });
  };
}

/** The axes along a row and, of a grid, across the rows. */
function axesOf(
  index: U32,
  width: number | undefined,
  known: number | undefined,
  length: U32,
  loader: Loader,
): [Axis] | [Axis, Axis] {
  if (width === undefined) return [{ at: index, size: length, known }];
  const size = loader.uniform('u32', width);
  const row = index.div(size);
  const rows = length.sub(1).div(size).add(1);
  return [
    { at: index.sub(row.mul(size)), size, known: width },
    { at: row, size: rows, known: known === undefined ? undefined : known / width },
  ];
}

function both(a: Bool | undefined, b: Bool | undefined): Bool | undefined {
  return a !== undefined && b !== undefined ? a.and(b) : (a ?? b);
}

function once(step: (offset: number) => AxisStep): (offset: number) => AxisStep {
  const known = new Map<number, AxisStep>();
  return (offset) => {
    const found = known.get(offset) ?? step(offset);
    known.set(offset, found);
    return found;
  };
}
