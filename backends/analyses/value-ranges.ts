import { largestOf, smallestOf } from '../../primitives/host/extremes.ts';
import type { Literal, Operand, Operation, ScalarType } from '../../primitives/ir/ir.ts';
import { factsOf } from '../../primitives/ir/operations.ts';

/** An interval that contains all possible values of an integer. Its bounds are plain numbers, never wrapped. */
export interface ValueRange {
  readonly min: number;
  readonly max: number;
}

const WHOLE: Readonly<Record<ScalarType, ValueRange>> = {
  u32: { min: 0, max: 2 ** 32 - 1 },
  i32: { min: -(2 ** 31), max: 2 ** 31 - 1 },
  bool: { min: 0, max: 1 },
  f32: { min: Number.NEGATIVE_INFINITY, max: Number.POSITIVE_INFINITY },
};

/** All values of a type. */
export function wholeRange(type: ScalarType): ValueRange {
  return WHOLE[type];
}

/** The range of a literal. An f32 literal gets the whole range, because no caller needs a tighter one. */
export function literalRange({ type, value }: Literal): ValueRange {
  return type === 'f32' ? WHOLE.f32 : { min: Number(value), max: Number(value) };
}

/**
 * The range of an operation's result, by interval arithmetic. If the result is not an integer or might wrap, the range
 * holds all values of the type.
 */
export function operationRange(
  operation: Operation,
  type: ScalarType,
  rangeOf: (operand: Operand) => ValueRange,
): ValueRange {
  const whole = WHOLE[type];
  if (type !== 'u32' && type !== 'i32') return whole;
  const range = rangeOfResult(operation, operation.operands.map(rangeOf));
  return range !== undefined && range.min >= whole.min && range.max <= whole.max ? range : whole;
}

/** The range of an operation's result before wrapping to 32 bits; undefined if nothing is known. */
export function rangeOfResult({ name, operands }: Operation, ranges: readonly ValueRange[]): ValueRange | undefined {
  const [a, b = a] = ranges as readonly [ValueRange, ValueRange?];
  const { bounds } = factsOf(name);
  if (bounds !== undefined) return { min: bounds[0], max: bounds[1] };
  switch (name) {
    case 'select':
      return { min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) };
    case 'convert':
    case 'bits':
      return operands[0]!.type === 'f32' ? undefined : a;
    case 'add':
      return { min: a.min + b.min, max: a.max + b.max };
    case 'sub':
      return { min: a.min - b.max, max: a.max - b.min };
    case 'neg':
      return { min: -a.max, max: -a.min };
    case 'mul':
      return products(a, b);
    case 'min':
      return { min: Math.min(a.min, b.min), max: Math.min(a.max, b.max) };
    case 'max':
      return { min: Math.max(a.min, b.min), max: Math.max(a.max, b.max) };
    case 'shl':
      if (b.min === b.max) return products(a, powerOfTwo(b));
      return a.min >= 0 && b.min >= 0 && b.max < 32 ? { min: a.min * 2 ** b.min, max: a.max * 2 ** b.max } : undefined;
    default:
      return a.min >= 0 && b.min >= 0 ? rangeOfUnsigned(name, a, b) : undefined;
  }
}

/** As {@link rangeOfResult}, for operations on operands that are not negative. */
function rangeOfUnsigned(name: Operation['name'], a: ValueRange, b: ValueRange): ValueRange | undefined {
  switch (name) {
    case 'and':
      return { min: 0, max: Math.min(a.max, b.max) };
    case 'or':
    case 'xor': {
      const most = Math.min(a.max + b.max, 2 ** (32 - Math.clz32(a.max | b.max)) - 1);
      return { min: name === 'or' ? Math.max(a.min, b.min) : 0, max: most };
    }
    case 'shr':
      return b.min === b.max ? quotients(a, powerOfTwo(b)) : { min: 0, max: a.max };
    case 'div':
      // A number divided by 0 is the number.
      return b.min > 0 ? quotients(a, b) : { min: 0, max: a.max };
    case 'rem':
      return remainders(a, b);
    default:
      return undefined;
  }
}

/** The factor of a shift by a known number of bits. */
function powerOfTwo(bits: ValueRange): ValueRange {
  const factor = 2 ** (bits.min & 31);
  return { min: factor, max: factor };
}

function quotients(a: ValueRange, b: ValueRange): ValueRange {
  return { min: Math.floor(a.min / b.max), max: Math.floor(a.max / b.min) };
}

/** A remainder of a division by 0 is 0. */
function remainders(a: ValueRange, b: ValueRange): ValueRange {
  const turn = Math.floor(a.min / b.min);
  if (b.min > 0 && b.min === b.max && turn === Math.floor(a.max / b.min)) {
    return { min: a.min - turn * b.min, max: a.max - turn * b.min };
  }
  return { min: 0, max: Math.min(a.max, Math.max(0, b.max - 1)) };
}

function products(a: ValueRange, b: ValueRange): ValueRange {
  const corners = [a.min * b.min, a.min * b.max, a.max * b.min, a.max * b.max];
  return { min: smallestOf(corners), max: largestOf(corners) };
}
