import { Column, commonLength, NUMBERS, requireType } from './columns/column.ts';
import { type ContextOption, inContext, inContextOf } from './context/context-option.ts';
import { below } from './functors/bisection.ts';
import { f32, i32, u32, u64 } from './functors/functor.ts';
import type { Scalar, Shape } from './functors/shapes.ts';
import { select, type ValueTree } from './functors/standard/choose.ts';
import { f32ToSortable, i32ToSortable } from './functors/standard/sortable.ts';
import { type Bool, type F32, type I32, type U32, Value } from './functors/value.ts';
import { type AnyMonoid, maximum, minimum, monoid } from './monoid.ts';
import { reduce } from './reduce.ts';
import { sequence } from './sequence.ts';
import { keyColumns, type SortKeys } from './sort.ts';

type NumericType = 'u32' | 'i32' | 'f32';

/** An extreme value, and the index of the first row that has this value. */
export type Extremum<K extends SortKeys | Column<NumericType>> = {
  readonly value: K;
  readonly index: Column<'u32'>;
};

/**
 * The smallest value and the first row that has it, as a table of one row on the device. The values may have any type
 * that {@link sort} accepts. For f32, −0 is less than +0, and the result is NaN only if all values are NaN.
 *
 * - Work O(n), span O(log n). Deterministic: the monoid is exact and commutative. Accepts device counts (lengths that
 *   only the device knows).
 * - For an empty input, the value is the identity of {@link minimum}, and the row index is 2³² − 1.
 * - Equivalent loop: `for (let i = 0; i < n; i++) if (best === undefined || values[i] < values[best]) best = i`.
 *
 * @example
 * await ctx.read(minElement(ctx.column(Uint32Array.of(5, 2, 2)))); // { value: Uint32Array [2], index: Uint32Array [1] }
 */
export function minElement<K extends SortKeys | Column<NumericType>>(values: K, options?: ContextOption): Extremum<K> {
  return inContext('minElement', options, () => extremum('minElement', values, minima));
}

/**
 * The largest value and the first row that has it. Everything else is as for {@link minElement}, except that an empty
 * input gives the identity of {@link maximum}.
 *
 * @example
 * await ctx.read(maxElement(ctx.column(Uint32Array.of(2, 5, 5)))); // { value: Uint32Array [5], index: Uint32Array [1] }
 */
export function maxElement<K extends SortKeys | Column<NumericType>>(values: K, options?: ContextOption): Extremum<K> {
  return inContext('maxElement', options, () => extremum('maxElement', values, maxima));
}

type Monoids = Readonly<Record<NumericType | 'u64', AnyMonoid>>;

function extremum<K extends SortKeys | Column<NumericType>>(
  primitive: string,
  values: K,
  monoids: Monoids,
): Extremum<K> {
  if (values instanceof Column) requireType(values, NUMBERS, 'values', primitive);
  const [high, low] = keyColumns(values as SortKeys, primitive, 'values');
  const columns = low === undefined ? [high!] : [low, high!];
  const index = sequence(commonLength(columns, primitive));
  const value = low === undefined ? high! : { lo: low, hi: high! };
  const monoid = monoids[low === undefined ? (high!.type as NumericType) : 'u64'];
  const rows = { value, index };
  return inContextOf(primitive, columns, () => reduce(rows as never, monoid as never)) as unknown as Extremum<K>;
}

/** The row index in the result for an empty input. */
const none = 2 ** 32 - 1;

/** Whether key `a` comes before key `b`. A key is a list of u32 words, the most significant first. */
type Before = (a: readonly U32[], b: readonly U32[]) => Bool;

const minima: Monoids = monoidsOf(minimum, none, below);
const maxima: Monoids = monoidsOf(maximum, 0, (a, b) => below(b, a));

/**
 * For each type, the monoid that chooses the value that comes first in the order `before`. `last` is the u32 word that
 * comes last in this order.
 */
function monoidsOf(scalar: (type: never) => AnyMonoid, last: number, before: Before): Monoids {
  const of = (type: Scalar<NumericType>): AnyMonoid => firstOf(type, scalar(type as never).identity, last, before);
  return { u32: of(u32), i32: of(i32), f32: of(f32), u64: firstOf(u64, { lo: last, hi: last }, last, before) };
}

/** A value whose extremum is sought: a number, or the two words of a u64. */
type Key = Value<NumericType> | { readonly lo: U32; readonly hi: U32 };

/**
 * A monoid that chooses the key that comes first in an order. Among equal keys, the monoid chooses the key with the
 * lowest row index, so that the operands may come in any order.
 */
function firstOf(shape: Shape, worst: unknown, last: number, before: Before): AnyMonoid {
  type Row = { readonly value: Key; readonly index: U32 };
  const combine = ({ a, b }: { readonly a: Row; readonly b: Row }): Row => {
    const [ofA, ofB] = [wordsOf(a.value, last), wordsOf(b.value, last)];
    const isSame = ofA.map((word, i) => word.eq(ofB[i]!)).reduce((all, each) => all.and(each));
    return select<ValueTree>(a, b, before(ofB, ofA).or(isSame.and(b.index.lt(a.index)))) as Row;
  };
  return monoid({
    of: { value: shape, index: u32 } as Shape,
    identity: { value: worst, index: none } as never,
    combine: combine as never,
    exact: true,
    commutative: true,
    name: 'firstOf',
  });
}

/**
 * Converts a key to u32 words, the most significant first. Comparing the words as u32 compares the keys. NaN becomes
 * the word `last`.
 */
function wordsOf(value: Key, last: number): readonly U32[] {
  if (!(value instanceof Value)) return [value.hi, value.lo];
  const { type } = value.operand;
  if (type === 'f32') return [select(f32ToSortable({ x: value as F32 }), u32(last), value.ne(value))];
  return [type === 'i32' ? i32ToSortable({ x: value as I32 }) : (value as U32)];
}
