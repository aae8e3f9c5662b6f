import fc from 'fast-check';
import { reduce } from '../../primitives/reduce.ts';
import type { LineAxis } from '../../primitives/rows/lines.ts';
import { exclusiveScan, inclusiveScan } from '../../primitives/scan.ts';
import {
  exactMonoids,
  inexactMonoids,
  type Leaves,
  type MonoidSample,
  rowsForAny,
  type SampleRows,
} from '../arbitraries/monoids.ts';
import { canonicalTotal } from './canonical-tree.ts';
import { assertSame, type HostTable } from './compare.ts';
import { countedPresentation, presentGrid, side } from './grid.ts';
import { type Law, law } from './law.ts';
import { inputOf, leavesOf, tableOf } from './rows.ts';
import {
  optionsOf,
  type Prefixes,
  type Start,
  sequentialPrefixes,
  start,
  startedPrefixes,
  treePrefixes,
} from './scan-start.ts';

interface Sides {
  readonly rows: number;
  readonly columns: number;
}

type Asked = SampleRows & { readonly grid: Sides };

const cellsOf = (samples: readonly MonoidSample[], sides: fc.Arbitrary<Sides>): fc.Arbitrary<Asked> =>
  sides.chain((grid) =>
    rowsForAny(samples, fc.constant(grid.rows * grid.columns)).map((given): Asked => ({ ...given, grid })),
  );

const grids = fc.record({ rows: side, columns: side });

/** Grids with long rows or long columns, of which one is longer than a block of the canonical tree. */
const longGrids = fc
  .tuple(
    fc.integer({ min: 0, max: 5 }),
    fc.constantFrom(0, 1, 3, 4, 5, 33, 255, 1023, 1024, 1025, 2048, 5121),
    fc.boolean(),
  )
  .map(([few, many, turned]): Sides => (turned ? { rows: many, columns: few } : { rows: few, columns: many }));

/** What a line of cells gives: its total, and the prefixes of its cells. */
interface OfLine extends Prefixes {
  readonly total: Leaves;
}

type LineOf = (cells: readonly Leaves[], sample: MonoidSample, how: Start) => OfLine;

const oneByOne: LineOf = (cells, sample, how) => ({
  total: sequentialPrefixes(cells, sample).inclusive.at(-1) ?? sample.identity,
  ...startedPrefixes(cells, sample, how, sequentialPrefixes),
});

const byTree: LineOf = (cells, sample, how) => ({
  total: canonicalTotal(cells, sample.combine) ?? sample.identity,
  ...startedPrefixes(cells, sample, how, treePrefixes),
});

/** What all lines along an axis give, as tables of the grid's cells and of the lines. */
function expected({ sample, rows: given, grid }: Asked, axis: LineAxis, lineOf: LineOf, how: Start): HostTable {
  const cells = leavesOf(given);
  const { rows, columns } = grid;
  const [count, length] = axis === 'rows' ? [rows, columns] : [columns, rows];
  const placeOf = (line: number, at: number): number => (axis === 'rows' ? line * columns + at : at * columns + line);
  const [exclusive, inclusive] = [new Array<Leaves>(cells.length), new Array<Leaves>(cells.length)];
  const totals = Array.from({ length: count }, (_, line) => {
    const places = Array.from({ length }, (_, at) => placeOf(line, at));
    const found = lineOf(
      places.map((place) => cells[place]!),
      sample,
      how,
    );
    for (const [at, place] of places.entries()) {
      exclusive[place] = found.exclusive[at]!;
      inclusive[place] = found.inclusive[at]!;
    }
    return found.total;
  });
  return {
    totals: tableOf(sample, totals),
    exclusive: tableOf(sample, exclusive),
    inclusive: tableOf(sample, inclusive),
  };
}

function axisLaw(name: string, asked: fc.Arbitrary<Asked>, lineOf: LineOf): Law {
  const axes = fc.constantFrom<LineAxis[]>('rows', 'columns');
  return law(name, [asked, countedPresentation, axes, start], async (run, given, how, axis, from) => {
    const { sample, rows, grid } = given;
    const result = await run((context) => {
      const input = inputOf(sample, presentGrid(context, rows, how, grid));
      const { monoid } = sample;
      const options = { axis, ...optionsOf(sample, from) };
      return {
        totals: reduce(input, monoid, { axis }),
        exclusive: exclusiveScan(input, monoid, options),
        inclusive: inclusiveScan(input, monoid, options),
      };
    });
    assertSame(result as HostTable, expected(given, axis, lineOf, from));
  });
}

export const axisLaws: readonly Law[] = [
  axisLaw('exact monoids combine each row or column by itself', cellsOf(exactMonoids, grids), oneByOne),
  axisLaw(
    'inexact monoids combine each row or column in the order of the canonical tree of its length',
    cellsOf(
      inexactMonoids,
      fc.oneof(
        grids.map(({ rows, columns }) => ({ rows: rows % 20, columns: columns % 20 })),
        longGrids,
      ),
    ),
    byTree,
  ),
];
