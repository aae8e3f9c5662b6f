import { requireFunctor, requireOptions } from './checks/arguments.ts';
import { anything, type FieldKinds, someRecord } from './checks/kinds.ts';
import {
  Column,
  type ColumnOwner,
  type ColumnsOf,
  columnsOf,
  commonLength,
  type DeviceLength,
  requireType,
  type Table,
} from './columns/column.ts';
import { destination, extentOf, fuse, type Loader, programOf, storeRows } from './columns/program.ts';
import { columnsIn } from './columns/reachable.ts';
import { wordsOf } from './columns/words.ts';
import { type ContextOption, inNamedContext, requireContext } from './context/context-option.ts';
import { type AtomicCombination, capacityOf, type Store } from './contract/backend.ts';
import { If, Var } from './functors/control.ts';
import { bool, u32 } from './functors/functor.ts';
import { literal } from './functors/recorder.ts';
import { assemble, leafTypes, type Scalar, type Shape, type Tree } from './functors/shapes.ts';
import { type Bool, type U32, Value } from './functors/value.ts';
import type { ScalarType } from './ir/ir.ts';
import { applyFunctor, bindCaptures } from './map.ts';
import { makePlaced, type PlacedRows, placeRows, type RowsToMake } from './rows/placed-rows.ts';
import { argumentsOf, type CaptureArguments, type Fields, fieldsTaken, leavesOf } from './rows/row-fields.ts';
import { requireCombination, requireUnread } from './scatter-reduce.ts';
import { requireWalk, type WalkStart, type WalkState, type WalkStep } from './walk-functors.ts';

export interface UnfoldOptions extends ContextOption, RowsToMake {
  /** Columns and numbers for the array and uniform parameters of both functors, by name. */
  readonly captures?: CaptureArguments;
}

const OPTIONS: FieldKinds<UnfoldOptions> = {
  capacity: anything,
  expected: anything,
  captures: someRecord,
  context: anything,
};

/**
 * For every row, a walk (a loop with a state) emits any number of output rows. `start` returns the initial state.
 * `step` returns the next state and emits one row or none; the walk ends after a step that returns `more: false`. The
 * output has the order of the input rows. The output rows of one input row have the order of the steps. `unfold` suits
 * output rows that are costly to compute separately, because each would need a walk of its own. Examples are all hits
 * of a query in a tree, or all crossings of a ring.
 *
 * Every walk runs once to count its rows. Walks that emit several rows run a second time to write them; this second run
 * ends at the last emitted row. With `capacity`, the call does not wait. At most `capacity` rows are written. If there
 * are more output rows, every read of the result, and of columns derived from it, throws a {@link CapacityError} with
 * the capacity needed. Without `capacity`, the call returns a promise, because it waits once for the device to learn
 * the number of output rows; the result has exactly this number. With `expected`, an estimate of this number, rows are
 * written before the number is known. This saves time if the estimate is about right.
 *
 * - Work O(rows + steps), span O(steps of the longest walk + log rows): a walk is never split. Deterministic.
 * - Every walk must end within the time that the device allows for a kernel.
 * - If there are no rows, the result is empty. A walk has at least one step. Fields that are views are computed once
 *   for every row in each of the two runs. Accepts device counts (lengths that only the device knows). More than 2³² −
 *   2 output rows are an error; their number never wraps. Captured views are stored first.
 * - Equivalent loop: `for (const row of rows) { let more = true, state = start(row); while (more) { const made = step({
 *   ...row, ...state }); if (made.emits) out.push(made.value); ({ more, state } = made); } }`.
 *
 * Source: Gibbons and Jones, The Under-appreciated Unfold, 1998; counted and then written as in Blelloch 1990.
 *
 * @throws {@link ArgumentError} `rows/field` if a functor takes a field that neither the row nor the state has,
 * `rows/type` if the field has another type, `rows/state` if both have a field of the same name, `unfold/state` and
 * `unfold/result` if the functors do not return what {@link WalkStart} and {@link WalkStep} require.
 * @example
 * const rows = { n: ctx.column(Uint32Array.of(3, 1, 4)) };
 * const start = fn({ n: u32 }, { x: u32 }, ({ n }) => ({ x: n }));
 * const collatz = fn({ x: u32 }, { more: bool, emits: bool, state: { x: u32 }, value: u32 }, ({ x }) => ({
 *   more: x.gt(1), emits: true, state: { x: select(x.shr(1), x.mul(3).add(1), x.and(1).eq(1)) }, value: x }));
 * await ctx.read(unfold(rows, start, collatz, { capacity: 16 }));
 * // Uint32Array [3, 10, 5, 16, 8, 4, 2, 1, 1, 4, 2, 1]
 */
export function unfold<S extends WalkState, R extends Shape, C extends number | undefined = undefined>(
  rows: Table,
  start: WalkStart<S>,
  step: WalkStep<S, R>,
  options?: UnfoldOptions & { readonly capacity?: C },
): C extends number ? ColumnsOf<R> : Promise<ColumnsOf<R>>;
export function unfold<S extends WalkState, R extends Shape>(
  rows: Table,
  start: WalkStart<S>,
  step: WalkStep<S, R>,
  options: UnfoldOptions = {},
): ColumnsOf<R> | Promise<ColumnsOf<R>> {
  requireOptions('unfold', OPTIONS, options);
  const { capacity, expected, captures = {} } = options;
  const walk = inNamedContext('unfold', options, () => walkOf('unfold', rows, start, step, captures));
  const { context } = walk;
  const place = (): PlacedWalks => placeWalks(walk);
  const make = (placed: PlacedWalks, length: number | DeviceLength): ColumnsOf<R> => writeWalks(walk, placed, length);
  return makePlaced('unfold', context, { capacity, expected }, place, make);
}

/**
 * Combines the values that walks emit with elements of `onto`, in place: `onto[index] = onto[index] ⊕ value`,
 * where ⊕ is the operation `combine`. The result is that of {@link scatterReduce} with the rows of {@link unfold}, but
 * these rows are never stored. Rows whose index is not below the length of `onto` are ignored.
 *
 * - Work O(rows + steps), span O(steps of the longest walk), or O(emitted rows) if all rows have the same index; every
 *   walk runs once. Deterministic: the operations are commutative and exact.
 * - `add` is modulo 2³². Accepts device counts (lengths that only the device knows).
 * - Equivalent loop: the loop of {@link unfold}, with `if (made.emits && index < onto.length) onto[index] ^= value`
 *   for `{ index, value } = made.value`.
 *
 * @throws {@link ArgumentError} as {@link unfold}; `column/not-writable` if `onto` is a view or packed,
 * `scatter/aliased` if the walks read `onto`.
 * @example
 * const multiples = fn({ m: u32, by: u32 },
 *   { more: bool, emits: bool, state: { m: u32 }, value: { index: u32, value: u32 } }, ({ m, by }) => ({
 *   more: m.add(by).lt(8), emits: true, state: { m: m.add(by) }, value: { index: m, value: 1 } }));
 * const divisors = ctx.column(new Uint32Array(8));
 * const from = fn({ by: u32 }, { m: u32 }, ({ by }) => ({ m: by }));
 * unfoldReduce({ by: ctx.column(Uint32Array.of(1, 2, 3)) }, from, multiples, 'add', divisors);
 * await ctx.read(divisors); // Uint32Array [0, 1, 2, 2, 2, 1, 3, 1]
 */
export function unfoldReduce<S extends WalkState>(
  rows: Table,
  start: WalkStart<S>,
  step: WalkStep<S, { readonly index: Scalar<'u32'>; readonly value: Scalar<'u32'> }>,
  combine: AtomicCombination,
  onto: Column<'u32'>,
  options: Pick<UnfoldOptions, 'captures'> = {},
): void {
  requireOptions<Pick<UnfoldOptions, 'captures'>>('unfoldReduce', { captures: someRecord }, options);
  const { captures = {} } = options;
  requireType(onto, ['u32'], 'onto', 'unfoldReduce');
  requireCombination('unfoldReduce', combine);
  const walk = walkOf('unfoldReduce', rows, start, step, captures, onto);
  requireWalk(start, step, indexAndValue);
  const into = destination(onto);
  walk.context.scope(() =>
    runWalk(walk, walk.name, {
      own: [],
      stored: ['bool', 'u32', 'u32'],
      begin: () => [bool(true)],
      advance: (_, { more, emits, value }) => ({ next: [more], stored: [emits, ...leavesOf(indexAndValue, value)] }),
      stores: (first) => [{ ...into, guard: first, index: first + 1, value: first + 2, combine }],
      changed: onto,
    }),
  );
}

const indexAndValue = { index: u32, value: u32 };

type Values = readonly Value<ScalarType>[];

/** A call of a primitive with walks: the functors, and the fields and captures that they read. */
interface Walk {
  readonly name: string;
  readonly context: ColumnOwner;
  readonly length: Column['length'];
  readonly start: WalkStart<WalkState>;
  readonly step: WalkStep<WalkState, Shape>;
  /** The fields of a row that `start` takes as parameters; `stepFields` are the fields that `step` takes. */
  readonly startFields: Fields;
  readonly stepFields: Fields;
  readonly captures: CaptureArguments;
}

function walkOf(
  name: string,
  rows: Table,
  start: WalkStart<WalkState>,
  step: WalkStep<WalkState, Shape>,
  captures: CaptureArguments,
  ...others: readonly Column[]
): Walk {
  const columns = columnsOf(rows, name, 'rows');
  requireFunctor(name, 'start', start);
  requireFunctor(name, 'step', step);
  requireWalk(start, step, undefined);
  const length = commonLength(columns, name);
  return {
    name,
    context: requireContext([...columns, ...columnsIn(captures), ...others], name),
    length,
    start,
    step,
    startFields: fieldsTaken(name, start, rows, {}),
    stepFields: fieldsTaken(name, step, rows, start.result),
    captures,
  };
}

interface PlacedWalks extends PlacedRows {
  /** For every walk, the number of rows that it emits. */
  readonly counts: Column<'u32'>;
  /** For every walk, the first row that it emits. Undefined if the rows have more columns than {@link MAX_KEPT}. */
  readonly firsts: readonly Column[] | undefined;
  /** Stored copies of the captures that are views, by name. */
  readonly written: { readonly [name: string]: Column };
}

/** Runs all walks to count the rows that they emit, and assigns positions in the output to these rows. */
function placeWalks(walk: Walk): PlacedWalks {
  const { context, length, captures } = walk;
  return context.scope(() => {
    const written = context.materialize(viewsIn(captures));
    const counts = context.stored('u32', length);
    const { value: shape } = walk.step.result;
    const types = leafTypes(shape).length <= MAX_KEPT ? leafTypes(shape) : [];
    const firsts = types.map((type) => context.stored(type, length));
    runWalk({ ...walk, captures: { ...captures, ...written } }, `${walk.name}Count`, {
      own: ['u32'],
      stored: ['bool', 'bool', ...types],
      begin: () => [bool(true), u32(0)],
      advance: ([count], { more, emits, value }) => ({
        next: [more, saturating(count as U32, emits)],
        stored: [more.not(), emits.and((count as U32).eq(0)), ...(firsts.length === 0 ? [] : leavesOf(shape, value))],
      }),
      stores: (first) => [
        { ...destination(counts), guard: first, value: 1 },
        ...firsts.map((column, i) => ({ ...destination(column), guard: first + 1, value: first + 2 + i })),
      ],
    });
    const kept = firsts.length === 0 ? undefined : firsts;
    return { ...placeRows(walk.name, context, counts), counts, firsts: kept, written };
  });
}

/**
 * If output rows have at most this number of columns, the run that counts rows also stores the first row of every walk.
 * The number is limited because a kernel can write to only a few buffers.
 */
const MAX_KEPT = 4;

function viewsIn(captures: CaptureArguments): { readonly [name: string]: Column } {
  return Object.fromEntries(
    Object.entries(captures).flatMap(([name, capture]) =>
      capture instanceof Column && capture.source.kind === 'view' ? [[name, capture]] : [],
    ),
  );
}

/** Adds 1 to a count if `another` is true. The count stops at the largest u32. */
function saturating(count: U32, another: Bool): U32 {
  return count.max(count.add(u32(another)));
}

/**
 * Writes the output rows. Walks whose rows were all stored by the counting run do not run again. Other walks run up to
 * their last row that fits in the output.
 */
function writeWalks<R extends Shape>(
  walk: Walk,
  { offsets, counts, firsts, written }: PlacedWalks,
  length: number | DeviceLength,
): ColumnsOf<R> {
  const { context, step } = walk;
  const { value } = step.result;
  const types = leafTypes(value);
  return context.scope(() => {
    const results = types.map((type) => context.stored(type, length));
    if (firsts !== undefined) writeFirsts(walk, offsets, counts, firsts, results);
    const few = firsts === undefined ? 0 : 1;
    runWalk({ ...walk, captures: { ...walk.captures, ...written } }, walk.name, {
      own: ['u32', 'u32'],
      stored: ['bool', 'u32', ...types],
      begin: (index, loader) => {
        const [offset, count] = loader.load([offsets, counts], index) as [U32, U32];
        const capacity = loader.uniform('u32', capacityOf(length));
        const end = offset.add(count.min(capacity.sub(offset.min(capacity))));
        return [offset.lt(end).and(count.gt(few)), offset, end];
      },
      advance: ([place, end], { more, emits, value: made }) => {
        const next = (place as U32).add(u32(emits));
        return { next: [more.and(next.lt(end as U32)), next, end!], stored: [emits, place!, ...leavesOf(value, made)] };
      },
      stores: (first) =>
        results.map((column, i) => ({ ...destination(column), guard: first, index: first + 1, value: first + 2 + i })),
    });
    return assemble<Column>(value, results) as ColumnsOf<R>;
  });
}

/** Copies the first rows that the counting run stored to their positions in the output. */
function writeFirsts(
  { name, context, length }: Walk,
  offsets: Column<'u32'>,
  counts: Column<'u32'>,
  firsts: readonly Column[],
  results: readonly Column[],
): void {
  const words = firsts.map(wordsOf);
  const types = words.map(({ type }) => type);
  const placed = fuse({ name: `${name}Firsts`, kind: name }, [], ['bool', 'u32', ...types], (index, _, loader) => {
    const [count, offset] = loader.load([counts, offsets], index) as [U32, U32];
    return [count.gt(0), offset, ...loader.load(words, index)];
  });
  const stores = results.map((column, i) => ({ ...destination(column), guard: 0, index: 1, value: 2 + i }));
  storeRows(context, length, placed, stores);
}

/** What a primitive does at the start and at each step of a walk. */
interface Recording {
  /** The types of the state that the primitive itself keeps, besides the state of the walk. */
  readonly own: readonly ScalarType[];
  /** Returns whether a row has a walk at all, and the initial state of the primitive. */
  readonly begin: (index: U32, loader: Loader) => Values;
  /** Returns whether the walk continues, the next state of the primitive, and the values that its stores use. */
  readonly advance: (own: Values, made: Made) => { readonly next: Values; readonly stored: Values };
  readonly stored: readonly ScalarType[];
  /**
   * Returns the stores of each step. `first` is the index of the first `stored` value among the results of the step
   * program. The primitive's own state begins at result 1.
   */
  readonly stores: (first: number) => readonly Store[];
  /** The column that the stores change in place, if any. */
  readonly changed?: Column;
}

/** The results of the functor `step` at one step. */
interface Made {
  readonly more: Bool;
  readonly emits: Bool;
  readonly state: Tree<Value<ScalarType>>;
  readonly value: Tree<Value<ScalarType>>;
}

function runWalk(walk: Walk, name: string, recording: Recording): void {
  const { context, length, start, step, startFields, stepFields, captures } = walk;
  const { own, stored, stores, changed } = recording;
  const [boundStart, boundStep] = [start, step].map((functor) => bindCaptures(functor, captures, context));
  const changing = [...own, ...leafTypes(start.result)];
  // The start program computes the fields that `step` takes, once for every row. The values are kept as additional
  // state, which the steps do not change.
  const kept = columnsOf(stepFields);
  const leaves = [...changing, ...kept.map(({ type }) => type)];
  const begin = fuse({ name: `${name}Start`, kind: name }, [], ['bool', ...leaves], (index, _, loader) => {
    const [walks, ...rest] = recording.begin(index, loader) as [Bool, ...Values];
    const state = valuesWhere(walks, [...leafTypes(start.result), ...kept.map(({ type }) => type)], () => [
      ...applyFunctor(start, loader.load(columnsOf(startFields), index), boundStart!, loader),
      ...loader.load(kept, index),
    ]);
    return [walks, ...rest, ...state];
  });
  const advance = fuse(name, leaves, ['bool', ...changing, ...stored], (_index, values, loader) => {
    const [state, fields] = [values.slice(own.length, changing.length), values.slice(changing.length)];
    const args = argumentsOf(step, start.result, stepFields, state, fields);
    const made = assemble(step.result, applyFunctor(step, args, boundStep!, loader)) as unknown as Made;
    const { next, stored } = recording.advance(values.slice(0, own.length), made);
    return [...next, ...leavesOf(start.result, made.state), ...stored];
  });
  if (changed !== undefined) requireUnread(name, [begin, advance], changed);
  context.backend.run({
    kind: 'walk',
    extent: extentOf(length),
    start: programOf(begin, context, length),
    step: programOf(advance, context, length),
    changing: changing.length,
    stores: stores(1 + changing.length),
  });
}

/** Values that are computed only where there is a walk, because the run that writes rows skips most walks. */
function valuesWhere(walks: Bool, types: readonly ScalarType[], compute: () => Values): Values {
  if (walks.operand.kind === 'literal') return compute();
  const found = types.map((type) => Var(new Value(literal(type, type === 'bool' ? false : 0))));
  If(walks, () => {
    for (const [i, value] of compute().entries()) found[i]!.set(value);
  });
  return found;
}
