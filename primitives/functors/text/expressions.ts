import type { LocalArray, Operand } from '../../ir/ir.ts';
import { append, newLocal, read, readLocal, use } from '../recorder.ts';
import { applyBitcast, applyBuiltin, applyConversion, builtinNames, requireCount } from './builtins.ts';
import { coerce, concrete, parseNumber } from './numbers.ts';
import { apply, applyBinary, applyUnary } from './operators.ts';
import { type Context, type LocalArrays, lookUp } from './scope.ts';
import { errorAt, type Position } from './source.ts';
import type { Binary, Call, Expression, FunctionDeclaration, Member } from './syntax.ts';
import {
  type Argument,
  arraysOf,
  isAbstract,
  isScalar,
  isScalarName,
  type ScalarValue,
  type Struct,
  type StructValue,
  type TextType,
  type TextValue,
  typeName,
  valueOfLeaves,
  zeroOf,
} from './values.ts';
import {
  componentsNamed,
  constructVector,
  isVector,
  isVectorType,
  lackingType,
  openVectorNamed,
  requireTyped,
} from './vectors.ts';

/** Records the operations of an expression and returns its value. */
export function evaluate(context: Context, expression: Expression): TextValue {
  // In a long sum, for example, the left operands may be nested more deeply than the stack allows. So a loop instead of
  // recursion follows left operands and the objects of field accesses; `spine` lists the nodes on this path.
  const spine: (Binary | Member)[] = [];
  let first = expression;
  while (first.kind === 'binary' || first.kind === 'member') {
    spine.push(first);
    first = first.kind === 'binary' ? first.left : first.object;
  }
  return spine.reduceRight(
    (value, node) => {
      if (node.kind === 'member') return memberOf(node.position, value, node.field);
      const right = evaluate(context, node.right);
      const isExact = isAbstract(value) && isShift(node) && isConstant(context, node.right);
      return applyBinary(node.position, node.operator, value, isExact ? withoutSuffix(right) : right);
    },
    evaluateFirst(context, first),
  );
}

function isShift({ operator }: Binary): boolean {
  return operator === '<<' || operator === '>>';
}

/** Whether WGSL evaluates an expression before the program runs: a count of this kind leaves what it shifts exact. */
function isConstant(context: Context, expression: Expression): boolean {
  switch (expression.kind) {
    case 'number':
      return true;
    case 'name': {
      const entry = lookUp(context, expression.name, expression.position);
      return entry?.kind === 'value' && entry.isConst === true;
    }
    case 'unary':
      return isConstant(context, expression.operand);
    case 'binary':
      return isConstant(context, expression.left) && isConstant(context, expression.right);
    case 'call':
      return isScalarName(expression.callee) && expression.args.every((arg) => isConstant(context, arg));
    default:
      return false;
  }
}

/** A count of a shift that is known, as an exact number. */
function withoutSuffix(count: TextValue): TextValue {
  if (!isScalar(count) || count.type !== 'u32' || count.operand.kind !== 'literal') return count;
  return { type: 'abstract-int', value: BigInt(Number(count.operand.value)) };
}

function evaluateFirst(context: Context, expression: Exclude<Expression, Binary | Member>): TextValue {
  const { position } = expression;
  switch (expression.kind) {
    case 'number':
      return parseNumber(position, expression.text);
    case 'bool':
      return { type: 'bool', operand: { kind: 'literal', type: 'bool', value: expression.value } };
    case 'name':
      return valueOfName(context, position, expression.name);
    case 'unary':
      if (expression.operator !== '&') {
        return applyUnary(position, expression.operator, evaluate(context, expression.operand));
      }
      throw errorAt(position, 'type', 'Functors have no pointers.', {
        remedy: '& may only be used in arrayLength(&name).',
      });
    case 'index':
      return readElement(context, expression.array, expression.index);
    case 'call':
      return evaluateCall(context, expression);
  }
}

function valueOfName(context: Context, position: Position, name: string): TextValue {
  const entry = lookUp(context, name, position);
  if (entry === undefined) throw unresolved(context, position, name);
  if (entry.kind === 'value' || entry.kind === 'var') return entry.value;
  const length = entry.kind === 'array' ? ` or arrayLength(&${name})` : '';
  throw errorAt(position, 'type', `${name} is an array.`, { remedy: `Read ${name}[index]${length}.` });
}

export function unresolved({ program, result }: Context, position: Position, name: string): Error {
  const { functions, structs } = program;
  if (functions.has(name)) return errorAt(position, 'type', `${name} is a function.`, { remedy: 'Call it.' });
  if (structs.has(name) || isScalarName(name)) return errorAt(position, 'type', `${name} is a type.`);
  const where = result === undefined ? ' among the constants' : '';
  return errorAt(position, 'unresolved', `There is no ${name}${where}.`, {
    remedy: 'Declare it before its use.',
  });
}

/** The value of a struct's field, or of components of a vector; throws if there is none of this name. */
export function memberOf(position: Position, object: TextValue, field: string): TextValue {
  if (isVector(object)) return componentsNamed(position, object, field);
  return (object as StructValue).fields[fieldIndex(position, object.type, field)]!;
}

/** The index of a struct's field; throws if there is none of this name. */
export function fieldIndex(position: Position, type: TextValue['type'], field: string): number {
  if (typeof type !== 'object') {
    throw errorAt(position, 'type', `${typeName(type)} has no fields.`, { remedy: 'Structs and vectors have.' });
  }
  const names = type.fields.map(({ name }) => name);
  const index = names.indexOf(field);
  if (index >= 0) return index;
  throw errorAt(position, 'unresolved', `${type.name} has no field ${field}.`, { expected: names, got: field });
}

function readElement(context: Context, array: Expression, index: Expression): TextValue {
  const entry = array.kind === 'name' ? lookUp(context, array.name, array.position) : undefined;
  if (array.kind === 'name' && entry?.kind === 'localArray') {
    return readPlace(placeIn(context, entry, array.name, index));
  }
  if (array.kind !== 'name' || entry?.kind !== 'array') {
    if (array.kind === 'name' && entry === undefined) throw unresolved(context, array.position, array.name);
    throw noArray(array.position);
  }
  const operand = indexOf(array.name, index, evaluate(context, index));
  const arrays = arraysOf(array.name, entry.type).values();
  return valueOfLeaves(entry.type, () => {
    const [name, type] = arrays.next().value!;
    return use(read(name, type, operand));
  });
}

export function noArray(position: Position): Error {
  return errorAt(position, 'type', 'Only arrays of var<storage> and of the function can be indexed.', {
    remedy: 'Components of vectors have names, such as v.x.',
  });
}

/** The index of an array as a u32. */
function indexOf(array: string, index: Expression, value: TextValue): Operand {
  const at = concrete(index.position, value);
  if (!isScalar(at) || (at.type !== 'u32' && at.type !== 'i32')) {
    throw errorAt(index.position, 'type', `The index of ${array} must be an integer.`, {
      expected: 'u32 or i32',
      got: typeName(at.type),
    });
  }
  return apply('bits', [at.operand], 'u32').operand;
}

/** An element of an array of the function, or a field of it. */
export interface Place {
  readonly type: TextType;
  readonly arrays: readonly LocalArray[];
  readonly index: Operand;
}

/** Element `index` of an array of the function. */
export function placeIn(
  context: Context,
  { type, length, arrays }: LocalArrays,
  name: string,
  index: Expression,
): Place {
  const value = evaluate(context, index);
  const at = indexOf(name, index, value);
  const isSuffixed = index.kind === 'number' && at.kind === 'literal';
  const known = value.type === 'abstract-int' ? Number(value.value) : isSuffixed ? Number(at.value) : 0;
  if (known < 0 || known >= length) {
    const expected = `an index from 0 to ${length - 1}`;
    throw errorAt(index.position, 'index', `${name} has no such element.`, { expected, got: known });
  }
  return { type, arrays, index: at };
}

/** The value of an element. */
export function readPlace({ type, arrays, index }: Place): TextValue {
  let next = 0;
  return valueOfLeaves(type, () => use(readLocal(arrays[next++]!, index)));
}

function evaluateCall(context: Context, call: Call): TextValue {
  const { functions, structs } = context.program;
  const { callee, position } = call;
  if (callee === 'arrayLength') return lengthOf(context, call);
  const args = call.args.map((arg) => ({ value: evaluate(context, arg), position: arg.position }));
  const fn = functions.get(callee);
  if (fn !== undefined) return callFunction(context, fn, args, position);
  const struct = structs.get(callee);
  if (struct !== undefined) return construct(struct, args, position);
  const open = openVectorNamed(callee);
  if (open !== undefined) {
    requireTyped(position, open, args);
    return constructVector(position, open, args);
  }
  if (isScalarName(callee)) {
    return args.length === 0 ? zeroOf(callee) : applyConversion(position, callee, args);
  }
  if (call.template !== undefined) return applyBitcast(position, call.template.name, args);
  if (builtinNames.includes(callee)) return applyBuiltin(position, callee, args);
  const lacking = lackingType(position, callee);
  if (lacking !== undefined) throw lacking;
  throw errorAt(position, 'unresolved', `There is no function ${callee}.`, {
    remedy: `Declare it. Built-in functions are ${builtinNames.join(', ')}, arrayLength and bitcast.`,
  });
}

function lengthOf(context: Context, { args, position }: Call): ScalarValue {
  requireCount(position, 'arrayLength', args, 1);
  const [arg] = args;
  const name = arg!.kind === 'unary' && arg!.operator === '&' && arg!.operand.kind === 'name' ? arg!.operand.name : '';
  const entry = lookUp(context, name, arg!.position);
  if (entry?.kind !== 'array') {
    throw errorAt(arg!.position, 'type', 'arrayLength takes an array of var<storage>.', {
      remedy: 'Write arrayLength(&name).',
    });
  }
  const local = newLocal('u32');
  append({ kind: 'length', local, array: arraysOf(name, entry.type)[0]![0] });
  return { type: 'u32', operand: local };
}

function callFunction(
  context: Context,
  fn: FunctionDeclaration,
  args: readonly Argument[],
  position: Position,
): TextValue {
  const { program, result } = context;
  if (result === undefined) {
    throw errorAt(position, 'constant', `A constant must not call ${fn.name}.`, {
      remedy: 'Call it in a function.',
    });
  }
  requireCount(position, fn.name, args, fn.parameters.length);
  const values = fn.parameters.map(({ name, type }, i) => {
    const { value, position: at } = args[i]!;
    return coerce(at, value, program.typeOf(type), `Argument ${name} of ${fn.name}`);
  });
  return program.call(fn, values, position);
}

/** Evaluates the constructor of a struct: `S(a, b)`, or `S()` for zeros. */
function construct(struct: Struct, args: readonly Argument[], position: Position): TextValue {
  if (isVectorType(struct)) return constructVector(position, struct, args);
  if (args.length === 0) return zeroOf(struct);
  requireCount(position, struct.name, args, struct.fields.length);
  const fields = struct.fields.map(({ name, type }, i) =>
    coerce(args[i]!.position, args[i]!.value, type, `Field ${name} of ${struct.name}`),
  );
  return { type: struct, fields };
}
