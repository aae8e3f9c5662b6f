import { promiseGiven, requireOptions, wrongArgument } from './checks/arguments.ts';
import { ArgumentError } from './checks/errors.ts';
import { describeGiven, isPromise, isRecord, shortened } from './checks/given.ts';
import { aFlag, anArrayOf, anything, eitherOf, type FieldKinds, someRecord } from './checks/kinds.ts';
import {
  Column,
  type ColumnOwner,
  columnsOf,
  commonLength,
  NUMBERS,
  requireAlive,
  type Table,
  withColumns,
} from './columns/column.ts';
import { destination, extentOf, programOf } from './columns/program.ts';
import { fuseColumns } from './columns/views.ts';
import { keysOfSortable, sortableWords, wordsOf } from './columns/words.ts';
import { type ContextOption, inNamedContext, requireContext } from './context/context-option.ts';
import type { Cell } from './contract/backend.ts';
import { gather } from './gather.ts';
import { sequence } from './sequence.ts';

/**
 * Keys that can be sorted: a column of u32, i32 or f32, or a record `{ lo, hi }` of two u32 columns, which is a 64-bit
 * number.
 */
export type SortKeys =
  | Column<'u32'>
  | Column<'i32'>
  | Column<'f32'>
  | { readonly lo: Column<'u32'>; readonly hi: Column<'u32'> };

/**
 * Several keys of each row: rows are sorted by the first, those that are equal in it by the second, and so on. `sort`
 * returns the sorted keys as a list too.
 */
export type SortKeyList = readonly SortKeys[];

export interface SortOptions extends ContextOption {
  /**
   * Whether to sort in descending order. Rows with equal keys still keep their order. For several keys, a flag for all
   * or a list with one for each.
   */
  readonly descending?: boolean | readonly boolean[];
  /**
   * Sorts only by bits `from` to `to − 1` of the keys. Bit 0 is the lowest. Fewer bits take fewer passes. Keys of i32
   * and f32 are first mapped to u32 keys with the same order, and the bits are those of the u32 keys. The u32 key of an
   * i32 is the i32 with its sign bit inverted. Not for several keys.
   */
  readonly bits?: { readonly from: number; readonly to: number };
}

export const SORT_OPTIONS: FieldKinds<SortOptions> = {
  descending: eitherOf('a boolean, or a list of booleans for several keys', aFlag, anArrayOf(aFlag)),
  bits: someRecord,
  context: anything,
};

/**
 * The keys in ascending order. Of several keys of each row, the first decides, and the others where those before are
 * equal.
 *
 * f32 keys are sorted by the total order of IEEE 754, −NaN < −∞ < … < −0 < +0 < … < +∞ < NaN, and their bits do not
 * change.
 *
 * - Work O(n · bits / 8), span O(bits / 8 · log n): a radix sort, least significant digit first; for several keys, of all
 *   their bits. Deterministic, stable.
 * - An empty input gives an empty result. Accepts device counts (lengths that only the device knows).
 * - Equivalent loop: `out = keys.toSorted((a, b) => a - b)`.
 *
 * Source: Adinets and Merrill, Onesweep: A Faster Least Significant Digit Radix Sort for GPUs, 2022.
 *
 * @throws {@link ArgumentError} `sort/bits` if `bits` is not a range of the keys' bits, or there are several keys;
 * `sort/keys` for keys that cannot be sorted, `sort/descending` for a list of flags that has not one for each of several
 * keys; or an option is unknown.
 * @example
 * await ctx.read(sort(ctx.column(Int32Array.of(3, -1, 2)))); // Int32Array [-1, 2, 3]
 */
export function sort<K extends SortKeys | SortKeyList>(keys: K, options: SortOptions = {}): K {
  return sortRows('sort', keys, undefined, options).keys;
}

/**
 * Sorts the rows of a table by their keys, in ascending order. Rows with equal keys keep their order. The values may
 * have any number of columns. Order, cost, edge cases and errors are those of {@link sort}.
 *
 * - Equivalent loop: `out = rows.toSorted((a, b) => a.key - b.key)`.
 *
 * @example
 * const keys = ctx.column(Uint32Array.of(3, 1, 2));
 * await ctx.read(sortByKey(keys, { row: sequence(3) }));
 * // { keys: Uint32Array [1, 2, 3], values: { row: Uint32Array [1, 2, 0] } }
 *
 * const [shelf, height] = [ctx.column(Uint32Array.of(2, 1, 2)), ctx.column(Float32Array.of(10, 30, 20))];
 * const { values } = sortByKey([shelf, height], sequence(3), { descending: [false, true] });
 * await ctx.read(values); // Uint32Array [1, 2, 0]
 */
export function sortByKey<K extends SortKeys | SortKeyList, V extends Table>(
  keys: K,
  values: V,
  options: SortOptions = {},
): { readonly keys: K; readonly values: V } {
  const sorted = sortRows('sortByKey', keys, values, options);
  return { keys: sorted.keys, values: sorted.values! };
}

/**
 * The row indices, sorted in ascending order of the keys of the rows: `gather(table, sortPermutation(keys))` is the
 * sorted table. Order, cost, edge cases and errors are those of {@link sort}.
 *
 * - Equivalent loop: `out = keys.map((_, i) => i).sort((i, j) => keys[i] - keys[j])`.
 *
 * @example
 * await ctx.read(sortPermutation(ctx.column(Uint32Array.of(3, 1, 2)))); // Uint32Array [1, 2, 0]
 */
export function sortPermutation(keys: SortKeys | SortKeyList, options: SortOptions = {}): Column<'u32'> {
  requireOptions('sortPermutation', SORT_OPTIONS, options);
  const given = keysGiven('sortPermutation', keys, options);
  const columns = given.flatMap((key) => key.columns);
  const context = inNamedContext('sortPermutation', options, () => requireContext(columns, 'sortPermutation'));
  commonLength(columns, 'sortPermutation');
  return context.scope(() => permutationBy(context, given.flatMap(wordsToSort)));
}

/** A key of each row: its columns, the most significant word first. */
export interface GivenKey {
  readonly columns: readonly Column[];
  readonly bits: BitRange;
  readonly descending: boolean;
}

/** The keys that a primitive was given: one, or several in a list. */
export function keysGiven(call: string, keys: SortKeys | SortKeyList, options: SortOptions): readonly GivenKey[] {
  const { descending = false, bits } = options;
  if (!isList(keys)) {
    const columns = keyColumns(keys, call);
    if (typeof descending === 'boolean') return [{ columns, bits: bitsOf(columns, bits), descending }];
    throw wrongDirections('one key', descending);
  }
  if (keys.length === 0) throw wrongArgument(call, 'keys', keys, 'at least one key', { code: 'sort/keys' });
  const listed = keys.map((key, i) => keyColumns(key, call, `keys[${i}]`));
  if (bits !== undefined) {
    throw new ArgumentError('sort/bits', 'Several keys are sorted by all of their bits.', {
      expected: 'no option bits',
      remedy: 'Sort by one key, or by keys of which map takes the bits.',
    });
  }
  if (typeof descending !== 'boolean' && descending.length !== keys.length) {
    throw wrongDirections(`${keys.length} keys`, descending);
  }
  return listed.map((columns, i) => ({
    columns,
    bits: bitsOf(columns, undefined),
    descending: typeof descending === 'boolean' ? descending : descending[i]!,
  }));
}

function isList(keys: SortKeys | SortKeyList): keys is SortKeyList {
  return Array.isArray(keys);
}

function wrongDirections(expected: string, given: readonly boolean[]): ArgumentError {
  return new ArgumentError('sort/descending', 'The option descending does not fit the keys.', {
    expected: `a boolean, or a list of booleans for several keys; for ${expected} here`,
    got: `a list of ${given.length}`,
  });
}

/** The columns of keys, the most significant word first. Throws if the keys have a type that cannot be sorted. */
export function keyColumns(keys: SortKeys, call = 'A primitive', argument = 'keys'): Column[] {
  const columns = keys instanceof Column ? [keys] : [keys?.hi, keys?.lo];
  const types = columns.length === 1 ? NUMBERS : ['u32'];
  if (columns.every((column) => column instanceof Column && types.includes(column.type))) {
    for (const column of columns) requireAlive(column, call, () => argument);
    return columns;
  }
  throw wrongKeys(keys, call, argument);
}

function wrongKeys(keys: unknown, call: string, argument: string): ArgumentError {
  const expected = 'a column of u32, i32 or f32, or { lo, hi } of u32';
  if (!isRecord(keys)) return wrongArgument(call, argument, keys, expected, { code: 'sort/keys' });
  const promised = Object.keys(keys).find((name) => isPromise(keys[name]));
  if (promised !== undefined) return promiseGiven(call, `${argument}.${promised}`, expected);
  const fields = Object.entries(keys).map(([name, field]) => `${name}: ${describeGiven(field)}`);
  return new ArgumentError('sort/keys', `Argument ${argument} of ${call} is not a valid sort key.`, {
    expected,
    got: `{ ${shortened(fields.join(', '))} }`,
  });
}

function sortRows<K extends SortKeys | SortKeyList, V extends Table>(
  primitive: string,
  keys: K,
  values: V | undefined,
  options: SortOptions,
): { readonly keys: K; readonly values?: V } {
  requireOptions(primitive, SORT_OPTIONS, options);
  const given = keysGiven(primitive, keys, options);
  const columns = given.flatMap((key) => key.columns);
  const payloads = values === undefined && primitive === 'sort' ? [] : columnsOf(values!, primitive, 'values');
  const context = inNamedContext(primitive, options, () => requireContext([...columns, ...payloads], primitive));
  commonLength([...columns, ...payloads], primitive);
  return context.scope(() => {
    const [key, low] = columns as [Column, Column?];
    const [{ bits, descending }] = given as [GivenKey];
    if (isList(keys)) {
      const rows = { keys: Object.fromEntries(keys.entries()), values: values ?? {} };
      const sorted = context.materialize(gather(rows, permutationBy(context, given.flatMap(wordsToSort))));
      return { ...sorted, keys: keys.map((_, i) => sorted.keys[i]) } as never;
    }
    if (low !== undefined && payloads.length === 0) {
      const sorted = sortPairsOfWords(
        context,
        { hi: key as Column<'u32'>, lo: low as Column<'u32'> },
        bits,
        descending,
      );
      // The words stay in the order of their names, as those of all tables.
      const words = Object.keys(keys).map((name) => [name, sorted[name as keyof typeof sorted]]);
      return { keys: Object.fromEntries(words) as K, values } as never;
    }
    if (low !== undefined) {
      const order = permutationBy(context, given.flatMap(wordsToSort));
      return context.materialize(gather({ keys: keys as Table, values: values ?? {} }, order)) as never;
    }
    if (payloads.length <= 1) {
      const sorted = sortWords(context, key, payloads[0], bits, descending);
      return { keys: sorted.keys as Table as K, values: values && withColumns(values, [sorted.payload!]) } as never;
    }
    const sorted = sortWords(context, key, sequence(key.length), bits, descending);
    const order = sorted.payload as Column<'u32'>;
    return { keys: sorted.keys as Table as K, values: context.materialize(gather(values!, order)) };
  });
}

/**
 * Sorts 64-bit keys without values: first by the low word with the high word as payload, then by the high word with the
 * low word as payload. A word that contains no bits to sort by is skipped.
 */
function sortPairsOfWords(
  context: ColumnOwner,
  keys: { readonly hi: Column<'u32'>; readonly lo: Column<'u32'> },
  bits: BitRange,
  descending: boolean,
): { readonly hi: Column<'u32'>; readonly lo: Column<'u32'> } {
  let words = { hi: sortableWords(keys.hi, descending), lo: sortableWords(keys.lo, descending) };
  const { length } = keys.hi;
  for (const [column, range] of sortedWords([keys.hi, keys.lo], bits)) {
    const [by, carried] = column === keys.lo ? (['lo', 'hi'] as const) : (['hi', 'lo'] as const);
    const sorted = { hi: context.stored('u32', length), lo: context.stored('u32', length) };
    radixSort(context, words[by], words[carried], range, sorted[by], sorted[carried]);
    words = sorted;
  }
  const { lo, hi } = words;
  return { lo: keysOfSortable(lo, 'u32', descending), hi: keysOfSortable(hi, 'u32', descending) };
}

/** Sorts 32-bit keys. At most one column of values is moved along, as the payload. */
function sortWords(
  context: ColumnOwner,
  keys: Column,
  payload: Column | undefined,
  bits: BitRange,
  descending: boolean,
): { readonly keys: Column; readonly payload?: Column | undefined } {
  const sortedKeys = context.stored('u32', keys.length);
  const sortedPayload = payload && context.stored(payload.type, keys.length);
  radixSort(context, sortableWords(keys, descending), payload && wordsOf(payload), bits, sortedKeys, sortedPayload);
  return { keys: keysOfSortable(sortedKeys, keys.type, descending), payload: sortedPayload };
}

/** A word of the keys of rows, and the bits by which rows are sorted. */
export interface WordToSort {
  readonly words: Column<'u32'>;
  readonly bits: BitRange;
}

/** The words of a key that have bits to sort by, the most significant first. */
export function wordsToSort({ columns, bits, descending }: GivenKey): WordToSort[] {
  const words = sortedWords(columns, bits).toReversed();
  return words.map(([column, range]) => ({ words: sortableWords(column, descending), bits: range }));
}

/**
 * The row indices in the order of words, the most significant first. Sorts by one word after another, from the least to
 * the most significant. Each sort is stable.
 */
export function permutationBy(context: ColumnOwner, words: readonly WordToSort[]): Column<'u32'> {
  const { length } = words[0]!.words;
  let order: Column<'u32'> | undefined;
  for (const { words: own, bits } of words.toReversed()) {
    const sorted = context.stored('u32', length);
    const before = order ?? sequence(length);
    radixSort(context, order === undefined ? own : gather(own, order), before, bits, undefined, sorted);
    order = sorted;
  }
  return order!;
}

/**
 * The words of the keys that contain bits to sort by, the least significant word first. Each word comes with its range
 * of these bits. If no word contains such bits, only the least significant word is returned, with an empty range.
 */
function sortedWords(columns: readonly Column[], { from, to }: BitRange): [Column, BitRange][] {
  const within = (bit: number): number => Math.min(32, Math.max(0, bit));
  const words = columns.toReversed().map((column, i): [Column, BitRange] => {
    return [column, { from: within(from - 32 * i), to: within(to - 32 * i) }];
  });
  const sorted = words.filter(([, range]) => range.from < range.to);
  return sorted.length > 0 ? sorted : words.slice(0, 1);
}

interface BitRange {
  readonly from: number;
  readonly to: number;
}

function radixSort(
  context: ColumnOwner,
  keys: Column<'u32'>,
  payload: Column<'u32'> | undefined,
  bits: BitRange,
  sortedKeys: Column | undefined,
  sortedPayload: Column | undefined,
): void {
  const columns = payload === undefined ? [keys] : [keys, payload];
  const program = fuseColumns('sort', columns);
  context.backend.run({
    kind: 'sort',
    extent: extentOf(keys.length),
    program: programOf(program, context, keys.length),
    beginBit: bits.from,
    endBit: bits.to,
    keys: sortedKeys && cellOf(sortedKeys),
    payload: sortedPayload && cellOf(sortedPayload),
  });
}

function cellOf(column: Column): Cell {
  const { buffer, offset } = destination(column);
  return { buffer, word: offset };
}

function bitsOf(columns: readonly Column[], bits: SortOptions['bits']): BitRange {
  const width = 32 * columns.length;
  const { from, to } = bits ?? { from: 0, to: width };
  if (Number.isInteger(from) && Number.isInteger(to) && 0 <= from && from <= to && to <= width) return { from, to };
  throw new ArgumentError('sort/bits', 'The bits to sort by must be a range of the bits of a key.', {
    expected: `0 <= from <= to <= ${width}`,
    got: `${describeGiven(from)} to ${describeGiven(to)}`,
  });
}
