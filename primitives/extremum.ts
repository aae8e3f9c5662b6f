import { Column, commonLength, NUMBERS, requireType } from './columns/column.ts';
import { f32, i32, u32, u64 } from './functors/functor.ts';
import type { Scalar, Shape } from './functors/shapes.ts';
import { select, type ValueTree } from './functors/standard/choose.ts';
import { f32ToSortable, i32ToSortable } from './functors/standard/sortable.ts';
import { type Bool, type F32, type I32, type U32, Value } from './functors/value.ts';
import { type AnyMonoid, monoid } from './monoid.ts';
import { reduce } from './reduce.ts';
import { below } from './search.ts';
import { sequence } from './sequence.ts';
import { keyColumns, type SortKeys } from './sort.ts';

type NumericType = 'u32' | 'i32' | 'f32';

/** An extreme key and the first row that has it. */
export type Extremum<K extends SortKeys | Column<NumericType>> = {
  readonly value: K;
  readonly index: Column<'u32'>;
};

/**
 * The smallest value and the first row that has it, as a table of one row on the device; 0 and row 2³² − 1 where there are
 * no rows. Values are of any type that {@link sort} takes. Of f32, −0 is below +0 and NaN is never chosen unless there is
 * nothing else.
 *
 * - Work O(n), span O(log n). Deterministic: the monoid is exact. Accepts device counts.
 * - Equivalent loop: `for (let i = 0; i < n; i++) if (best === undefined || values[i] < values[best]) best = i`.
 *
 * @example
 * await ctx.read(minElement(ctx.column(Uint32Array.of(5, 2, 2)))); // { value: Uint32Array [2], index: Uint32Array [1] }
 */
export function minElement<K extends SortKeys | Column<NumericType>>(values: K): Extremum<K> {
  return extremum('minElement', values, minima);
}

/**
 * The largest value and the first row that has it; as {@link minElement}.
 *
 * @example
 * await ctx.read(maxElement(ctx.column(Uint32Array.of(2, 5, 5)))); // { value: Uint32Array [5], index: Uint32Array [1] }
 */
export function maxElement<K extends SortKeys | Column<NumericType>>(values: K): Extremum<K> {
  return extremum('maxElement', values, maxima);
}

type Monoids = Readonly<Record<NumericType | 'u64', AnyMonoid>>;

function extremum<K extends SortKeys | Column<NumericType>>(
  primitive: string,
  values: K,
  monoids: Monoids,
): Extremum<K> {
  if (values instanceof Column) requireType(values, NUMBERS, 'values', primitive);
  const [high, low] = keyColumns(values as SortKeys);
  const index = sequence(commonLength(low === undefined ? [high!] : [low, high!], primitive));
  const value = low === undefined ? high! : { lo: low, hi: high! };
  const monoid = monoids[low === undefined ? (high!.type as NumericType) : 'u64'];
  return reduce({ value, index } as never, monoid as never) as unknown as Extremum<K>;
}

/** The row of an extremum of nothing. */
const none = 2 ** 32 - 1;

/** Whether the first key is better than the second, of words with the most significant first. */
type Better = (candidate: readonly U32[], best: readonly U32[]) => Bool;

const minima: Monoids = monoidsOf('minimum', below);
const maxima: Monoids = monoidsOf('maximum', (candidate, best) => below(best, candidate));

function monoidsOf(name: string, better: Better): Monoids {
  const of = (shape: Scalar<NumericType> | typeof u64): AnyMonoid => firstOf(shape, name, better);
  return { u32: of(u32), i32: of(i32), f32: of(f32), u64: of(u64) };
}

/** A value as the monoids see it: a number, or the two words of one. */
type Key = Value<NumericType> | { readonly lo: U32; readonly hi: U32 };

function firstOf(shape: Scalar<NumericType> | typeof u64, name: string, better: Better): AnyMonoid {
  type Row = { readonly value: Key; readonly index: U32 };
  const identity = { value: typeof shape === 'function' ? 0 : { lo: 0, hi: 0 }, index: none };
  const combine = ({ a, b }: { readonly a: Row; readonly b: Row }): Row => {
    const isBetter = better(sortable(b.value), sortable(a.value));
    const improves = unlessNaN(b.value, b.index.ne(none).and(orNaN(a.value, isBetter)));
    const takeRight = a.index.eq(none).or(improves);
    return select<ValueTree>(a, b, takeRight) as Row;
  };
  return monoid({ of: { value: shape, index: u32 } as Shape, identity, combine: combine as never, exact: true, name });
}

/** Whether something holds, and the value is no NaN. */
function unlessNaN(value: Key, holds: Bool): Bool {
  return isFloat(value) ? value.eq(value).and(holds) : holds;
}

/** Whether something holds, or the value is NaN. */
function orNaN(value: Key, holds: Bool): Bool {
  return isFloat(value) ? value.ne(value).or(holds) : holds;
}

function isFloat(value: Key): value is F32 {
  return value instanceof Value && value.operand.type === 'f32';
}

function sortable(value: Key): readonly U32[] {
  if (!(value instanceof Value)) return [value.hi, value.lo];
  const { type } = value.operand;
  if (type === 'f32') return [f32ToSortable({ x: value as F32 })];
  return [type === 'i32' ? i32ToSortable({ x: value as I32 }) : (value as U32)];
}
