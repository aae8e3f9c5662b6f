import { requireArguments } from '../../primitives/checks/arguments.ts';
import { optional } from '../../primitives/checks/kinds.ts';
import type { Column, Table } from '../../primitives/columns/column.ts';
import { bool, f32, i32, type UniformParameter, u32, uniform } from '../../primitives/functors/functor.ts';
import type { Bool } from '../../primitives/functors/value.ts';
import type { ScalarType } from '../../primitives/ir/ir.ts';
import type { Prepared } from '../../primitives/prepared/prepare.ts';
import { inStretches } from '../stretches.ts';
import { type AggregatePlan, type Aggregates, planOf, totalsIn } from './aggregate-plans.ts';
import { aggregate } from './aggregates.ts';
import { aCondition, aTable, someAggregates } from './argument-kinds.ts';
import { freeLists, hasLists } from './conditions.ts';
import type { DeviceTable } from './device-table.ts';
import type { Condition } from './expressions.ts';
import type { CellValue } from './host-table.ts';
import type { QuestionPart } from './part.ts';
import { type FoundPlace, integersFound, isFoundOnDevice, placeOnDevice, type SoughtPlan } from './places.ts';
import { chosenBy } from './selection.ts';
import { type ReducedTotals, reducedTotals, wordsOfTotals } from './totals.ts';

/**
 * A prepared query: a function that computes aggregates over the rows for which a condition is true, by default over
 * all rows.
 */
export interface PreparedAggregate<A extends Aggregates> {
  (where?: Condition): Promise<{ readonly [K in keyof A]: CellValue }>;
  dispose(): void;
  [Symbol.dispose](): void;
}

/** Maximum number of cached pipelines. A pipeline serves all conditions that differ only in constants. */
const MAX_PIPELINES = 16;

/**
 * Prepares {@link aggregate} for many short queries of one table. The first query whose condition has a given structure
 * (the condition without its constants) records its commands, and later queries replay these commands with other
 * constants. All results are read together.
 *
 * Conditions that differ only in constants share a pipeline. A constant that is compared with integers may need another
 * pipeline if it is a fraction, or outside the range of the integer type that holds all values of the column. The 16
 * most recently used pipelines are cached. The same pipeline finds medians, `smallest` and `largest` of integers and
 * f32 on the device. Quantiles, distinct counts, and order statistics of values with more than 32 bits are found as in
 * {@link aggregate}; so are all answers to a condition with a list of more than 16
 * values, or with more than about a hundred comparisons.
 *
 * - Gives the same answers and errors as {@link aggregate}, on every backend. It is faster than {@link aggregate} on
 *   tables of fewer than about 2^20 rows; see the guide to prepared pipelines.
 * - The table must live as long as the returned function is called. Call `dispose` to free the memory of the pipelines.
 *
 * @example
 * const table = createTable(ctx, { x: { type: 'u32', values: Uint32Array.of(10, 24, 37, 99, 192, 200, 200, 232) } });
 * const of = column('x');
 * const ask = prepareAggregate(table, { n: { kind: 'count' }, sum: { kind: 'sum', of }, middle: { kind: 'median', of } });
 * const answers = [await ask(lessThan(of, 100)), await ask(lessThan(of, 30))];
 * ask.dispose();
 * answers; // [{ n: 4, sum: 170n, middle: 30.5 }, { n: 2, sum: 34n, middle: 17 }]
 */
export function prepareAggregate<A extends Aggregates>(table: DeviceTable, aggregates: A): PreparedAggregate<A> {
  requireArguments('prepareAggregate', { table, aggregates }, { table: aTable, aggregates: someAggregates });
  const pipelines = new Map<string, Pipeline>();
  const columns = new Map<Column, number>();
  const numberOf = (column: Column): number => {
    const number = columns.get(column) ?? columns.size;
    columns.set(column, number);
    return number;
  };
  const find = (chosen: QuestionPart<Bool> | undefined): Pipeline => {
    const read = chosen === undefined ? [] : [...chosen.columns, ...chosen.bits].map(numberOf);
    const key = `${chosen?.structure} ${read}`;
    const known = pipelines.get(key) ?? preparePipeline(table, aggregates, chosen);
    // Moves the pipeline to the end of the map, because the least recently used pipeline is evicted first.
    pipelines.delete(key);
    pipelines.set(key, known);
    if (pipelines.size > MAX_PIPELINES) drop(pipelines.keys().next().value!);
    return known;
  };
  const drop = (key: string): void => {
    pipelines.get(key)!.run?.dispose();
    pipelines.delete(key);
  };
  const ask = async (where?: Condition) => {
    requireArguments('a prepared aggregate', { where }, { where: optional(aCondition) });
    const made = inStretches(chosenBy(table, where));
    const chosen = made instanceof Promise ? await made : made;
    if (hasLists(chosen)) {
      freeLists(table, chosen);
      return aggregate(table, aggregates, { where });
    }
    return (await answer(table, aggregates, find(chosen), chosen)) as { readonly [K in keyof A]: CellValue };
  };
  const dispose = (): void => [...pipelines.keys()].forEach(drop);
  return Object.assign(ask, { dispose, [Symbol.dispose]: dispose });
}

/** The pipeline for all conditions that have the same structure and read the same columns. */
export interface Pipeline {
  /** Runs the recorded commands. Undefined if the device has nothing to compute. */
  readonly run: Prepared<Constants> | undefined;
  readonly plans: readonly AggregatePlan[];
  readonly totals: ReducedTotals | undefined;
}

const uniforms: Readonly<Record<ScalarType, UniformParameter<ScalarType>>> = {
  u32: uniform(u32),
  i32: uniform(i32),
  f32: uniform(f32),
  bool: uniform(bool),
};

type Constants = { readonly [constant: string]: UniformParameter<ScalarType> };

/** Records the commands of a query. */
export function preparePipeline(
  table: DeviceTable,
  aggregates: Aggregates,
  chosen: QuestionPart<Bool> | undefined,
): Pipeline {
  const constants = chosen?.constants ?? [];
  const plans = plansOf(table, aggregates, chosen);
  const isAsked = plans.some((plan) => ('totals' in plan ? plan.totals.length > 0 : isOnDevice(plan)));
  if (!isAsked) return { run: undefined, plans, totals: undefined };
  let prepared: Omit<Pipeline, 'run'> | undefined;
  const inputs: Constants = Object.fromEntries(constants.map(({ type }, i) => [`c${i}`, uniforms[type]]));
  const run = table.context.prepare(inputs, (given): Table => {
    const named = constants.map(({ type }, i) => ({ type, value: given[`c${i}`]! }));
    const own = plansOf(table, aggregates, chosen && { ...chosen, constants: named });
    const totals = reducedTotals(table, totalsIn(own));
    prepared = { plans: own, totals };
    const places = own.flatMap((plan, i): [string, FoundPlace][] =>
      isOnDevice(plan) ? [[`o${i}`, placeOnDevice(table, plan.sought)]] : [],
    );
    return { ...totals.columns, ...Object.fromEntries(places) };
  });
  return { run, ...prepared! };
}

function plansOf(table: DeviceTable, aggregates: Aggregates, chosen: QuestionPart<Bool> | undefined): AggregatePlan[] {
  return Object.values(aggregates).map((each) => planOf(table, each, chosen));
}

function isOnDevice(plan: AggregatePlan): plan is AggregatePlan & { readonly sought: SoughtPlan } {
  return 'sought' in plan && plan.sought !== undefined && isFoundOnDevice(plan.sought.integers);
}

type FoundWords = { readonly [result: string]: { readonly [K in keyof FoundPlace]: Uint32Array } };

async function answer(
  table: DeviceTable,
  aggregates: Aggregates,
  { run, plans, totals }: Pipeline,
  chosen: QuestionPart<Bool> | undefined,
): Promise<{ readonly [name: string]: CellValue }> {
  const { context } = table;
  const found = run?.(Object.fromEntries((chosen?.constants ?? []).map(({ value }, i) => [`c${i}`, value as number])));
  const read = found && ((await context.read(found).finally(() => context.dispose(found))) as unknown as FoundWords);
  const words = totals && wordsOfTotals(totals, read);
  const cells = Object.entries(aggregates).map(async ([name, each], i): Promise<[string, CellValue]> => {
    const plan = plans[i]!;
    if ('totals' in plan) return [name, plan.finish(plan.totals.map((total) => words!.get(total.name)!))];
    if (isOnDevice(plan)) return [name, plan.sought.finish(placeFound(plan.sought, read![`o${i}`]!))];
    const plain = planOf(table, each, chosen);
    return [name, await (plain as Extract<AggregatePlan, { readonly find: unknown }>).find()];
  });
  return Object.fromEntries(await Promise.all(cells));
}

function placeFound(plan: SoughtPlan, { count, found, upTo, above }: FoundWords[string]): readonly bigint[] {
  return integersFound(plan, { count: count![0]!, found: found![0]!, upTo: upTo![0]!, above: above![0]! });
}
