import { type Column, type ColumnOwner, type ColumnsOf, commonLength, type Table } from './columns/column.ts';
import { destination, fuse, type Loader, storeRows } from './columns/program.ts';
import { type ContextOption, inContext, requireContext } from './context/context-option.ts';
import type { MonoidProgram } from './contract/backend.ts';
import { For, If, Let, Var } from './functors/control.ts';
import { bool } from './functors/functor.ts';
import { literal } from './functors/recorder.ts';
import { assemble, type Shape } from './functors/shapes.ts';
import { select } from './functors/standard/choose.ts';
import { type Bool, type U32, Value, type Variable } from './functors/value.ts';
import { callPlain } from './functors/wrap-module.ts';
import type { ScalarType } from './ir/ir.ts';
import { type Monoid, monoidProgram } from './monoid.ts';
import { operandsOf } from './reduce.ts';
import {
  isCut,
  type LongSegments,
  longSegments,
  PIECE,
  type PlacedSegments,
  rowsOfPiece,
  rowsOfSegment,
  type Segments,
  segmentRows,
  segmentsOfPieces,
} from './rows/segments.ts';

/**
 * Combines the rows of each segment, in order. The result has a row for each segment; an empty segment gives the
 * identity. Segments are given by offsets, or by their first rows and ends; see {@link Segments}. They may be empty, in
 * any order, and overlap.
 *
 * - The monoid must be associative with a neutral identity; it need not be commutative.
 * - Work O(rows of all segments), span O(log n). Segments of more than 4096 rows are cut into pieces, unless they overlap
 *   so much that there are twice as many pieces as without; then a thread goes through each.
 * - Deterministic. A monoid that is not exact brackets the rows of a segment from left to right, 4096 at a time; what
 *   these make is bracketed in the same way. So results depend on the rows of the segment only, and up to 4096 rows
 *   give the bytes of the plain loop.
 * - Accepts device counts (lengths that only the device knows). The columns of a table are matched by name with the
 *   fields of the monoid.
 * - Equivalent loop: `for (let s = 0; s + 1 < offsets.length; s++) out.push(rows.slice(offsets[s], offsets[s +
 *   1]).reduce(combine, identity))`.
 *
 * @throws {@link ArgumentError} `monoid/types` if the columns do not fit the monoid, `segments/fields` if segments have
 * other fields than `first` and `end`.
 * @example
 * const rows = ctx.column(Uint32Array.of(1, 2, 3, 4, 5));
 * const offsets = ctx.column(Uint32Array.of(0, 2, 2, 5));
 * await ctx.read(segmentedReduce(rows, offsets, plus(u32))); // Uint32Array [3, 0, 12]
 */
export function segmentedReduce<S extends Shape>(
  input: ColumnsOf<S>,
  segments: Segments,
  monoid: Monoid<S>,
  options?: ContextOption,
): ColumnsOf<S> {
  return inContext('segmentedReduce', options, () => {
    const columns = operandsOf('segmentedReduce', input as Table, monoid);
    const places = segmentRows('segmentedReduce', segments);
    const length = commonLength(columns, 'segmentedReduce');
    const context = requireContext([...columns, places.first, places.end], 'segmentedReduce');
    return context.scope(() => {
      const program = monoidProgram(monoid);
      const results = program.types.map((type) => context.stored(type, places.end.length));
      const most = columns[0]!.capacity;
      reduceSegments({ context, monoid, program }, { columns, length, most }, places, results);
      return assemble<Column>(monoid.shape, results) as ColumnsOf<S>;
    });
  });
}

interface Reduction {
  readonly context: ColumnOwner;
  readonly monoid: object;
  readonly program: MonoidProgram;
}

/** Rows that are combined, at most `most`. */
interface Operands {
  readonly columns: readonly Column[];
  readonly length: Column['length'];
  readonly most: number;
}

/** Stores the combination of the rows of every segment: of short ones at once, of long ones from those of their pieces. */
function reduceSegments(
  reduction: Reduction,
  operands: Operands,
  segments: PlacedSegments,
  results: readonly Column[],
): void {
  const { length, most } = operands;
  const long = most > PIECE ? longSegments('segmentedReduce', reduction.context, segments, length, most) : undefined;
  storeWhole(reduction, operands, segments, long, results);
  if (long === undefined) return;
  reduceSegments(reduction, combinedPieces(reduction, operands, long), segmentsOfPieces(long, 1), results);
}

/** Stores the combinations of all segments but those that are cut into pieces. */
function storeWhole(
  { context, monoid, program }: Reduction,
  { columns, length }: Operands,
  segments: PlacedSegments,
  long: LongSegments | undefined,
  results: readonly Column[],
): void {
  const { of, number } = segments;
  const cuts = [of, long].filter((each) => each !== undefined);
  const whole = fuse(
    { name: 'wholeSegments', kind: 'segmentedReduce' },
    [],
    ['bool', 'u32', ...program.types],
    (segment, _, loader) => {
      const { from, to, size } = rowsOfSegment(segments, segment, length, loader);
      const isMine = of === undefined ? bool(true) : isCut(of, loader);
      const isStored = Let(long === undefined ? isMine : isMine.and(size.le(PIECE).or(isCut(long, loader).not())));
      const own = number === undefined ? segment : (loader.load([number], segment)[0] as U32);
      const end = Let(select(from, to, isStored));
      return [isStored, own, ...combinationOf(columns, length, from, end, program, loader)];
    },
    {
      by: [storeWhole, monoid, of !== undefined, long !== undefined],
      columns: [
        ...columns,
        segments.first,
        segments.end,
        ...(number ? [number] : []),
        ...cuts.map(({ needed }) => needed),
      ],
      lengths: [length, segments.first.length, segments.end.length],
      values: cuts.map(({ pieces }) => pieces.limit),
    },
  );
  const stores = results.map((column, i) => ({ ...destination(column), guard: 0, index: 1, value: 2 + i }));
  storeRows(context, segments.end.length, whole, stores);
}

/** The combination of the rows of every piece of long segments. */
function combinedPieces(
  { context, monoid, program }: Reduction,
  { columns, length }: Operands,
  long: LongSegments,
): Operands {
  const { pieces, piece, first, end } = long;
  const results = program.types.map((type) => context.stored(type, pieces));
  const pieceByPiece = fuse(
    { name: 'pieces', kind: 'segmentedReduce' },
    [],
    program.types,
    (number, _, loader) => {
      const { from, to } = rowsOfPiece(long, number, loader);
      return combinationOf(columns, length, from, to, { ...program, exact: true }, loader);
    },
    {
      by: [combinedPieces, monoid],
      columns: [...columns, piece, first, end],
      lengths: [length, piece.length],
    },
  );
  storeRows(
    context,
    pieces,
    pieceByPiece,
    results.map((column, value) => ({ ...destination(column), value })),
  );
  return { columns: results, length: pieces, most: pieces.limit };
}

type Values = readonly Value<ScalarType>[];

/** Rows per round. A device has so many reads on the way at once. */
const ROUND = 4;

/** The combination of the rows from `from` to `to − 1`, bracketed as `segmentedReduce` states. */
function combinationOf(
  columns: readonly Column[],
  length: Column['length'],
  from: U32,
  to: U32,
  program: MonoidProgram,
  loader: Loader,
): Values {
  const { types, identity, exact } = program;
  const combined = types.map((type, leaf) => Var(new Value(literal(type, identity[leaf]!))));
  const row = (index: U32): Values => loader.loadWithin(columns, index, length);
  const rows = (first: U32, end: U32): Values => {
    const sum = row(first).map(Var);
    For({ from: Let(first.add(1)), to: end, step: ROUND }, (index) => {
      const left = Let(end.sub(index));
      let values: Values = sum.map(Let);
      for (let i = 0; i < ROUND; i++) {
        const next = combine(values, row(i === 0 ? index : Let(index.add(i))), program);
        values = i === 0 ? next : chosen(left.gt(i), next, values);
      }
      set(sum, values);
    });
    return sum.map(Let);
  };
  const grouped = (first: U32, end: U32, size: number): Values => {
    const sum = combined.map((value) => Var(Let(value)));
    For({ from: first, to: end, step: size }, (index) => {
      const last = Let(index.add(end.sub(index).min(size)));
      const next = size === PIECE ? rows(index, last) : grouped(index, last, size / PIECE);
      set(sum, chosen(index.eq(first), next, combine(sum, next, program)));
    });
    return sum.map(Let);
  };
  If(from.lt(to), () => set(combined, exact ? rows(from, to) : grouped(from, to, PIECE ** 2)));
  return combined.map(Let);
}

function combine(left: Values, right: Values, { module }: MonoidProgram): Values {
  const operands = [...left.map(Let), ...right.map(Let)].map(({ operand }) => operand);
  return callPlain(module, operands).map((local) => new Value(local));
}

function chosen(condition: Bool, yes: Values, no: Values): Values {
  return yes.map((value, leaf) => Let(select(no[leaf]!, value, condition)));
}

function set(variables: readonly Variable<ScalarType>[], values: Values): void {
  for (const [leaf, value] of values.map(Let).entries()) variables[leaf]!.set(value as never);
}
