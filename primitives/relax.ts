import { requireFunctor, requireOptions, requireRecord, wrongArgument } from './checks/arguments.ts';
import { ArgumentError } from './checks/errors.ts';
import { isRecord } from './checks/given.ts';
import { anything, aWhole, type FieldKinds } from './checks/kinds.ts';
import {
  type Column,
  type ColumnOwner,
  type ColumnsOf,
  cellColumn,
  commonLength,
  type DeviceLength,
  type Memory,
  requireType,
} from './columns/column.ts';
import { commonGrid, type Grid, gridText } from './columns/grid.ts';
import { divideLength } from './columns/length.ts';
import { destination, extentOf, fuse, programOf, storeWord } from './columns/program.ts';
import { columnsIn } from './columns/reachable.ts';
import { fuseColumns, storeColumns } from './columns/views.ts';
import { type ContextOption, inNamedContext, requireContext } from './context/context-option.ts';
import type { Boundary, MonoidProgram, Program } from './contract/backend.ts';
import {
  bool,
  type Functor,
  type FunctorDescription,
  type Parameters,
  splitParameters,
  u32,
} from './functors/functor.ts';
import { type NeighbourOffset, readingsOf } from './functors/neighbours.ts';
import { assemble, leafTypes, type PlainOf, type Scalar, type Shape, shapeText } from './functors/shapes.ts';
import { select } from './functors/standard/choose.ts';
import { requireBoundary } from './functors/stencil-axis.ts';
import type { U32, Value } from './functors/value.ts';
import type { ScalarType } from './ir/ir.ts';
import { applyFunctor, bindCaptures, bindRows } from './map.ts';
import { type Monoid, monoid, monoidProgram } from './monoid.ts';
import { countIn, fusedScan } from './scan.ts';
import { constant } from './sequence.ts';
import { outsideOf, type StencilArguments } from './stencil.ts';

/**
 * The sizes of the grids. The cells are stored grid after grid, and row by row within a grid. If both sizes are
 * numbers, all grids have this size; the number of grids is then the number of cells divided by `width * height`,
 * rounded down.
 */
export interface GridSizes {
  readonly width: Column<'u32'> | number;
  readonly height: Column<'u32'> | number;
}

/** The rule that decides after every round whether a grid stops. */
export interface StopRule<M extends Shape> {
  /**
   * A functor that returns the change of a cell in a round. Its parameters are `before` and `after` (the states of
   * the cell before and after the round), or only one of the two.
   */
  readonly change: FunctorDescription & { readonly result: M };
  /** The monoid that folds the changes of all cells of a grid. It must be exact and commutative. */
  readonly total: Monoid<M>;
  /**
   * A functor that returns whether a grid is done. Its parameters are `total` (the folded changes of the round) and
   * `cells` (the number of cells of the grid).
   */
  readonly until: FunctorDescription & { readonly result: Scalar<'bool'> };
  /** Columns and numbers for the array and uniform parameters of `change` and `until`, by name. */
  readonly captures?: { readonly [name: string]: unknown } | undefined;
}

export interface RelaxOptions<S extends Shape> extends ContextOption {
  /** Maximum number of rounds of a grid. */
  readonly maxRounds: number;
  /**
   * `maxWidth` and `maxHeight` are the maximum width and height of a grid. Either may be omitted if the width or
   * height, respectively, is given as a number. If a grid is larger, every read of the result throws
   * {@link CapacityError}.
   */
  readonly maxWidth?: number | undefined;
  readonly maxHeight?: number | undefined;
  /**
   * The rule that replaces neighbours outside the grid: one rule for both axes, or a rule for each axis; `clamp` by
   * default.
   */
  readonly boundary?: Boundary | { readonly x: Boundary; readonly y: Boundary } | undefined;
  /** If the boundary is `constant`, the state of cells outside the grid; zero by default. */
  readonly outside?: PlainOf<S> | undefined;
}

/** The result of {@link relax}. */
export type Relaxed<S extends Shape> = {
  /** The states of all cells after the last round of the grid to which they belong. */
  readonly state: ColumnsOf<S>;
  /** For every grid, the number of rounds that the grid took part in. */
  readonly rounds: Column<'u32'>;
};

/**
 * Updates the cells of many small grids by a functor of each cell and its neighbours, round after round, until each
 * grid meets its stop rule. Uses are diffusion, level sets, cellular automata and Jacobi's method.
 *
 * The step is a functor that returns the next state of a cell. Its parameters are `neighbours(…)` of the state, as in
 * {@link stencil}, and further columns of the cells. All cells of a grid are updated simultaneously, from the states
 * before the round. After every round, a monoid folds the changes of all cells of a grid, and the grid stops if `until`
 * is true. The resulting states of a grid are those after exactly the round in which the grid stopped, on every
 * backend. `rounds` is the number of rounds of each grid; it is `maxRounds` if `until` was never true.
 *
 * - If both sizes are numbers, as in `{ width: 20, height: 1 }`, all grids have the same size, and no scan is needed to
 *   find the first cell of each grid.
 * - If a grid is small enough, one workgroup or thread runs all rounds of the grid. On a GPU, the limit is about 3,500
 *   cells if the state of a cell is one word. Larger grids take three launches a round. `explain` does not report on
 *   this primitive.
 * - Work O(cells · rounds), span O(rounds · (cells of the largest grid ÷ threads of a workgroup)). Deterministic.
 * - The monoid must be exact and commutative (fold integers: `round(|δ| · 2^20)`, not |δ|).
 * - If there are no grids, the result is the input. A grid without cells has no rounds. Cells after the last grid do
 *   not change. If the grids need more cells than the columns have, every read of the result throws
 *   {@link CapacityError}.
 * - The numbers of grids and of cells may be device counts (lengths that only the device knows).
 * - Equivalent loop: `for (const grid of grids) for (let r = 0; r < maxRounds; r++) { const next = grid.map(step);
 *   const total = fold(grid.map((cell, i) => change(cell, next[i]))); grid = next; if (until(total)) break; }`.
 *
 * Source: Boyer, Tarjan, Acton and Skadron, Accelerating Leukocyte Tracking using CUDA, 2009: one persistent workgroup
 * a cell.
 *
 * @throws {@link ArgumentError} `relax/step` if the step does not have exactly one `neighbours` parameter, or does not
 * return the shape of that parameter; `relax/rule` if the functors of the stop rule have the wrong parameters or
 * results; `relax/total` if the monoid is not exact; `relax/rounds` or `relax/size` for an invalid number of rounds or
 * size; for other mistakes, the errors of {@link stencil}.
 * @example
 * const spread = fn({ t: neighbours(f32) }, f32, ({ t }) => t.at(-1).add(t.at(1)).div(2));
 * const change = fn({ before: f32, after: f32 }, u32, ({ before, after }) => u32(round(after.sub(before).abs().mul(1024))));
 * const isStill = fn({ total: u32, cells: u32 }, bool, ({ total, cells }) => total.le(cells));
 * const grids = { width: ctx.column(Uint32Array.of(4, 3)), height: ctx.column(Uint32Array.of(1, 1)) };
 * const t = ctx.column(Float32Array.of(0, 8, 8, 0, 5, 5, 5));
 * const { state, rounds } = relax(grids, spread, { t }, { change, total: plus(u32), until: isStill },
 *   { maxRounds: 3, maxWidth: 4, maxHeight: 1 });
 * await ctx.read({ state, rounds }); // { state: Float32Array [4, 4, 4, 4, 5, 5, 5], rounds: Uint32Array [2, 1] }
 */
export function relax<P extends Parameters, S extends Shape, M extends Shape>(
  grids: GridSizes,
  step: Functor<P, S>,
  args: StencilArguments<P>,
  rule: StopRule<M>,
  options: RelaxOptions<S>,
): Relaxed<S> {
  requireRecord('relax', 'options', options, '{ maxRounds, maxWidth, maxHeight }');
  requireOptions<RelaxOptions<Shape>>('relax', OPTIONS, options as RelaxOptions<Shape>);
  requireRecord('relax', 'grids', grids, '{ width, height }');
  for (const name of ['width', 'height'] as const) {
    if (typeof grids[name] !== 'number') requireType(grids[name], ['u32'], `grids.${name}`, 'relax');
  }
  const { maxRounds } = options;
  const maxWidth = options.maxWidth ?? sizeOf(grids.width);
  const maxHeight = options.maxHeight ?? sizeOf(grids.height);
  for (const [name, given] of Object.entries({ maxRounds, maxWidth, maxHeight })) {
    if (given === undefined) throw wrongArgument('relax', `options.${name}`, undefined, 'a whole number');
  }
  return inNamedContext('relax', options, () => {
    return relaxGrids(grids, step, args, rule, { ...options, maxWidth: maxWidth!, maxHeight: maxHeight! });
  });
}

function sizeOf(given: Column<'u32'> | number): number | undefined {
  return typeof given === 'number' ? given : undefined;
}

function relaxGrids<P extends Parameters, S extends Shape, M extends Shape>(
  grids: GridSizes,
  step: Functor<P, S>,
  args: StencilArguments<P>,
  rule: StopRule<M>,
  options: RelaxOptions<S> & { readonly maxWidth: number; readonly maxHeight: number },
): Relaxed<S> {
  const { maxRounds, maxWidth, maxHeight } = options;
  requireSize(grids.width, 'grids.width', maxWidth);
  requireSize(grids.height, 'grids.height', maxHeight);
  requireFunctor('relax', 'step', step);
  requireRecord('relax', 'args', args, 'a record of columns and numbers, by parameter name');
  requireRecord('relax', 'rule', rule, '{ change, total, until }');
  const given = args as { readonly [name: string]: unknown };
  const { parameter, state, own } = columnsOfStep(step, given);
  const change = requireRule(step.result, rule);
  const { captures = {} } = rule;
  requireRecord('relax', 'rule.captures', captures, 'a record of columns and numbers, by the names of the captures');
  const sizes = [grids.width, grids.height].filter((size) => typeof size !== 'number');
  const context = requireContext([...sizes, ...state, ...own, ...columnsIn([given, captures])], 'relax');
  const cells = commonLength([...state, ...own], 'relax');
  if (sizes.length === 0) requireSameSides(grids as GridSize, commonGrid([...state, ...own], 'relax'));
  const common = { context, cells, maxWidth, maxHeight };
  return context.scope(() => {
    const length = sizes.length === 0 ? countAlike(context, grids as GridSize, cells) : commonLength(sizes, 'relax');
    const program = sizes.length === 0 ? gridsAlike(grids as GridSize) : gridsOfSizes(common, grids, length);
    const relaxed = storeColumns(context, state, cells, 'relaxStart');
    const rounds = context.stored('u32', length);
    context.backend.run({
      kind: 'relax',
      extent: extentOf(length),
      grids: program,
      cells: extentOf(cells),
      state: relaxed.map((column) => ({ type: column.type, ...destination(column) })),
      own: ownProgram(context, own, cells),
      step: stepProgram(context, step, given, rule.change, captures, cells),
      neighbours: around(step),
      boundary: sidesOf(options.boundary),
      outside: outsideOf(parameter, step.result, options.outside),
      change,
      until: untilProgram(context, rule.until, captures, change.types, length),
      maxRounds,
      maxWidth,
      maxHeight,
      rounds: destination(rounds),
    });
    return { state: assemble<Column>(step.result, relaxed) as ColumnsOf<S>, rounds };
  });
}

const OPTIONS: FieldKinds<RelaxOptions<Shape>> = {
  maxRounds: aWhole(0, 2 ** 32 - 1, 'relax/rounds'),
  maxWidth: aWhole(1, 2 ** 32 - 1, 'relax/size'),
  maxHeight: aWhole(1, 2 ** 32 - 1, 'relax/size'),
  boundary: anything,
  outside: anything,
  context: anything,
};

/** Requires that grids that have one size fill a column that has a shape: one below the other, row by row. */
function requireSameSides({ width, height }: GridSize, shape: Grid | undefined): void {
  if (shape === undefined || (shape.columns === width && shape.rows % height === 0)) return;
  throw new ArgumentError('relax/size', 'The cells given to relax have another shape than its grids.', {
    expected: `grids of ${shape.columns} cells in a row, as the cells have ${gridText(shape)}`,
    got: `grids of ${width} × ${height} cells`,
    remedy: 'Pass the width and the height of the shape, or a part of its rows as the height.',
  });
}

/** The size that all grids have. */
interface GridSize {
  readonly width: number;
  readonly height: number;
}

function requireSize(given: Column<'u32'> | number, name: string, max: number): void {
  if (typeof given !== 'number') requireType(given, ['u32'], name, 'relax');
  else if (!(Number.isInteger(given) && given >= 1 && given <= Math.min(max, 2 ** 32 - 1)))
    throw wrongSize(given, name, max);
}

function wrongSize(given: number, name: string, max: number): ArgumentError {
  return new ArgumentError('relax/size', `Argument ${name} of relax is not a valid size of grids.`, {
    expected: `a column of u32, or a whole number from 1 to ${max}`,
    got: given,
  });
}

/** The number of grids of the given size that fit completely into the cells. */
function countAlike(context: ColumnOwner, { width, height }: GridSize, cells: Column['length']): Column['length'] {
  const area = width * height;
  if (area > (typeof cells === 'number' ? cells : cells.limit)) return 0;
  return divideLength(context, cells, area);
}

function gridsAlike({ width, height }: GridSize): Program {
  const fusion = fuse('relaxGrid', [], ['u32', 'u32', 'u32'], (index) => [
    index.mul(Math.min(width * height, 2 ** 32 - 1)),
    u32(width),
    u32(height),
  ]);
  return programOf(fusion);
}

type Arguments = { readonly [name: string]: unknown };

/**
 * The columns that a step reads: columns of the state, which are read at a cell and around it, and further columns,
 * which are read only at the cell.
 */
function columnsOfStep(step: FunctorDescription, args: Arguments) {
  const { values, neighbours } = splitParameters(step.parameters);
  const [[parameter, shape] = ['', undefined], ...others] = [...neighbours];
  if (shape === undefined || others.length > 0 || shapeText(shape) !== shapeText(step.result)) {
    throw new ArgumentError('relax/step', `Functor ${step.functorName} is not a step from a state to the next state.`, {
      expected: 'one parameter neighbours(S), and S as its result',
      got: `${neighbours.size} such parameters${shape === undefined ? '' : `, of ${shapeText(shape)}`}, and ${shapeText(step.result)}`,
    });
  }
  return { parameter, state: bindRows(step, args, { [parameter]: shape }), own: bindRows(step, args, values) };
}

/**
 * Requires a stop rule whose functors have the right parameters and results. Returns the rule's monoid in the form that
 * backends use.
 */
function requireRule<S extends Shape, M extends Shape>(state: S, { change, total, until }: StopRule<M>): MonoidProgram {
  requireFunctor('relax', 'rule.change', change);
  requireFunctor('relax', 'rule.until', until);
  const program = monoidProgram(total, 'relax', 'rule.total');
  if (!program.exact) {
    throw new ArgumentError('relax/total', 'The monoid that folds the changes of a grid must be exact.', {
      expected: 'an exact monoid, such as plus(u32)',
      remedy: 'Return whole numbers from rule.change: u32(round(after.sub(before).abs().mul(2 ** 20))).',
    });
  }
  requireSignature(change, { before: state, after: state }, total.shape);
  requireSignature(until, { total: total.shape, cells: u32 }, bool);
  return program;
}

/**
 * Requires that the parameters of a functor are fields of a given record, and that the functor returns a given shape.
 */
function requireSignature(functor: FunctorDescription, max: { readonly [name: string]: Shape }, result: Shape): void {
  const { values, neighbours } = splitParameters(functor.parameters);
  const fits = Object.entries(values).every(
    ([name, shape]) => Object.hasOwn(max, name) && shapeText(max[name]!) === shapeText(shape),
  );
  if (fits && neighbours.size === 0 && shapeText(functor.result) === shapeText(result)) return;
  throw new ArgumentError('relax/rule', `Functor ${functor.functorName} does not fit the rule.`, {
    expected: `${shapeText(max)} → ${shapeText(result)}`,
    got: `${shapeText(values)} → ${shapeText(functor.result)}`,
  });
}

interface Common {
  readonly context: ColumnOwner;
  readonly cells: Column['length'];
  readonly maxWidth: number;
  readonly maxHeight: number;
}

interface PlacedGrids {
  readonly first: Column<'u32'>;
  /** Three words: the total number of cells of all grids, the maximum width and the maximum height. */
  readonly total: Memory;
  /**
   * A word that is 0 if the grids have enough cells. Otherwise the word is 2³² − 1, so the capacity check on the word
   * fails. Undefined if the host knows the number of cells, because the check then uses `total`.
   */
  readonly missing: Memory | undefined;
}

/** A monoid that adds up the cells of grids and finds their maximum width and height. */
const gridSizes = monoid({
  of: { cells: u32, width: u32, height: u32 },
  identity: { cells: 0, width: 0, height: 0 },
  combine: ({ a, b }) => ({
    cells: saturatingSum(a.cells, b.cells),
    width: a.width.max(b.width),
    height: a.height.max(b.height),
  }),
  name: 'gridSizes',
});

function saturatingSum(a: U32, b: U32): U32 {
  const sum = a.add(b);
  return select(sum, u32(2 ** 32 - 1), sum.lt(a));
}

/**
 * Makes a program that returns the first cell, the width and the height of a grid. The widths, the heights or both are
 * columns.
 */
function gridsOfSizes(common: Common, sizes: GridSizes, length: Column['length']): Program {
  const column = (size: Column<'u32'> | number) => (typeof size === 'number' ? constant(u32, size, length) : size);
  const columns = { width: column(sizes.width), height: column(sizes.height) };
  return gridsProgram(common, columns, placeGrids(common, columns, length), length);
}

interface SizeColumns {
  readonly width: Column<'u32'>;
  readonly height: Column<'u32'>;
}

/**
 * Places the cells of the grids one after another. Starts the checks that the total number of cells, the maximum width
 * and the maximum height are within their limits.
 */
function placeGrids(
  { context, cells, maxWidth, maxHeight }: Common,
  { width, height }: SizeColumns,
  length: Column['length'],
): PlacedGrids {
  const first = context.stored('u32', length);
  const total = context.allocate(3);
  fusedScan('relaxGrids', {
    context,
    length,
    monoid: gridSizes,
    element: (index, loader) => {
      const [wide, high] = loader.load([width, height], index) as [U32, U32];
      return [cellsOf(wide, high), wide, high];
    },
    emit: (_, [sum]) => [sum!],
    emitted: ['u32'],
    stores: [{ ...destination(first), value: 0 }],
    total,
  });
  const missing = typeof cells === 'number' ? undefined : findMissing(context, cells, total);
  context.expectCapacity(
    missing === undefined ? countIn(total, 0, cells as number) : countIn(missing, 0, (cells as DeviceLength).limit),
    'relax',
  );
  context.expectCapacity(countIn(total, 1, maxWidth), 'relax');
  context.expectCapacity(countIn(total, 2, maxHeight), 'relax');
  return { first, total, missing };
}

/** The number of cells of a grid, or 2³² − 1 if the product of width and height overflows. */
function cellsOf(width: U32, height: U32): U32 {
  const isTooLarge = height.gt(u32(2 ** 32 - 1).div(width.max(1)));
  return select(width.mul(height), u32(2 ** 32 - 1), isTooLarge);
}

/**
 * Compares the number of cells that the grids need with the number of available cells, which only the device knows.
 * Returns the memory of a word that is 0 if there are enough cells, and 2³² − 1 otherwise.
 */
function findMissing(context: ColumnOwner, cells: DeviceLength, total: Memory): Memory {
  const missing = context.allocate(1);
  const fusion = fuse('relaxMissing', [], ['u32'], (_index, _, loader) => {
    const [all] = loader.load([cellColumn(total, 'u32', 0)], u32(0)) as [U32];
    return [select(u32(0), u32(2 ** 32 - 1), all.gt(loader.length(cells)))];
  });
  storeWord(context, fusion, missing);
  return missing;
}

/**
 * Makes a program that returns the first cell, the width and the height of a grid. If a grid does not fit, the program
 * returns 0 as its width and height.
 */
function gridsProgram(
  { context, cells, maxWidth, maxHeight }: Common,
  { width, height }: SizeColumns,
  { first, total, missing }: PlacedGrids,
  length: Column['length'],
): Program {
  const fusion = fuse('relaxGrid', [], ['u32', 'u32', 'u32'], (index, _, loader) => {
    const [at, wide, high] = loader.load([first, width, height], index) as [U32, U32, U32];
    const count = cellsOf(wide, high);
    const room = loader.length(cells);
    const [widest, highest] = [loader.length(countIn(total, 1, maxWidth)), loader.length(countIn(total, 2, maxHeight))];
    // If the capacity checks pass, `all` and `none` do not change the result. The program reads them only so that the
    // result derives from the checks.
    const all = missing === undefined ? loader.length(countIn(total, 0, cells as number)) : room;
    const none = missing === undefined ? u32(0) : (loader.load([cellColumn(missing, 'u32', 0)], u32(0))[0] as U32);
    const fits = wide
      .le(widest)
      .and(high.le(highest))
      .and(at.le(room))
      .and(count.le(room.min(all).sub(at.min(room.min(all)))))
      .and(none.eq(0));
    return [at, select(u32(0), wide, fits), select(u32(0), high, fits)];
  });
  return programOf(fusion, context, length);
}

function ownProgram(context: ColumnOwner, columns: readonly Column[], length: Column['length']): Program {
  return programOf(fuseColumns('relaxOwn', columns), context, length);
}

/** The offsets of the neighbours that a step reads, except offset (0, 0), which is the cell itself. */
function around(step: FunctorDescription): readonly NeighbourOffset[] {
  return offsetsOf(step).filter(({ dx, dy }) => dx !== 0 || dy !== 0);
}

function offsetsOf({ functorName, module }: FunctorDescription): NeighbourOffset[] {
  return readingsOf(module).map((reading) => {
    if (!('axis' in reading)) return reading;
    throw new ArgumentError('relax/coordinates', `Functor ${functorName} asks relax for the coordinates of a cell.`, {
      expected: 'a functor of the values of cells',
      got: `${reading.parameter}.${reading.axis}`,
      remedy: 'Pass the coordinates as columns of the cells.',
    });
  });
}

/**
 * Makes a program that computes the next state of a cell and the change of this state. The program takes the state of
 * the cell, the further columns at the cell, and the states of the neighbours.
 */
function stepProgram(
  context: ColumnOwner,
  step: FunctorDescription,
  args: Arguments,
  change: FunctorDescription,
  captures: Arguments,
  cells: Column['length'],
): Program {
  const state = leafTypes(step.result);
  const own = leafTypes(splitParameters(step.parameters).values);
  const bound = bindCaptures(step, args, context);
  const boundChange = bindCaptures(change, captures, context);
  const types = [...state, ...own, ...around(step).flatMap(() => state)];
  const results = [...state, ...leafTypes(change.result)];
  const fusion = fuse({ name: step.functorName, kind: 'relax' }, types, results, (_index, values, loader) => {
    const before = values.slice(0, state.length);
    const others = values.slice(state.length + own.length);
    let next = 0;
    const neighbours = offsetsOf(step).flatMap(({ dx, dy }) => {
      if (dx === 0 && dy === 0) return before;
      next += state.length;
      return others.slice(next - state.length, next);
    });
    const after = applyFunctor(
      step,
      [...values.slice(state.length, state.length + own.length), ...neighbours],
      bound,
      loader,
    );
    const states: { readonly [name: string]: Values } = { before, after };
    const taken = Object.keys(splitParameters(change.parameters).values).flatMap((name) => states[name]!);
    return [...after, ...applyFunctor(change, taken, boundChange, loader)];
  });
  return programOf(fusion, context, cells);
}

/** A program that decides whether a grid is done, from its number of cells and the folded changes of its cells. */
function untilProgram(
  context: ColumnOwner,
  until: FunctorDescription,
  captures: Arguments,
  folded: readonly ScalarType[],
  length: Column['length'],
): Program {
  const bound = bindCaptures(until, captures, context);
  const fusion = fuse('relaxUntil', ['u32', ...folded], ['bool'], (_index, [cells, ...total], loader) => {
    const given: { readonly [name: string]: Values } = { cells: [cells!], total };
    const taken = Object.keys(splitParameters(until.parameters).values).flatMap((name) => given[name]!);
    return applyFunctor(until, taken, bound, loader);
  });
  return programOf(fusion, context, length);
}

function sidesOf(boundary: RelaxOptions<Shape>['boundary'] = 'clamp'): { readonly x: Boundary; readonly y: Boundary } {
  const { x, y } = isRecord(boundary) ? (boundary as { x: Boundary; y: Boundary }) : { x: boundary, y: boundary };
  for (const side of [x, y]) requireBoundary(side, 'relax');
  return { x, y };
}

type Values = readonly Value<ScalarType>[];
