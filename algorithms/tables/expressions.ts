import { requireArguments } from '../../primitives/checks/arguments.ts';
import { anArrayOf, aRecord, aText } from '../../primitives/checks/kinds.ts';
import type { MaqTreeWithEdges } from '../maq-tree/index.ts';
import { aMaqTree } from '../maq-tree/tree.ts';
import { requireEdges } from '../queries/query-options.ts';
import { aCondition, aLiteral, anOperand, aRecordOf, manyOf } from './argument-kinds.ts';
import type { Decimal } from './host-table.ts';

/**
 * A value computed for every row. It is a tree of plain objects, so that a parser can build it. Arithmetic on integers
 * and decimals is exact in 64 bits, and overflow is an error. Arithmetic on f32, and on f32 and a literal, is rounded to
 * f32 after every operation. If one operand is an f64, or an f32 and the other is an integer or a decimal, both are
 * converted to f64, integers and decimals to the nearest one, and the result is rounded to f64. Subnormal results are
 * kept on every backend. Other types allow only columns and literals.
 *
 * Arithmetic on f64 runs on the integer units of a device and takes some hundred operations each.
 */
export type Expression =
  | { readonly kind: 'column'; readonly name: string }
  | { readonly kind: 'literal'; readonly value: LiteralValue }
  | { readonly kind: 'add' | 'sub' | 'mul'; readonly left: Expression; readonly right: Expression }
  | { readonly kind: 'neg'; readonly of: Expression };

/**
 * Numbers stand for real numbers: compared with decimals, `0.1` is exactly a tenth. A date is a string `YYYY-MM-DD`, or
 * the number of days since 1970-01-01.
 */
export type LiteralValue = number | bigint | boolean | string | Decimal | null;

export type ComparisonOperator = '<' | '<=' | '>' | '>=' | '=' | '<>';

/** True, false or unknown for every row, as in SQL's three-valued logic. */
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
  /** A column of bools used as a condition. */
  | { readonly kind: 'truth'; readonly of: Expression }
  | { readonly kind: 'always' | 'never' }
  /** Whether any polygon of a tree contains the point given by two columns, in steps of the tree's domain. */
  | { readonly kind: 'inPolygons'; readonly x: string; readonly y: string; readonly tree: MaqTreeWithEdges }
  | { readonly kind: 'and' | 'or'; readonly of: readonly Condition[] }
  | { readonly kind: 'not'; readonly of: Condition };

/** An operand: an expression, or a plain value, which is used as a literal. */
export type Given = Expression | LiteralValue;
/** A conjunction (AND) or disjunction (OR) of conditions. */
export type Joined = Extract<Condition, { readonly kind: 'and' | 'or' }>;
/** A condition that compares two expressions. */
export type Comparing = Extract<Condition, { readonly kind: 'compare' }>;

/**
 * The value of a column, given by its name.
 *
 * @example
 * lessThan(column('fare'), 10).kind; // 'compare'
 */
export function column(name: string): Expression {
  requireArguments('column', { name }, { name: aText });
  return { kind: 'column', name };
}

/**
 * A constant value, the same for all rows.
 *
 * @example
 * literal(2.5).kind; // 'literal'
 */
export function literal(value: LiteralValue): Expression {
  requireArguments('literal', { value }, { value: aLiteral });
  return { kind: 'literal', value };
}

/** Returns expressions unchanged, and turns plain values into literals. */
function expressionOf(given: Given): Expression {
  return typeof given === 'object' && given !== null && 'kind' in given ? given : literal(given);
}

function compare(call: string, operator: ComparisonOperator, left: Given, right: Given): Condition {
  return { kind: 'compare', operator, ...bothOf(call, left, right) };
}

function bothOf(call: string, left: Given, right: Given): { readonly left: Expression; readonly right: Expression } {
  requireArguments(call, { left, right }, { left: anOperand, right: anOperand });
  return { left: expressionOf(left), right: expressionOf(right) };
}

function onlyOf(call: string, of: Given): Expression {
  requireArguments(call, { of }, { of: anOperand });
  return expressionOf(of);
}

/**
 * The condition left < right. As in SQL, it is unknown if an operand is null.
 *
 * @example
 * lessThan(column('fare'), 10).operator; // '<'
 */
export function lessThan(left: Given, right: Given): Comparing {
  return compare('lessThan', '<', left, right) as Comparing;
}

/**
 * The condition left ≤ right. As in SQL, it is unknown if an operand is null.
 *
 * @example
 * atMost(column('fare'), 10).operator; // '<='
 */
export function atMost(left: Given, right: Given): Comparing {
  return compare('atMost', '<=', left, right) as Comparing;
}

/**
 * The condition left > right. As in SQL, it is unknown if an operand is null.
 *
 * @example
 * greaterThan(column('fare'), 10).operator; // '>'
 */
export function greaterThan(left: Given, right: Given): Comparing {
  return compare('greaterThan', '>', left, right) as Comparing;
}

/**
 * The condition left ≥ right. As in SQL, it is unknown if an operand is null.
 *
 * @example
 * atLeast(column('fare'), 10).operator; // '>='
 */
export function atLeast(left: Given, right: Given): Comparing {
  return compare('atLeast', '>=', left, right) as Comparing;
}

/**
 * The condition left = right. As in SQL, it is unknown if an operand is null.
 *
 * @example
 * equalTo(column('fare'), 10).operator; // '='
 */
export function equalTo(left: Given, right: Given): Comparing {
  return compare('equalTo', '=', left, right) as Comparing;
}

/**
 * The condition left ≠ right. As in SQL, it is unknown if an operand is null.
 *
 * @example
 * unequalTo(column('fare'), 10).operator; // '<>'
 */
export function unequalTo(left: Given, right: Given): Comparing {
  return compare('unequalTo', '<>', left, right) as Comparing;
}

/**
 * The condition low ≤ of ≤ high.
 *
 * @example
 * between(column('fare'), 1, 9).kind; // 'between'
 */
export function between(of: Given, low: Given, high: Given): Condition {
  requireArguments('between', { of, low, high }, { of: anOperand, low: anOperand, high: anOperand });
  return { kind: 'between', of: expressionOf(of), low: expressionOf(low), high: expressionOf(high) };
}

/**
 * The condition that `of` equals one of the values. It is unknown if no value equals `of` and one of the values is
 * null.
 *
 * @example
 * oneOf(column('zone'), [3, 7]).kind; // 'in'
 */
export function oneOf(of: Given, values: readonly LiteralValue[]): Condition {
  requireArguments('oneOf', { of, values }, { of: anOperand, values: manyOf(aLiteral) });
  return { kind: 'in', of: expressionOf(of), values };
}

/**
 * The condition that `of` is null. It is never unknown.
 *
 * @example
 * isNull(column('fare')).kind; // 'isNull'
 */
export function isNull(of: Given): Condition {
  return { kind: 'isNull', of: onlyOf('isNull', of) };
}

/**
 * A column of bools as a condition.
 *
 * @example
 * truth(column('card')).kind; // 'truth'
 */
export function truth(of: Given): Condition {
  return { kind: 'truth', of: onlyOf('truth', of) };
}

/**
 * True if all conditions are true, false if one is false, else unknown.
 *
 * @example
 * and(truth(column('card')), isNull(column('fare'))).of.length; // 2
 */
export function and(...of: readonly Condition[]): Joined {
  requireArguments('and', { of }, { of: anArrayOf(aCondition) });
  return { kind: 'and', of };
}

/**
 * True if one condition is true, false if all are false, else unknown.
 *
 * @example
 * or(truth(column('card')), isNull(column('fare'))).of.length; // 2
 */
export function or(...of: readonly Condition[]): Joined {
  requireArguments('or', { of }, { of: anArrayOf(aCondition) });
  return { kind: 'or', of };
}

/**
 * True if the condition is false, false if it is true, else unknown.
 *
 * @example
 * not(isNull(column('fare'))).kind; // 'not'
 */
export function not(of: Condition): Condition {
  requireArguments('not', { of }, { of: aCondition });
  return { kind: 'not', of };
}

/**
 * The sum left + right.
 *
 * @example
 * added(column('fare'), column('tip')).kind; // 'add'
 */
export function added(left: Given, right: Given): Expression {
  return { kind: 'add', ...bothOf('added', left, right) };
}

/**
 * The difference left − right.
 *
 * @example
 * subtracted(column('fare'), 2).kind; // 'sub'
 */
export function subtracted(left: Given, right: Given): Expression {
  return { kind: 'sub', ...bothOf('subtracted', left, right) };
}

/**
 * The product left · right.
 *
 * @example
 * multiplied(column('fare'), 2).kind; // 'mul'
 */
export function multiplied(left: Given, right: Given): Expression {
  return { kind: 'mul', ...bothOf('multiplied', left, right) };
}

/**
 * The sum of factors[name] · column(name) over all names, added from left to right. A comparison of the sum with a
 * number is the semi-linear query of Govindaraju et al.
 *
 * @example
 * linear({ x: 2, y: -1 }).kind; // 'add'
 */
export function linear(factors: { readonly [name: string]: number | bigint | Decimal }): Expression {
  requireArguments('linear', { factors }, { factors: aRecordOf(aLiteral, 'a record of numbers') });
  const terms = Object.entries(factors).map(([name, factor]) => multiplied(column(name), factor));
  return terms.length === 0 ? literal(0) : terms.reduce((left, right) => added(left, right));
}

/**
 * The condition that each column is at least its lower bound and at most its upper bound.
 *
 * @example
 * inBox({ x: [0, 1], y: [2, 3] }).of.length; // 2
 */
export function inBox(bounds: { readonly [name: string]: readonly [low: Given, high: Given] }): Joined {
  requireArguments(
    'inBox',
    { bounds },
    { bounds: aRecordOf(anArrayOf(anOperand, 'two bounds'), 'a record of bounds') },
  );
  return { kind: 'and', of: Object.entries(bounds).map(([name, [low, high]]) => between(column(name), low, high)) };
}

/**
 * The condition that any polygon of a tree contains the point given by two columns. The columns, which {@link
 * pointColumns} makes, hold coordinates in steps of the tree's domain. As for `queryPoints`, polygons are half-open: a
 * point on a left or bottom edge is inside, a point on a right or top edge is outside. The condition is unknown if a
 * coordinate is null.
 *
 * - Work per row: O(levels + entries on the way down the tree and their edges), in the launch that evaluates the
 *   condition. The condition refers to the columns of the tree, so the tree must live as long as the condition is used.
 *
 * Source: after Zhang, You and Gruenwald, Data Parallel Quadtree Indexing and Spatial Query Processing of Complex
 * Polygon Data on GPUs, 2014.
 *
 * @throws `ArgumentError` `queries/edges` for a tree without edges.
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [180, 0], [0, 90]]] }');
 * const quadrants = await decompose(ctx, placeInDomain(zones.polygons, WORLD), { levels: 4, keepsEdges: true });
 * const tree = await buildMaqTree(ctx, [quadrants]);
 * const places = pointColumns({ x: [1, 90, 90, -1], y: [1, 44, 46, 5] }, WORLD);
 * const table = createTable(ctx, { ...places, fare: { type: 'u32', values: Uint32Array.of(5, 9, 9, 9) } });
 * const where = and(inPolygons({ x: 'x', y: 'y' }, tree), greaterThan(column('fare'), 5));
 * await ctx.read(selectedIds(selectRows(table, where))); // Uint32Array [1]
 */
export function inPolygons(point: { readonly x: string; readonly y: string }, tree: MaqTreeWithEdges): Condition {
  requireArguments('inPolygons', { point, tree }, { point: aRecord({ x: aText, y: aText }), tree: aMaqTree });
  requireEdges('the tree', tree);
  return { kind: 'inPolygons', x: point.x, y: point.y, tree };
}
