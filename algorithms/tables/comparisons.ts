import type { Column } from '../../primitives/columns/column.ts';
import type { Bool } from '../../primitives/functors/value.ts';
import { type Cut, I32, isWithin } from './bounds.ts';
import { cutOf } from './cuts.ts';
import { computeDecimals, decimalOf, literalText } from './decimals.ts';
import { tableError } from './errors.ts';
import type { ComparisonOperator, LiteralValue } from './expressions.ts';
import { type FloatPart, floatKeys } from './floats.ts';
import {
  constantIn,
  type Domain,
  domainOf,
  type IntegerPart,
  type IntegerValue,
  integersOf,
  lessInteger,
  rescaled,
  sameInteger,
} from './integers.ts';
import { describeOperand, doublesOfOperand, type Operand } from './operands.ts';
import { combineParts, mapPart, type QuestionPart } from './part.ts';
import { keyOfF64 } from './sortable.ts';
import { compareStrings } from './string-order.ts';

/**
 * Result of a comparison. `holds` is the code that compares the operands, or one result for all rows; `unknown` means
 * that a literal in the comparison is null. `holds` applies only to rows that are valid (not null) in every column of
 * `validity`.
 */
export interface Comparison {
  readonly holds: QuestionPart<Bool> | 'always' | 'never' | 'unknown';
  readonly validity: readonly (Column<'u32'> | undefined)[];
}

const SWAPPED = { '<': '>', '<=': '>=', '>': '<', '>=': '<=', '=': '=', '<>': '<>' } as const;
/** The negation of each operator: `a < b` is false exactly where `a >= b` is true, if neither operand is null. */
export const OPPOSITE = { '<': '>=', '<=': '>', '>': '<=', '>=': '<', '=': '<>', '<>': '=' } as const;

/** Compares two operands of the same type, or an operand with a literal. */
export function compareOperands(operator: ComparisonOperator, left: Operand, right: Operand): Comparison {
  if (left.family === 'literal') {
    if (right.family === 'literal') return compareLiterals(operator, left.value, right.value);
    return compareOperands(SWAPPED[operator], right, left);
  }
  if (right.family === 'literal') return compareWithLiteral(operator, left, right.value);
  if (left.family === 'integer' && right.family === 'integer') return compareNumbers(operator, left, right);
  if (left.family === 'f32' && right.family === 'f32') {
    return compareNumbers(operator, keyNumbers(left), keyNumbers(right));
  }
  if (left.family === 'f64' || left.family !== right.family) return compareDoubles(operator, left, right);
  return compareColumns(operator, left, right);
}

/** Compares numbers of different types as f64. Integers and decimals stand for the nearest f64, as literals do. */
function compareDoubles(operator: ComparisonOperator, left: Operand, right: Operand): Comparison {
  const [a, b] = [doublesOfOperand(left), doublesOfOperand(right)];
  if (a === undefined || b === undefined) throw notComparable(left, right);
  return compareNumbers(operator, a.keys, b.keys);
}

function notComparable(left: Operand, right: Operand): Error {
  return tableError('type', `Columns of different types cannot be compared.`, {
    expected: `a literal of the type of ${describeOperand(left)}`,
    got: describeOperand(right),
    remedy: 'Bring both to one type when the table is read.',
  });
}

function compareColumns(operator: ComparisonOperator, left: Operand, right: Operand): Comparison {
  const [a, b] = [columnIn(left), columnIn(right)];
  const isSame =
    a.dictionary.length === b.dictionary.length && a.dictionary.every((each, i) => each === b.dictionary[i]);
  if (!isSame) {
    throw tableError('dictionary', 'Strings of different dictionaries cannot be compared row by row.', {
      expected: `the dictionary of '${a.name}'`,
      got: `that of '${b.name}'`,
      remedy: 'Read both columns with one dictionary.',
    });
  }
  return compareNumbers(operator, integersOf(a), integersOf(b));
}

function columnIn(operand: Operand): Parameters<typeof integersOf>[0] {
  if (operand.family !== 'literal' && operand.column !== undefined) return operand.column;
  throw new RangeError('an operand without a column');
}

/** Replaces f32 values by integer keys that have the same order, so that they can be compared as integers. */
function keyNumbers(floats: FloatPart): IntegerPart {
  const part = mapPart('', floatKeys(floats), (value): IntegerValue => ({ kind: 'i32', value }));
  return { part, bounds: I32, scale: 0, validity: floats.validity };
}

function compareNumbers(operator: ComparisonOperator, left: IntegerPart, right: IntegerPart): Comparison {
  const scale = Math.max(left.scale, right.scale);
  const [a, b] = [rescaled(left, scale), rescaled(right, scale)];
  const [domain] = domainOf(a.bounds, b.bounds);
  return { holds: comparisonPart(operator, domain, a.part, b.part), validity: [...a.validity, ...b.validity] };
}

function comparisonPart(
  operator: ComparisonOperator,
  domain: Domain,
  left: QuestionPart<IntegerValue>,
  right: QuestionPart<IntegerValue>,
): QuestionPart<Bool> {
  return combineParts(`${domain}${operator}`, [left, right], ([a, b]) => {
    switch (operator) {
      case '<':
        return lessInteger(domain, a!, b!);
      case '>':
        return lessInteger(domain, b!, a!);
      case '<=':
        return lessInteger(domain, b!, a!).not();
      case '>=':
        return lessInteger(domain, a!, b!).not();
      case '=':
        return sameInteger(domain, a!, b!);
      case '<>':
        return sameInteger(domain, a!, b!).not();
    }
  });
}

function compareWithLiteral(operator: ComparisonOperator, left: Operand, value: LiteralValue): Comparison {
  if (left.family === 'literal') throw new RangeError('a literal on the left');
  if (value === null) return { holds: 'unknown', validity: [] };
  const integers = comparedIntegers(left);
  return { holds: compareWithCut(operator, integers, requireCut(left, value)), validity: integers.validity };
}

type Compared = Exclude<Operand, { readonly family: 'literal' }>;

/** The integers by which the values of an operand are compared with literals. */
export function comparedIntegers(operand: Compared): IntegerPart {
  if (operand.family === 'integer') return operand;
  if (operand.family === 'f32') return keyNumbers(operand);
  return operand.family === 'f64' ? operand.keys : integersOf(operand.column);
}

/** The position of a literal among the integers by which an operand is compared. Throws for another type. */
export function requireCut(operand: Compared, value: Exclude<LiteralValue, null>): Cut {
  const cut = cutOf(operand, value);
  if (cut !== undefined) return cut;
  throw tableError('type', 'A column cannot be compared with a literal of another type.', {
    expected: `a literal of the type of ${describeOperand(operand)}`,
    got: literalText(value),
  });
}

function compareWithCut(
  operator: ComparisonOperator,
  integers: IntegerPart,
  { at, isThere }: Cut,
): Comparison['holds'] {
  if (!isThere && operator === '=') return 'never';
  if (!isThere && operator === '<>') return 'always';
  // A literal between two integers is replaced by the lower one, `at`. Then `<` becomes `<=`, and `>=` becomes `>`.
  const exact = isThere ? operator : operator.startsWith('<') ? '<=' : '>';
  const [domain, range] = domainOf(integers.bounds);
  if (!isWithin({ min: at, max: at }, range)) {
    const isBelow = at > range.max;
    if (exact === '=') return 'never';
    if (exact === '<>') return 'always';
    return exact.startsWith('<') === isBelow ? 'always' : 'never';
  }
  return comparisonPart(exact, domain, integers.part, constantIn(domain, at));
}

function compareLiterals(operator: ComparisonOperator, a: LiteralValue, b: LiteralValue): Comparison {
  if (a === null || b === null) return { holds: 'unknown', validity: [] };
  const order = orderOfLiterals(a, b);
  const isTrue = {
    '<': order < 0,
    '<=': order <= 0,
    '>': order > 0,
    '>=': order >= 0,
    '=': order === 0,
    '<>': order !== 0,
  }[operator];
  return { holds: isTrue ? 'always' : 'never', validity: [] };
}

function orderOfLiterals(a: LiteralValue, b: LiteralValue): number {
  const [x, y] = [decimalOf(a), decimalOf(b)];
  if (x !== undefined && y !== undefined) return Number(computeDecimals('sub', x, y).units);
  if (typeof a === 'string' && typeof b === 'string') return compareStrings(a, b);
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  // One of the numbers is NaN or infinite, so the value of a finite one does not matter.
  if (isNumber(a) && isNumber(b)) return Number(keyOfF64(x ? 0 : Number(a)) - keyOfF64(y ? 0 : Number(b)));
  throw tableError('type', 'Literals of different types cannot be compared.', {
    expected: typeof a,
    got: typeof b,
    remedy: [a, b].some((value) => typeof value === 'string')
      ? 'A string is a literal, not the name of a column.'
      : undefined,
  });
}

function isNumber(value: LiteralValue): boolean {
  return typeof value === 'number' || decimalOf(value) !== undefined;
}
