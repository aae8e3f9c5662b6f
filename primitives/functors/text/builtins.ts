import type { OperationName, ScalarType } from '../../ir/ir.ts';
import { arityOf, factsOf, operationNames, typeOf, wgslOf } from '../../ir/operations.ts';
import { FLOAT_FUNCTIONS } from '../standard/float-functions.ts';
import { type F32, Value } from '../value.ts';
import { coerceScalar, concrete, concreteAs } from './numbers.ts';
import { apply, applyBinary } from './operators.ts';
import { errorAt, type Position } from './source.ts';
import { isAbstract, isScalar, isScalarName, type ScalarValue, type TextValue, typeName } from './values.ts';

/** The value of an argument, and its position in the text for error messages. */
export interface Argument {
  readonly value: TextValue;
  readonly position: Position;
}

/** The operations that are functions of WGSL, by their names there. */
const operations: ReadonlyMap<string, OperationName> = new Map(
  operationNames.flatMap((name) => {
    const { signature, wgsl } = factsOf(name);
    return wgslOf(name) === 'function' && signature !== 'conversion' ? [[wgsl, name]] : [];
  }),
);

/** Names of the built-in WGSL functions that functors support, except `bitcast` and `arrayLength`. */
export const builtinNames: readonly string[] = [...operations.keys(), 'clamp', ...Object.keys(FLOAT_FUNCTIONS)];

/** Records a call of a built-in WGSL function and returns its result. */
export function applyBuiltin(position: Position, name: string, args: readonly Argument[]): TextValue {
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
  if (name === 'min' || name === 'max') return extreme(position, name, values[0]!, values[1]!);
  const operands = values.map((value) => concrete(position, value));
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

/** Records the conversion `T(x)` of a value to a scalar type. */
export function applyConversion(position: Position, type: ScalarType, args: readonly Argument[]): TextValue {
  requireCount(position, type, args, 1);
  const { value, position: at } = args[0]!;
  const fits = isAbstract(value) && type !== 'bool' && (value.type === 'abstract-int' || type === 'f32');
  if (fits) return concreteAs(at, value, type);
  return apply('convert', [scalar(at, value, type).operand], type);
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

/** Converts arguments to a common concrete type. If all are abstract (numbers without a suffix), they stay abstract. */
function alike(args: readonly Argument[]): readonly TextValue[] {
  const typed = args.map(({ value }) => value).find(isScalar);
  return args.map(({ value, position }) => {
    if (typed !== undefined) return coerceScalar(position, value, typed.type, 'An argument');
    return isAbstract(value) ? value : scalar(position, value, 'This function');
  });
}

function extreme(position: Position, name: 'min' | 'max', a: TextValue, b: TextValue): TextValue {
  if (isScalar(a)) return applyOperation(position, name, name, [a, b]);
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
