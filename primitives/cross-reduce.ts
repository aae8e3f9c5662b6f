import { requireFunctor, requireOptions, requireRecord, requireValue, wrongArgument } from './checks/arguments.ts';
import { ArgumentError } from './checks/errors.ts';
import { isRecord } from './checks/given.ts';
import { anything, aWhole, type FieldKinds, someRecord } from './checks/kinds.ts';
import {
  Column,
  type ColumnOwner,
  type ColumnsOf,
  columnsOf,
  commonLength,
  requireLength,
  shapeOf,
  type Table,
} from './columns/column.ts';
import { divideLength } from './columns/length.ts';
import {
  alive,
  destination,
  extentOf,
  type Fusion,
  fuse,
  programOf,
  storedArray,
  storeRows,
} from './columns/program.ts';
import { columnsIn } from './columns/reachable.ts';
import { fuseColumns, storedWords } from './columns/views.ts';
import { type ContextOption, inNamedContext, requireContext } from './context/context-option.ts';
import type { CrossReduceCommand, Program, VectorLeaf } from './contract/backend.ts';
import { addTo, neutral } from './derived/assembled-program.ts';
import { runsOf } from './derived/cross-reduce-by-rows.ts';
import { For, Let } from './functors/control.ts';
import { type FunctorDescription, splitParameters } from './functors/functor.ts';
import { assemble, flatten, leafTypes, type PlainOf, type Shape, shapeText, type Tree } from './functors/shapes.ts';
import type { Value } from './functors/value.ts';
import type { ScalarType } from './ir/ir.ts';
import { applyFunctor, bindCaptures } from './map.ts';
import { type Monoid, monoidProgram } from './monoid.ts';
import type { CaptureArguments } from './rows/row-fields.ts';

/**
 * Vectors of `dimensions` elements each, stored one after another: element d of vector i is at `i · dimensions + d`.
 */
export interface Vectors {
  readonly elements: Column<'u32'> | Column<'i32'> | Column<'f32'>;
  readonly dimensions: number;
}

/**
 * Data of the rows on one side of {@link crossReduce}: columns, tables and vectors. The keys are the parameter names of
 * the functors.
 */
export type CrossRows = { readonly [name: string]: Table | Vectors };

/**
 * How {@link crossReduce} computes the value of a pair of rows that have vectors. First, `step` updates the sums with
 * the elements of the vectors, one element of each vector at a time. Then `value` computes the value from the sums.
 */
export interface Contraction<T extends Shape, S extends Shape> {
  /** The initial sums. */
  readonly start: PlainOf<T>;
  /** A functor that returns the updated sums. Its parameters are `sum` and, under each vector's name, one element. */
  readonly step: FunctorDescription & { readonly result: T };
  /** A functor that returns the value of the pair. Its parameters are `sum` and, by name, columns of both sides. */
  readonly value: FunctorDescription & { readonly result: S };
}

export interface CrossReduceOptions extends ContextOption {
  /**
   * Number of consecutive rows of the right side (a run) that are folded into one result. If given, every row of the
   * left side has one result for each run.
   */
  readonly run?: number | undefined;
  /** Columns and numbers for the array and uniform parameters of the functors, by name. */
  readonly captures?: CaptureArguments | undefined;
}

const OPTIONS: FieldKinds<CrossReduceOptions> = {
  run: aWhole(1, 2 ** 31, 'cross-reduce/run'),
  captures: someRecord,
  context: anything,
};

/**
 * Default number of consecutive rows of the right side (a run) that the first pass folds into one result. A second
 * pass folds the results of the runs.
 */
const RUN = 1024;

/**
 * Folds, for every row of one side, a functor of that row and every row of the other side. Examples: the nearest of all
 * points, the number of points within a distance, products of matrices. Tiles (blocks of rows) of both sides are read
 * once for many pairs, so the speed is limited by arithmetic, not by memory.
 *
 * `pair` is a functor that returns the value of a pair; its parameters are named after columns of both sides. For
 * vectors, pass a {@link Contraction} instead: it first applies `step` to the elements of the vectors, one after
 * another, and then `value` to the sums. f32 is rounded after every operation, as in all functors.
 *
 * With `run`, the rows of the right side are split into runs of `run` consecutive rows, and every left row has one
 * result for each run. The result of left row i and run r is row `r · left rows + i` of the output, so the results of
 * one run are adjacent. If only the device knows the number of left rows, `left rows` in this formula is their
 * capacity.
 *
 * - Work O(left rows · right rows · dimensions), span O(right rows · dimensions), or O(run · dimensions) with `run`.
 *   Deterministic: without `run`, the values of each 1,024 consecutive right rows are folded from left to right, and
 *   then the results are folded from left to right.
 * - The monoid must be associative; it need not be commutative.
 * - If there are no right rows, every left row gets the identity without `run`, and no result with `run`. Accepts
 *   device counts (lengths that only the device knows) on both sides. Runs beyond a device count of right rows, and
 *   rows beyond a device count of left rows, give the identity.
 * - Equivalent loop: `for (const a of left) out.push(right.map((b) => value(a, b)).reduce(combine, identity))`.
 *
 * Source: Garcia, Debreuve and Barlaud, Fast k Nearest Neighbor Search using GPU, 2008; tiles as in products of
 * matrices.
 *
 * @throws {@link ArgumentError} `cross-reduce/side` if a name is on both sides or a side is empty,
 * `cross-reduce/vectors` if vectors do not fit, `cross-reduce/step` and `cross-reduce/value` if a functor does not fit.
 * @example
 * const a = { a: { elements: ctx.column(Float32Array.of(0, 0, 3, 3)), dimensions: 2 } };
 * const b = { b: { elements: ctx.column(Float32Array.of(1, 0, 5, 5, 3, 4)), dimensions: 2 } };
 * const step = fn({ sum: f32, a: f32, b: f32 }, f32, ({ sum, a, b }) => sum.add(a.sub(b).mul(a.sub(b))));
 * const value = fn({ sum: f32 }, f32, ({ sum }) => sum);
 * await ctx.read(crossReduce(a, b, { start: 0, step, value }, minimum(f32))); // Float32Array [1, 1]
 */
export function crossReduce<S extends Shape, T extends Shape = Shape>(
  left: CrossRows,
  right: CrossRows,
  pair: (FunctorDescription & { readonly result: S }) | Contraction<T, S>,
  monoid: Monoid<S>,
  options: CrossReduceOptions = {},
): ColumnsOf<S> {
  requireOptions<CrossReduceOptions>('crossReduce', OPTIONS, options);
  requireRecord('crossReduce', 'left', left, 'a record of columns and vectors');
  requireRecord('crossReduce', 'right', right, 'a record of columns and vectors');
  const contraction = contractionOf(pair);
  const folding = monoidProgram(monoid, 'crossReduce', 'monoid');
  if (shapeText(contraction.value.result) !== shapeText(monoid.shape)) {
    throw doesNotFit('value', contraction.value, `a result ${shapeText(monoid.shape)}`);
  }
  return inNamedContext('crossReduce', options, () => {
    const { captures = {} } = options;
    const sides = [sideOf('left', left), sideOf('right', right)] as const;
    const both = requireDistinct(sides);
    const context = requireContext([...both, ...columnsIn(captures)], 'crossReduce');
    return context.scope(() => {
      const [a, b] = [placeSide(context, sides[0]), placeSide(context, sides[1])];
      const dimensions = commonDimensions(sides);
      const { start, step, value } = programsOf(context, contraction, sides, captures, a.length);
      const rows = a.length;
      const command = (run: number): Omit<CrossReduceCommand, 'results'> => ({
        kind: 'crossReduce',
        extent: extentOf(rows),
        others: extentOf(b.length),
        run,
        dimensions,
        left: a.vectors,
        right: b.vectors,
        start,
        step,
        leftOwn: ownProgram('crossReduceLeft', context, sides[0], a.length),
        rightOwn: ownProgram('crossReduceRight', context, sides[1], b.length),
        value,
        monoid: folding,
      });
      const capacity = typeof rows === 'number' ? rows : rows.limit;
      const stored = (length: Column['length']): Column[] => folding.types.map((type) => context.stored(type, length));
      const run = options.run ?? RUN;
      const runs = runsOf({ others: extentOf(b.length), run });
      requireLength(capacity * runs, 'crossReduce', 'the number of results');
      const parts = stored(options.run === undefined && runs === 1 ? rows : capacity * runs);
      if (runs > 0) context.backend.run({ ...command(run), results: parts.map(destination) });
      if (options.run !== undefined || runs === 1) return assemble<Column>(monoid.shape, parts) as ColumnsOf<S>;
      const folded = stored(rows);
      foldRuns(context, folding, parts, runs, rows, folded);
      return assemble<Column>(monoid.shape, folded) as ColumnsOf<S>;
    });
  });
}

/** Converts a functor of columns alone to a contraction without vectors. Other contractions are returned unchanged. */
function contractionOf(pair: FunctorDescription | Contraction<Shape, Shape>): Contraction<Shape, Shape> {
  if (isRecord(pair) && 'value' in pair) {
    requireFunctor('crossReduce', 'pair.step', pair.step);
    requireFunctor('crossReduce', 'pair.value', pair.value);
    return pair as Contraction<Shape, Shape>;
  }
  requireFunctor('crossReduce', 'pair', pair);
  return { start: {}, step: pair, value: pair as Contraction<Shape, Shape>['value'] };
}

/** The data of one side as the caller passed it, with vectors separated from columns and tables. */
interface CrossSide {
  readonly name: 'left' | 'right';
  readonly tables: { readonly [name: string]: Table };
  readonly vectors: { readonly [name: string]: Vectors };
}

function sideOf(name: CrossSide['name'], rows: CrossRows): CrossSide {
  const entries = Object.entries(rows);
  const vectors = entries.filter((entry): entry is [string, Vectors] => isVectors(entry[1]));
  for (const [key, given] of vectors) requireVectors(`${name}.${key}`, given);
  const tables = entries.filter((entry): entry is [string, Table] => !isVectors(entry[1]));
  for (const [key, table] of tables) columnsOf(table, 'crossReduce', `${name}.${key}`);
  if (entries.length > 0) return { name, tables: Object.fromEntries(tables), vectors: Object.fromEntries(vectors) };
  throw wrongArgument('crossReduce', name, rows, 'at least one column, or vectors', { code: 'cross-reduce/side' });
}

function isVectors(given: Table | Vectors): given is Vectors {
  return isRecord(given) && !(given instanceof Column) && 'elements' in given && 'dimensions' in given;
}

function requireVectors(path: string, { elements, dimensions }: Vectors): void {
  if (!(elements instanceof Column) || elements.type === ('bool' as ScalarType)) {
    throw wrongArgument('crossReduce', `${path}.elements`, elements, 'a column of f32, i32 or u32', {
      code: 'column/type',
    });
  }
  if (!(Number.isInteger(dimensions) && dimensions >= 1)) {
    throw wrongArgument('crossReduce', `${path}.dimensions`, dimensions, 'a whole number of at least 1', {
      code: 'cross-reduce/vectors',
    });
  }
  const { length } = elements;
  if (typeof length !== 'number' || length % dimensions === 0) return;
  throw new ArgumentError('cross-reduce/vectors', 'The number of elements must be a multiple of the dimensions.', {
    expected: `a multiple of ${dimensions} elements as ${path}`,
    got: length,
  });
}

/** All columns of both sides. Throws if both sides use the same name. */
function requireDistinct(sides: readonly [CrossSide, CrossSide]): Column[] {
  const [left, right] = sides.map(({ tables, vectors }) => [...Object.keys(tables), ...Object.keys(vectors)]);
  const common = left!.find((name) => right!.includes(name));
  if (common === undefined) {
    return sides.flatMap(({ tables, vectors }) => [
      ...Object.values(tables).flatMap((table) => columnsOf(table)),
      ...Object.values(vectors).map(({ elements }) => elements as Column),
    ]);
  }
  throw new ArgumentError('cross-reduce/side', `The name ${common} is on both sides of crossReduce.`, {
    remedy: 'Functors take rows of both sides by name: rename it on one side.',
  });
}

function commonDimensions(sides: readonly CrossSide[]): number {
  const all = sides.flatMap(({ vectors }) => Object.values(vectors).map(({ dimensions }) => dimensions));
  const [first = 0] = all;
  if (all.every((dimensions) => dimensions === first)) return first;
  throw new ArgumentError(
    'cross-reduce/vectors',
    'Vectors given to crossReduce must all have the same number of elements.',
    {
      expected: `${first} dimensions`,
      got: all,
    },
  );
}

/** The length and the stored vectors of one side, in the form that commands use. */
interface PlacedSide {
  readonly length: Column['length'];
  readonly vectors: readonly VectorLeaf[];
}

function placeSide(context: ColumnOwner, { name, tables, vectors }: CrossSide): PlacedSide {
  const leaves = Object.values(vectors).map(({ elements }) => storedWords(context, elements));
  const columns = Object.values(tables).flatMap((table) => columnsOf(table));
  const counts = Object.values(vectors).map(({ dimensions }, k) =>
    divideLength(context, leaves[k]!.length, dimensions),
  );
  const lengths = [...columns.map(({ length }) => length), ...counts];
  const [numbers, others] = [lengths.filter((length) => typeof length === 'number'), lengths];
  if (new Set(numbers).size > 1) {
    throw new ArgumentError(
      'column/lengths',
      `Rows of the ${name} side of crossReduce must all have the same length.`,
      {
        expected: numbers[0],
        got: numbers,
      },
    );
  }
  const length = columns.length > 0 ? commonLength(columns, 'crossReduce') : others[0]!;
  return {
    length,
    vectors: leaves.map((column) => {
      const { memory, storage, offset } = storedArray(column);
      const array = { buffer: alive(memory).buffer, storage, offset, length: extentOf(column.length) };
      return { type: column.type as VectorLeaf['type'], array };
    }),
  };
}

/**
 * Compiles `step` and `value` of a contraction to programs. The parameters of both programs start with an index and the
 * sums. The elements of the vectors follow for `step`, and the values of both sides' columns for `value`.
 */
function programsOf(
  context: ColumnOwner,
  { start, step, value }: Contraction<Shape, Shape>,
  sides: readonly [CrossSide, CrossSide],
  captures: CaptureArguments,
  length: Column['length'],
): Pick<CrossReduceCommand, 'start' | 'step' | 'value'> {
  const hasSums = step !== value;
  const sum: { readonly [name: string]: Shape } = hasSums ? { sum: step.result } : {};
  const sumTypes = leafTypes(sum);
  const elements = Object.fromEntries(
    sides.flatMap(({ vectors }) => Object.entries(vectors).map(([name, { elements }]) => [name, shapeOf(elements)])),
  );
  const own = Object.fromEntries(
    sides.flatMap(({ tables }) => Object.entries(tables).map(([name, table]) => [name, shapeOf(table)])),
  );
  if (hasSums && shapeText(step.result) === '{}') throw doesNotFit('step', step, 'sums as its result');
  const starts = hasSums
    ? flatten<unknown>(step.result, start as Tree<unknown>, (path) => {
        throw doesNotFit('step', step, `a start with ${path}`);
      }).map((leaf, k) =>
        requireValue(
          sumTypes[k]!,
          leaf,
          'cross-reduce/step',
          'The start of the sums must have the shape of the result of step.',
        ),
      )
    : [];
  const stepProgram = hasSums
    ? pairProgram('step', context, step, { ...sum, ...elements }, captures)
    : fuse('crossReduceStep', [], [], () => []);
  const valueProgram = pairProgram('value', context, value, { ...sum, ...own }, captures);
  return {
    start: starts,
    step: programOf(stepProgram, context, length),
    value: programOf(valueProgram, context, length),
  };
}

/** Compiles a functor whose parameters are some of the names in `shapes` to code that takes values for all of them. */
function pairProgram(
  part: 'step' | 'value',
  context: ColumnOwner,
  functor: FunctorDescription,
  shapes: { readonly [name: string]: Shape },
  captures: CaptureArguments,
): Fusion {
  const { values, neighbours } = splitParameters(functor.parameters);
  const fits = Object.entries(values).every(
    ([name, shape]) => Object.hasOwn(shapes, name) && shapeText(shapes[name]!) === shapeText(shape),
  );
  if (!fits || neighbours.size > 0) throw doesNotFit(part, functor, `some of ${shapeText(shapes)}`);
  const bound = bindCaptures(functor, captures, context);
  const types = leafTypes(shapes);
  return fuse(
    { name: functor.functorName, kind: 'crossReduce' },
    types,
    leafTypes(functor.result),
    (_index, given, loader) => {
      const named = assemble(shapes, given) as { readonly [name: string]: Tree<Value<ScalarType>> };
      const taken = flatten<Value<ScalarType>>(values, named, (path) => {
        throw doesNotFit(part, functor, path);
      });
      return applyFunctor(functor, taken, bound, loader);
    },
  );
}

function doesNotFit(part: 'step' | 'value', functor: FunctorDescription, expected: string): ArgumentError {
  return new ArgumentError(
    `cross-reduce/${part}`,
    `Functor ${functor.functorName} does not fit the ${part} of a pair.`,
    {
      expected,
      got: `${shapeText(splitParameters(functor.parameters).values)} → ${shapeText(functor.result)}`,
    },
  );
}

/** Makes a program that takes a row index and returns the side's values in that row, without its vectors. */
function ownProgram(name: string, context: ColumnOwner, { tables }: CrossSide, length: Column['length']): Program {
  const columns = Object.values(tables).flatMap((table) => columnsOf(table));
  return programOf(fuseColumns(name, columns), context, length);
}

/** Folds the results of all runs of a left row, from left to right, into one result for the row. */
function foldRuns(
  context: ColumnOwner,
  monoid: CrossReduceCommand['monoid'],
  parts: readonly Column[],
  runs: number,
  rows: Column['length'],
  into: readonly Column[],
): void {
  const capacity = typeof rows === 'number' ? rows : rows.limit;
  const fusion = fuse('crossReduceRuns', [], monoid.types, (index, _, loader) => {
    const folded = neutral(monoid);
    For(0, loader.uniform('u32', runs), (run) => {
      addTo(folded, loader.load(parts, index.add(run.mul(loader.uniform('u32', capacity)))), monoid);
    });
    return folded.map(Let);
  });
  const stores = into.map((column, value) => ({ ...destination(column), value }));
  storeRows(context, rows, fusion, stores);
}
