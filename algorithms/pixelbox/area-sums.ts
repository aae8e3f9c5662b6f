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

/**
 * Sums of areas, one per pair, to which areas are added box by box. A sum is a u64: `lo` is the low word, `hi` the high
 * word.
 */
export interface AreaSums {
  readonly lo: Column<'u32'>;
  readonly hi: Column<'u32'>;
  /** Whether sums may exceed 2³² − 1, so that both words are needed. */
  readonly wide: boolean;
}

/** Areas to add to the sums of pairs. The pairs are in ascending order. */
export interface AreaParts {
  readonly pair: Column<'u32'>;
  readonly lo: Column<'u32'>;
  readonly hi: Column<'u32'>;
}

/** Bytes of memory that adding one part to wide (64-bit) sums takes, besides the part itself. */
export const WIDE_ROW_BYTES = 24;

export function startSums(context: Context, pairs: number, wide: boolean): AreaSums {
  return { ...fill(context, u64, { lo: 0, hi: 0 }, pairs), wide };
}

/**
 * Adds parts to the sums. If all sums are below 2³², atomic additions are used. Otherwise the parts of each pair are
 * summed first, because there is no atomic addition of u64. Both ways are exact in any order of the additions.
 */
export function addToSums(context: Context, sums: AreaSums, parts: AreaParts): void {
  if (sums.wide) addWide(context, sums, parts);
  else scatterReduce(parts.lo, map(pairOfPart, { pair: parts.pair, area: parts.lo }), 'add', sums.lo);
}

/** An index above the indices of all pairs. Parts of area 0 get this index, so that the addition skips them. */
const NO_PAIR = 2 ** 32 - 1;

const pairOfPart = fn('pairOfPart', { pair: u32, area: u32 }, u32, ({ pair, area }) =>
  select(pair, NO_PAIR, area.eq(0)),
);

function addWide(context: Context, { lo, hi }: AreaSums, parts: AreaParts): void {
  context.scope(() => {
    // Materialized, because the reduction reads every row several times.
    const { pair, ...area } = context.materialize({ ...parts });
    const { keys, values } = reduceByKey(pair, area, plus(u64));
    const change = context.materialize(map(changeOfSum, { sum: gather({ lo, hi }, keys), area: values }));
    scatterReduce(change.lo, keys, 'xor', lo);
    scatterReduce(change.hi, keys, 'xor', hi);
  });
}

/** The bits of a sum that change when `area` is added, to be applied by XOR. */
const changeOfSum = fn('changeOfSum', { sum: u64, area: u64 }, u64, ({ sum, area }) => {
  const { lo, hi } = add64({ a: sum, b: area });
  return { lo: lo.xor(sum.lo), hi: hi.xor(sum.hi) };
});
