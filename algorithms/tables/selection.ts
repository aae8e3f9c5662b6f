import { requireArguments } from '../../primitives/checks/arguments.ts';
import type { Column } from '../../primitives/columns/column.ts';
import { type Functor, fn, u32, uniform } from '../../primitives/functors/functor.ts';
import { popcount } from '../../primitives/functors/standard/bits.ts';
import { select as choose } from '../../primitives/functors/standard/choose.ts';
import type { Bool } from '../../primitives/functors/value.ts';
import { map } from '../../primitives/map.ts';
import { plus } from '../../primitives/monoid.ts';
import { bitPlaces, packBits } from '../../primitives/pack-bits.ts';
import { reduce } from '../../primitives/reduce.ts';
import { sequence } from '../../primitives/sequence.ts';
import { atOnce, inStretches, type Stretches } from '../stretches.ts';
import { aCondition, aSelection, aTable } from './argument-kinds.ts';
import { freeLists, hasLists, truthOf } from './conditions.ts';
import type { DeviceTable } from './device-table.ts';
import { tableError } from './errors.ts';
import type { Condition } from './expressions.ts';
import { bitsPart, type QuestionPart } from './part.ts';
import { settle } from './unsorted-strings.ts';
import { flagsOf } from './values.ts';

/**
 * Rows chosen from a table, one bit per row: row i is bit `i % 32` of word `i >> 5`. Bits beyond the last row are 0.
 */
export interface Selection {
  readonly table: DeviceTable;
  readonly words: Column<'u32'>;
}

/**
 * Selects the rows for which a condition is true, in one launch.
 *
 * Follows SQL's three-valued logic: comparisons with null are unknown, and rows for which the condition is unknown are
 * not chosen. NaN equals itself and is greater than all other values; −0 equals 0. A literal is compared with integers
 * and decimals as a real number. A literal stands for an f32 or f64 if it is that number written with as many digits
 * as the literal has, so `0.1` and `0.10000000149011612` are both the f32 nearest to a tenth; every other literal is
 * compared with f32 and f64 as the real number that it states, so 16777217 is greater than the f32 16777216. Arithmetic
 * on integers is exact. The call throws if the bounds of the columns do not guarantee that a result fits in 64 bits.
 * Operations on f32 are rounded one by one, in the order of the expression tree, so Σ aᵢ·xᵢ is added from left to
 * right. Changing a constant needs no new compilation.
 *
 * - Work O(rows), span O(1). Deterministic: the same bits on every backend.
 *
 * Source: Govindaraju, Lloyd, Wang, Lin and Manocha, Fast Computation of Database Operations using Graphics Processors,
 * 2004.
 *
 * @throws {@link TableError} `tables/unknown-column`, `tables/type`, `tables/overflow`, `tables/dictionary`.
 * @example
 * const table = createTable(ctx, { hour: { type: 'i32', values: Int32Array.of(7, 12, 9, 3) } });
 * const rush = selectRows(table, or(between(column('hour'), 7, 9), greaterThan(column('hour'), 16)));
 * await ctx.read(selectedIds(rush)); // Uint32Array [0, 2]
 */
export function selectRows(table: DeviceTable, condition: Condition): Selection {
  requireArguments('selectRows', { table, condition }, { table: aTable, condition: aCondition });
  return selectionOf(table, atOnce(truthOf(table, condition)));
}

/** As {@link selectRows}, but prepares the condition in stretches, between which the event loop turns. */
export async function selectInStretches(table: DeviceTable, condition: Condition): Promise<Selection> {
  const made = inStretches(chosenBy(table, condition));
  return selectionOf(table, (made instanceof Promise ? await made : made)!);
}

function selectionOf(table: DeviceTable, truth: QuestionPart<Bool>): Selection {
  try {
    return { table, words: packBits(flagsOf(table, truth), { context: table.context }) };
  } finally {
    freeLists(table, truth);
  }
}

/** Which rows to use: the rows for which a condition is true, or the rows of a selection. Undefined means all rows. */
export type Where = Condition | Selection | undefined;

/**
 * Answers a query about the chosen rows. Dictionaries are sorted and the condition is prepared in stretches, between
 * which the event loop turns. A condition that searches lists is evaluated once, before the passes of the query; other
 * conditions are fused with them.
 */
export async function withChosen<A>(
  table: DeviceTable,
  where: Where,
  answer: (chosen: QuestionPart<Bool> | undefined) => Promise<A>,
): Promise<A> {
  const made = inStretches(chosenBy(table, where));
  const chosen = made instanceof Promise ? await made : made;
  if (!hasLists(chosen)) return answer(chosen);
  const { words } = selectionOf(table, chosen!);
  try {
    return await answer(bitsPart([words]));
  } finally {
    table.context.dispose(words);
  }
}

/**
 * Returns the part of a query that computes whether a row is chosen. Undefined if `where` is undefined, that is, if all
 * rows are chosen.
 */
export function* chosenBy(table: DeviceTable, where: Where): Stretches<QuestionPart<Bool> | undefined> {
  yield* settle(table);
  if (where === undefined) return undefined;
  if (!('words' in where)) return yield* truthOf(table, where);
  requireSame(table, where.table);
  return bitsPart([where.words]);
}

/**
 * The rows chosen in both selections.
 *
 * @example
 * const table = createTable(ctx, { x: { type: 'u32', values: Uint32Array.of(1, 5, 9) } });
 * const small = selectRows(table, lessThan(column('x'), 6));
 * const large = selectRows(table, greaterThan(column('x'), 2));
 * await ctx.read(selectedIds(intersection(small, large))); // Uint32Array [1]
 */
export function intersection(a: Selection, b: Selection): Selection {
  return combined('intersection', a, b, andWords);
}

/**
 * The rows chosen in at least one of the selections.
 *
 * @example
 * const table = createTable(ctx, { x: { type: 'u32', values: Uint32Array.of(1, 5, 9) } });
 * const ends = union(selectRows(table, lessThan(column('x'), 2)), selectRows(table, greaterThan(column('x'), 6)));
 * await ctx.read(selectedIds(ends)); // Uint32Array [0, 2]
 */
export function union(a: Selection, b: Selection): Selection {
  return combined('union', a, b, orWords);
}

/**
 * The rows that a selection did not choose, including rows for which its condition was unknown.
 *
 * @example
 * const table = createTable(ctx, { x: { type: 'u32', values: Uint32Array.of(1, 5, 9) } });
 * await ctx.read(selectedIds(complement(selectRows(table, lessThan(column('x'), 2))))); // Uint32Array [1, 2]
 */
export function complement(selection: Selection): Selection {
  requireArguments('complement', { selection }, { selection: aSelection });
  const { table, words } = selection;
  const { context, rows } = table;
  const index = sequence(words.length);
  return { table, words: context.materialize(map(otherBits, { word: words, index, rows })) };
}

const andWords = fn('andWords', { a: u32, b: u32 }, u32, ({ a, b }) => a.and(b));
const orWords = fn('orWords', { a: u32, b: u32 }, u32, ({ a, b }) => a.or(b));
const otherBits = fn('otherBits', { word: u32, index: u32, rows: uniform(u32) }, u32, ({ word, index, rows }) => {
  const left = rows.sub(index.shl(5));
  const all = choose(u32(2 ** 32 - 1), u32(1).shl(left).sub(1), left.lt(32));
  return word.not().and(all);
});

function combined(call: string, a: Selection, b: Selection, combine: typeof andWords): Selection {
  requireArguments(call, { a, b }, { a: aSelection, b: aSelection });
  requireSame(a.table, b.table);
  return { table: a.table, words: a.table.context.materialize(map(combine, { a: a.words, b: b.words })) };
}

function requireSame(table: DeviceTable, other: DeviceTable): void {
  if (table === other) return;
  throw tableError('selection', 'The selection belongs to another table.', { remedy: 'Select from this table.' });
}

/**
 * The number of chosen rows.
 *
 * @example
 * const table = createTable(ctx, { x: { type: 'u32', values: Uint32Array.of(1, 5, 9) } });
 * await countSelected(selectRows(table, greaterThan(column('x'), 2))); // 2
 */
export async function countSelected(selection: Selection): Promise<number> {
  requireArguments('countSelected', { selection }, { selection: aSelection });
  const {
    table: { context },
    words,
  } = selection;
  const total = reduce(map(bitsIn, { word: words }), plus(u32), { context });
  const [count] = await context.read(total);
  context.dispose(total);
  return count!;
}

export const bitsIn: Functor<{ word: typeof u32 }, typeof u32> = fn('bitsIn', { word: u32 }, u32, ({ word }) =>
  popcount(word),
);

/**
 * The indices of the chosen rows, ascending. The length of this column is known only on the device.
 *
 * @example
 * const table = createTable(ctx, { x: { type: 'u32', values: Uint32Array.of(1, 5, 9) } });
 * await ctx.read(selectedIds(selectRows(table, greaterThan(column('x'), 2)))); // Uint32Array [1, 2]
 */
export function selectedIds(selection: Selection): Column<'u32'> {
  requireArguments('selectedIds', { selection }, { selection: aSelection });
  const { table, words } = selection;
  return bitPlaces(words, { context: table.context });
}
