import type { Column } from '../columns/column.ts';
import { viewColumn } from '../columns/column.ts';
import type { Grid } from '../columns/grid.ts';
import { fuse, type Loader } from '../columns/program.ts';
import type { Boundary } from '../contract/backend.ts';
import { select } from '../functors/standard/choose.ts';
import type { F32, U32, Value } from '../functors/value.ts';
import { PART, partsOf } from './window-parts.ts';

/** A line of `size` cells, before which `before` cells are added, and what replaces cells outside it. */
export interface PaddedLine {
  readonly size: number;
  readonly before: number;
  readonly boundary: Boundary;
  readonly outside: number;
}

/** The cells of a grid whose lines along an axis also have the cells that replace those outside, as a view. */
export function paddedLines(
  cells: Column<'f32'>,
  grid: Grid,
  padded: Grid,
  axis: 'x' | 'y',
  line: PaddedLine,
): Column<'f32'> {
  const { size, before, boundary, outside } = line;
  const view = fuse('paddedLines', [], [cells.type], (index, _, loader) => {
    const [x, y] = coordinates(index, padded, loader);
    const at = axis === 'x' ? x : y;
    const place = placeOf(at, line, loader);
    const [column, row] = axis === 'x' ? [place, y] : [x, place];
    const values = loader.load([cells], row.mul(loader.uniform('u32', grid.columns)).add(column));
    if (boundary !== 'constant') return values;
    const first = loader.uniform('u32', before);
    const inside = at.ge(first).and(at.lt(first.add(loader.uniform('u32', size))));
    return [select(loader.uniform(cells.type, outside), values[0]!, inside)];
  });
  return viewColumn(cells.context, cells.type, padded.rows * padded.columns, view, 0, padded);
}

function coordinates(index: U32, grid: Grid, loader: Loader): [U32, U32] {
  const width = loader.uniform('u32', grid.columns);
  const y = index.div(width);
  return [index.sub(y.mul(width)), y];
}

/** The cell of a line that is at place `at` of the padded line. */
function placeOf(at: U32, { size, before, boundary }: PaddedLine, loader: Loader): U32 {
  const number = (value: number): U32 => loader.uniform('u32', value);
  switch (boundary) {
    case 'wrap':
      return at.add(number((size - (before % size)) % size)).rem(number(size));
    case 'reflect': {
      const period = Math.max(1, 2 * (size - 1));
      const turned = at.add(number((period - (before % period)) % period)).rem(number(period));
      return turned.min(number(period).sub(turned));
    }
    default:
      return at
        .max(number(before))
        .sub(number(before))
        .min(number(size - 1));
  }
}

/**
 * The sums of the windows of `size` cells that begin at each cell of padded lines, as a view. Column l of `parts` has,
 * for each cell of the padded lines, the sum of the 16^l cells from there on.
 */
export function sumsOfParts(
  parts: readonly Column<'f32'>[],
  grid: Grid,
  padded: Grid,
  axis: 'x' | 'y',
  size: number,
): Column<'f32'> {
  const view = fuse('sumsOfParts', [], [parts[0]!.type], (index, _, loader) => {
    const [x, y] = coordinates(index, grid, loader);
    const width = loader.uniform('u32', padded.columns);
    const first = y.mul(width).add(x);
    const sums = partsOf(size).map(({ cells, at }) => {
      const away = axis === 'x' ? loader.uniform('u32', at) : width.mul(loader.uniform('u32', at));
      return loader.load([parts[Math.round(Math.log(cells) / Math.log(PART))]!], first.add(away))[0]! as F32;
    });
    return [sums.reduce((a, b) => a.add(b))] as Value<'f32'>[];
  });
  return viewColumn(parts[0]!.context, parts[0]!.type, grid.rows * grid.columns, view, 0, grid);
}
