import { computeDecimals, decimalOf, literalText, numberOf } from './decimals.ts';
import type { DeviceTable, TableColumn } from './device-table.ts';
import {
  computeDoubles,
  type DoublePart,
  doubleConstant,
  doublesOf,
  doublesOfFloats,
  doublesOfIntegers,
} from './doubles.ts';
import { tableError } from './errors.ts';
import type { Expression, LiteralValue } from './expressions.ts';
import { computeFloats, type FloatPart, floatConstant, floatsOf } from './floats.ts';
import { computeIntegers, type IntegerPart, integerConstant, integersOf } from './integers.ts';
import { columnOf } from './table.ts';

/** An expression over the columns of a table: a literal, numbers that allow arithmetic, or a column of another type. */
export type Operand =
  | { readonly family: 'literal'; readonly value: LiteralValue }
  | ({ readonly family: 'integer'; readonly column: TableColumn | undefined } & IntegerPart)
  | ({ readonly family: 'f32'; readonly column: TableColumn | undefined } & FloatPart)
  | ({ readonly family: 'f64'; readonly column: TableColumn | undefined } & DoublePart)
  | { readonly family: 'string' | 'bool' | 'date'; readonly column: TableColumn };

/**
 * Returns an expression as an operand, which has a type (`family`) and code. Throws if the expression cannot be
 * computed.
 */
export function operandOf(table: DeviceTable, expression: Expression): Operand {
  switch (expression.kind) {
    case 'column':
      return ofColumn(columnOf(table, expression.name));
    case 'literal':
      return { family: 'literal', value: expression.value };
    case 'neg':
      return compute('sub', { family: 'literal', value: 0 }, operandOf(table, expression.of));
    case 'add':
    case 'sub':
    case 'mul':
      return compute(expression.kind, operandOf(table, expression.left), operandOf(table, expression.right));
  }
}

function ofColumn(column: TableColumn): Operand {
  switch (column.kind) {
    case 'u32':
    case 'i32':
    case 'u64':
    case 'i64':
    case 'decimal':
      return { family: 'integer', column, ...integersOf(column) };
    case 'f32':
      return { family: 'f32', column, ...floatsOf(column) };
    case 'f64':
      return { family: 'f64', column, ...doublesOf(column) };
    default:
      return { family: column.kind, column };
  }
}

const SYMBOLS = { add: '+', sub: '−', mul: '·' } as const;

function compute(kind: 'add' | 'sub' | 'mul', left: Operand, right: Operand): Operand {
  if (isNull(left) || isNull(right)) return { family: 'literal', value: null };
  if (left.family === 'literal' && right.family === 'literal') {
    return { family: 'literal', value: computeLiterals(kind, left.value, right.value) };
  }
  const families = [left.family, right.family];
  if (families.includes('f64') || (families.includes('f32') && families.includes('integer'))) {
    return { family: 'f64', column: undefined, ...computeDoubles(kind, asDouble(kind, left), asDouble(kind, right)) };
  }
  if (families.includes('f32')) {
    return { family: 'f32', column: undefined, ...computeFloats(kind, asFloat(kind, left), asFloat(kind, right)) };
  }
  const [a, b] = [asInteger(kind, left), asInteger(kind, right)];
  return { family: 'integer', column: undefined, ...computeIntegers(kind, a, b) };
}

function isNull(operand: Operand): boolean {
  return operand.family === 'literal' && operand.value === null;
}

function computeLiterals(kind: 'add' | 'sub' | 'mul', a: LiteralValue, b: LiteralValue): LiteralValue {
  const [x, y] = [decimalOf(a), decimalOf(b)];
  if (x !== undefined && y !== undefined) return computeDecimals(kind, x, y);
  if (typeof a !== 'number' || typeof b !== 'number') throw notNumbers(kind, typeof a === 'number' ? b : a);
  return kind === 'add' ? a + b : kind === 'sub' ? a - b : a * b;
}

function asFloat(kind: keyof typeof SYMBOLS, operand: Operand): FloatPart {
  if (operand.family === 'f32') return operand;
  if (operand.family === 'literal' && typeof operand.value === 'number') return floatConstant(operand.value);
  const decimal = operand.family === 'literal' ? decimalOf(operand.value) : undefined;
  if (decimal !== undefined) return floatConstant(numberOf(decimal));
  throw notNumbers(kind, describeOperand(operand));
}

/** The values of an operand as f64: exact for f32, otherwise the nearest f64. */
function asDouble(kind: keyof typeof SYMBOLS, operand: Operand): DoublePart {
  const doubles = doublesOfOperand(operand);
  if (doubles !== undefined) return doubles;
  throw notNumbers(kind, describeOperand(operand));
}

/** The values of an operand as f64, or undefined if they are no numbers. */
export function doublesOfOperand(operand: Operand): DoublePart | undefined {
  switch (operand.family) {
    case 'f64':
      return operand;
    case 'f32':
      return doublesOfFloats(operand);
    case 'integer':
      return doublesOfIntegers(operand);
    case 'literal': {
      if (typeof operand.value === 'number') return doubleConstant(operand.value);
      const decimal = decimalOf(operand.value);
      return decimal && doubleConstant(numberOf(decimal));
    }
    default:
      return undefined;
  }
}

function asInteger(kind: keyof typeof SYMBOLS, operand: Operand): IntegerPart {
  if (operand.family === 'integer') return operand;
  const decimal = operand.family === 'literal' ? decimalOf(operand.value) : undefined;
  if (decimal !== undefined) return integerConstant(decimal.units, decimal.scale);
  throw notNumbers(kind, describeOperand(operand));
}

function notNumbers(kind: keyof typeof SYMBOLS, got: unknown): Error {
  return tableError('type', `${SYMBOLS[kind]} does not support these types.`, {
    expected: 'integers, decimals, f32 or f64',
    got,
    remedy: 'Use dates, strings and bools only as columns and literals, without arithmetic.',
  });
}

/** Describes an operand for an error message. */
export function describeOperand(operand: Operand): string {
  if (operand.family === 'literal') return `the literal ${literalText(operand.value)}`;
  const { column } = operand;
  if (column === undefined) return `an expression of ${operand.family}`;
  // The column may have fewer bits here than in its file, so the number of bits would mislead.
  return `'${column.name}', a column of ${/^[iu]\d+$/.test(column.kind) ? 'integers' : column.kind}`;
}
