import type { Column } from '../../primitives/columns/column.ts';
import { i32 } from '../../primitives/functors/functor.ts';
import { bitsToF32, bitsToI32, bitsToU32 } from '../../primitives/functors/standard/bits.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import type { F32, I32, U32 } from '../../primitives/functors/value.ts';
import { SMALLEST_NORMAL_F32 } from '../../primitives/ir/semantics.ts';
import type { TableColumn } from './device-table.ts';
import { addF64, f32OfF64, f64OfF32, mulF64, negF64 } from './f64-arithmetic.ts';
import { columnsPart, combineParts, constantPart, mapPart, type QuestionPart } from './part.ts';
import { f32OfKey, keyOfF32 } from './sortable.ts';

/** An expression whose value in every row is an f32, as code that computes the value. */
export interface FloatPart {
  readonly part: QuestionPart<F32>;
  /** Integer keys in the order of the values, if the values come from keys; otherwise undefined. */
  readonly keys: QuestionPart<I32> | undefined;
  /** All values that are not 0 have at least this magnitude; 0 if unknown. */
  readonly smallest: number;
  /** All finite values have at most this magnitude. */
  readonly largest: number;
  /** Whether no value is infinite or NaN. */
  readonly areFinite: boolean;
  readonly validity: readonly (Column<'u32'> | undefined)[];
}

type Magnitudes = Pick<FloatPart, 'smallest' | 'largest' | 'areFinite'>;

/** The largest f32. */
const LARGEST = (2 - 2 ** -23) * 2 ** 127;

export function floatsOf({ words, validity, bounds, smallestMagnitude = 0 }: TableColumn): FloatPart {
  const ends = [bounds.min, bounds.max].map((key) => f32OfKey(Number(key)));
  const areFinite = ends.every(Number.isFinite);
  return floatsOfKeys(
    mapPart('', columnsPart(words), ([key]) => key as I32),
    {
      smallest: f32OfKey(smallestMagnitude),
      largest: areFinite ? Math.max(...ends.map(Math.abs)) : LARGEST,
      areFinite,
    },
    [validity],
  );
}

export function floatsOfKeys(keys: QuestionPart<I32>, sizes: Magnitudes, validity: FloatPart['validity']): FloatPart {
  const { smallest, largest, areFinite } = sizes;
  return { part: mapPart('f', keys, floatOfKey), keys, smallest, largest, areFinite, validity };
}

export function floatConstant(value: number): FloatPart {
  const size = Math.abs(Math.fround(value));
  const smallest = value === 0 ? Infinity : size;
  const sizes = { smallest, largest: Math.min(size, LARGEST), areFinite: size <= LARGEST };
  if (smallest >= SMALLEST_NORMAL_F32) {
    return { part: constantPart('f32', Math.fround(value)), keys: undefined, ...sizes, validity: [] };
  }
  return floatsOfKeys(constantPart('i32', keyOfF32(value)), sizes, []);
}

/**
 * Adds, subtracts or multiplies two f32 values, with rounding to f32. Subnormal results are kept on every backend: if the
 * magnitudes allow one, the result is computed in f64 and then rounded. That gives the same number as rounding the exact
 * result once, because f64 has more than twice the digits of f32 (Figueroa, When is double rounding innocuous?, 1995).
 */
export function computeFloats(kind: 'add' | 'sub' | 'mul', left: FloatPart, right: FloatPart): FloatPart {
  const validity = [...left.validity, ...right.validity];
  const smallest = smallestResult(kind, left.smallest, right.smallest);
  const bound = kind === 'mul' ? left.largest * right.largest : left.largest + right.largest;
  const largest = Math.min(LARGEST, Math.fround(bound));
  const sizes = { smallest, largest, areFinite: left.areFinite && right.areFinite && Math.fround(bound) <= LARGEST };
  if (smallest >= SMALLEST_NORMAL_F32) {
    const part = combineParts(kind, [left.part, right.part], ([a, b]) => a![kind](b!));
    return { part, keys: undefined, ...sizes, validity };
  }
  const bits = combineParts(`${kind} exact`, [f32Bits(left), f32Bits(right)], ([a, b]) => {
    const [x, y] = [f64OfF32({ a: a! }), f64OfF32({ a: b! })];
    if (kind === 'mul') return f32OfF64({ a: mulF64({ a: x, b: y }) });
    return f32OfF64({ a: addF64({ a: x, b: kind === 'add' ? y : negF64(y) }) });
  });
  return floatsOfKeys(
    mapPart('key', bits, (made) => keyOfBits(bitsToI32(made))),
    sizes,
    validity,
  );
}

/**
 * A lower bound of the magnitude of all results that are not 0. A sum is a multiple of the last place of its smaller
 * operand, which is at least 2^-24 of that operand.
 */
function smallestResult(kind: 'add' | 'sub' | 'mul', a: number, b: number): number {
  if (a < SMALLEST_NORMAL_F32 || b < SMALLEST_NORMAL_F32) return 0;
  if (kind !== 'mul') return Math.min(a, b) * 2 ** -24;
  return a === Infinity || b === Infinity ? Infinity : a * b;
}

/** The bits of f32 values. */
export function f32Bits({ part, keys }: FloatPart): QuestionPart<U32> {
  if (keys === undefined) return mapPart('b', part, (value) => bitsToU32(value));
  return mapPart('m', keys, (key) => bitsToU32(mirrored(key)));
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
  return keyOfBits(bitsToI32(value));
}

function keyOfBits(bits: I32): I32 {
  const magnitude = bits.and(MAGNITUDE);
  const key = select(mirrored(bits), i32(0), magnitude.eq(0));
  return select(key, i32(MAGNITUDE), magnitude.gt(INFINITY_BITS));
}
