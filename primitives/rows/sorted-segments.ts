import { type Column, type ColumnOwner, viewColumns } from '../columns/column.ts';
import { fuse } from '../columns/program.ts';
import { expandRows } from '../expand.ts';
import { fn, u32 } from '../functors/functor.ts';
import { gather } from '../gather.ts';
import { plus } from '../monoid.ts';
import { exclusiveScan } from '../scan.ts';
import { sequence } from '../sequence.ts';
import { permutationBy, type WordToSort } from '../sort.ts';
import { rowsOfSegment, type SegmentRows, segmentCount } from './segments.ts';

/** The rows of segments, sorted: those of the first segment, then those of the second, and so on. */
export interface SortedSegments {
  /** The numbers of the rows, and of their segments. */
  readonly row: Column<'u32'>;
  readonly segment: Column<'u32'>;
  /** For every segment, the place of its first row among these. */
  readonly start: Column<'u32'>;
  readonly size: Column<'u32'>;
  /** For every segment, the number of its first row. */
  readonly first: Column<'u32'>;
}

/**
 * Sorts the rows of every segment by words, the most significant first. Rows with equal words keep their order. There is
 * room for `capacity` rows: if the segments have more, every read throws an error that names the call.
 */
export function sortSegments(
  call: string,
  context: ColumnOwner,
  words: readonly WordToSort[],
  segments: SegmentRows,
  rows: Column['length'],
  capacity: number,
): SortedSegments {
  const length = segmentCount(segments);
  const { first, size } = context.materialize(placesOf(segments, context, rows));
  const start = exclusiveScan(size, plus(u32));
  const given = expandRows(call, { first, segment: sequence(length) }, size, rowInSegment, capacity);
  const bits = 32 - Math.clz32(Math.max(1, segments.end.capacity - 1));
  const order = permutationBy(context, [
    { words: given.segment, bits: { from: 0, to: bits } },
    ...words.map((each) => ({ ...each, words: gather(each.words, given.row) })),
  ]);
  // The rows were in the order of their segments before, too.
  return { row: context.materialize(gather(given.row, order)), segment: given.segment, start, size, first };
}

/** The first row and the number of rows of every segment, as views. */
function placesOf(
  segments: SegmentRows,
  context: ColumnOwner,
  rows: Column['length'],
): { readonly first: Column<'u32'>; readonly size: Column<'u32'> } {
  const { first, end } = segments;
  const view = fuse(
    'segments',
    [],
    ['u32', 'u32'],
    (segment, _, loader) => {
      const { from, size } = rowsOfSegment(segments, segment, rows, loader);
      return [from, size];
    },
    { by: [placesOf], columns: [first, end], lengths: [first.length, end.length, rows] },
  );
  return viewColumns({ first: u32, size: u32 }, context, segmentCount(segments), view);
}

const rowInSegment = fn(
  'rowInSegment',
  { first: u32, segment: u32, rank: u32 },
  { row: u32, segment: u32 },
  ({ first, segment, rank }) => ({ row: first.add(rank), segment }),
);
