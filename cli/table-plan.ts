import { inStretches } from '../algorithms/stretches.ts';
import { requireInterpolable } from '../algorithms/tables/aggregate-plans.ts';
import { freeLists, truthOf } from '../algorithms/tables/conditions.ts';
import {
  createTable,
  type DeviceTable,
  disposeTable,
  type Expression,
  TableError,
  type TotalAggregate,
} from '../algorithms/tables/index.ts';
import { describeOperand } from '../algorithms/tables/operands.ts';
import { type ValueOperand, valueOperand } from '../algorithms/tables/values.ts';
import { emptyColumn } from '../formats/tables/parquet/plain.ts';
import type { TableField } from '../formats/tables/table-file.ts';
import { UsageError } from '../formats/usage-error.ts';
import type { Context } from '../primitives/context/context.ts';
import { narrowed } from './table-columns.ts';
import type { NamedAggregate, Question } from './table-question.ts';
import { requireNoTimeInside } from './table-times.ts';

/** An expression, and the field that describes its values. */
export interface TypedExpression {
  readonly of: Expression;
  readonly field: TableField;
}

/**
 * How a column of the answer is computed from the data of each group. The numbers in a recipe are indices into the
 * lists of a {@link QuestionPlan}.
 */
export type Recipe =
  | { readonly kind: 'count'; readonly count: number }
  | { readonly kind: 'sum' | 'avg'; readonly sum: number; readonly count: number; readonly scale: number }
  | {
      readonly kind: 'variance';
      readonly sum: number;
      readonly squares: number;
      readonly count: number;
      readonly scale: number;
    }
  | { readonly kind: 'extremum'; readonly extremum: number }
  | { readonly kind: 'real'; readonly real: number; readonly what: 'sum' | 'avg' | 'variance' }
  | { readonly kind: 'ranked'; readonly ranked: number; readonly rank: Rank };

/**
 * What to compute from the sorted values of a group: for `countDistinct` the number of distinct values, otherwise the
 * value at some rank.
 */
export type Rank =
  | { readonly kind: 'countDistinct' | 'median' | 'min' | 'max' }
  | { readonly kind: 'quantile' | 'quantileCont'; readonly fraction: number }
  | { readonly kind: 'smallest' | 'largest'; readonly k: number };

/**
 * The plan for answering a query: what to compute for every part of the file, and how to derive the columns of the
 * answer.
 */
export interface QuestionPlan {
  /** Sums, counts, minima and maxima that the device computes for each group. */
  readonly totals: readonly TotalAggregate[];
  /** Expressions whose values the host adds up, in the order of the rows in the file. */
  readonly reals: readonly TypedExpression[];
  /**
   * Expressions whose distinct values are kept for each group, together with the number of occurrences of each value.
   */
  readonly ranked: readonly TypedExpression[];
  readonly outputs: readonly { readonly field: TableField; readonly recipe: Recipe }[];
}

/**
 * Plans how to answer a question (the query of the command line). All types are checked before any row is read.
 *
 * @throws UsageError with the option and the message of a {@link TableError}.
 */
export async function planOf(context: Context, { where, groups, fields }: Question): Promise<QuestionPlan> {
  const columns = [...fields.values()].map((field) => [field.name, narrowed(emptyColumn(field))] as const);
  const table = createTable(context, Object.fromEntries(columns));
  try {
    if (where !== undefined) {
      const truth = await explained('--where', () => inStretches(truthOf(table, where)));
      freeLists(table, truth);
    }
    const plan = emptyPlan();
    for (const each of groups?.aggregates ?? []) {
      plan.outputs.push(await explained(`--aggregate: ${each.name}`, () => outputOf(plan, table, fields, each)));
    }
    return plan;
  } finally {
    disposeTable(table);
  }
}

/** Calls a function, and adds the name of the option to its errors. */
async function explained<A>(option: string, ask: () => A | Promise<A>): Promise<A> {
  try {
    return await ask();
  } catch (error) {
    throw inOption(option, error);
  }
}

/** Converts an error about the query to a usage error that names the option. Other errors are returned unchanged. */
export function inOption(option: string | undefined, error: unknown): unknown {
  if (!(error instanceof TableError)) return error;
  return new UsageError(error.code, `${option === undefined ? '' : `${option}: `}${error.message}`, { cause: error });
}

interface PlanUnderWay extends QuestionPlan {
  readonly totals: TotalAggregate[];
  readonly reals: TypedExpression[];
  readonly ranked: TypedExpression[];
  readonly outputs: { readonly field: TableField; readonly recipe: Recipe }[];
}

function emptyPlan(): PlanUnderWay {
  return { totals: [], reals: [], ranked: [], outputs: [] };
}

const textOf = (value: unknown): string =>
  JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? `${each}n` : each));

/** Returns the index of an item in a list. If the list does not contain the item, appends it. */
function placeIn<A>(list: A[], each: A): number {
  const text = textOf(each);
  const known = list.findIndex((other) => textOf(other) === text);
  return known >= 0 ? known : list.push(each) - 1;
}

function outputOf(
  plan: PlanUnderWay,
  table: DeviceTable,
  fields: Question['fields'],
  { name, aggregate }: NamedAggregate,
): QuestionPlan['outputs'][number] {
  const { kind, of } = aggregate;
  const asI64: TableField = { name, type: 'i64', nullable: true };
  if (of === undefined)
    return { field: asI64, recipe: { kind: 'count', count: placeIn(plan.totals, { kind: 'count' }) } };
  requireNoTimeInside(of, fields, '--aggregate');
  const operand = valueOperand(table, of);
  const typed: TypedExpression = { of, field: fieldOf(operand, of, fields, name) };
  const same: TableField = { ...typed.field, name, nullable: true };
  const asF64: TableField = { name, type: 'f64', nullable: true };
  const ranked = (rank: Rank, field: TableField): QuestionPlan['outputs'][number] => ({
    field,
    recipe: { kind: 'ranked', ranked: placeIn(plan.ranked, typed), rank },
  });
  switch (kind) {
    case 'count':
      return { field: asI64, recipe: { kind: 'count', count: placeIn(plan.totals, { kind: 'count', of }) } };
    case 'sum':
    case 'avg':
    case 'variance':
      return sumOutput(plan, typed, operand, kind, kind === 'sum' ? same : asF64);
    case 'min':
    case 'max':
      if (typed.field.type === 'string') return ranked({ kind }, same);
      return { field: same, recipe: { kind: 'extremum', extremum: placeIn(plan.totals, { kind, of }) } };
    case 'countDistinct':
      return ranked({ kind }, asI64);
    case 'median':
      return ranked({ kind }, isNumber(typed.field) ? asF64 : same);
    case 'quantile':
      return ranked({ kind, fraction: aggregate.fraction }, same);
    case 'quantileCont':
      if (isTime(typed.field)) throw notInterpolated(typed.field);
      requireInterpolable(operand);
      return ranked({ kind, fraction: aggregate.fraction }, asF64);
    default:
      return ranked({ kind, k: aggregate.k }, same);
  }
}

/** The field that describes the values of an expression. Computed integers have 64 bits. */
function fieldOf(operand: ValueOperand, of: Expression, fields: Question['fields'], name: string): TableField {
  const field = of.kind === 'column' ? fields.get(of.name) : undefined;
  if (field !== undefined) return field;
  if (operand.family === 'f32' || operand.family === 'f64') return { name, type: operand.family, nullable: true };
  const { scale } = operand as { scale: number };
  return scale > 0 ? { name, type: 'decimal', scale, nullable: true } : { name, type: 'i64', nullable: true };
}

export function isNumber(field: TableField): boolean {
  return field.type !== 'string' && field.type !== 'bool' && field.type !== 'date' && !isTime(field);
}

/** Whether a column has points in time or times of day, which are stored as integers. */
function isTime({ type }: TableField): boolean {
  return type === 'timestamp' || type === 'time';
}

function sumOutput(
  plan: PlanUnderWay,
  typed: TypedExpression,
  operand: ValueOperand,
  kind: 'sum' | 'avg' | 'variance',
  field: TableField,
): QuestionPlan['outputs'][number] {
  const { of, field: values } = typed;
  if (values.type === 'f32' || values.type === 'f64') {
    const real = placeIn(plan.reals, typed);
    return { field: { ...field, type: 'f64' } as TableField, recipe: { kind: 'real', real, what: kind } };
  }
  if (!isNumber(values)) throw noSum(kind, values, operand);
  const count = placeIn(plan.totals, { kind: 'count', of });
  const sum = placeIn(plan.totals, { kind: 'sum', of });
  const scale = values.type === 'decimal' ? values.scale : 0;
  if (kind === 'variance') {
    const squares = placeIn(plan.totals, { kind: 'sum', of: { kind: 'mul', left: of, right: of } });
    return { field, recipe: { kind, sum, squares, count, scale } };
  }
  const type = values.type === 'u64' ? 'u64' : 'i64';
  const sums: TableField = scale > 0 ? { ...field, type: 'decimal', scale } : ({ ...field, type } as TableField);
  return { field: kind === 'sum' ? sums : field, recipe: { kind, sum, count, scale } };
}

function notInterpolated({ name }: TableField): UsageError {
  return new UsageError('tables/type', `--aggregate: "${name}", a column of times, is not interpolated.`, {
    remedy: 'Write quantile(x, 0.9), which is one of the times.',
  });
}

function noSum(kind: string, values: TableField, operand: ValueOperand): UsageError {
  const got = isTime(values) ? `"${values.name}", a column of times` : describeOperand(operand);
  return new UsageError('tables/type', `--aggregate: There is no ${kind} of ${got}.`, {
    remedy: 'Use a column of integers, decimals or floats.',
  });
}
