import { type Column, type ColumnsOf, commonLength, NUMBERS, requireType } from './columns/column.ts';
import { f32, i32, u32 } from './functors/functor.ts';
import type { Scalar } from './functors/shapes.ts';
import { select } from './functors/standard/choose.ts';
import { f32ToSortable, i32ToSortable } from './functors/standard/sortable.ts';
import type { Bool, F32, I32, U32, Value } from './functors/value.ts';
import { type Monoid, monoid } from './monoid.ts';
import { reduce } from './reduce.ts';
import { sequence } from './sequence.ts';

type NumericType = 'u32' | 'i32' | 'f32';

/** A value and the row where it stands. */
type Extremum<T extends NumericType> = { readonly value: Scalar<T>; readonly index: Scalar<'u32'> };

/**
 * The smallest value and the first row that has it, as a table of one row on the device; 0 and row 2³² − 1 where there are
 * no rows. Of f32, −0 is below +0 and NaN is never chosen unless there is nothing else.
 *
 * - Work O(n), span O(log n). Deterministic: the monoid is exact. Accepts device counts.
 * - Equivalent loop: `for (let i = 0; i < n; i++) if (best === undefined || values[i] < values[best]) best = i`.
 *
 * @example
 * await ctx.read(minElement(ctx.column(Uint32Array.of(5, 2, 2)))); // { value: Uint32Array [2], index: Uint32Array [1] }
 */
export function minElement<T extends NumericType>(values: Column<T>): ColumnsOf<Extremum<T>> {
  return extremum('minElement', values, minima);
}

/**
 * The largest value and the first row that has it; as {@link minElement}.
 *
 * @example
 * await ctx.read(maxElement(ctx.column(Uint32Array.of(2, 5, 5)))); // { value: Uint32Array [5], index: Uint32Array [1] }
 */
export function maxElement<T extends NumericType>(values: Column<T>): ColumnsOf<Extremum<T>> {
  return extremum('maxElement', values, maxima);
}

type Monoids = Readonly<Record<NumericType, Monoid<Extremum<NumericType>>>>;

function extremum<T extends NumericType>(
  primitive: string,
  values: Column<T>,
  monoids: Monoids,
): ColumnsOf<Extremum<T>> {
  requireType(values, NUMBERS, 'values', primitive);
  const rows = { value: values, index: sequence(commonLength([values], primitive)) };
  return reduce(rows as never, monoids[values.type] as never) as ColumnsOf<Extremum<T>>;
}

/** The row of an extremum of nothing. */
const none = 2 ** 32 - 1;

type Better = (candidate: U32, best: U32) => Bool;

const minima: Monoids = monoidsOf('minimum', (candidate, best) => candidate.lt(best));
const maxima: Monoids = monoidsOf('maximum', (candidate, best) => candidate.gt(best));

function monoidsOf(name: string, better: Better): Monoids {
  return { u32: firstOf(u32, name, better), i32: firstOf(i32, name, better), f32: firstOf(f32, name, better) };
}

function firstOf(type: Scalar<NumericType>, name: string, better: Better): Monoid<Extremum<NumericType>> {
  return monoid<Extremum<NumericType>>({
    of: { value: type, index: u32 },
    identity: { value: 0, index: none },
    combine: ({ a, b }) => {
      const improves = isMissing(a.value, a.index).or(better(sortable(b.value), sortable(a.value)));
      const takeRight = isMissing(b.value, b.index).not().and(improves).or(a.index.eq(none));
      return select(a, b, takeRight);
    },
    exact: true,
    name,
  });
}

/** True for no row at all and for NaN. */
function isMissing(value: Value<NumericType>, index: U32): Bool {
  const absent = index.eq(none);
  return value.operand.type === 'f32' ? absent.or(value.ne(value)) : absent;
}

function sortable(value: Value<NumericType>): U32 {
  const { type } = value.operand;
  if (type === 'f32') return f32ToSortable({ x: value as F32 });
  return type === 'i32' ? i32ToSortable({ x: value as I32 }) : (value as U32);
}
