import type { Operand, OperationName, ScalarType } from '../../ir/ir.ts';
import { arityOf, factsOf, operationNames, typeOf, wgslOf } from '../../ir/operations.ts';
import { literal, operate, use } from '../recorder.ts';
import { remainder } from '../standard/float-arithmetic.ts';
import { Value } from '../value.ts';
import { coerceScalar, concrete, concreteAs } from './numbers.ts';
import { errorAt, type Position } from './source.ts';
import { type AbstractValue, isAbstract, isScalar, type ScalarValue, type TextValue, typeName } from './values.ts';
import { componentOf, isVector, type VectorValue, vectorOf } from './vectors.ts';

const operations: { readonly [operator: string]: OperationName } = {
  ...Object.fromEntries(
    operationNames.flatMap((name) =>
      wgslOf(name) === 'operator' && arityOf(name) === 2 ? [[factsOf(name).wgsl, name]] : [],
    ),
  ),
  '&&': 'and',
  '||': 'or',
};

/**
 * Records an operation and marks its result as used. The mark exempts WGSL texts from the check for unused comparisons,
 * which is meant for functors in TypeScript.
 */
export function apply(name: OperationName, operands: readonly Operand[], type: ScalarType): ScalarValue {
  return { type, operand: use(operate(name, operands, type)) };
}

/** Records a unary operation: `operator operand`. */
export function applyUnary(position: Position, operator: '-' | '!' | '~', value: TextValue): TextValue {
  if (isAbstract(value)) {
    if (operator === '-')
      return value.type === 'abstract-int' ? abstractInt(position, -value.value) : { ...value, value: -value.value };
    if (operator === '~' && value.type === 'abstract-int') return { type: 'abstract-int', value: ~value.value };
  }
  if (operator === '-' && isVector(value)) {
    return vectorOf(value.fields.map((field) => applyUnary(position, operator, field) as ScalarValue));
  }
  const operand = concrete(position, value);
  const takes: readonly unknown[] = operator === '!' ? ['bool'] : operator === '~' ? ['u32', 'i32'] : ['i32', 'f32'];
  if (!isScalar(operand) || !takes.includes(operand.type)) {
    throw errorAt(position, 'type', `Operator ${operator} is not defined for ${typeName(operand.type)}.`, {
      remedy: `It takes ${takes.join(' or ')}.`,
    });
  }
  return apply(operator === '-' ? 'neg' : 'not', [operand.operand], operand.type);
}

/** Records a binary operation: `left operator right`. */
export function applyBinary(position: Position, operator: string, left: TextValue, right: TextValue): TextValue {
  if (isAbstract(left) && isAbstract(right)) return abstractBinary(position, operator, left, right);
  if (isVector(left) || isVector(right)) return byComponent(position, operator, left, right);
  if (operator === '<<' || operator === '>>') {
    const count = coerceScalar(position, right, 'u32', `The count of ${operator}`);
    return checked(position, operator, concrete(position, left), count);
  }
  const [a, b] = alike(position, operator, left, right);
  return checked(position, operator, a, b);
}

const arithmetic = new Set(['+', '-', '*', '/', '%']);

/** Records an operation on the components of two vectors, or of a vector and a number. */
function byComponent(position: Position, operator: string, left: TextValue, right: TextValue): VectorValue {
  const [first, other] = isVector(left) ? [left, right] : [right as VectorValue, left];
  if (!arithmetic.has(operator)) {
    const operands = `${typeName(left.type)} and ${typeName(right.type)}`;
    throw errorAt(position, 'type', `Operator ${operator} is not defined for ${operands}.`, {
      remedy: operator in comparisons ? 'Compare components, as in a.x == b.x && a.y == b.y.' : undefined,
    });
  }
  if (other.type !== first.type && other.type !== 'f32' && !isAbstract(other)) {
    throw errorAt(position, 'type', `The operands of ${operator} do not fit.`, {
      expected: `${first.type.name} or f32`,
      got: typeName(other.type),
      remedy: isScalar(other) ? 'Convert the number with f32(…).' : 'Name components of one, such as v.xy.',
    });
  }
  const of = (at: number): TextValue => applyBinary(position, operator, componentOf(left, at), componentOf(right, at));
  return vectorOf(first.fields.map((_, at) => of(at) as ScalarValue));
}

function alike(
  position: Position,
  operator: string,
  left: TextValue,
  right: TextValue,
): readonly [TextValue, TextValue] {
  if (isAbstract(left)) return isScalar(right) ? [concreteAs(position, left, right.type), right] : [left, right];
  if (isAbstract(right)) return isScalar(left) ? [left, concreteAs(position, right, left.type)] : [left, right];
  if (left.type === right.type) return [left, right];
  throw errorAt(position, 'type', `The operands of ${operator} have different types.`, {
    expected: typeName(left.type),
    got: typeName(right.type),
    remedy: 'Convert one of them with u32(…), i32(…) or f32(…).',
  });
}

function checked(position: Position, operator: string, a: TextValue, b: TextValue): ScalarValue {
  if (operator === '%' && a.type === 'f32' && b.type === 'f32') return remainderOf(a as ScalarValue, b as ScalarValue);
  const name = operations[operator]!;
  const type = isScalar(a) && isScalar(b) ? typeOf(name, [a.type, b.type]) : undefined;
  const onlyBool = operator === '&&' || operator === '||';
  if (type === undefined || (onlyBool && a.type !== 'bool') || (operator === '^' && a.type === 'bool')) {
    throw errorAt(
      position,
      'type',
      `Operator ${operator} is not defined for ${typeName(a.type)} and ${typeName(b.type)}.`,
    );
  }
  return apply(name, [(a as ScalarValue).operand, (b as ScalarValue).operand], type);
}

function remainderOf(a: ScalarValue, b: ScalarValue): ScalarValue {
  // The remainder of two f32 is an f32, so that of numbers in a text is known before the program runs.
  if (a.operand.kind === 'literal' && b.operand.kind === 'literal')
    return { type: 'f32', operand: literal('f32', Number(a.operand.value) % Number(b.operand.value)) };
  return { type: 'f32', operand: remainder(new Value<'f32'>(a.operand), new Value<'f32'>(b.operand)).operand };
}

function abstractBinary(position: Position, operator: string, left: AbstractValue, right: AbstractValue): TextValue {
  const areIntegers = left.type === 'abstract-int' && right.type === 'abstract-int';
  if (areIntegers) requireDefined(position, operator, right.value);
  const value = areIntegers
    ? ofIntegers[operator]?.(left.value, right.value)
    : ofFloats[operator]?.(Number(left.value), Number(right.value));
  if (typeof value === 'boolean') return { type: 'bool', operand: literal('bool', value) };
  if (typeof value === 'bigint') return abstractInt(position, value);
  if (value !== undefined) return { type: 'abstract-float', value };
  throw errorAt(
    position,
    'type',
    `Operator ${operator} is not defined for ${typeName(left.type)} and ${typeName(right.type)}.`,
  );
}

function requireDefined(position: Position, operator: string, second: bigint): void {
  if ((operator === '/' || operator === '%') && second === 0n) {
    throw errorAt(position, 'literal', 'A number without suffix is divided by zero.');
  }
  if ((operator === '<<' || operator === '>>') && (second < 0n || second > 63n)) {
    throw errorAt(position, 'literal', `A number without suffix is shifted by ${second}.`);
  }
}

/** What operators compute of numbers without a suffix. */
type AbstractOperators<T> = { readonly [operator: string]: (a: T, b: T) => T | boolean };

const comparisons: { readonly [operator: string]: (a: number | bigint, b: number | bigint) => boolean } = {
  '==': (a, b) => a === b,
  '!=': (a, b) => a !== b,
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
};
const ofFloats: AbstractOperators<number> = {
  ...comparisons,
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '%': (a, b) => a % b,
};
const ofIntegers: AbstractOperators<bigint> = {
  ...comparisons,
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '%': (a, b) => a % b,
  '&': (a, b) => a & b,
  '|': (a, b) => a | b,
  '^': (a, b) => a ^ b,
  '<<': (a, b) => a << b,
  '>>': (a, b) => a >> b,
};

function abstractInt(position: Position, value: bigint): AbstractValue {
  if (BigInt.asIntN(64, value) === value) return { type: 'abstract-int', value };
  throw errorAt(position, 'literal', `${value} does not fit 64 bits.`);
}
