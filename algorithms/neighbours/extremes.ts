import type { Loader } from '../../primitives/columns/program.ts';
import {
  type Bool,
  bitsToU32,
  type Column,
  type Context,
  type F32,
  f32,
  fn,
  If,
  Let,
  map,
  maximum,
  reduce,
  type U32,
  u32,
  uniform,
  Var,
} from '../../primitives/index.ts';
import { bitsOfF32 } from '../../primitives/ir/semantics.ts';
import { type Measure, sumsInVariables } from './measures.ts';

/**
 * A word that is not 0 if a finite coordinate is so large or so small that plain sums may leave f32. If all ordinary
 * coordinates have at least the magnitude 2^−40, they are multiples of 2^−63, and so are their differences. So no square
 * is below the normal numbers.
 */
export function extremesOf(context: Context, elements: Column<'f32'>, dimensions: number): Column<'u32'> {
  // The sum of the squares of twice this magnitude is at most 2^126.
  const max = 2 ** Math.floor(62 - Math.log2(dimensions) / 2);
  return context.materialize(reduce(map(extremeWord, { x: elements, max }), maximum(u32), { context }));
}

const MIN = 2 ** -40;

const extremeWord = fn('extremeWord', { x: f32, max: uniform(f32) }, u32, ({ x, max }) => {
  const size = Let(bitsToU32(x.abs()));
  const isOrdinary = size.ge(bitsOfF32(MIN)).and(size.le(bitsToU32(max)));
  return u32(isOrdinary.or(size.eq(0)).or(size.ge(INFINITE)).not());
});

const INFINITE = 0x7f800000;

/** Whether points or queries have coordinates for which a search needs the sums of {@link Measure.atAnyScale}. */
export function isAnyExtreme(flags: readonly Column<'u32'>[], loader: Loader): Bool {
  return flags
    .map((flag) => loader.load([flag], u32(0))[0] as U32)
    .reduce((a, b) => a.or(b))
    .ne(0);
}

/** Calls `body` for every pair of coordinates of two vectors. */
type EachPair = (body: (a: F32, b: F32) => void) => void;

/** The key of a distance, by the sums for any scale if `isExtreme` holds. */
export function keyOfVectors(measure: Measure, isExtreme: Bool | undefined, each: EachPair, lengths?: Lengths): U32 {
  const keyBy = (sums: Pick<Measure, 'sums' | 'step' | 'keyOf'>): U32 => {
    const { now, add } = sumsInVariables(sums);
    each(add);
    return sums.keyOf(now(), lengths);
  };
  const { atAnyScale } = measure;
  if (isExtreme === undefined || atAnyScale === undefined) return keyBy(measure);
  const key = Var(u32(0));
  If(isExtreme, () => key.set(keyBy(atAnyScale))).Else(() => key.set(keyBy(measure)));
  return Let(key as U32);
}

type Lengths = readonly [F32, F32] | undefined;
