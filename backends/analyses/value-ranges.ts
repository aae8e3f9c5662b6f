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
  { name, operands }: Operation,
  type: ScalarType,
  rangeOf: (operand: Operand) => ValueRange,
): ValueRange {
  const whole = WHOLE[type];
  if (type !== 'u32' && type !== 'i32') return whole;
  const [a, b = a] = operands.map(rangeOf) as [ValueRange, ValueRange?];
  const range = rangeOfResult(name, operands, a, b);
  return range !== undefined && range.min >= whole.min && range.max <= whole.max ? range : whole;
}

/** The range of an operation's result before wrapping to 32 bits; undefined if nothing is known. */
function rangeOfResult(
  name: Operation['name'],
  operands: readonly Operand[],
  a: ValueRange,
  b: ValueRange,
): ValueRange | undefined {
  const isFloat = operands[0]!.type === 'f32';
  const { bounds } = factsOf(name);
  if (bounds !== undefined) return { min: bounds[0], max: bounds[1] };
  switch (name) {
    case 'select':
      return { min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) };
    case 'convert':
    case 'bits':
      return isFloat ? undefined : a;
    case 'add':
      return { min: a.min + b.min, max: a.max + b.max };
    case 'sub':
      return { min: a.min - b.max, max: a.max - b.min };
    case 'mul':
      return products(a, b);
    case 'min':
      return { min: Math.min(a.min, b.min), max: Math.min(a.max, b.max) };
    case 'max':
      return { min: Math.max(a.min, b.min), max: Math.max(a.max, b.max) };
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
    case 'xor':
      return { min: 0, max: 2 ** (32 - Math.clz32(a.max | b.max)) - 1 };
    case 'shl':
      return b.max < 32 ? { min: a.min * 2 ** b.min, max: a.max * 2 ** b.max } : undefined;
    case 'shr':
      return b.min === b.max && b.max < 32
        ? { min: Math.floor(a.min / 2 ** b.min), max: Math.floor(a.max / 2 ** b.min) }
        : { min: 0, max: a.max };
    case 'div':
      return b.min > 0 ? { min: Math.floor(a.min / b.max), max: Math.floor(a.max / b.min) } : undefined;
    case 'rem':
      return b.min > 0 ? { min: 0, max: Math.min(a.max, b.max - 1) } : undefined;
    default:
      return undefined;
  }
}

function products(a: ValueRange, b: ValueRange): ValueRange {
  const corners = [a.min * b.min, a.min * b.max, a.max * b.min, a.max * b.max];
  return { min: smallestOf(corners), max: largestOf(corners) };
}
