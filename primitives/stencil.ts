import { requireFunctor, requireOptions, requireRecord, requireValue, wrongArgument } from './checks/arguments.ts';
import { ArgumentError } from './checks/errors.ts';
import { describeGiven, isRecord } from './checks/given.ts';
import { anything, someRecord } from './checks/kinds.ts';
import { type Column, type ColumnsOf, commonLength, viewColumns } from './columns/column.ts';
import { commonGrid, type Grid, gridText } from './columns/grid.ts';
import { fuse, type Loader } from './columns/program.ts';
import type { Boundary } from './contract/backend.ts';
import { type Functor, type Parameters, splitParameters, u32 } from './functors/functor.ts';
import { type CellReading, type NeighbourOffset, type NeighboursParameter, readingsOf } from './functors/neighbours.ts';
import { flatten, leafTypes, type PlainOf, type Shape } from './functors/shapes.ts';
import { select } from './functors/standard/choose.ts';
import { type Axis, type AxisStep, requireBoundary, stepAlong } from './functors/stencil-axis.ts';
import type { Bool, U32, Value } from './functors/value.ts';
import type { ScalarType } from './ir/ir.ts';
import { applyFunctor, bindCaptures, bindRows, type ColumnArgument, homeOf } from './map.ts';

/**
 * The arguments for a functor's parameters in {@link stencil}, by name. A `neighbours(…)` parameter takes the columns
 * in which neighbours are read; all other parameters take the arguments that {@link map} takes.
 */
export type StencilArguments<P extends Parameters> = {
  readonly [K in keyof P]: P[K] extends NeighboursParameter<infer S> ? ColumnsOf<S> : ColumnArgument<P[K]>;
};

/** The values outside the grid, for each parameter that takes neighbours. */
export type OutsideOf<P extends Parameters> = {
  readonly [K in keyof P as P[K] extends NeighboursParameter<Shape> ? K : never]?: P[K] extends NeighboursParameter<
    infer S
  >
    ? PlainOf<S>
    : never;
};

export interface StencilOptions<P extends Parameters = Parameters> {
  /**
   * The number of cells in a row of the grid. Cells are stored row by row. Cells that have a shape need no width; a width
   * that differs from theirs is refused. By default, cells without a shape are all in one row.
   */
  readonly width?: number;
  /** What replaces neighbours outside the grid: one rule for both axes, or one for each; `clamp` by default. */
  readonly boundary?: Boundary | { readonly x: Boundary; readonly y: Boundary };
  /** The values outside the grid if the boundary is `constant`; zero by default. */
  readonly outside?: OutsideOf<P>;
}

/**
 * Applies a functor to every cell and its neighbours. It works like {@link map}, with a functor that has
 * `neighbours(…)` parameters. The cells form a single row or, if they have a shape (see {@link asGrid}) or with the
 * option `width`, a grid. Returns a view, which is fused into the command that reads it: a reduction of a stencil is one
 * kernel. The view has the shape of the cells.
 *
 * - `boundary` says how neighbours outside the grid are replaced: by the nearest cell of the edge (`clamp`), by cells
 *   from the opposite end (`wrap`), by the mirror image without repeating the edge cell (`reflect`), or by the values
 *   in `outside` (`constant`).
 * - `x` and `y` of a neighbours parameter are the coordinates of the current cell.
 * - Work O(n · neighbours), span O(1), per use of the view. Deterministic. If the neighbours are read from a view, such
 *   as another stencil, their values are computed anew for every cell, unless storing that view is cheaper.
 *   {@link explain} reports whether the view is stored.
 * - If there are no cells, the result is empty. Accepts device counts (lengths that only the device knows). If a device
 *   count ends within the last row of a grid, neighbours in the missing part of that row are zero. Offsets may be
 *   larger than the grid.
 * - Equivalent loop: `for (let i = 0; i < n; i++) out[i] = f((dx) => cells[Math.min(n - 1, Math.max(0, i + dx))])`.
 *
 * @throws {@link ArgumentError} if the cells do not fill whole rows, if the width is not that of their shape, if an
 * offset leads to other rows but there is neither a shape nor a width, if the boundary is unknown, or if `outside` has values for a parameter without neighbours; otherwise as
 * {@link map}.
 * @example
 * const alive = fn({ cell: neighbours(u32) }, u32, ({ cell }) => {
 *   const [above, below] = [-1, 1].map((dy) => cell.at(-1, dy).add(cell.at(0, dy)).add(cell.at(1, dy)));
 *   const around = above.add(below).add(cell.at(-1)).add(cell.at(1));
 *   return u32(around.or(cell.at(0)).eq(3));
 * });
 * const blinker = ctx.column(Uint8Array.of(0, 1, 0, 0, 1, 0, 0, 1, 0));
 * await ctx.read(stencil(alive, { cell: blinker }, { width: 3, boundary: 'constant' }));
 * // Uint32Array [0, 0, 0, 1, 1, 1, 0, 0, 0]
 *
 * const slope = fn({ z: neighbours(f32) }, f32, ({ z }) => z.at(0, 1).sub(z.at(0, -1)).add(f32(z.x)));
 * const heights = ctx.column(Float32Array.of(1, 2, 3, 4, 5, 6), { rows: 3, columns: 2 });
 * await ctx.read(stencil(slope, { z: heights })); // Float32Array [2, 3, 4, 5, 2, 3]
 */
export function stencil<P extends Parameters, R extends Shape>(
  functor: Functor<P, R>,
  args: StencilArguments<P>,
  options: StencilOptions<P> = {},
): ColumnsOf<R> {
  requireOptions<StencilOptions<P>>('stencil', { width: anything, boundary: anything, outside: someRecord }, options);
  requireFunctor('stencil', 'functor', functor);
  requireRecord('stencil', 'args', args, 'a record of columns and numbers, by parameter name');
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
  const shape = commonGrid(columns, name);
  const readings = readingsOf(module);
  const cells = cellsOf(name, length, shape, readings, options);
  const context = homeOf(functor, given);
  const build = (): ColumnsOf<R> => {
    const bound = bindCaptures(functor, given, context);
    const view = fuse(
      { name, kind: 'stencil' },
      [],
      leafTypes(result),
      (index, _, loader) => {
        const read = readingAround(cells, new Map(around), index, loader);
        return applyFunctor(functor, [...loader.load(own, index), ...readings.flatMap(read)], bound, loader);
      },
      {
        by: [stencil, functor, ...codeOf(cells)],
        columns: [...columns, ...bound.columns.values()],
        lengths: [length],
        values: [...uniformsOf(cells, readings, new Map(around)), ...bound.uniforms.values()],
      },
    );
    return viewColumns(result, context, length, view, shape);
  };
  return context === undefined ? build() : context.scope(build);
}

/** The columns in which the neighbours of a parameter are read, and the values outside the grid. */
interface Around {
  readonly columns: readonly Column[];
  readonly outside: readonly (number | boolean)[];
}

/**
 * The scalars of a parameter's values outside the grid, depth first. They are zero if `given`, the entry of `outside`
 * for the parameter, is undefined.
 */
export function outsideOf(key: string, shape: Shape, given: unknown): (number | boolean)[] {
  const types = leafTypes(shape);
  if (given === undefined) return types.map((type) => (type === 'bool' ? false : 0));
  const leaves = flatten<unknown>(shape, given as never, (path) => {
    throw new ArgumentError('stencil/outside', `The values outside of ${key} are missing ${path}.`);
  });
  const sentence = `A value outside of ${key} has the wrong type.`;
  return types.map((type, leaf) => requireValue(type, leaves[leaf], 'stencil/outside', sentence));
}

/** Requires that `outside` has values only for parameters that take neighbours. */
function requireNeighbours(outside: object, neighbours: ReadonlyMap<string, Shape>): void {
  const stranger = Object.keys(outside).find((name) => !neighbours.has(name));
  if (stranger === undefined) return;
  throw new ArgumentError(
    'stencil/outside',
    `Option outside has ${stranger}, which is not a parameter with neighbours.`,
    {
      expected: [...neighbours.keys()].join(', '),
      got: stranger,
    },
  );
}

/** How cells lie beside each other, and what is outside. */
interface Cells {
  readonly length: Column['length'];
  readonly width: number | undefined;
  readonly boundary: { readonly x: Boundary; readonly y: Boundary };
}

function cellsOf(
  name: string,
  length: Column['length'],
  grid: Grid | undefined,
  readings: readonly CellReading[],
  { width: given, boundary = 'clamp' }: Pick<StencilOptions, 'width' | 'boundary'>,
): Cells {
  const { x, y } = isRecord(boundary) ? boundary : { x: boundary, y: boundary };
  for (const rule of [x, y]) requireBoundary(rule);
  if (grid !== undefined && given !== undefined && given !== grid.columns) throw otherWidth(given, grid);
  // Rows without cells have a width too, by which nothing is divided.
  const width = grid === undefined ? given : Math.max(1, grid.columns);
  const beyond = readings.find((reading): reading is NeighbourOffset => 'dy' in reading && reading.dy !== 0);
  if (width === undefined && beyond !== undefined) {
    throw new ArgumentError('stencil/rows', `Functor ${name} reads other rows, but the cells are a single row.`, {
      expected: 'a width, or offsets within the row',
      got: `a neighbour at (${beyond.dx}, ${beyond.dy})`,
      remedy:
        'Give stencil the number of cells in a row: { width }, or the cells a shape: asGrid(cells, { rows, columns }).',
    });
  }
  if (width !== undefined) requireWidth(width, length);
  return { length, width, boundary: { x, y } };
}

function otherWidth(width: unknown, grid: Grid): ArgumentError {
  return new ArgumentError('stencil/width', 'The cells given to stencil have rows of another width.', {
    expected: `${grid.columns}, as the cells have ${gridText(grid)}`,
    got: describeGiven(width),
    remedy: 'Leave the width out.',
  });
}

/** What of the cells, besides their length, the recorded code of a stencil depends on. */
function codeOf({ length, width, boundary: { x, y } }: Cells): (string | number | boolean)[] {
  const sizes = typeof length === 'number' && [x, y].some((rule) => rule === 'wrap' || rule === 'reflect');
  return [x, y, width !== undefined, ...(sizes ? [width ?? length, length] : [])];
}

/** The uniforms for which {@link readingAround} asks, in order. */
function uniformsOf(
  { width, boundary }: Cells,
  readings: readonly CellReading[],
  around: ReadonlyMap<string, Around>,
): (number | boolean)[] {
  const outside = readings.flatMap((reading) => {
    if ('axis' in reading) return [];
    const { parameter, dx, dy } = reading;
    const mayLeave = (dx !== 0 && boundary.x === 'constant') || (dy !== 0 && boundary.y === 'constant');
    return mayLeave ? around.get(parameter)!.outside : [];
  });
  return width === undefined ? outside : [width, ...outside];
}

function requireWidth(width: number, length: Column['length']): void {
  if (typeof width !== 'number')
    throw wrongArgument('stencil', 'the option width', width, 'a positive whole number', { code: 'stencil/width' });
  const isSize = Number.isInteger(width) && width > 0 && width < 2 ** 32;
  if (isSize && (typeof length !== 'number' || length % width === 0)) return;
  throw new ArgumentError('stencil/width', 'The cells given to stencil must fill whole rows.', {
    expected: isSize ? `a multiple of ${width} cells` : 'a positive whole number as width',
    got: isSize ? length : width,
  });
}

/** Makes a function that loads the neighbour at an offset from cell `index`, or gives a coordinate of the cell. */
function readingAround(
  { length, width, boundary }: Cells,
  around: ReadonlyMap<string, Around>,
  index: U32,
  loader: Loader,
): (reading: CellReading) => Value<ScalarType>[] {
  const known = typeof length === 'number' ? length : undefined;
  const [x, y] = axesOf(index, width, known, loader.length(length), loader);
  const alongX = once((dx) => stepAlong(x, dx, boundary.x));
  const alongY = once((dy) => stepAlong(y!, dy, boundary.y));
  // If only the device knows the number of cells, the last row of the grid may be incomplete.
  const isWhole = width === undefined || known !== undefined;
  const placeOf = ({ dx, dy }: NeighbourOffset): AxisStep => {
    if (dx === 0 && dy === 0) return { place: index };
    if (y === undefined) return alongX(dx);
    const [column, row] = [alongX(dx), alongY(dy)];
    const start = dy === 0 ? index.sub(x.at) : row.place.mul(x.size);
    return { place: start.add(column.place), inside: both(column.inside, row.inside) };
  };
  return (reading) => {
    if ('axis' in reading) return [reading.axis === 'x' ? x.at : (y?.at ?? u32(0))];
    const { columns, outside } = around.get(reading.parameter)!;
    const { place, inside } = placeOf(reading);
    const values = isWhole ? loader.load(columns, place) : loader.loadWithin(columns, place, length);
    if (inside === undefined) return values;
    return values.map((value, leaf) => {
      const { type } = columns[leaf]!;
      return select(loader.uniform(type, outside[leaf]!), value, inside);
    });
  };
}

/** The axis along a row of the grid and, if there is a width, the axis across the rows. */
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
