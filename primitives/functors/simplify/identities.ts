import type { Literal, Operand, Operation, OperationName, ScalarType } from '../ir.ts';
import { evaluate } from '../semantics.ts';

/**
 * What an operation comes to by the rules of semantics.ts, bit for bit: a value, a simpler operation, or undefined where
 * it is as simple as it gets. `definitionOf` tells how an operand was computed.
 */
export function simplerOperation(
  { name, operands }: Operation,
  type: ScalarType,
  definitionOf: (operand: Operand) => Operation | undefined,
): Operand | Operation | undefined {
  const [a, b, c] = operands as readonly [Operand, Operand?, Operand?];
  if (operands.every(isLiteral)) {
    const values = (operands as readonly Literal[]).map(({ value }) => value);
    return literal(type, evaluate(name, a.type, type, values));
  }
  if (name === 'convert' || name === 'bits') return a.type === type ? a : undefined;
  if (name === 'select') return simplerSelect(a, b!, c!);
  if (b === undefined) return simplerUnary(name, a, definitionOf);
  if (sameOperand(a, b) && a.type !== 'f32') return ofTwins(name, a, type);
  if (sameOperand(a, b)) return name === 'min' || name === 'max' ? a : undefined;
  if (a.type === 'bool') return simplerLogic(name, a, b);
  return a.type === 'f32' ? simplerFloat(name, a, b) : simplerInteger(name, a, b, type);
}

const isLiteral = (operand: Operand): operand is Literal => operand.kind === 'literal';

const literal = (type: ScalarType, value: number | boolean): Literal => ({ kind: 'literal', type, value });

const is = (operand: Operand, value: number | boolean): boolean =>
  operand.kind === 'literal' && Object.is(operand.value, value);

function sameOperand(a: Operand, b: Operand): boolean {
  if (a.kind === 'local') return b.kind === 'local' && a.id === b.id;
  if (a.kind === 'uniform') return b.kind === 'uniform' && a.name === b.name;
  return b.kind === 'literal' && a.type === b.type && Object.is(a.value, b.value);
}

function simplerSelect(a: Operand, b: Operand, condition: Operand): Operand | Operation | undefined {
  if (isLiteral(condition)) return condition.value ? b : a;
  if (sameOperand(a, b)) return a;
  if (is(a, false) && is(b, true)) return condition;
  return is(a, true) && is(b, false) ? { name: 'not', operands: [condition] } : undefined;
}

/** A second turn undoes the first. */
function simplerUnary(
  name: OperationName,
  a: Operand,
  definitionOf: (operand: Operand) => Operation | undefined,
): Operand | undefined {
  if (name === 'abs' && a.type === 'u32') return a;
  const inner = name === 'not' || name === 'neg' ? definitionOf(a) : undefined;
  return inner?.name === name ? inner.operands[0] : undefined;
}

/** Both operands are the same u32, i32 or bool. */
function ofTwins(name: OperationName, a: Operand, type: ScalarType): Operand | undefined {
  switch (name) {
    case 'and':
    case 'or':
    case 'min':
    case 'max':
      return a;
    case 'sub':
    case 'xor':
    case 'rem':
      return literal(type, type === 'bool' ? false : 0);
    case 'eq':
    case 'le':
    case 'ge':
      return literal('bool', true);
    case 'ne':
    case 'lt':
    case 'gt':
      return literal('bool', false);
    default:
      return undefined;
  }
}

function simplerLogic(name: OperationName, left: Operand, right: Operand): Operand | Operation | undefined {
  const [a, constant] = isLiteral(left) ? [right, left] : [left, right];
  if (!isLiteral(constant)) return undefined;
  const not: Operation = { name: 'not', operands: [a] };
  switch (name) {
    case 'and':
      return constant.value ? a : constant;
    case 'or':
      return constant.value ? constant : a;
    case 'eq':
      return constant.value ? a : not;
    default:
      return constant.value ? not : a;
  }
}

/** x + 0 is not among them, as −0 + 0 = +0; x − 0 and x · 1 keep every x. */
function simplerFloat(name: OperationName, a: Operand, b: Operand): Operand | undefined {
  switch (name) {
    case 'add':
      return is(b, -0) ? a : is(a, -0) ? b : undefined;
    case 'sub':
      return is(b, 0) ? a : undefined;
    case 'mul':
      return is(b, 1) ? a : is(a, 1) ? b : undefined;
    case 'div':
      return is(b, 1) ? a : undefined;
    default:
      return undefined;
  }
}

function simplerInteger(name: OperationName, a: Operand, b: Operand, type: ScalarType): Operand | undefined {
  const ones = a.type === 'u32' ? 0xffffffff : -1;
  const either = (neutral: number): Operand | undefined => (is(b, neutral) ? a : is(a, neutral) ? b : undefined);
  const absorbs = (value: number): boolean => is(a, value) || is(b, value);
  switch (name) {
    case 'add':
    case 'xor':
      return either(0);
    case 'or':
      return absorbs(ones) ? literal(type, ones) : either(0);
    case 'and':
      return absorbs(0) ? literal(type, 0) : either(ones);
    case 'mul':
      return absorbs(0) ? literal(type, 0) : either(1);
    case 'mulhi':
      return absorbs(0) || absorbs(1) ? literal(type, 0) : undefined;
    case 'sub':
      return is(b, 0) ? a : undefined;
    case 'div':
      return is(b, 0) || is(b, 1) ? a : undefined;
    case 'rem':
      return is(b, 0) || is(b, 1) ? literal(type, 0) : undefined;
    case 'shl':
    case 'shr':
      return (isLiteral(b) && (b.value as number) % 32 === 0) || is(a, 0) ? a : undefined;
    default:
      return a.type === 'u32' ? besideZero(name, a, b) : undefined;
  }
}

/** Nothing unsigned is below zero. */
function besideZero(name: OperationName, a: Operand, b: Operand): Operand | undefined {
  if ((name === 'lt' && is(b, 0)) || (name === 'gt' && is(a, 0))) return literal('bool', false);
  if ((name === 'ge' && is(b, 0)) || (name === 'le' && is(a, 0))) return literal('bool', true);
  if (name === 'min') return is(a, 0) || is(b, 0) ? literal('u32', 0) : undefined;
  if (name === 'max') return is(a, 0) ? b : is(b, 0) ? a : undefined;
  return undefined;
}
