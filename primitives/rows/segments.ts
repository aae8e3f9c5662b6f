import { promiseGiven, wrongArgument } from '../checks/arguments.ts';
import { ArgumentError } from '../checks/errors.ts';
import { isPromise, isRecord } from '../checks/given.ts';
import {
  Column,
  type ColumnOwner,
  cellColumn,
  commonLength,
  type DeviceLength,
  requireType,
} from '../columns/column.ts';
import { destination, fuse, type Loader, storeRows } from '../columns/program.ts';
import { computedColumn } from '../columns/views.ts';
import { partitionPoint } from '../functors/bisection.ts';
import { Let } from '../functors/control.ts';
import { u32 } from '../functors/functor.ts';
import { select } from '../functors/standard/choose.ts';
import type { Bool, U32 } from '../functors/value.ts';
import { plus, product, saturatingPlus } from '../monoid.ts';
import { countIn, fusedScan } from '../scan.ts';
import { sequence } from '../sequence.ts';
import { slice } from '../slice.ts';

/**
 * Segments of rows. Either a column of offsets, one more than there are segments: segment s has the rows `offsets[s]` to
 * `offsets[s + 1] − 1`. Or the first rows of all segments and the rows after their last.
 *
 * Each segment is what its own two numbers say. It is empty if its end is not above its first row; an end past the last
 * row stands for the number of rows. So segments may come in any order, leave rows out and overlap. Without offsets, or
 * with a single one, there are no segments.
 */
export type Segments = Column<'u32'> | { readonly first: Column<'u32'>; readonly end: Column<'u32'> };

/** Segments as columns of the same length: their first rows, and the rows after their last. */
export interface SegmentRows {
  readonly first: Column<'u32'>;
  readonly end: Column<'u32'>;
}

/** The segments that a primitive was given. */
export function segmentRows(call: string, segments: Segments): SegmentRows {
  const expected = 'a column of offsets of u32, or { first, end } of u32';
  if (segments instanceof Column) {
    requireType(segments, ['u32'], 'segments', call);
    return { first: segments, end: slice(segments, 1) };
  }
  if (!isRecord(segments)) throw wrongArgument(call, 'segments', segments, expected, { code: 'column/type' });
  const { first, end, ...others } = segments as { readonly [name: string]: unknown };
  const [other] = Object.keys(others);
  if (other !== undefined) {
    throw new ArgumentError('segments/fields', `${call} was given segments with a field ${other}.`, { expected });
  }
  for (const [name, column] of Object.entries({ first, end })) {
    if (isPromise(column)) throw promiseGiven(call, `segments.${name}`, 'a column of u32');
    requireType(column, ['u32'], `segments.${name}`, call);
  }
  const rows = { first, end } as SegmentRows;
  commonLength([rows.first, rows.end], call);
  return rows;
}

/** The number of segments. */
export function segmentCount({ end }: SegmentRows): Column['length'] {
  return end.length;
}

/** The rows of a segment, among `rows` rows; none for a number that no segment has. */
export function rowsOfSegment(
  { first, end }: SegmentRows,
  segment: U32,
  rows: Column['length'],
  loader: Loader,
): { readonly from: U32; readonly to: U32; readonly size: U32 } {
  const [given] = loader.loadWithin([first], segment, first.length) as [U32];
  const [last] = loader.loadWithin([end], segment, end.length) as [U32];
  const to = Let(last.min(loader.length(rows)));
  const from = Let(given.min(to));
  return { from, to, size: Let(to.sub(from)) };
}

/** The rows of a segment that is the only one. */
export interface OnlySegment {
  /** The number of its first row. */
  readonly first: Column<'u32'>;
  readonly size: DeviceLength;
  /** The numbers of its rows. */
  readonly rows: Column<'u32'>;
}

/**
 * The only segment, if there is room for no other, and for all rows. What works on all rows works on its rows, without
 * words for the number of the segment of each row.
 */
export function onlySegment(
  context: ColumnOwner,
  segments: SegmentRows,
  length: Column['length'],
  capacity: number,
): OnlySegment | undefined {
  const most = typeof length === 'number' ? length : length.limit;
  if (segments.end.capacity !== 1 || capacity < most) return undefined;
  const memory = context.allocate(2);
  const { first, end } = segments;
  const program = fuse(
    'onlySegment',
    [],
    ['u32', 'u32'],
    (_, __, loader) => {
      const { from, size } = rowsOfSegment(segments, u32(0), length, loader);
      return [from, size];
    },
    { by: [onlySegment], columns: [first, end], lengths: [first.length, end.length, length] },
  );
  const cells = [0, 1].map((word) => cellColumn(memory, 'u32', word)) as [Column<'u32'>, Column<'u32'>];
  storeRows(
    context,
    1,
    program,
    cells.map((cell, value) => ({ ...destination(cell), value })),
  );
  const size = countIn(memory, 1, most);
  const [start] = cells;
  const key = { by: [onlySegment], columns: [start] };
  const rows = computedColumn('rowOfSegment', 'u32', { context, length: size }, key, (index, loader) =>
    (loader.load([start], u32(0))[0] as U32).add(index),
  );
  return { first: start, size, rows };
}

/** The most rows that one thread goes through, unless many segments overlap. Longer segments are cut into pieces. */
const PIECE_BITS = 12;
export const PIECE: number = 2 ** PIECE_BITS;

/** All segments, or the long ones among them, as segments of what was made of their pieces. */
export interface PlacedSegments extends SegmentRows {
  /** The numbers that the segments have among all. */
  readonly number?: Column<'u32'>;
  readonly of?: LongSegments;
}

/** Segments of more than {@link PIECE} rows, and the pieces of so many rows into which they are cut. */
export interface LongSegments extends SegmentRows {
  /** The numbers that the segments have among all. */
  readonly number: Column<'u32'>;
  /** The first piece of every segment, and the number of all pieces. */
  readonly piece: Column<'u32'>;
  readonly pieces: DeviceLength;
  /** The number of lanes of all pieces. */
  readonly lanes: DeviceLength;
  /** The number of pieces that there would be with enough room. */
  readonly needed: Column<'u32'>;
}

/**
 * Lists the segments of more than {@link PIECE} rows, of at most `most` rows. There is room for the pieces of segments
 * that do not overlap, and of some that do; see {@link isCut}. Every piece is dealt to a number of lanes.
 */
export function longSegments(
  call: string,
  context: ColumnOwner,
  segments: PlacedSegments,
  rows: Column['length'],
  most: number,
  lanes = 1,
): LongSegments {
  const length = segmentCount(segments);
  const room = 2 * Math.ceil(most / PIECE);
  const total = context.allocate(3);
  const count = countIn(total, 0, Math.min(segments.end.capacity, room));
  const [first, end, number, piece] = [0, 1, 2, 3].map(() => context.stored('u32', count)) as Column<'u32'>[] as [
    Column<'u32'>,
    Column<'u32'>,
    Column<'u32'>,
    Column<'u32'>,
  ];
  const numbers = segments.number ?? sequence(length);
  const columns = [segments.first, segments.end];
  const lengths = [segments.first.length, segments.end.length, rows];
  fusedScan(`${call}Long`, {
    context,
    length,
    monoid: longPieces,
    element: (segment, loader) => {
      const { size } = rowsOfSegment(segments, segment, rows, loader);
      const isLong = size.gt(PIECE);
      const pieces = Let(select(u32(0), piecesOf(size), isLong));
      return [u32(isLong), pieces, pieces.mul(lanes)];
    },
    emit: (segment, [place, pieces], [next], loader) => {
      const { from, to } = rowsOfSegment(segments, segment, rows, loader);
      const [own] = loader.load([numbers], segment) as [U32];
      return [place!.ne(next!), place!, from, to, own, pieces!];
    },
    emitted: ['bool', 'u32', 'u32', 'u32', 'u32', 'u32'],
    stores: [first, end, number, piece].map((to, i) => ({ ...destination(to), guard: 0, index: 1, value: 2 + i })),
    total,
    keys: {
      element: { by: [longSegments, lanes], columns, lengths },
      emit: { by: [longSegments], columns: [...columns, numbers], lengths },
    },
  });
  return {
    ...{ first, end, number, piece, needed: cellColumn(total, 'u32', 1) },
    ...{ pieces: countIn(total, 1, room), lanes: countIn(total, 2, lanes * room) },
  };
}

const longPieces = product({ segments: plus(u32), pieces: saturatingPlus, lanes: saturatingPlus });

/** The number of pieces of a segment that has rows. */
function piecesOf(size: U32): U32 {
  return size.sub(1).shr(PIECE_BITS).add(1);
}

/** Whether there is room for the pieces of the long segments. If not, none is cut, and a thread goes through each. */
export function isCut({ needed, pieces }: LongSegments, loader: Loader): Bool {
  return (loader.load([needed], u32(0))[0] as U32).le(loader.uniform('u32', pieces.limit));
}

/** The rows of a piece of a long segment. */
export function rowsOfPiece(
  { first, end, piece }: LongSegments,
  number: U32,
  loader: Loader,
): { readonly from: U32; readonly to: U32; readonly size: U32 } {
  const isUpTo = (segment: U32): Bool => (loader.load([piece], segment)[0] as U32).le(number);
  const segment = Let(partitionPoint(u32(0), loader.length(piece.length), isUpTo).sub(1));
  const [start, last, before] = loader.load([first, end, piece], segment) as [U32, U32, U32];
  const from = Let(start.add(number.sub(before).mul(PIECE)));
  const size = Let(last.sub(from).min(PIECE));
  return { from, to: Let(from.add(size)), size };
}

/**
 * The long segments as segments of what was made of their pieces: `each` rows of every piece, one after the other. They
 * are empty if the long segments are not cut.
 */
export function segmentsOfPieces(long: LongSegments, each: number): PlacedSegments {
  const { first, end, number, piece, needed, pieces } = long;
  const rows = { context: first.context, length: first.length };
  const columns = [first, end, piece, needed];
  return {
    first: computedColumn(
      'first',
      'u32',
      rows,
      { by: [segmentsOfPieces, each], columns: [piece] },
      (segment, loader) => {
        return (loader.load([piece], segment)[0] as U32).mul(each);
      },
    ),
    end: computedColumn(
      'end',
      'u32',
      rows,
      { by: [segmentsOfPieces, each], columns, values: [pieces.limit] },
      (segment, loader) => {
        const [start, last, before] = loader.load([first, end, piece], segment) as [U32, U32, U32];
        return select(u32(0), before.add(piecesOf(last.sub(start))).mul(each), isCut(long, loader));
      },
    ),
    number,
    of: long,
  };
}
