import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aRecord, aText } from '../../primitives/checks/kinds.ts';
import type { Column } from '../../primitives/columns/column.ts';
import { expand } from '../../primitives/expand.ts';
import { array, bool, fn, u32 } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import type { U32 } from '../../primitives/functors/value.ts';
import { gather } from '../../primitives/gather.ts';
import { map } from '../../primitives/map.ts';
import { lowerBound, upperBound } from '../../primitives/search.ts';
import { sequence } from '../../primitives/sequence.ts';
import { type SortKeys, sortByKey } from '../../primitives/sort.ts';
import { inStretches, type Stretches } from '../stretches.ts';
import { aTable } from './argument-kinds.ts';
import type { DeviceTable } from './device-table.ts';
import { tableError } from './errors.ts';
import { domainOf, type IntegerValue, rescaled, wideOf } from './integers.ts';
import { describeOperand } from './operands.ts';
import { columnsPart, mapPart, type QuestionPart, viewsOf } from './part.ts';
import { compareStrings } from './string-order.ts';
import { settle } from './unsorted-strings.ts';
import { countsWhere, flagsOf, orderedValues, rowsWhere, type ValueOperand, valueOperand } from './values.ts';

/** Pairs of rows of two tables: row `left[i]` is joined with row `right[i]`. */
export interface JoinedRows {
  readonly left: Column<'u32'>;
  readonly right: Column<'u32'>;
}

/**
 * Finds the pairs of rows of two tables that have equal values in a given column of each table. Pairs are ordered by
 * left row, then by right row. Null equals nothing; NaN equals itself. Strings of different dictionaries, integers of
 * different widths and decimals of different scales can be joined; other types must be the same.
 *
 * The right rows are sorted by value. For all left rows in parallel, a binary search finds the range of sorted right
 * rows that have the same value. Each left row is then expanded to all its partners. The call waits for the device
 * once, to learn the number of pairs.
 *
 * - Work O(right · bits + left · log right + pairs), span O(log rows). Deterministic.
 *
 * Source: the parallel binary search of Purcell (Sorting and Searching, 2005), as `lowerBound` and `upperBound`.
 *
 * @throws {@link TableError} `tables/unknown-column`, `tables/type`.
 * @example
 * const trips = createTable(ctx, { zone: { type: 'u32', values: Uint32Array.of(7, 3, 9, 7) } });
 * const zones = createTable(ctx, { number: { type: 'i32', values: Int32Array.of(3, 7) } });
 * await ctx.read(await joinRows(trips, zones, { left: 'zone', right: 'number' }));
 * // { left: Uint32Array [0, 1, 3], right: Uint32Array [1, 0, 1] }
 */
export async function joinRows(
  left: DeviceTable,
  right: DeviceTable,
  on: { readonly left: string; readonly right: string },
): Promise<JoinedRows> {
  const kinds = { left: aTable, right: aTable, on: aRecord({ left: aText, right: aText }) };
  requireArguments('joinRows', { left, right, on }, kinds);
  const { context } = left;
  const settling = inStretches(settleBoth(left, right));
  if (settling instanceof Promise) await settling;
  const [ours, theirs] = [operandOf(left, on.left), operandOf(right, on.right)];
  const translating = inStretches(translation(ours, theirs));
  const codes = translating instanceof Promise ? await translating : translating;
  const found = context.scope(() => {
    const { narrow, mine, others } = commonKeys(left, ours, theirs, codes);
    const rows = rowsWhere(right, countsWhere(undefined, theirs));
    const sorted = sortByKey(keysOf(right, others, narrow, rows), rows, { context });
    const needles = keysOf(left, mine, narrow, undefined);
    const isValid = flagsOf(left, countsWhere(undefined, ours));
    const first = context.materialize(lowerBound(sorted.keys, needles));
    const count = map(between, { first, end: upperBound(sorted.keys, needles), isValid });
    return { first, count: context.materialize(count), rows: sorted.values };
  });
  const rows = { row: sequence(left.rows), first: found.first };
  const pairs = await expand(rows, found.count, pairOf, { captures: { rows: found.rows }, context });
  context.dispose(found);
  return pairs;
}

const between = fn('between', { first: u32, end: u32, isValid: bool }, u32, ({ first, end, isValid }) =>
  select(u32(0), end.sub(first), isValid),
);

const pairOf = fn(
  'pairOf',
  { row: u32, first: u32, rank: u32, rows: array(u32) },
  { left: u32, right: u32 },
  ({ row, first, rank, rows }) => ({ left: row, right: rows.at(first.add(rank)) }),
);

function* settleBoth(left: DeviceTable, right: DeviceTable): Stretches<void> {
  yield* settle(left);
  yield* settle(right);
}

function operandOf(table: DeviceTable, name: string): ValueOperand {
  return valueOperand(table, { kind: 'column', name });
}

/** Integer keys for the values of both sides of a join. Two keys are equal if and only if their values are equal. */
interface CommonKeys {
  readonly mine: QuestionPart<IntegerValue>;
  readonly others: QuestionPart<IntegerValue>;
  /** Whether the low words of the keys are enough to tell different keys apart. */
  readonly narrow: boolean;
}

function commonKeys(
  { context }: DeviceTable,
  ours: ValueOperand,
  theirs: ValueOperand,
  codes: Uint32Array | undefined,
): CommonKeys {
  if (ours.family !== theirs.family) {
    throw tableError('type', 'Columns of different types cannot be joined.', {
      expected: `a type that can be joined with ${describeOperand(ours)}`,
      got: describeOperand(theirs),
    });
  }
  const [a, b] = [orderedValues(ours).integers, orderedValues(theirs).integers];
  if (ours.family === 'string' && codes !== undefined) {
    const view = gather(context.column(codes), ours.column.words[0] as Column<'u32'>);
    const mine = mapPart('', columnsPart([view]), ([code]): IntegerValue => ({ kind: 'u32', value: code as U32 }));
    return { mine, others: b.part, narrow: true };
  }
  const scale = Math.max(a.scale, b.scale);
  const [x, y] = [rescaled(a, scale), rescaled(b, scale)];
  const [domain] = domainOf(x.bounds, y.bounds);
  return { mine: x.part, others: y.part, narrow: domain === 'i32' || domain === 'u32' };
}

const NOWHERE = 2 ** 32 - 1;
/** Number of strings between two pauses, about. */
const PAUSE = 1024;

/**
 * For every string of one column, its code in the sorted dictionary of the other column. A string that is missing there
 * gets a code that no row has. Undefined for columns of other types.
 */
function* translation(ours: ValueOperand, theirs: ValueOperand): Stretches<Uint32Array | undefined> {
  if (ours.family !== 'string' || theirs.family !== 'string') return undefined;
  const [from, to] = [ours.column.dictionary, theirs.column.dictionary];
  const codes = new Uint32Array(from.length).fill(NOWHERE);
  for (let i = 0, k = 0; i < from.length && k < to.length; ) {
    if ((i + k) % PAUSE === 0) yield;
    const order = compareStrings(from[i]!, to[k]!);
    if (order === 0) codes[i] = k;
    if (order <= 0) i++;
    if (order >= 0) k++;
  }
  return codes;
}

function keysOf(
  { context, rows }: DeviceTable,
  part: QuestionPart<IntegerValue>,
  narrow: boolean,
  at: Column<'u32'> | undefined,
): SortKeys {
  const words = mapPart(narrow ? 'low' : 'wide', part, (value) => {
    const { lo, hi } = wideOf(value);
    return narrow ? [lo] : [lo, hi];
  });
  const length = at?.length ?? rows;
  const [lo, hi] = viewsOf(context, length, narrow ? ['u32'] : ['u32', 'u32'], words, at) as Column<'u32'>[];
  return hi === undefined ? lo! : { lo: lo!, hi };
}
