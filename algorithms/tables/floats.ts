import type { Column } from '../../primitives/columns/column.ts';
import { i32 } from '../../primitives/functors/functor.ts';
import { bitsToF32, bitsToI32 } from '../../primitives/functors/standard/bits.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import type { F32, I32 } from '../../primitives/functors/value.ts';
import { columnsPart, combineParts, constantPart, mapPart, type QuestionPart } from './part.ts';
import type { TableColumn } from './table.ts';

/** An expression whose value in every row is an f32, as code that computes the value. */
export interface FloatPart {
  readonly part: QuestionPart<F32>;
  /** Integer keys in the order of the values, if the expression is just a column; otherwise undefined. */
  readonly keys: QuestionPart<I32> | undefined;
  readonly validity: readonly (Column<'u32'> | undefined)[];
}

export function floatsOf({ words, validity }: TableColumn): FloatPart {
  return floatsOfKeys(
    mapPart('', columnsPart(words), ([key]) => key as I32),
    [validity],
  );
}

export function floatsOfKeys(keys: QuestionPart<I32>, validity: FloatPart['validity']): FloatPart {
  return { part: mapPart('f', keys, floatOfKey), keys, validity };
}

export function floatConstant(value: number): FloatPart {
  return { part: constantPart('f32', Math.fround(value)), keys: undefined, validity: [] };
}

/** Adds, subtracts or multiplies two f32 values, with rounding to f32. */
export function computeFloats(kind: 'add' | 'sub' | 'mul', left: FloatPart, right: FloatPart): FloatPart {
  const part = combineParts(kind, [left.part, right.part], ([a, b]) => a![kind](b!));
  return { part, keys: undefined, validity: [...left.validity, ...right.validity] };
}

/** The integer keys by which f32 values are compared. */
export function floatKeys({ part, keys }: FloatPart): QuestionPart<I32> {
  return keys ?? mapPart('k', part, keyOfFloat);
}

const MAGNITUDE = 0x7fffffff;
const INFINITY_BITS = 0x7f800000;

function floatOfKey(key: I32): F32 {
  return bitsToF32(mirrored(key));
}

/**
 * Inverts all bits of a negative number except the sign. Maps the bits of an f32 to its key, and a key back to the
 * bits.
 */
function mirrored(bits: I32): I32 {
  return bits.xor(bits.shr(31).and(MAGNITUDE));
}

/** The key of an f32. All NaNs have the same key, which is the largest, and −0 has the key of 0. */
function keyOfFloat(value: F32): I32 {
  const bits = bitsToI32(value);
  const magnitude = bits.and(MAGNITUDE);
  const key = select(mirrored(bits), i32(0), magnitude.eq(0));
  return select(key, i32(MAGNITUDE), magnitude.gt(INFINITY_BITS));
}
