import { requireFunctor, requireOptions } from './checks/arguments.ts';
import { anything, type FieldKinds, someRecord } from './checks/kinds.ts';
import {
  type Column,
  type ColumnsOf,
  columnsOf,
  commonLength,
  type DeviceLength,
  requireLength,
  requireType,
  type Table,
} from './columns/column.ts';
import { destination, fuse, storeRows } from './columns/program.ts';
import { columnsIn, memoriesIn } from './columns/reachable.ts';
import { type ContextOption, inNamedContext, requireContext } from './context/context-option.ts';
import { type ExpandFunctor, type Expansion, expandBySearch, type Spread } from './expand-search.ts';
import { u32 } from './functors/functor.ts';
import { assemble, leafTypes, type Shape } from './functors/shapes.ts';
import type { U32 } from './functors/value.ts';
import { bindCaptures } from './map.ts';
import { maximum } from './monoid.ts';
import { makePlaced, type PlacedRows, placeRows, type RowsToMake } from './rows/placed-rows.ts';
import { applyToRank, type CaptureArguments, fieldsBesideRank } from './rows/row-fields.ts';
import { fusedScan } from './scan.ts';
import { constant } from './sequence.ts';

export interface ExpandOptions extends ContextOption, RowsToMake {
  /** Columns and numbers for the functor's array and uniform parameters, by name. */
  readonly captures?: CaptureArguments;
}

const OPTIONS: FieldKinds<ExpandOptions> = {
  capacity: anything,
  expected: anything,
  captures: someRecord,
  context: anything,
};

/**
 * Expands every row to `counts[row]` output rows: output row k of a row is `f({ ...row, rank: k })`. The output of a
 * row comes before the output of the next row. This is the only primitive whose number of output rows is not bounded by
 * the sizes of its inputs.
 *
 * With `capacity`, the call does not wait. At most `capacity` rows are written. If there are more output rows, every
 * read of the result, and of columns derived from it, throws a {@link CapacityError} with the capacity needed. Without
 * `capacity`, the call returns a promise, because it waits once until the host has read the number of output rows from
 * the device; the result has exactly this number of rows. With `expected`, an estimate of this number, rows are written
 * before the host knows the number. This saves time if the estimate is about right.
 *
 * - Work O(rows + output), span O(log output), balanced over the output even if counts are uneven. Deterministic. On
 *   backends that run many indices in parallel, the output is made in short pieces: a search finds the source row of
 *   the first output row of a piece, and a walk finds the source rows of the following output rows. This method is used
 *   only if its inputs and outputs fit in half of `limits.memoryBytes`. Otherwise, and on other backends, a scan finds
 *   the source rows.
 * - If there are no rows, or all counts are zero, the result is empty. Accepts device counts (lengths that only the
 *   device knows). More than 2³² − 2 output rows are an error; the count of output rows never wraps around. Captured
 *   views are stored first.
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
export function expand<R extends Shape, C extends number | undefined = undefined>(
  rows: Table,
  counts: Column<'u32'> | number,
  functor: ExpandFunctor<R>,
  options?: ExpandOptions & { readonly capacity?: C },
): C extends number ? ColumnsOf<R> : Promise<ColumnsOf<R>>;
export function expand<R extends Shape>(
  rows: Table,
  counts: Column<'u32'> | number,
  functor: ExpandFunctor<R>,
  options: ExpandOptions = {},
): ColumnsOf<R> | Promise<ColumnsOf<R>> {
  requireOptions('expand', OPTIONS, options);
  return expandTo('expand', rows, counts, functor, options);
}

/** As {@link expand} with a capacity, for another primitive, which error messages name. */
export function expandRows<R extends Shape>(
  primitive: string,
  rows: Table,
  counts: Column<'u32'>,
  functor: ExpandFunctor<R>,
  capacity: number,
): ColumnsOf<R> {
  return expandTo(primitive, rows, counts, functor, { capacity }) as ColumnsOf<R>;
}

function expandTo<R extends Shape>(
  primitive: string,
  rows: Table,
  counts: Column<'u32'> | number,
  functor: ExpandFunctor<R>,
  options: ExpandOptions,
): ColumnsOf<R> | Promise<ColumnsOf<R>> {
  const { capacity, expected, captures = {} } = options;
  const request = inNamedContext(primitive, options, () => expansionOf(rows, counts, functor, captures));
  const { context } = request;
  const place = (): PlacedRows => placeRows(primitive, context, request.counts);
  const make = ({ offsets }: PlacedRows, length: number | DeviceLength): ColumnsOf<R> =>
    spreadRows(request, { offsets, length });
  return makePlaced(primitive, context, { capacity, expected }, place, make);
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
 * Largest `walkRows` (a backend's preferred number of rows per walk) with which the output is made by searches and
 * walks. Backends that prefer longer walks run few indices in parallel, so a scan is faster on such backends.
 */
const MAX_WALKED = 16;

/**
 * Whether all memory that a walk reads and writes fits in half of `limits.memoryBytes`. Backends can split other
 * commands into parts that need less memory, but not a walk.
 */
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

/**
 * Marks the first output row of every source row with the index of the source row. A maximum scan then spreads each
 * mark to the following output rows, and every output row is computed from the source row that its mark names.
 */
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
  storeRows(context, length, make, stores);
}

/** Index of the source row for every output row. */
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

/**
 * Makes a column of marks, one for each output row. The mark of the first output row of a source row is the index of
 * the source row; all other marks are zero.
 */
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
  storeRows(context, length, marks, [store]);
  return heads;
}
