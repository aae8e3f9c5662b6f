import type { Column, Table } from '../../primitives/columns/column.ts';
import { u32 } from '../../primitives/functors/functor.ts';
import type { Bool } from '../../primitives/functors/value.ts';
import { gather } from '../../primitives/gather.ts';
import { monoid } from '../../primitives/monoid.ts';
import { reduceByKey } from '../../primitives/reduce-by-key.ts';
import { constant } from '../../primitives/sequence.ts';
import { sortByKey } from '../../primitives/sort.ts';
import { filled, inStretches, type Stretches } from '../stretches.ts';
import { middleOf, numberOfCell, requireFraction, requireInterpolable, requireK } from './aggregate-plans.ts';
import type { DeviceTable, TableColumn } from './device-table.ts';
import type { Expression } from './expressions.ts';
import { type GroupCodes, sortByKeys } from './group-keys.ts';
import { extremumColumn } from './group-totals.ts';
import type { CellValue, HostColumn } from './host-table.ts';
import { domainOf, wideOf } from './integers.ts';
import { interpolated, placeBetween, rankAmong } from './interpolation.ts';
import { mapPart, type QuestionPart, viewsOf } from './part.ts';
import { validityOf } from './rows.ts';
import { countsWhere, isEveryRow, type Ordered, orderedValues, rowsWhere, type ValueOperand } from './values.ts';

/** An aggregate that is found among the sorted values of each group. */
export type RankedAggregate =
  | { readonly kind: 'median'; readonly of: Expression }
  /** The smallest value v for which at least `fraction` of the values are at most v. */
  | { readonly kind: 'quantile'; readonly of: Expression; readonly fraction: number }
  /** The number at the place `fraction · (n − 1)` among the n sorted values, interpolated between two values. */
  | { readonly kind: 'quantileCont'; readonly of: Expression; readonly fraction: number }
  /** The k-th smallest or largest value, with k from 1. */
  | { readonly kind: 'smallest' | 'largest'; readonly of: Expression; readonly k: number };

/** The rows that are grouped: those that are chosen, by the keys of a table, and their codes if they have any. */
export interface RowsToGroup {
  readonly table: DeviceTable;
  readonly keys: readonly TableColumn[];
  readonly chosen: QuestionPart<Bool>;
  readonly codes: GroupCodes | undefined;
}

/** Throws if an aggregate cannot be computed from an operand. */
export function requireRanked(aggregate: RankedAggregate, operand: ValueOperand): void {
  if ('fraction' in aggregate) requireFraction(aggregate.fraction);
  if ('k' in aggregate) requireK(aggregate.k);
  if (aggregate.kind === 'quantileCont') requireInterpolable(operand);
}

/**
 * The columns of aggregates of one operand, with a row for every group in the order of the keys. Rows are sorted by
 * value and then, stably, by their keys; the aggregates are values at places of these rows.
 */
export async function rankedColumns(
  asked: RowsToGroup,
  operand: ValueOperand,
  aggregates: readonly RankedAggregate[],
): Promise<HostColumn[]> {
  const { context } = asked.table;
  const made = context.scope(() => sortedGroups(asked, operand));
  try {
    const sizes = await context.read(made.sizes);
    const groups = sizes.rows.length;
    const starts = new Uint32Array(groups + 1);
    for (let i = 0; i < groups; i++) starts[i + 1] = starts[i]! + sizes.rows[i]!;
    const columns: HostColumn[] = [];
    for (const aggregate of aggregates) {
      const places = await inStretches(placesIn(aggregate, sizes.valid, starts));
      const words = await valuesAt(asked.table, operand, made.rows, places);
      columns.push(await inStretches(columnFrom(aggregate, operand, sizes.valid, words)));
    }
    return columns;
  } finally {
    context.dispose(made);
  }
}

/** The numbers of rows of a group, and of those that have a value. */
const addSizes = monoid({
  of: { rows: u32, valid: u32 },
  identity: { rows: 0, valid: 0 },
  combine: ({ a, b }) => ({ rows: a.rows.add(b.rows), valid: a.valid.add(b.valid) }),
  exact: true,
  name: 'addSizes',
});

/** Sorts the chosen rows by their groups, the rows of a group by their values, and nulls to the end of each group. */
function sortedGroups(
  { table, keys, chosen, codes }: RowsToGroup,
  operand: ValueOperand,
): { readonly rows: Column<'u32'>; readonly sizes: { readonly rows: Column<'u32'>; readonly valid: Column<'u32'> } } {
  const { context } = table;
  const counts = countsWhere(undefined, operand);
  const flagsAt = (name: string, rows: Column<'u32'>, wanted: boolean): Column<'u32'> => {
    const flag = mapPart(name, counts, (holds) => [u32(wanted ? holds : holds.not())]);
    return viewsOf(context, rows.length, ['u32'], flag, rows)[0] as Column<'u32'>;
  };
  let order = sortByValues(table, orderedValues(operand), rowsWhere(table, chosen));
  if (!isEveryRow(counts)) {
    const last = { from: 0, to: 1 };
    order = sortByKey(flagsAt('null', order, false), order, { bits: last, context }).values;
  }
  const { keys: sorted, rows } = codes === undefined ? sortByKeys(table, keys, order) : sortByCode(table, codes, order);
  const ones = constant(u32, 1, rows.length);
  const sizes = { rows: ones, valid: isEveryRow(counts) ? ones : flagsAt('valued', rows, true) };
  return { rows, sizes: reduceByKey(sorted, sizes, addSizes, { context }).values };
}

/** Sorts rows by the values of an operand. */
function sortByValues({ context }: DeviceTable, { integers }: Ordered, rows: Column<'u32'>): Column<'u32'> {
  const [domain] = domainOf(integers.bounds);
  const isNarrow = domain.endsWith('32');
  const flip = domain.startsWith('i') ? 0x80000000 : 0;
  const pair = mapPart(`sorted ${domain}`, integers.part, (value) => {
    const { lo, hi } = wideOf(value);
    return isNarrow ? [lo.xor(flip)] : [lo, hi.xor(flip)];
  });
  const [lo, hi] = viewsOf(context, rows.length, isNarrow ? ['u32'] : ['u32', 'u32'], pair, rows) as Column<'u32'>[];
  return sortByKey(hi === undefined ? lo! : { lo: lo!, hi }, rows, { context }).values;
}

/** Sorts rows by the codes of their groups. */
function sortByCode(
  { context }: DeviceTable,
  { code, bits }: GroupCodes,
  rows: Column<'u32'>,
): { readonly keys: Table; readonly rows: Column<'u32'> } {
  const word = mapPart('code of a row', code, (each) => [each]);
  const keys = viewsOf(context, rows.length, ['u32'], word, rows)[0] as Column<'u32'>;
  const sorted = sortByKey(keys, rows, { bits: { from: 0, to: bits }, context });
  return { keys: sorted.keys, rows: sorted.values };
}

/** The ranks, from 0, between which an aggregate is, among a number of values of an operand. None if there is none. */
type RanksAmong = (count: number) => readonly [low: number, high: number] | undefined;

function ranksOf(aggregate: RankedAggregate): RanksAmong {
  switch (aggregate.kind) {
    case 'median':
      return (count) => (count === 0 ? undefined : [(count - 1) >> 1, count >> 1]);
    case 'quantile':
      return single(rankAmong(aggregate.fraction));
    case 'quantileCont':
      return (count) => {
        if (count === 0) return undefined;
        const { low, high } = placeBetween(aggregate.fraction, count);
        return [low, high];
      };
    default:
      return single((count) => (aggregate.kind === 'smallest' ? aggregate.k - 1 : count - aggregate.k));
  }
}

function single(rankOf: (count: number) => number): RanksAmong {
  return (count) => {
    const rank = rankOf(count);
    return rank < 0 || rank >= count ? undefined : [rank, rank];
  };
}

/** For every group, the places of two values among all sorted rows. */
function* placesIn(aggregate: RankedAggregate, counts: Uint32Array, starts: Uint32Array): Stretches<Uint32Array> {
  const ranksAmong = ranksOf(aggregate);
  return yield* filled(new Uint32Array(2 * counts.length), (i) => {
    const group = i >> 1;
    return starts[group]! + (ranksAmong(counts[group]!)?.[i & 1] ?? 0);
  });
}

/** The words of the values at places among the sorted rows. */
async function valuesAt(
  { context }: DeviceTable,
  operand: ValueOperand,
  rows: Column<'u32'>,
  places: Uint32Array,
): Promise<{ readonly lo: Uint32Array; readonly hi: Uint32Array }> {
  const values = context.scope(() => {
    const at = gather(rows, context.column(places));
    const pair = mapPart('pair', orderedValues(operand).integers.part, (value) => {
      const { lo, hi } = wideOf(value);
      return [lo, hi];
    });
    const [lo, hi] = viewsOf(context, places.length, ['u32', 'u32'], pair, at) as Column<'u32'>[];
    return context.materialize({ lo: lo!, hi: hi! });
  });
  return context.read(values).finally(() => context.dispose(values));
}

/** Makes the column of an aggregate from the words of two values of every group. */
function* columnFrom(
  aggregate: RankedAggregate,
  operand: ValueOperand,
  counts: Uint32Array,
  { lo, hi }: { readonly lo: Uint32Array; readonly hi: Uint32Array },
): Stretches<HostColumn> {
  const groups = counts.length;
  const ranksAmong = ranksOf(aggregate);
  const flags = yield* filled(new Uint8Array(groups), (i) => Number(ranksAmong(counts[i]!) !== undefined));
  const valid = flags.includes(0) ? flags : undefined;
  const { integers, cellOf } = orderedValues(operand);
  const [domain] = domainOf(integers.bounds);
  const isNumber = ['integer', 'f32', 'f64'].includes(operand.family);
  if (!isNumber || (aggregate.kind !== 'median' && aggregate.kind !== 'quantileCont')) {
    const low = yield* filled(new Uint32Array(groups), (i) => lo[2 * i]!);
    const high = yield* filled(new Uint32Array(groups), (i) => hi[2 * i]!);
    return yield* extremumColumn(operand, domain.endsWith('32') ? [low] : [low, high], valid);
  }
  const cellAt = (i: number): CellValue => {
    const wide = (BigInt(hi[i]!) << 32n) | BigInt(lo[i]!);
    return cellOf(domain.startsWith('i') ? BigInt.asIntN(64, wide) : wide);
  };
  const numberOf = (group: number): number => {
    const [low, high] = [cellAt(2 * group), cellAt(2 * group + 1)];
    if (aggregate.kind === 'quantileCont') {
      return interpolated(low, high, placeBetween(aggregate.fraction, counts[group]!).part);
    }
    const isOne = lo[2 * group] === lo[2 * group + 1] && hi[2 * group] === hi[2 * group + 1];
    return isOne ? numberOfCell(low) : middleOf(numberOfCell(low), numberOfCell(high));
  };
  const values = yield* filled(new Float64Array(groups), (i) => (flags[i] === 1 ? numberOf(i) : 0));
  return { type: 'f64', values, ...validityOf(valid) };
}
