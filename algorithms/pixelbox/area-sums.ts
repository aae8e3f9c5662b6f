import { fn, u32, u64 } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import { add64 } from '../../primitives/functors/standard/wide.ts';
import {
  type Column,
  type Context,
  fill,
  gather,
  map,
  plus,
  reduceByKey,
  scatterReduce,
} from '../../primitives/index.ts';

/** Areas of pairs, summed up box by box. */
export interface AreaSums {
  readonly lo: Column<'u32'>;
  readonly hi: Column<'u32'>;
  /** Whether a pair's area may exceed 2³² − 1. */
  readonly wide: boolean;
}

/** Parts of the areas of pairs; the pairs are in ascending order. */
export interface AreaParts {
  readonly pair: Column<'u32'>;
  readonly lo: Column<'u32'>;
  readonly hi: Column<'u32'>;
}

/** Bytes per row that adding to wide sums takes, besides the parts. */
export const WIDE_ROW_BYTES = 24;

export function startSums(context: Context, pairs: number, wide: boolean): AreaSums {
  return { ...fill(context, u64, { lo: 0, hi: 0 }, pairs), wide };
}

/**
 * Adds parts to the sums. Sums below 2³² use atomic additions. Wider sums are added by pair, because there is no atomic
 * addition of u64. Both are exact in any order.
 */
export function addToSums(context: Context, sums: AreaSums, parts: AreaParts): void {
  if (sums.wide) addWide(context, sums, parts);
  else scatterReduce(parts.lo, map(pairOfPart, { pair: parts.pair, area: parts.lo }), 'add', sums.lo);
}

/** An index beyond all pairs, for rows to ignore. */
const NO_PAIR = 2 ** 32 - 1;

const pairOfPart = fn('pairOfPart', { pair: u32, area: u32 }, u32, ({ pair, area }) =>
  select(pair, NO_PAIR, area.eq(0)),
);

function addWide(context: Context, { lo, hi }: AreaSums, parts: AreaParts): void {
  context.scope(() => {
    // Stored, because the reduction reads every row several times.
    const { pair, ...area } = context.materialize({ ...parts });
    const { keys, values } = reduceByKey(pair, area, plus(u64));
    const change = context.materialize(map(changeOfSum, { sum: gather({ lo, hi }, keys), area: values }));
    scatterReduce(change.lo, keys, 'xor', lo);
    scatterReduce(change.hi, keys, 'xor', hi);
  });
}

/** The bits of a sum that an addition changes. */
const changeOfSum = fn('changeOfSum', { sum: u64, area: u64 }, u64, ({ sum, area }) => {
  const { lo, hi } = add64({ a: sum, b: area });
  return { lo: lo.xor(sum.lo), hi: hi.xor(sum.hi) };
});
