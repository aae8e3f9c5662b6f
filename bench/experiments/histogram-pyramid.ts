import type { Memory } from '../../primitives/columns/column.ts';
import {
  type ArrayValue,
  array,
  type Column,
  type Context,
  concatenate,
  fn,
  Let,
  map,
  select,
  sequence,
  type U32,
  u32,
  uniform,
  Var,
  While,
} from '../../primitives/index.ts';
import { countIn } from '../../primitives/scan.ts';

/** Width and height of a grid, in cells; a list has a height of 1. */
export interface PointExtent {
  readonly width: number;
  readonly height: number;
}

/**
 * A histogram pyramid: counts of active cells per group of four adjacent cells (in 2D, two by two), then per group of
 * four groups, and so on up to one count of all cells.
 */
export interface HistogramPyramid {
  readonly dimensions: 1 | 2;
  /** One row per cell: 1 if the cell is active, otherwise 0. */
  readonly cells: Column<'u32'>;
  /** Level 1: one count per group of four cells. */
  readonly groups: Column<'u32'>;
  /** The counts of all levels from 2 on, one level after another. */
  readonly above: Column<'u32'>;
  /**
   * Three words for every level, beginning with level 0 (the cells): the index of the first count of the level in the
   * column that contains the level, the width of the level, and the height of the level.
   */
  readonly levels: Column<'u32'>;
  readonly top: number;
  /** The number of active cells, as a column of one row. */
  readonly total: Column<'u32'>;
}

/**
 * Builds the pyramid by reduction, with one launch per level.
 *
 * Source: Ziegler, Tevs, Theobalt and Seidel, GPU Point List Generation through Histogram Pyramids, 2006.
 */
export function buildPyramid(
  context: Context,
  cells: Column<'u32'>,
  extent: PointExtent,
  dimensions: 1 | 2,
): HistogramPyramid {
  const extents = extentsOf(extent, dimensions);
  const counts = [cells];
  for (const [below, { width, height }] of extents.slice(1).entries()) {
    const given = { row: sequence(width * height), below: counts[below]!, rowWidth: width };
    const { width: widthBelow, height: heightBelow } = extents[below]!;
    counts.push(context.materialize(map(sumOf[dimensions], { ...given, widthBelow, heightBelow })));
  }
  const above = context.scope(() => concatenate(counts.slice(2)));
  const total = counts.at(-1)!;
  context.dispose(counts.slice(2, -1));
  const levels = context.column(Uint32Array.from(tableOf(extents)));
  return { dimensions, cells, groups: counts[1]!, above, levels, top: extents.length - 1, total };
}

/** Frees the columns of a pyramid, except its cells, which the caller owns. */
export function disposePyramid(context: Context, { groups, above, levels, total }: HistogramPyramid): void {
  context.dispose(groups, above, levels, total);
}

/**
 * The indices of the active cells, one per output row. For each output row, a search goes down from the top of the
 * pyramid. At every level, the search chooses the one of four children that contains the cell of the row. In 1D the
 * indices ascend; in 2D they are in quadtree order. The number of output rows is known only on the device.
 */
export function pointList(context: Context, pyramid: HistogramPyramid): Column<'u32'> {
  const { dimensions, cells, groups, above, levels, top, total } = pyramid;
  const { memory } = total.source as { readonly memory: Memory };
  const rank = sequence(countIn(memory, 0, cells.capacity));
  return context.materialize(map(cellOf[dimensions], { rank, cells, groups, above, levels, top }));
}

/** The extents of all levels; there are always at least two levels above the cells. */
function extentsOf(cells: PointExtent, dimensions: 1 | 2): readonly PointExtent[] {
  const extents = [cells];
  while (extents.length < 3 || extents.at(-1)!.width * extents.at(-1)!.height > 1) {
    const { width, height } = extents.at(-1)!;
    const side = dimensions === 1 ? 4 : 2;
    extents.push({ width: Math.ceil(width / side), height: dimensions === 1 ? 1 : Math.ceil(height / side) });
  }
  return extents;
}

function tableOf(extents: readonly PointExtent[]): number[] {
  let start = 0;
  return extents.flatMap(({ width, height }, level) => {
    const row = [start, width, height];
    start = level < 2 ? 0 : start + width * height;
    return row;
  });
}

interface Place {
  readonly x: U32;
  readonly y: U32;
}

/** Returns the place (coordinates in a level) of child number `child` (0 to 3) of the group at `place`. */
type ChildOf = (place: Place, child: U32) => Place;

const childOf: Readonly<Record<1 | 2, ChildOf>> = {
  1: ({ x }, child) => ({ x: x.mul(4).add(child), y: u32(0) }),
  2: ({ x, y }, child) => ({ x: x.mul(2).add(child.and(1)), y: y.mul(2).add(child.shr(1)) }),
};

/** The count at a place (coordinates in a level); 0 if the place is outside the level. */
function countAt(counts: ArrayValue<'u32'>, start: U32, width: U32, height: U32, { x, y }: Place): U32 {
  return select(u32(0), counts.at(start.add(y.mul(width)).add(x)), x.lt(width).and(y.lt(height)));
}

const sumOf = { 1: sumFor(1), 2: sumFor(2) };

function sumFor(dimensions: 1 | 2) {
  const parameters = { row: u32, below: array(u32), rowWidth: uniform(u32) } as const;
  const extent = { widthBelow: uniform(u32), heightBelow: uniform(u32) } as const;
  return fn(
    `sum${dimensions}`,
    { ...parameters, ...extent },
    u32,
    ({ row, below, rowWidth, widthBelow, heightBelow }) => {
      const y = dimensions === 1 ? u32(0) : row.div(rowWidth);
      const place = { x: row.sub(y.mul(rowWidth)), y };
      return [0, 1, 2, 3]
        .map((child) => countAt(below, u32(0), widthBelow, heightBelow, childOf[dimensions](place, u32(child))))
        .reduce((a, b) => a.add(b));
    },
  );
}

const cellOf = { 1: cellFor(1), 2: cellFor(2) };

function cellFor(dimensions: 1 | 2) {
  const counts = { cells: array(u32), groups: array(u32), above: array(u32), levels: array(u32) } as const;
  return fn(
    `cell${dimensions}`,
    { rank: u32, ...counts, top: uniform(u32) },
    u32,
    ({ rank: first, cells, groups, above, levels, top }) => {
      const x = Var(u32(0));
      const y = Var(u32(0));
      const left = Var(first);
      const level = Var(top);
      const goDown = (from: ArrayValue<'u32'>): void => {
        const below = level.sub(1);
        const [start, width, height] = [0, 1, 2].map((word) => levels.at(below.mul(3).add(word))) as [U32, U32, U32];
        const at = { x: Let(x), y: Let(y) };
        const before: U32[] = [];
        for (const child of [0, 1, 2]) {
          const own = countAt(from, start, width, height, childOf[dimensions](at, u32(child)));
          before.push(own.add(before.at(-1) ?? u32(0)));
        }
        const rank = Let(left);
        const child = before.map((sum) => u32(rank.ge(sum))).reduce((a, b) => a.add(b));
        const passed = before.reduce((max, sum) => select(max, sum, rank.ge(sum)), u32(0));
        const place = childOf[dimensions](at, child);
        left.set(rank.sub(passed));
        x.set(place.x);
        y.set(place.y);
        level.set(below);
      };
      While(
        () => level.gt(2),
        () => goDown(above),
      );
      goDown(groups);
      goDown(cells);
      return y.mul(levels.at(1)).add(x);
    },
  );
}
