import type { Decimal } from './host-table.ts';

/**
 * A number, or another value, of every row. A tree of plain objects, so that a parser can build it.
 *
 * Integers and decimals are computed exactly, in 64 bits: what does not fit is an error. f32 is rounded after every operation.
 * Of other types there are only columns and literals.
 */
export type Expression =
  | { readonly kind: 'column'; readonly name: string }
  | { readonly kind: 'literal'; readonly value: LiteralValue }
  | { readonly kind: 'add' | 'sub' | 'mul'; readonly left: Expression; readonly right: Expression }
  | { readonly kind: 'neg'; readonly of: Expression };

/** Numbers are reals, `0.1` is a tenth where it meets decimals; dates are days since 1970-01-01. */
export type LiteralValue = number | bigint | boolean | string | Decimal | null;

export type ComparisonOperator = '<' | '<=' | '>' | '>=' | '=' | '<>';

/** True, false or unknown for every row, after SQL's three-valued logic. */
export type Condition =
  | {
      readonly kind: 'compare';
      readonly operator: ComparisonOperator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | { readonly kind: 'isNull'; readonly of: Expression }
  | { readonly kind: 'between'; readonly of: Expression; readonly low: Expression; readonly high: Expression }
  | { readonly kind: 'in'; readonly of: Expression; readonly values: readonly LiteralValue[] }
  /** A column of bools as it is. */
  | { readonly kind: 'truth'; readonly of: Expression }
  | { readonly kind: 'always' | 'never' }
  | { readonly kind: 'and' | 'or'; readonly of: readonly Condition[] }
  | { readonly kind: 'not'; readonly of: Condition };

type Given = Expression | LiteralValue;

/**
 * A column by its name.
 *
 * @example
 * lessThan(column('fare'), 10).kind; // compare
 */
export function column(name: string): Expression {
  return { kind: 'column', name };
}

/**
 * A constant.
 *
 * @example
 * literal(2.5).kind; // literal
 */
export function literal(value: LiteralValue): Expression {
  return { kind: 'literal', value };
}

/** Expressions as they are, others as literals. */
function expressionOf(given: Given): Expression {
  return typeof given === 'object' && given !== null && 'kind' in given ? given : literal(given);
}

function comparing(operator: ComparisonOperator): (left: Given, right: Given) => Condition {
  return (left, right) => ({ kind: 'compare', operator, left: expressionOf(left), right: expressionOf(right) });
}

/** left < right. */
export const lessThan: (left: Given, right: Given) => Condition = comparing('<');
/** left ≤ right. */
export const atMost: (left: Given, right: Given) => Condition = comparing('<=');
/** left > right. */
export const greaterThan: (left: Given, right: Given) => Condition = comparing('>');
/** left ≥ right. */
export const atLeast: (left: Given, right: Given) => Condition = comparing('>=');
/** left = right; unknown where one of them is null. */
export const equalTo: (left: Given, right: Given) => Condition = comparing('=');
/** left ≠ right; unknown where one of them is null. */
export const unequalTo: (left: Given, right: Given) => Condition = comparing('<>');

/** low ≤ of ≤ high. */
export function between(of: Given, low: Given, high: Given): Condition {
  return { kind: 'between', of: expressionOf(of), low: expressionOf(low), high: expressionOf(high) };
}

/** Whether it is one of some values; unknown where it is none of them and one is null. */
export function oneOf(of: Given, values: readonly LiteralValue[]): Condition {
  return { kind: 'in', of: expressionOf(of), values };
}

/** Whether it is null; never unknown. */
export function isNull(of: Given): Condition {
  return { kind: 'isNull', of: expressionOf(of) };
}

/** A column of bools as a condition. */
export function truth(of: Given): Condition {
  return { kind: 'truth', of: expressionOf(of) };
}

/** True where all are, false where one is. */
export function and(...of: readonly Condition[]): Condition {
  return { kind: 'and', of };
}

/** True where one is, false where all are. */
export function or(...of: readonly Condition[]): Condition {
  return { kind: 'or', of };
}

/** False where it is true, true where it is false. */
export function not(of: Condition): Condition {
  return { kind: 'not', of };
}

/** left + right. */
export function sum(left: Given, right: Given): Expression {
  return { kind: 'add', left: expressionOf(left), right: expressionOf(right) };
}

/** left − right. */
export function difference(left: Given, right: Given): Expression {
  return { kind: 'sub', left: expressionOf(left), right: expressionOf(right) };
}

/** left · right. */
export function product(left: Given, right: Given): Expression {
  return { kind: 'mul', left: expressionOf(left), right: expressionOf(right) };
}

/**
 * Σ factors[name] · column name, from left to right: compared with a number, the semi-linear query of Govindaraju et al.
 *
 * @example
 * linear({ x: 2, y: -1 }).kind; // add
 */
export function linear(factors: { readonly [name: string]: number | bigint | Decimal }): Expression {
  const terms = Object.entries(factors).map(([name, factor]) => product(column(name), factor));
  return terms.length === 0 ? literal(0) : terms.reduce(sum);
}

/** Columns between bounds, all of them: a box with the faces that it has. */
export function inBox(bounds: { readonly [name: string]: readonly [low: Given, high: Given] }): Condition {
  return and(...Object.entries(bounds).map(([name, [low, high]]) => between(column(name), low, high)));
}
