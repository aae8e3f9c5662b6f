import fc from 'fast-check';
import type { Column } from '../../primitives/columns/column.ts';
import type { Grid } from '../../primitives/columns/grid.ts';
import type { HostArray } from '../../primitives/columns/host-array.ts';
import type { Context } from '../../primitives/context/context.ts';
import type { Boundary } from '../../primitives/contract/backend.ts';
import { fn, i32, u32 } from '../../primitives/functors/functor.ts';
import { neighbours } from '../../primitives/functors/neighbours.ts';
import { asGrid } from '../../primitives/grid.ts';
import { map } from '../../primitives/map.ts';
import { maximum, plus } from '../../primitives/monoid.ts';
import { reduce } from '../../primitives/reduce.ts';
import { stencil } from '../../primitives/stencil.ts';
import { hostColumn, recipe } from '../arbitraries/columns.ts';
import { type Presentation, present } from '../arbitraries/presentations.ts';
import { assertSame } from './compare.ts';
import { type Law, law } from './law.ts';

/** A number of rows or of columns, around every size at which a backend changes its way. */
export const side: fc.Arbitrary<number> = fc.oneof(
  { arbitrary: fc.integer({ min: 0, max: 9 }), weight: 5 },
  { arbitrary: fc.constantFrom(0, 1, 3, 4, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129), weight: 6 },
  { arbitrary: fc.constantFrom(255, 256, 257), weight: 1 },
);

/** The forms of rows whose number the host knows. */
export const countedPresentation: fc.Arbitrary<Presentation> = fc.constantFrom(
  'stored',
  'slice',
  'reversed view',
  'gathered view',
  'slice of a view',
);

const shifted = fn({ cell: neighbours(i32), own: i32 }, u32, ({ cell, own }) =>
  u32(cell.at(-1, 1).sub(own)).add(cell.x.mul(1000)).add(cell.y),
);
const sum = fn({ a: u32, b: i32 }, u32, ({ a, b }) => a.add(u32(b)));

/** The place on a line of `size` cells where a boundary rule finds place `at`, which is at most one cell outside. */
function inside(size: number, at: number, rule: Boundary): number | undefined {
  if (at >= 0 && at < size) return at;
  if (rule === 'constant') return undefined;
  if (rule === 'wrap') return (at + size) % size;
  if (rule === 'clamp' || size === 1) return at < 0 ? 0 : size - 1;
  return at < 0 ? 1 : size - 2;
}

/**
 * Host rows as cells of a grid, in one of several forms. Stored rows have their shape from the upload on, so that pipelines
 * of laws can be prepared for it.
 */
export function presentGrid<H extends { readonly [name: string]: HostArray }>(
  context: Context,
  rows: H,
  how: Presentation,
  grid: Grid,
): ReturnType<typeof present<H>> {
  if (how !== 'stored') return asGrid(present(context, rows, how), grid);
  const columns = Object.entries(rows).map(([name, array]) => [name, context.column(array, grid)]);
  return Object.fromEntries(columns) as ReturnType<typeof present<H>>;
}

const boundaries = fc.constantFrom<Boundary[]>('clamp', 'wrap', 'reflect', 'constant');

export const gridLaws: readonly Law[] = [
  law(
    'stencils of cells with a shape need no width, know coordinates, and what they give keeps the shape',
    [side, side, recipe, countedPresentation, boundaries],
    async (run, rows, columns, made, how, rule) => {
      const cells = hostColumn('i32', rows * columns, made);
      const result = await run((context) => {
        const { cell } = presentGrid(context, { cell: cells }, how, { rows, columns });
        const moved = stencil(shifted, { cell, own: cell }, { boundary: rule, outside: { cell: 7 } });
        return { moved, again: stencil(twice, { cell: context.materialize(map(sum, { a: moved, b: cell })) }) };
      });
      const moved = Uint32Array.from(cells, (own, i) => {
        const [x, y] = [i % columns, Math.floor(i / columns)];
        const [left, below] = [inside(columns, x - 1, rule), inside(rows, y + 1, rule)];
        const other = left === undefined || below === undefined ? 7 : cells[below * columns + left]!;
        return other - own + 1000 * x + y;
      });
      const sums = moved.map((each, i) => each + cells[i]!);
      const last = (i: number): number => i - (i % columns) + Math.min(columns - 1, (i % columns) + 1);
      assertSame(result, { moved, again: sums.map((_, i) => (columns === 0 ? 0 : sums[last(i)]!)) });
    },
  ),
  law(
    'a fold of a stencil is the fold of its stored cells, in rows of every width',
    [
      side,
      fc.oneof(side, { arbitrary: fc.integer({ min: 60, max: 140 }), weight: 4 }),
      recipe,
      countedPresentation,
      boundaries,
    ],
    async (run, rows, columns, made, how, rule) => {
      const result = await run((context) => {
        const { cell } = presentGrid(context, { cell: hostColumn('i32', rows * columns, made) }, how, {
          rows,
          columns,
        });
        const moved = stencil(shifted, { cell, own: cell }, { boundary: rule, outside: { cell: 7 } });
        const stored = context.materialize(moved);
        const folds = (of: Column<'u32'>) => ({ sum: reduce(of, plus(u32)), most: reduce(of, maximum(u32)) });
        return { fused: folds(moved), stored: folds(stored) };
      });
      assertSame(result.fused, result.stored);
    },
  ),
];

const twice = fn({ cell: neighbours(u32) }, u32, ({ cell }) => cell.at(1));
