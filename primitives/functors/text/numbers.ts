import type { ScalarType } from '../../ir/ir.ts';
import { literal } from '../recorder.ts';
import { errorAt, type Position } from './source.ts';
import { type AbstractValue, isAbstract, type ScalarValue, type TextType, type TextValue, typeName } from './values.ts';

const decimal = /^(?:0|[1-9]\d*)([iuf]?)$/;
const hexadecimal = /^0[xX][0-9a-fA-F]+([iu]?)$/;
const fraction = /^(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?(f?)$/;

/** Parses a number literal. Without a suffix, its value is abstract: it has no type yet. */
export function parseNumber(position: Position, text: string): TextValue {
  const whole = hexadecimal.exec(text) ?? decimal.exec(text);
  const match = whole ?? fraction.exec(text);
  if (match === null) {
    const remedy = 'Write decimal numbers or hexadecimal integers, with the suffix u, i, f or none.';
    throw errorAt(position, 'literal', `${text} is not a number that functors support.`, { remedy });
  }
  const suffix = match[1]!;
  const digits = suffix === '' ? text : text.slice(0, -1);
  // Rejects integers with more digits than a 64-bit number can have. Parsing a very long number could take long.
  if (whole !== null && suffix !== 'f' && digits.replace(/^0[xX]0*/, '').length > 20) {
    throw errorAt(position, 'literal', `${text} does not fit 64 bits.`);
  }
  if (whole === null || suffix === 'f') {
    const value: AbstractValue = { type: 'abstract-float', value: Number(digits) };
    return suffix === 'f' ? concreteAs(position, value, 'f32') : value;
  }
  const value: AbstractValue = { type: 'abstract-int', value: BigInt(digits) };
  return suffix === '' ? value : concreteAs(position, value, suffix === 'u' ? 'u32' : 'i32');
}

/** Converts a number without a suffix to the given type; throws if that type cannot represent it. */
export function concreteAs(position: Position, { type: from, value }: AbstractValue, type: ScalarType): ScalarValue {
  const fail = (sentence: string): never => {
    throw errorAt(position, 'literal', sentence);
  };
  if (type === 'bool') return fail(`${value} is not a bool.`);
  if (type === 'f32') {
    if (!Number.isFinite(Math.fround(Number(value)))) return fail(`${value} is too large for f32.`);
    return { type, operand: literal(type, Number(value)) };
  }
  if (from === 'abstract-float') return fail(`Expected ${type}, but ${value} is not an integer.`);
  const fits = type === 'u32' ? BigInt.asUintN(32, value) === value : BigInt.asIntN(32, value) === value;
  return fits ? { type, operand: literal(type, Number(value)) } : fail(`${value} does not fit ${type}.`);
}

/** Gives an abstract value (a number without a suffix) a concrete type: i32 for integers, f32 for fractions. */
export function concrete(position: Position, value: TextValue): Exclude<TextValue, AbstractValue> {
  if (!isAbstract(value)) return value;
  return concreteAs(position, value, value.type === 'abstract-int' ? 'i32' : 'f32');
}

/** Converts a value to the expected type, or throws. `what` names the value in the error. */
export function coerce(
  position: Position,
  value: TextValue,
  type: TextType,
  what: string,
): Exclude<TextValue, AbstractValue> {
  if (isAbstract(value) && typeof type === 'string') return concreteAs(position, value, type);
  if (value.type === type) return value as Exclude<TextValue, AbstractValue>;
  throw errorAt(position, 'type', `${what} has the wrong type.`, {
    expected: typeName(type),
    got: typeName(value.type),
    remedy: remedyFor(type, value),
  });
}

function remedyFor(type: TextType, value: TextValue): string {
  const isRecord = typeof value.type === 'object';
  if (typeof type === 'string')
    return isRecord ? 'Name a component or a field, such as v.x.' : `Convert with ${type}(…).`;
  const parts = isRecord ? type.fields.map(({ name }) => name).join(', ') : '…';
  return `Construct one with ${type.name}(${parts}).`;
}

/** Converts a value to the expected scalar type, or throws. */
export function coerceScalar(position: Position, value: TextValue, type: ScalarType, what: string): ScalarValue {
  return coerce(position, value, type, what) as ScalarValue;
}
