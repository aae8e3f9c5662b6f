import type { DeviceLength, Memory } from '../../primitives/columns/column.ts';
import type { Loader } from '../../primitives/columns/program.ts';
import {
  array,
  type Column,
  type Context,
  ctz,
  fn,
  map,
  plus,
  popcount,
  select,
  type U32,
  u32,
  uniform,
} from '../../primitives/index.ts';
import { foldResults, scanResults } from '../../primitives/rows/row-results.ts';
import { BOTH, type ChildBits } from './children.ts';
import { PASSES, type Passages } from './edge-in-quadrant.ts';
import type { OpenQuadrants } from './open-quadrants.ts';

/** The bit above the bits of an effect. It is set for passages in quadrants whose children with edges are settled. */
const SETTLE = 7;

const noted = fn(
  'noted',
  { look: u32, quadrant: u32, columns: array(u32), bits: uniform(u32), min: uniform(u32) },
  u32,
  ({ look, quadrant, columns, bits, min }) => {
    const side = ctz(columns.at(quadrant)).sub(bits.shr(1));
    return look.or(u32(side.le(min)).shl(SETTLE));
  },
);

/**
 * Stores the effects of edges, and marks the effects in quadrants whose children with edges are settled. All children
 * of a quadrant have the same size, so those with edges are all settled or all split.
 */
export function noteLooks(
  context: Context,
  looks: Column<'u32'>,
  { quadrant }: Passages,
  { column }: OpenQuadrants,
  bits: ChildBits,
  min: number,
): Column<'u32'> {
  return context.materialize(map(noted, { look: looks, quadrant, columns: column, bits, min }));
}

const passCounts = fn('passCounts', { look: u32 }, { goesOn: u32, settled: u32 }, ({ look }) => {
  const count = popcount(look.and(PASSES));
  const isSettled = look.shr(SETTLE).eq(1);
  return { goesOn: select(count, u32(0), isSettled), settled: select(u32(0), count, isSettled) };
});

/**
 * Counts passages of edges through children. The number of passages through children that are split further is written
 * to the third word of `counts`, and the number of passages through settled children to the fourth.
 */
export function countPassages(context: Context, look: Column<'u32'>, counts: Memory): void {
  const columns = Object.values(map(passCounts, { look }));
  const row = (index: U32, loader: Loader) => loader.load(columns, index);
  foldResults('countPassages', { context, length: look.length, row }, BOTH, counts, 2);
}

/** Maximum number of a quadrant's children that one edge passes through. */
const MAX_PASSED = 3;

const RANKS = Array.from({ length: MAX_PASSED }, (_, rank) => rank);

const passed = fn(
  'passed',
  { quadrant: u32, look: u32, ranks: array(u32), bits: uniform(u32) },
  { first: u32, second: u32, third: u32 },
  ({ quadrant, look, ranks, bits }) => {
    const passes = [look.and(PASSES)];
    for (let k = 1; k < MAX_PASSED; k++) passes.push(passes[k - 1]!.and(passes[k - 1]!.sub(1)));
    const [first, second, third] = passes.map((left) => ranks.at(quadrant.shl(bits).add(ctz(left))));
    return { first: first!, second: second!, third: third! };
  },
);

/**
 * The kind `to` of the children that receive edges, and the number `length` of passages of edges through these
 * children.
 */
export interface Handover {
  readonly to: 'goesOn' | 'settled';
  /** The rank of each child among the children of its kind. */
  readonly rank: Column<'u32'>;
  readonly bits: ChildBits;
  readonly length: number | DeviceLength;
}

/** Returns the passages of edges through the children of one kind, in the order of the edges. */
export function passOn(
  context: Context,
  { quadrant, edge }: Passages,
  look: Column<'u32'>,
  { to, rank, bits, length }: Handover,
): Passages {
  return context.scope(() => {
    const [quadrants, edges] = [context.stored('u32', length), context.stored('u32', length)];
    const count = map(passCounts, { look })[to];
    const children = Object.values(map(passed, { quadrant, look, ranks: rank, bits }));
    scanResults('passOn', {
      context,
      length: edge.length,
      monoid: plus(u32),
      element: (index, loader) => loader.load([count], index),
      emit: (index, [before], [after], loader) => {
        const [own, ...among] = loader.load([edge, ...children], index);
        const lanes = RANKS.flatMap((rank) => {
          const place = (before as U32).add(rank);
          return [place.lt(after as U32), place, among[rank]!];
        });
        return [own!, ...lanes];
      },
      emitted: ['u32', ...RANKS.flatMap(() => ['bool', 'u32', 'u32'] as const)],
      stores: RANKS.flatMap((rank) => {
        const [guard, index] = [1 + 3 * rank, 2 + 3 * rank];
        return [
          { to: quadrants, guard, index, value: 3 + 3 * rank },
          { to: edges, guard, index, value: 0 },
        ];
      }),
    });
    return { quadrant: quadrants, edge: edges };
  });
}
