import { requireArguments } from './checks/arguments.ts';
import { anything, aWhole, optional, someOptions } from './checks/kinds.ts';
import { type Column, type ColumnOwner, NUMBERS, requireType } from './columns/column.ts';
import { type Grid, gridOf } from './columns/grid.ts';
import { type ContextOption, inNamedContext, requireContext } from './context/context-option.ts';
import type { Boundary } from './contract/backend.ts';
import { type Functor, f32, fn, i32, u32 } from './functors/functor.ts';
import { type NeighboursParameter, neighbours } from './functors/neighbours.ts';
import type { Scalar } from './functors/shapes.ts';
import { select } from './functors/standard/choose.ts';
import { requireBoundary } from './functors/stencil-axis.ts';
import type { Bool, F32, U32 } from './functors/value.ts';
import { createCache } from './host/cache.ts';
import { plus } from './monoid.ts';
import { paddedLines, sumsOfParts } from './rows/padded-lines.ts';
import { PART, sumOfWindow } from './rows/window-parts.ts';
import { inclusiveScan } from './scan.ts';
import { outsideOf, stencil } from './stencil.ts';

/** The types of cells that windows add up. */
export type WindowType = 'u32' | 'i32' | 'f32';

export interface WindowSumOptions extends ContextOption {
  /** Columns of a window. An even number has one more to the right of the cell than to its left. */
  readonly width: number;
  /** Rows of a window; by default as many as its columns. An even number has one more below the cell than above. */
  readonly height?: number | undefined;
  /** What replaces cells outside the grid, as in {@link stencil}; `clamp` by default. */
  readonly boundary?: Boundary | undefined;
  /** The value of cells outside the grid if the boundary is `constant`; 0 by default. */
  readonly outside?: number | undefined;
}

/** Maximum number of columns, and of rows, of a window. */
const MAX_SIDE = 2 ** 16 - 1;

const someWindow = someOptions<WindowSumOptions>({
  width: aWhole(1, MAX_SIDE),
  height: optional(aWhole(1, MAX_SIDE)),
  boundary: anything,
  outside: anything,
  context: optional(anything),
});

/**
 * The sums of all windows of `width` × `height` cells of a grid: each cell becomes the sum of the cells from
 * `(width - 1) >> 1` columns to its left to `width >> 1` columns to its right, and likewise above and below. The cells
 * need a shape (see {@link asGrid}); the sums have it too.
 *
 * - Sums of u32 and i32 are modulo 2³². Sums of f32 are rounded in this order, the same on every backend: first each
 *   column of a window from top to bottom, then the sums of its columns from left to right. More than 15 sums in a row
 *   are added in parts of 16, 256, 4096 …, from the first cell on, and the sums of the parts from left to right; a part
 *   is the sum of 16 smaller parts. No sum is a difference of larger ones, as in summed-area tables, which lose the small
 *   digits of small cells beside large ones.
 * - Cells outside the grid are replaced as in {@link stencil}. A window may be larger than the grid.
 * - Work O(n · (w + h)) for windows of up to 33 columns and rows, else O(n · 16 log₁₆), span O(1). Large windows
 *   of u32 and i32 with zeros outside are differences of a summed-area table: work O(n). Deterministic. An empty grid
 *   gives an empty column. The number of cells must be known to the host, as that of every shape.
 * - Equivalent loop: `for (each cell) for (dx …) { sum = 0; for (dy …) sum += cells[y + dy][x + dx]; total += sum }`.
 *
 * @throws {@link ArgumentError} `grid/none` if the cells have no shape, `stencil/boundary` for an unknown boundary,
 * `stencil/outside` if `outside` is not a value of the cells' type.
 * @example
 * const cells = ctx.column(Uint32Array.of(1, 2, 3, 4, 5, 6), { rows: 2, columns: 3 });
 * await ctx.read(windowSum(cells, { width: 3, boundary: 'constant' })); // Uint32Array [12, 21, 16, 12, 21, 16]
 */
export function windowSum<T extends WindowType>(cells: Column<T>, options: WindowSumOptions): Column<T> {
  requireArguments('windowSum', { cells, options }, { cells: anything, options: someWindow });
  const { width, height = width, boundary = 'clamp' } = options;
  requireBoundary(boundary, 'windowSum');
  return inNamedContext('windowSum', options, () => {
    requireType(cells, NUMBERS, 'cells', 'windowSum');
    const grid = gridOf([cells], 'windowSum');
    const context = requireContext([cells], 'windowSum');
    const [outside] = outsideOf('cells', SCALARS[cells.type], options.outside) as [number];
    // A column of a window that is outside the grid is a sum of cells outside, too.
    const beside = sumOfWindow(height, () => outside, ADDITION[cells.type]);
    return context.scope(() => {
      const given = cells as Column as Column<'f32'>;
      const isZero = boundary === 'constant' && outside === 0;
      if (cells.type !== 'f32' && isZero && width + height >= TABLE_SIDES[context.backend.name]) {
        return tableSums(context, cells as Column as Column<'u32'>, width, height) as Column as Column<T>;
      }
      const below = { axis: 'y', size: height, boundary, outside } as const;
      const columns = height === 1 ? given : sumsAlong(context, given, grid, below);
      const sums = sumsAlong(context, columns, grid, { axis: 'x', size: width, boundary, outside: beside });
      return sums as Column as Column<T>;
    });
  });
}

const SCALARS = { u32, i32, f32 };

/** Addition on the host, as devices do it. */
const ADDITION = {
  u32: (a: number, b: number): number => (a + b) >>> 0,
  i32: (a: number, b: number): number => (a + b) | 0,
  f32: (a: number, b: number): number => Math.fround(a + b),
};

/** Windows of one column or of one row. */
interface Line {
  readonly axis: 'x' | 'y';
  readonly size: number;
  readonly boundary: Boundary;
  readonly outside: number;
}

/** Windows whose width and height add up to this take longer than a table. */
const TABLE_SIDES = { reference: 12, workers: 12, webgpu: 20 };

/**
 * The sums of windows as differences of a summed-area table, of cells outside that are zero. Sums modulo 2^32 may be:
 * their order does not matter.
 */
function tableSums(context: ColumnOwner, cells: Column<'u32'>, width: number, height: number): Column<'u32'> {
  const scalar = SCALARS[cells.type] as typeof u32;
  const sum = plus(scalar);
  const along = inclusiveScan(cells, sum, { axis: 'rows', context });
  const table = inclusiveScan(along, sum, { axis: 'columns', context });
  return context.materialize(stencil(windowOfTable(cells.type, width, height), { z: table }));
}

type OfTable = Functor<{ readonly z: NeighboursParameter<Scalar<'u32'>> }, Scalar<'u32'>>;

const ofTables = createCache<string, OfTable>({ max: 256 });

/**
 * A functor that takes the sum of a window from the four corners of the window in a table. Beyond the last cell, the
 * table goes on with its last sums; before the first, sums are zero. It takes sums of i32 as if they were u32.
 */
function windowOfTable(type: 'u32', width: number, height: number): OfTable {
  const key = `${type} ${width} ${height}`;
  const known = ofTables.get(key);
  if (known !== undefined) return known;
  const scalar = SCALARS[type];
  const [right, below, left, above] = [width >> 1, height >> 1, (width + 1) >> 1, (height + 1) >> 1];
  const made = fn('windowOfTable', { z: neighbours(scalar) }, scalar, ({ z }) => {
    const [hasLeft, hasAbove] = [z.x.ge(left), z.y.ge(above)];
    const at = (dx: number, dy: number, exists: Bool): U32 => select(scalar(0), z.at(dx, dy), exists);
    const sides = at(-left, below, hasLeft).add(at(right, -above, hasAbove));
    return z
      .at(right, below)
      .sub(sides)
      .add(at(-left, -above, hasLeft.and(hasAbove)));
  });
  ofTables.set(key, made);
  return made;
}

/** Maximum number of neighbours that a functor reads for a sum. */
const MAX_READS = 33;

function sumsAlong(context: ColumnOwner, cells: Column<'f32'>, grid: Grid, line: Line): Column<'f32'> {
  const { axis, size, boundary, outside } = line;
  if (size > MAX_READS) return longSums(context, cells, grid, line);
  const functor = sumOf(cells.type, axis, { before: (size - 1) >> 1, step: 1, size });
  return context.materialize(stencil(functor, { z: cells }, { boundary, outside: { z: outside } }));
}

type Sum = Functor<{ readonly z: NeighboursParameter<Scalar<'f32'>> }, Scalar<'f32'>>;

interface Neighbourhood {
  readonly before: number;
  /** Distance of the cells that are added up. */
  readonly step: number;
  readonly size: number;
}

const sums = createCache<string, Sum>({ max: 256 });

/** A functor that adds up neighbours along an axis. It takes cells of any type as if they were f32. */
function sumOf(type: WindowType, axis: Line['axis'], { before, step, size }: Neighbourhood): Sum {
  const key = `${type} ${axis} ${before} ${step} ${size}`;
  const known = sums.get(key);
  if (known !== undefined) return known;
  const scalar = SCALARS[type] as typeof f32;
  const made = fn(`windowSum ${axis}`, { z: neighbours(scalar) }, scalar, ({ z }) => {
    const cell = (at: number): F32 => (axis === 'x' ? z.at(step * at - before) : z.at(0, step * at - before));
    return sumOfWindow(size, cell, (a, b) => a.add(b));
  });
  sums.set(key, made);
  return made;
}

/**
 * Sums of long windows. The lines are stored with the cells that replace those outside, then the sums of 16 cells from
 * each cell on, of 256 and so on; a window is a sum of a few of these.
 */
function longSums(
  context: ColumnOwner,
  cells: Column<'f32'>,
  grid: Grid,
  { axis, size, boundary, outside }: Line,
): Column<'f32'> {
  if (grid.rows * grid.columns === 0) return context.materialize(cells);
  const across = axis === 'x' ? 'columns' : 'rows';
  const padded = { ...grid, [across]: grid[across] + size - 1 };
  const line = { size: grid[across], before: (size - 1) >> 1 };
  const parts = [context.materialize(paddedLines(cells, grid, padded, axis, { ...line, boundary, outside }))];
  for (let step = 1; step * PART <= size; step *= PART) {
    const functor = sumOf(cells.type, axis, { before: 0, step, size: PART });
    parts.push(context.materialize(stencil(functor, { z: parts.at(-1)! }, { boundary: 'constant' })));
  }
  return context.materialize(sumsOfParts(parts, grid, padded, axis, size));
}
