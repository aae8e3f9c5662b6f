import { requireFunctor } from './arguments.ts';
import {
  type Column,
  type ColumnsOf,
  columnsOf,
  commonLength,
  type DeviceLength,
  requireContext,
  requireLength,
  requireType,
  type Table,
} from './columns/column.ts';
import { destination, extentOf, fuse, programOf } from './columns/program.ts';
import { columnsIn, memoriesIn } from './columns/reachable.ts';
import { type ContextOption, inNamedContext } from './context-option.ts';
import { expandBySearch } from './expand-search.ts';
import type { ExpandFunctor, Expansion, Spread } from './expansion.ts';
import { u32 } from './functors/functor.ts';
import { assemble, leafTypes, type Shape } from './functors/shapes.ts';
import type { U32 } from './functors/value.ts';
import { anything, type FieldKinds, someRecord } from './kinds.ts';
import { bindCaptures } from './map.ts';
import { maximum } from './monoid.ts';
import { requireOptions } from './options.ts';
import { makePlaced, type PlacedRows, placeRows, type RowsToMake } from './placed-rows.ts';
import { applyToRank, type CaptureArguments, fieldsBesideRank } from './ranked-rows.ts';
import { fusedScan } from './scan.ts';
import { constant } from './sequence.ts';

export interface ExpandOptions extends ContextOption, RowsToMake {
  /** Columns and numbers for the functor's captured arrays and uniforms, by name. */
  readonly captures?: CaptureArguments;
}

const OPTIONS: FieldKinds<ExpandOptions> = {
  capacity: anything,
  expected: anything,
  captures: someRecord,
  context: anything,
};

/**
 * Every row makes `counts[row]` output rows: output row k of a row is `f({ ...row, rank: k })`, in the order of the
 * rows. This is the one primitive whose output size is not bounded by the size of an input.
 *
 * With `capacity` it does not wait. At most that many rows are written; if there are more, every read of the result,
 * and of columns derived from it, throws {@link CapacityError} with the capacity needed. Without `capacity`, it waits
 * for the device once, to learn the number of rows, so it returns a promise; the result has exactly that many rows.
 * With `expected`, rows are written before the number is known, which saves time if the estimate is about right.
 *
 * - Work O(rows + output), span O(log output), balanced over the output even if counts are uneven. Deterministic.
 *   Backends that run many indices in parallel search the source row of every few output rows and walk on from there,
 *   provided that all of it fits in half of `limits.memoryBytes`; otherwise, and on other backends, the source rows are
 *   found by a scan.
 * - Without rows, or with zero counts only, the result is empty. Accepts device counts. Totals past 2³² − 2 are
 *   detected, never wrapped. A captured view is stored first.
 * - Equivalent loop: `for (const row of rows) for (let rank = 0; rank < counts[row]; rank++) out.push(f({ ...row, rank
 *   }))`.
 *
 * Source: the load-balancing search of Baxter, moderngpu, 2013; scattering row heads and spreading them by a maximum
 * scan, Blelloch 1990.
 *
 * @throws {@link ArgumentError} `rows/field` if the functor takes a field that the rows lack, `rows/type` if the field
 * has another type, `rows/rank` if the rows have a field called rank.
 * @example
 * const rows = { id: ctx.column(Uint32Array.of(7, 8)) };
 * const pair = fn({ id: u32, rank: u32 }, { id: u32, rank: u32 }, (row) => row);
 * await ctx.read(expand(rows, ctx.column(Uint32Array.of(2, 1)), pair, { capacity: 8 }));
 * // { id: Uint32Array [7, 7, 8], rank: Uint32Array [0, 1, 0] }
 */
export function expand<R extends Shape>(
  rows: Table,
  counts: Column<'u32'> | number,
  functor: ExpandFunctor<R>,
  options: ExpandOptions & { readonly capacity: number },
): ColumnsOf<R>;
export function expand<R extends Shape>(
  rows: Table,
  counts: Column<'u32'> | number,
  functor: ExpandFunctor<R>,
  options?: ExpandOptions & { readonly capacity?: never },
): Promise<ColumnsOf<R>>;
export function expand<R extends Shape>(
  rows: Table,
  counts: Column<'u32'> | number,
  functor: ExpandFunctor<R>,
  options: ExpandOptions = {},
): ColumnsOf<R> | Promise<ColumnsOf<R>> {
  requireOptions('expand', OPTIONS, options);
  const { capacity, expected, captures = {} } = options;
  const request = inNamedContext('expand', options, () => expansionOf(rows, counts, functor, captures));
  const { context } = request;
  const place = (): PlacedRows => placeRows('expand', context, request.counts);
  const make = ({ offsets }: PlacedRows, length: number | DeviceLength): ColumnsOf<R> =>
    spreadRows(request, { offsets, length });
  return makePlaced('expand', context, { capacity, expected }, place, make);
}

function expansionOf<R extends Shape>(
  rows: Table,
  counts: Column<'u32'> | number,
  functor: ExpandFunctor<R>,
  captures: CaptureArguments,
): Expansion<R> {
  const columns = columnsOf(rows, 'expand', 'rows');
  requireFunctor('expand', 'functor', functor);
  if (typeof counts === 'number') requireLength(counts, 'expand', 'counts');
  const perRow = typeof counts === 'number' ? constant(u32, counts, commonLength(columns, 'expand')) : counts;
  requireType(perRow, ['u32'], 'counts', 'expand');
  const length = commonLength([...columns, perRow], 'expand');
  const context = requireContext([...columns, perRow, ...columnsIn(captures)], 'expand');
  const fields = fieldsBesideRank('expand', functor, rows);
  return { context, fields, length, counts: perRow, functor, captures };
}

/**
 * Output rows are found by search only on backends whose walks prefer at most this many rows. Longer walks mean that
 * few indices run in parallel, and there the scan is faster.
 */
const MAX_WALKED = 16;

/** Whether everything that the walk stores and reads fits in half of the memory. Walks cannot run piece by piece. */
function fitsTwice(expansion: Expansion<Shape>, { offsets }: Spread, results: readonly Column[]): boolean {
  const { context, fields, captures } = expansion;
  const memories = new Set(memoriesIn([fields, captures, offsets, results]));
  const words = [...memories].reduce((sum, { buffer }) => sum + buffer.words, 0);
  return 8 * words <= context.backend.limits.memoryBytes;
}

function spreadRows<R extends Shape>(expansion: Expansion<R>, spread: Spread): ColumnsOf<R> {
  const { context, functor } = expansion;
  return context.scope(() => {
    const results = leafTypes(functor.result).map((type) => context.stored(type, spread.length));
    const walks = context.backend.walkRows <= MAX_WALKED && fitsTwice(expansion, spread, results);
    const make = walks ? expandBySearch : expandByScan;
    make(expansion, spread, results);
    return assemble<Column>(functor.result, results) as ColumnsOf<R>;
  });
}

/** Marks where rows start, spreads the marks by a maximum scan, and computes every output row from the row found. */
function expandByScan<R extends Shape>(expansion: Expansion<R>, spread: Spread, results: readonly Column[]): void {
  const { context, fields, functor, captures } = expansion;
  const { offsets, length } = spread;
  const from = rowsOfOutput(expansion, spread);
  const bound = bindCaptures(functor, captures, context);
  const make = fuse('expand', [], leafTypes(functor.result), (index, _, loader) => {
    const [row] = loader.load([from], index) as [U32];
    const [offset] = loader.load([offsets], row) as [U32];
    return applyToRank(functor, fields, loader.load(columnsOf(fields), row), index.sub(offset), bound, loader);
  });
  const stores = results.map((column, value) => ({ ...destination(column), value }));
  context.backend.forEach(extentOf(length), programOf(make, context, length), stores);
}

/** The source row of every output row. */
function rowsOfOutput(expansion: Expansion<Shape>, { offsets, length }: Spread): Column<'u32'> {
  const { context } = expansion;
  const heads = markHeads(expansion, offsets, length);
  const from = context.stored('u32', length);
  fusedScan('expandRows', {
    context,
    length,
    monoid: maximum(u32),
    element: (index, loader) => loader.load([heads], index),
    emit: (_, __, inclusive) => inclusive,
    emitted: ['u32'],
    stores: [{ ...destination(from), value: 0 }],
  });
  return from;
}

/** Stores the index of every row at the place where its output starts, and zero elsewhere. */
function markHeads(
  { context, counts, length }: Expansion<Shape>,
  offsets: Column<'u32'>,
  made: number | DeviceLength,
): Column {
  const heads = context.materialize(constant(u32, 0, made));
  const marks = fuse({ name: 'marks', kind: 'expand' }, [], ['bool', 'u32', 'u32'], (index, _, loader) => {
    const [count, offset] = loader.load([counts, offsets], index) as [U32, U32];
    return [count.gt(0), offset, index];
  });
  const store = { ...destination(heads), guard: 0, index: 1, value: 2 };
  context.backend.forEach(extentOf(length), programOf(marks, context, length), [store]);
  return heads;
}
