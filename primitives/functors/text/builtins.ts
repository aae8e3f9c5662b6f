import type { OperationName, ScalarType } from '../../ir/ir.ts';
import { arityOf, factsOf, operationNames, typeOf, wgslOf } from '../../ir/operations.ts';
import { literal } from '../recorder.ts';
import { FLOAT_FUNCTIONS } from '../standard/float-functions.ts';
import { cross, distance, dot, length, normalize } from '../standard/vectors.ts';
import { type F32, Value } from '../value.ts';
import { coerce, coerceScalar, concrete, concreteAs } from './numbers.ts';
import { apply, applyBinary } from './operators.ts';
import { errorAt, type Position } from './source.ts';
import {
  type AbstractValue,
  type Argument,
  isAbstract,
  isScalar,
  isScalarName,
  type ScalarValue,
  type TextValue,
  typeName,
} from './values.ts';
import { componentOf, isVector, isVectorType, type VectorValue, vectorOf } from './vectors.ts';

/** The operations that are functions of WGSL, by their names there. */
const operations: ReadonlyMap<string, OperationName> = new Map(
  operationNames.flatMap((name) => {
    const { signature, wgsl } = factsOf(name);
    return wgslOf(name) === 'function' && signature !== 'conversion' ? [[wgsl, name]] : [];
  }),
);

type Vector = Readonly<Record<string, F32>>;
type VectorFunction = (...vectors: readonly Vector[]) => F32 | Vector;

/** The functions of whole vectors. */
const vectorFunctions: { readonly [name: string]: VectorFunction } = {
  ...{ dot, length, distance, normalize },
  cross: cross as unknown as VectorFunction,
};

/** Names of the built-in WGSL functions that functors support, except `bitcast` and `arrayLength`. */
export const builtinNames: readonly string[] = [
  ...operations.keys(),
  'clamp',
  ...Object.keys(FLOAT_FUNCTIONS),
  ...Object.keys(vectorFunctions),
];

/** Records a call of a built-in WGSL function and returns its result. */
export function applyBuiltin(position: Position, name: string, args: readonly Argument[]): TextValue {
  const ofVectors = vectorFunctions[name];
  if (ofVectors !== undefined) return applyToVectors(position, name, ofVectors, args);
  if (args.some(({ value }) => isVector(value))) return applyByComponent(position, name, args);
  const floats = FLOAT_FUNCTIONS[name];
  if (floats !== undefined) return applyFloats(position, name, floats, args);
  const operation = operations.get(name);
  requireCount(position, name, args, operation === undefined ? 3 : arityOf(operation));
  if (name === 'select') return applySelect(args);
  const values = alike(args);
  if (operation === undefined) {
    const raised = extreme(position, 'max', values[0]!, values[1]!);
    return extreme(position, 'min', raised, values[2]!);
  }
  const [first, second] = values as readonly [TextValue, TextValue];
  if (name === 'min' || name === 'max') return extreme(position, name, first, second);
  if (name === 'abs' && first.type === 'abstract-int')
    return { ...first, value: first.value < 0 ? -first.value : first.value };
  if (name === 'abs' && first.type === 'abstract-float') return { ...first, value: Math.abs(first.value) };
  // Whole numbers without a suffix are f32 for functions that have no integers.
  const isOfFloats = values.every(isAbstract) && typeOf(operation, Array(values.length).fill('i32')) === undefined;
  const operands = values.map((value) => {
    return isOfFloats && isAbstract(value) ? concreteAs(position, value, 'f32') : concrete(position, value);
  });
  return applyOperation(position, name, operation, operands);
}

/** Records a call of a function of f32. */
function applyFloats(
  position: Position,
  name: string,
  own: (...numbers: readonly F32[]) => F32,
  args: readonly Argument[],
): TextValue {
  requireCount(position, name, args, own.length);
  const numbers = args.map(({ value, position: at }) => {
    return new Value<'f32'>(coerceScalar(at, value, 'f32', `An argument of ${name}`).operand);
  });
  return { type: 'f32', operand: own(...numbers).operand };
}

/** Records a call of a function of whole vectors, such as `dot`. */
function applyToVectors(position: Position, name: string, own: VectorFunction, args: readonly Argument[]): TextValue {
  requireCount(position, name, args, own.length);
  const [{ value: first, position: at }] = args as readonly [Argument];
  const isOfNumbers = isAbstract(first) || first.type === 'f32';
  if (isOfNumbers && (name === 'length' || name === 'distance')) return applyToNumbers(position, name, args);
  if (!isVector(first) || (name === 'cross' && first.fields.length !== 3)) {
    throw errorAt(at, 'type', `An argument of ${name} has the wrong type.`, {
      expected: name === 'cross' ? 'vec3f' : ['vec2f', 'vec3f', 'vec4f'],
      got: typeName(first.type),
    });
  }
  const vectors = args.map(({ value, position: own }) => {
    const { type, fields } = coerce(own, value, first.type, `An argument of ${name}`) as VectorValue;
    return Object.fromEntries(type.fields.map((field, i) => [field.name, new Value<'f32'>(fields[i]!.operand)]));
  });
  const result = own(...vectors);
  const scalarOf = ({ operand }: F32): ScalarValue => ({ type: 'f32', operand });
  return result instanceof Value ? scalarOf(result) : vectorOf(Object.values(result).map(scalarOf));
}

/** Records a call of `length` or `distance` for numbers: the absolute value of the number, or of the difference. */
function applyToNumbers(position: Position, name: string, args: readonly Argument[]): TextValue {
  const [first, second] = args.map(({ value, position: at }): TextValue => {
    const isExact = args.every((each) => isAbstract(each.value));
    if (isExact && isAbstract(value)) return { type: 'abstract-float', value: Number(value.value) };
    return coerceScalar(at, value, 'f32', `An argument of ${name}`);
  }) as [TextValue, TextValue?];
  const value = second === undefined ? first : applyBinary(position, '-', first, second);
  return applyBuiltin(position, 'abs', [{ value, position }]);
}

/** Records a call of a function of scalars for each component of vectors. */
function applyByComponent(position: Position, name: string, args: readonly Argument[]): TextValue {
  const type = args.map(({ value }) => value.type).find(isVectorType)!;
  for (const [i, { value, position: at }] of args.entries()) {
    // The condition of select is one for all components, and the weight of mix may be.
    const isForAll = i === 2 && (name === 'select' || (name === 'mix' && !isVector(value)));
    if (!isForAll) coerce(at, value, type, `An argument of ${name}`);
  }
  const of = (index: number): TextValue =>
    applyBuiltin(
      position,
      name,
      args.map(({ value, position: at }) => ({ value: componentOf(value, index), position: at })),
    );
  return vectorOf(type.fields.map((_, index) => of(index) as ScalarValue));
}

/** Records the conversion `T(x)` of a value to a scalar type. */
export function applyConversion(position: Position, type: ScalarType, args: readonly Argument[]): TextValue {
  requireCount(position, type, args, 1);
  const { value, position: at } = args[0]!;
  if (isAbstract(value)) {
    if (type === 'bool') return { type, operand: literal(type, Number(value.value) !== 0) };
    return concreteAs(at, type === 'f32' ? value : wholeOf(value, type), type);
  }
  return apply('convert', [scalar(at, value, type).operand], type);
}

/** A number without a suffix as a whole one: without its fraction, and the nearest of the type if it is out of range. */
function wholeOf(number: AbstractValue, type: 'u32' | 'i32'): AbstractValue {
  if (number.type === 'abstract-int' || !Number.isFinite(number.value)) return number;
  const [least, greatest] = type === 'u32' ? [0, 2 ** 32 - 1] : [-(2 ** 31), 2 ** 31 - 1];
  return {
    type: 'abstract-int',
    value: BigInt(Math.trunc(Math.min(Math.max(number.value, least), greatest))),
  };
}

/** `bitcast<T>(x)`. */
export function applyBitcast(position: Position, name: string, args: readonly Argument[]): TextValue {
  requireCount(position, `bitcast<${name}>`, args, 1);
  const { value, position: at } = args[0]!;
  const operand = scalar(at, value, 'bitcast');
  const type = isScalarName(name) ? typeOf('bits', [operand.type], name) : undefined;
  if (type !== undefined) return apply('bits', [operand.operand], type);
  throw errorAt(position, 'type', `A bitcast from ${operand.type} to ${name} is not defined.`);
}

/** Throws if a call does not have the required number of arguments. */
export function requireCount(position: Position, name: string, args: readonly unknown[], count: number): void {
  if (args.length === count) return;
  throw errorAt(position, 'arguments', `${name} is called with the wrong number of arguments.`, {
    expected: count,
    got: args.length,
  });
}

function scalar(position: Position, value: TextValue, taker: string): ScalarValue {
  const operand = concrete(position, value);
  if (isScalar(operand)) return operand;
  throw errorAt(position, 'type', `${taker} takes a scalar.`, {
    expected: 'a scalar',
    got: typeName(operand.type),
  });
}

/**
 * Converts arguments to a common concrete type. If all are abstract (numbers without a suffix), they stay abstract: they
 * are fractions if one is.
 */
function alike(args: readonly Argument[]): readonly TextValue[] {
  const typed = args.map(({ value }) => value).find(isScalar);
  const areFractions = args.some(({ value }) => value.type === 'abstract-float');
  return args.map(({ value, position }) => {
    if (typed !== undefined) return coerceScalar(position, value, typed.type, 'An argument');
    if (!isAbstract(value)) return scalar(position, value, 'This function');
    return areFractions ? { type: 'abstract-float', value: Number(value.value) } : value;
  });
}

function extreme(position: Position, name: 'min' | 'max', a: TextValue, b: TextValue): TextValue {
  if (isScalar(a)) return applyOperation(position, name, name, [a, b]);
  // Of zeros, −0 is the lesser, as where the program runs.
  if (a.type === 'abstract-float') return { ...a, value: Math[name](a.value, (b as typeof a).value) };
  const less = applyBinary(position, '<', a, b) as ScalarValue & { operand: { value: boolean } };
  return less.operand.value === (name === 'min') ? a : b;
}

function applySelect([a, b, condition]: readonly Argument[]): TextValue {
  const choice = coerceScalar(condition!.position, condition!.value, 'bool', 'The condition of select');
  const [no, yes] = alike([a!, b!]).map((value, i) => concrete([a!, b!][i]!.position, value));
  return applyOperation(a!.position, 'select', 'select', [no!, yes!, choice]);
}

function applyOperation(
  position: Position,
  name: string,
  operation: OperationName,
  values: readonly TextValue[],
): ScalarValue {
  const scalars = values.map((value) => scalar(position, value, name));
  const types = scalars.map(({ type }) => type);
  const type = typeOf(operation, types);
  if (type === undefined)
    throw errorAt(position, 'type', `Function ${name} is not defined for ${types.join(' and ')}.`);
  return apply(
    operation,
    scalars.map(({ operand }) => operand),
    type,
  );
}
