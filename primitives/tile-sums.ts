import { requireArguments, wrongArgument } from './checks/arguments.ts';
import { anything, aWhole, optional, someOptions } from './checks/kinds.ts';
import { type Column, requireType } from './columns/column.ts';
import { type ContextOption, inNamedContext, requireContext } from './context/context-option.ts';
import { bool, fn, i32, u32, uniform } from './functors/functor.ts';
import { gather } from './gather.ts';
import { map } from './map.ts';
import { type Monoid, plus } from './monoid.ts';
import { segmentedScan } from './scan.ts';
import { sequence } from './sequence.ts';

/** Maximum number of elements of a tile. */
export const MAX_CELLS: number = 2 ** 16;

export interface TileOptions extends ContextOption {
  /** Columns of a tile. */
  readonly columns: number;
  /** Rows of a tile. With its columns, a tile has at most 2^16 elements. */
  readonly rows: number;
}

const someTileOptions = someOptions<TileOptions>({
  columns: aWhole(1, MAX_CELLS),
  rows: aWhole(1, MAX_CELLS),
  context: optional(anything),
});

/**
 * Prefix sums in two dimensions, for each tile by itself: an element becomes the sum of all elements of its tile that
 * are neither below it nor to the right of it. Tiles follow each other, row by row; the last tile may be cut off. Sums
 * are modulo 2³². The inverse of the residuals of the plane predictor, `x − left − above + aboveLeft`.
 *
 * - Work O(n), span O(log n). Deterministic. An empty input gives an empty column. Accepts device counts (lengths that
 *   only the device knows).
 * - Equivalent loop: `for (row …) for (column …) out[row][column] = in[row][column] + out[row][column − 1] +
 *   out[row − 1][column] − out[row − 1][column − 1]`, where elements outside the tile are 0.
 *
 * Source: Crow, Summed-area tables for texture mapping, 1984.
 *
 * @throws {@link ArgumentError} `argument/type` if a tile has no elements, or more than 2^16.
 * @example
 * const tiles = ctx.column(Uint32Array.of(1, 1, 1, 1, 5, 0, 0, 1)); // two tiles of 2 × 2
 * await ctx.read(tileSums(tiles, { columns: 2, rows: 2 })); // Uint32Array [1, 2, 2, 4, 5, 5, 5, 6]
 */
export function tileSums<T extends 'u32' | 'i32'>(values: Column<T>, options: TileOptions): Column<T> {
  requireArguments('tileSums', { values, options }, { values: anything, options: someTileOptions });
  const { columns, rows } = options;
  const cells = columns * rows;
  if (cells > MAX_CELLS) throw wrongArgument('tileSums', 'tile', cells, `at most ${MAX_CELLS} elements`);
  return inNamedContext('tileSums', options, () => {
    requireType(values, ['u32', 'i32'], 'values', 'tileSums');
    const context = requireContext([values], 'tileSums');
    const sum = (values.type === 'u32' ? plus(u32) : plus(i32)) as unknown as Monoid<typeof u32>;
    const scanned = (column: Column<'u32'>, every: number): Column<'u32'> =>
      segmentedScan<typeof u32>(column, map(isMultiple, { i: sequence(column.length), every }), sum);
    return context.scope(() => {
      const alongRows = scanned(values as Column as Column<'u32'>, columns);
      // Elements of a tile that is cut off are 0 where they are missing.
      const whole = sequence(Math.ceil(values.capacity / cells) * cells);
      const down = scanned(gather(alongRows, map(turned, { i: whole, cells, from: rows, to: columns })), rows);
      const order = map(turned, { i: sequence(values.length), cells, from: columns, to: rows });
      return context.materialize(gather(down, order)) as Column as Column<T>;
    });
  });
}

const isMultiple = fn({ i: u32, every: uniform(u32) }, bool, ({ i, every }) => i.rem(every).eq(0));

/** The place of element `i` of tiles in column order, whose columns have `from` elements, in row order, and back. */
const turned = fn(
  { i: u32, cells: uniform(u32), from: uniform(u32), to: uniform(u32) },
  u32,
  ({ i, cells, from, to }) => {
    const place = i.rem(cells);
    return i.sub(place).add(place.rem(from).mul(to)).add(place.div(from));
  },
);
