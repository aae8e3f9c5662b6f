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
 * Every row makes `counts[row]` rows: output row k of a row is `f({ ...row, rank: k })`, in the order of the rows. The one
 * primitive whose size no input bounds.
 *
 * With `capacity` it does not wait: at most that many rows are written, and where there are more, every read of the result
 * and of what derives from it throws {@link CapacityError} with the number that was needed. Without it the number is asked
 * for, which waits for the device once, and the result is exact; therefore it is a promise. With `expected` the rows are written
 * before that number is known, where it is about right.
 *
 * - Work O(rows + output), span O(log output), balanced over the output however uneven the counts. Deterministic. Backends
 *   that run many indices at once look up the row of every few output rows and follow the rows from there, where all of it fits
 *   in half of `limits.memoryBytes`; others scan.
 * - Of no rows, or of zeros alone: no rows. Accepts device counts. Totals past 2³² − 2 are detected, never wrapped. A
 *   captured view is written out first.
 * - Equivalent loop: `for (const row of rows) for (let rank = 0; rank < counts[row]; rank++) out.push(f({ ...row, rank }))`.
 *
 * Source: the load-balancing search of Baxter, moderngpu, 2013; heads of rows that are scattered and spread by a maximum
 * scan, Blelloch 1990.
 *
 * @throws {@link ArgumentError} `rows/field` where the functor takes a field that no row has, `rows/type` where it is of another
 * type, `rows/rank` where a row has one called rank.
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

/** Rows of a walk up to which output rows are looked up: backends that want longer ones run few at once, and scan faster. */
const MAX_WALKED = 16;

/** Whether a walk finds room for all that it stores and reads, beside as much: there is no walking piece by piece. */
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

/** Marks where rows start, spreads the marks by a maximum scan, and computes the output rows of the rows that it finds. */
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

/** The row that every output row comes from. */
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

/** The number of a row where its output starts, zero elsewhere: for as many rows as there are, whatever their capacity. */
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
