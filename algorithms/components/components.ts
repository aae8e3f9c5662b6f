import { aColumn, aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aWhole, optional, someOptions, where } from '../../primitives/checks/kinds.ts';
import {
  ArgumentError,
  array,
  type Bool,
  Break,
  bool,
  type Column,
  type Context,
  For,
  fn,
  If,
  Let,
  map,
  sequence,
  type U32,
  u32,
  uniform,
  Var,
  type Variable,
  While,
} from '../../primitives/index.ts';

export interface ComponentsOptions {
  /** Number of cells in a row of the grid. */
  readonly width: number;
  /** Whether a cell is connected to the 4 cells that share a side with it, or to all 8 cells around it. Default 4. */
  readonly connectivity?: 4 | 8 | undefined;
}

/** The label of a cell that is not set. */
export const NO_COMPONENT: number = 2 ** 32 - 1;

/**
 * Labels the connected components of the set cells of a grid. The label of a cell is the index of the first cell of its
 * component, in row order, or {@link NO_COMPONENT} if the cell is not set. A cell whose label is its own index is the
 * first of its component, so the number of such cells is the number of components.
 *
 * One launch links every set cell to an earlier cell of its component. Whatever the shape of the component, log₆₄ n
 * more launches follow these links to the first cell. The first launch walks from neighbour to earlier neighbour, up to
 * 64 steps. A set cell without an earlier neighbour is an upper left corner. From a corner, one thread follows the
 * outline in both directions at the same time until it reaches an earlier cell. If the thread returns to the corner
 * instead, the corner is the first cell.
 *
 * - Work O(n log n), because few corners of an outline are far from an earlier cell in both directions. Span O(the
 *   longest outline): a spiral that fills the grid has an outline of O(n) steps, which a single thread follows.
 *   Deterministic.
 * - Without cells, the result is empty. The length of `cells` may be counted on the device: cells at or after the count
 *   are treated as not set.
 *
 * @throws `ArgumentError` `components/width` if the number of cells is not a multiple of the width.
 * @example
 * const cells = ctx.column([true, true, false, true, false, false, false, true, true, false, true, false]);
 * await ctx.read(connectedComponents(ctx, cells, { width: 4 }));
 * // Uint32Array [0, 0, 4294967295, 3, 4294967295, 4294967295, 4294967295, 3, 8, 4294967295, 10, 4294967295]
 */
export function connectedComponents(
  context: Context,
  cells: Column<'bool'>,
  options: ComponentsOptions,
): Column<'u32'> {
  requireArguments('connectedComponents', { context, cells, options }, ARGUMENTS);
  const { width, connectivity = 4 } = options;
  requireRows(cells, width);
  return context.scope(() => {
    const cell = sequence(cells.length);
    // If the width exceeds the number of cells, all cells are in one row. With a width near 2³², the index of a cell
    // above or below this row would wrap around to a cell of the row. Capping the width avoids that.
    const fitting = Math.min(width, Math.max(1, cells.capacity));
    const earlier = connectivity === 4 ? earlierOf4 : earlierOf8;
    let labels = context.materialize(map(earlier, { cell, cells, width: fitting }));
    for (let reach = 1; reach < cells.capacity; reach *= STEPS) {
      labels = context.materialize(map(follow, { label: labels, labels }));
    }
    return labels;
  });
}

const ARGUMENTS = {
  context: aContext,
  cells: aColumn('bool'),
  options: someOptions<ComponentsOptions>({
    width: aWhole(1, 2 ** 32 - 1, 'components/width'),
    connectivity: optional(where('4 or 8', (given) => given === 4 || given === 8)),
  }),
};

function requireRows({ length }: Column, width: number): void {
  if (typeof length !== 'number' || length % width === 0) return;
  throw new ArgumentError(
    'components/width',
    'The number of cells of connectedComponents is not a multiple of the width.',
    {
      expected: `a multiple of ${width} cells`,
      got: length,
    },
  );
}

/** Maximum number of links that a launch follows towards the first cell. */
const STEPS = 64;

type IsSet = (x: U32, y: U32) => Bool;

/** The neighbours of a cell that have a lower index, as steps to the right and down. */
// biome-ignore format: two lines.
const EARLIER = {
  4: [[0, -1], [-1, 0]],
  8: [[0, -1], [-1, 0], [1, -1], [-1, -1]],
} as const;

const earlierOf4 = earlierCell(4);
const earlierOf8 = earlierCell(8);

/**
 * Functor that links a cell to an earlier cell of its component. The first cell of a component is linked to itself; a
 * cell that is not set gets {@link NO_COMPONENT}.
 */
function earlierCell(connectivity: 4 | 8) {
  return fn(
    `earlierOf${connectivity}`,
    { cell: u32, cells: array(bool), width: uniform(u32) },
    u32,
    ({ cell, cells, width }) => {
      const isSet: IsSet = (x, y) => x.lt(width).and(cells.at(y.mul(width).add(x)));
      const found = Var(u32(NO_COMPONENT));
      If(cells.at(cell), () => {
        const [x, y] = [Var(cell.rem(width)), Var(cell.div(width))];
        found.set(cell);
        For(0, STEPS, () => {
          const before = Let(found);
          for (const [right, down] of EARLIER[connectivity]) {
            If(found.eq(before), () => {
              const [nextX, nextY] = [x.add(right >>> 0), y.add(down >>> 0)];
              If(isSet(nextX, nextY), () => {
                x.set(nextX);
                y.set(nextY);
                found.set(nextY.mul(width).add(nextX));
              });
            });
          }
          If(found.eq(before), () => Break());
        });
        If(found.eq(cell), () => found.set(earlierOnOutline(x, y, width, isSet, connectivity)));
      });
      return found;
    },
  );
}

/**
 * Follows an outline of a component from the upper side of a corner, a cell without an earlier neighbour. Follows the
 * outline in both directions until it passes a cell whose index is lower than the corner's. Returns that cell, or the
 * corner itself if the outline has no such cell.
 *
 * The outline separates the component from one region of cells that are not in it: either the outside or a hole. If the
 * region is the outside, the outline passes the component's first cell. If the region is a hole, the cell above the
 * corner belongs to the hole. The outline then passes the cell above the hole's topmost cell, at least two rows above
 * the corner. So every corner except the component's first cell has an earlier cell on its outline.
 *
 * With both directions in parallel, the corners of an outline of m sides take O(m log m) steps in total: if a corner
 * takes k steps, no cell within k sides of it is earlier, and an outline has at most m / k such corners.
 */
function earlierOnOutline(x: U32, y: U32, width: U32, isSet: IsSet, connectivity: 4 | 8): U32 {
  const start = y.mul(width).add(x);
  const [clockwise, back] = [walker(x, y, 1), walker(x, y, -1)];
  const found = Var(start);
  const goesOn = Var(bool(true));
  While(
    () => goesOn,
    () => {
      for (const each of [clockwise, back]) {
        goOn(each, isSet, connectivity);
        found.set(found.min(each.y.mul(width).add(each.x)));
      }
      const isBack = clockwise.dx.eq(1).and(clockwise.x.eq(x)).and(clockwise.y.eq(y));
      goesOn.set(found.eq(start).and(isBack.not()));
    },
  );
  return found;
}

/** A walker along an outline: the adjacent cell of the component, and the walker's direction. */
interface Walker {
  readonly x: Variable<'u32'>;
  readonly y: Variable<'u32'>;
  readonly dx: Variable<'u32'>;
  readonly dy: Variable<'u32'>;
  /** 1: clockwise, with the component on the right. −1: backwards, with the component on the left. */
  readonly side: 1 | -1;
}

/**
 * A walker on the upper side of a cell. It starts eastwards if clockwise, else westwards. A step to the west or north
 * is 2³² − 1, which is −1 in u32.
 */
function walker(x: U32, y: U32, side: 1 | -1): Walker {
  return { x: Var(x), y: Var(y), dx: Var(u32(side >>> 0)), dy: Var(u32(0)), side };
}

/** Moves a walker to the next side of the outline. */
function goOn({ x, y, dx, dy, side }: Walker, isSet: IsSet, connectivity: 4 | 8): void {
  const go = (toX: U32, toY: U32): void => {
    x.set(toX);
    y.set(toY);
  };
  const turn = (toX: U32, toY: U32): void => {
    dx.set(toX);
    dy.set(toY);
  };
  // Directions to the right and left of the walker. One of them leads away from the component, the other towards it.
  const [right, left] = [[dy.neg(), Let(dx)] as const, [Let(dy), dx.neg()] as const];
  const [away, towards] = side === 1 ? [left, right] : [right, left];
  const [aheadX, aheadY] = [x.add(dx), y.add(dy)];
  const [besideX, besideY] = [aheadX.add(away[0]), aheadY.add(away[1])];
  const [ahead, beside] = [isSet(aheadX, aheadY), isSet(besideX, besideY)];
  If(connectivity === 8 ? beside : beside.and(ahead), () => {
    go(besideX, besideY);
    turn(...away);
  })
    .ElseIf(
      () => ahead,
      () => go(aheadX, aheadY),
    )
    .Else(() => turn(...towards));
}

/** Follows up to `STEPS` links from a label, each to an earlier cell, towards the first cell of the component. */
const follow = fn('follow', { label: u32, labels: array(u32) }, u32, ({ label, labels }) => {
  const first = Var(label);
  If(label.ne(NO_COMPONENT), () => {
    For(0, STEPS, () => {
      const next = labels.at(first);
      If(next.eq(first), () => Break());
      first.set(next);
    });
  });
  return first;
});
