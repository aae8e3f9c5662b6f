import { type Column, type ColumnOwner, columnsOf, type DeviceLength } from './columns/column.ts';
import { destination, extentOf, fuse, type Loader, programOf } from './columns/program.ts';
import { computedColumn } from './columns/views.ts';
import { capacityOf } from './contract/backend.ts';
import { partitionPoint } from './functors/bisection.ts';
import { If, Var, WhileAtMost } from './functors/control.ts';
import { type FunctorDescription, u32 } from './functors/functor.ts';
import { leafTypes, type Shape } from './functors/shapes.ts';
import { select } from './functors/standard/choose.ts';
import type { Bool, U32 } from './functors/value.ts';
import { bindCaptures } from './map.ts';
import { applyToRank, type CaptureArguments, type Fields } from './rows/row-fields.ts';

/**
 * A functor for `expand`. Its parameters are any fields of a row (or the column itself, if the rows are a single
 * column) and `rank`, the number of the output row among all output rows of its source row.
 */
export type ExpandFunctor<R extends Shape> = FunctorDescription & { readonly result: R };

/**
 * The arguments of an expansion (see `expand`): the fields that the functor uses, and the number of output rows
 * of every row.
 */
export interface Expansion<R extends Shape> {
  readonly context: ColumnOwner;
  readonly fields: Fields;
  readonly length: Column['length'];
  readonly counts: Column<'u32'>;
  readonly functor: ExpandFunctor<R>;
  readonly captures: CaptureArguments;
}

/** For every row, the index of its first output row (`offsets`), and the total number of output rows (`length`). */
export interface Spread {
  readonly offsets: Column<'u32'>;
  readonly length: number | DeviceLength;
}

/**
 * Number of output rows between two cuts; a power of two. A cut is an output row whose source row is searched for
 * among all rows. For the first output row of each piece (see {@link expandBySearch}), the search then covers only the
 * source rows between the two cuts around the piece.
 */
const PART = 1024;

const PART_BITS: number = Math.log2(PART);

/**
 * Maximum number of rows without output that are skipped one by one. After so many rows, a search finds the next row
 * with output.
 */
const TRIES = 4;

/**
 * Computes the output of an expansion in pieces of consecutive output rows. A search finds the source row of the first
 * output row of a piece. From there, a walk goes through the output rows of the piece and their source rows. Unlike
 * {@link expandByScan}, this method stores and scans no intermediate value for every output row.
 *
 * Source: the load-balancing search of Baxter, moderngpu, 2013.
 */
export function expandBySearch<R extends Shape>(
  expansion: Expansion<R>,
  spread: Spread,
  results: readonly Column[],
): void {
  const { context, fields, length, functor, captures } = expansion;
  const { offsets, length: made } = spread;
  const { walkRows } = context.backend;
  const cuts = cutOutput(expansion, spread);
  const begin = fuse(
    { name: 'expandStart', kind: 'expand' },
    [],
    ['bool', ...words(6)],
    (piece, _, loader) => {
      const total = loader.length(made);
      const at = piece.mul(walkRows);
      const [low] = loader.load([cuts], at.shr(PART_BITS)) as [U32];
      const limit = at.add(total.sub(at).min(walkRows));
      const [high] = loader.load([cuts], limit.sub(1).shr(PART_BITS).add(1)) as [U32];
      const row = rowOf(at, low, high, offsets, loader);
      const [start] = loader.load([offsets], row) as [U32];
      return [at.lt(total), at, row, start, endOf(row, offsets, length, loader), limit, high];
    },
    { by: [expandBySearch, walkRows], columns: [cuts, offsets], lengths: [made, length] },
  );
  const bound = bindCaptures(functor, captures, context);
  const types = leafTypes(functor.result);
  const advance = fuse('expand', words(6), ['bool', ...words(5), ...types], (_piece, state, loader) => {
    const [at, row, start, end, limit, high] = state as [U32, U32, U32, U32, U32, U32];
    const values = applyToRank(functor, fields, loader.load(columnsOf(fields), row), at.sub(start), bound, loader);
    const next = at.add(1);
    // Uses select instead of a branch, because the hardware cannot predict at which step the output of a row ends.
    const ends = next.ge(end);
    const nextRow = Var(row.add(u32(ends)));
    const nextStart = select(start, next, ends);
    const nextEnd = Var(select(end, endOf(row.add(1), offsets, length, loader), ends));
    const tries = Var(u32(0));
    // Skip rows without output one by one. After `TRIES` such rows, search for the next row with output.
    WhileAtMost(
      TRIES,
      () => nextEnd.le(next).and(next.lt(limit)),
      () => {
        tries.set(tries.add(1));
        nextRow.set(nextRow.add(1));
        If(tries.eq(TRIES), () => nextRow.set(rowOf(next, nextRow, high, offsets, loader)));
        nextEnd.set(endOf(nextRow, offsets, length, loader));
      },
    );
    return [next.lt(limit), next, nextRow, nextStart, nextEnd, at, ...values];
  });
  const pieces = Math.ceil(capacityOf(extentOf(made)) / walkRows);
  context.backend.run({
    kind: 'walk',
    extent: extentOf(pieces),
    start: programOf(begin, context, pieces),
    step: programOf(advance, context, made),
    steps: walkRows,
    changing: 4,
    stores: results.map((column, i) => ({ ...destination(column), index: 5, value: 6 + i })),
  });
}

/** The source row of every `PART`-th output row. The last entry is the last source row. */
function cutOutput({ context, length }: Expansion<Shape>, { offsets, length: made }: Spread): Column<'u32'> {
  const parts = Math.ceil(capacityOf(extentOf(made)) / PART);
  const key = { by: [cutOutput], columns: [offsets], lengths: [length], values: [parts] };
  const cut = computedColumn('expandCut', 'u32', { context, length: parts + 1 }, key, (part, loader) => {
    const last = loader.length(length).max(1).sub(1);
    const isEnd = part.ge(loader.uniform('u32', parts));
    return rowOf(part.mul(PART), select(u32(0), last, isEnd), last, offsets, loader);
  });
  return context.materialize(cut);
}

/** The source row of output row `at`: the last row from `low` to `high` whose output starts at or before `at`. */
function rowOf(at: U32, low: U32, high: U32, offsets: Column<'u32'>, loader: Loader): U32 {
  const startsBy = (row: U32): Bool => (loader.load([offsets], row) as [U32])[0].le(at);
  return partitionPoint(low.add(1), high.add(1), startsBy).sub(1);
}

/**
 * The index after the last output row of `row`. For the last row, the result is 2³² − 1, which is above every output
 * index.
 */
function endOf(row: U32, offsets: Column<'u32'>, length: Column['length'], loader: Loader): U32 {
  const after = row.add(1);
  const [end] = loader.load([offsets], after) as [U32];
  return select(u32(2 ** 32 - 1), end, after.lt(loader.length(length)));
}

function words(count: number): 'u32'[] {
  return Array.from({ length: count }, () => 'u32');
}
