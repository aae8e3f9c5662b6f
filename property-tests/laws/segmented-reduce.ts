import { segmentedReduce } from '../../primitives/segmented-reduce.ts';
import { fewRows } from '../arbitraries/columns.ts';
import { exactMonoids, inexactMonoids, type Leaves, type MonoidSample, rowsForAny } from '../arbitraries/monoids.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { assertSame, type HostTable } from './compare.ts';
import { type Law, law } from './law.ts';
import { inputOf, leavesOf, rowsIn, tableOf } from './rows.ts';
import { segmentsOfRows } from './segments.ts';

/** Rows that are combined from left to right at once. */
const PIECE = 4096;

/** The combination of rows in the order that `segmentedReduce` states for monoids that are not exact. */
function combined(rows: readonly Leaves[], { identity, combine }: MonoidSample): Leaves {
  if (rows.length === 0) return identity;
  let sums = rows;
  do {
    const pieces = Array.from({ length: Math.ceil(sums.length / PIECE) }, (_, i) =>
      sums.slice(PIECE * i, PIECE * (i + 1)),
    );
    sums = pieces.map((piece) => piece.reduce(combine));
  } while (sums.length > 1);
  return sums[0]!;
}

export const segmentedReduceLaws: readonly Law[] = [
  law(
    'reductions of segments by exact monoids equal a plain loop over each',
    [rowsForAny(exactMonoids), presentation, segmentsOfRows],
    async (run, { sample, rows }, how, make) => {
      const { given, bounds } = make(rowsIn(rows));
      const result = await run((context) =>
        segmentedReduce(inputOf(sample, present(context, rows, how)), given(context), sample.monoid),
      );
      const leaves = leavesOf(rows);
      const expected = bounds.map(([from, to]) => leaves.slice(from, to).reduce(sample.combine, sample.identity));
      assertSame(result as HostTable, tableOf(sample, expected));
    },
  ),
  law(
    'reductions of segments by inexact monoids go from left to right, 4096 rows at a time',
    [rowsForAny(inexactMonoids, fewRows), presentation, segmentsOfRows],
    async (run, { sample, rows }, how, make) => {
      const { given, bounds } = make(rowsIn(rows));
      const result = await run((context) =>
        segmentedReduce(inputOf(sample, present(context, rows, how)), given(context), sample.monoid),
      );
      const leaves = leavesOf(rows);
      assertSame(
        result as HostTable,
        tableOf(
          sample,
          bounds.map(([from, to]) => combined(leaves.slice(from, to), sample)),
        ),
      );
    },
  ),
];
