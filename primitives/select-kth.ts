import { requireArray, requireOptions, wrongArgument } from './checks/arguments.ts';
import { aFlag, anything, type FieldKinds } from './checks/kinds.ts';
import {
  type Column,
  type ColumnOwner,
  cellColumn,
  columnsOf,
  commonLength,
  requireType,
  shapeOf,
  type Table,
} from './columns/column.ts';
import { computedColumn } from './columns/views.ts';
import { keysOfSortable } from './columns/words.ts';
import { Context } from './context/context.ts';
import { type ContextOption, inNamedContext, requireContext } from './context/context-option.ts';
import { array, fn, u32, uniform } from './functors/functor.ts';
import { leafPaths, leafTypes } from './functors/shapes.ts';
import { mulhi } from './functors/standard/bits.ts';
import { select } from './functors/standard/choose.ts';
import type { Bool, U32 } from './functors/value.ts';
import { gather } from './gather.ts';
import { histogram } from './histogram.ts';
import { map } from './map.ts';
import { plus } from './monoid.ts';
import { capacityFor, input, type PackedStorage } from './prepared/inputs.ts';
import { fusedScan, inclusiveScan } from './scan.ts';
import { scatterReduce } from './scatter-reduce.ts';
import { orderedWords, upperBound } from './search.ts';
import { constant, fill, sequence } from './sequence.ts';
import { keyColumns, type SortKeys, sort } from './sort.ts';

type Length = Column['length'];

export interface SelectOptions extends ContextOption {
  /** Whether positions are counted from the largest key instead of the smallest. */
  readonly descending?: boolean;
}

const OPTIONS: FieldKinds<SelectOptions> = { descending: aFlag, context: anything };

/**
 * The key at position `k` of the sorted keys, counted from 0, or one key for each of several positions. The result is
 * `sort(keys)[k]`, found without sorting. The result is a column on the device, and the call does not wait. The order
 * and the types of keys are those of {@link sort}.
 *
 * The sought key is determined 8 bits at a time, the most significant bits first. A histogram counts the next 8 bits of
 * all keys that start with the bits known so far. The prefix sums of these counts show which 8 bits the sought key has.
 * For a single position, every 8 bits take one pass over the keys and a scan of 256 counts. For several positions, the
 * known bits of all sought keys form a trie. In the trie, each key looks up the sought keys with which it shares the
 * known bits.
 *
 * - Work O(n · bits / 8), span O(bits / 8 · log n). The keys are read once for every 8 bits, so materialize a costly
 *   view first. Memory is taken only for counts. For more than 256 positions in one call, the keys are sorted instead.
 *   Deterministic.
 * - Keys and positions may have device counts (lengths that only the device knows). A position past the last key gives
 *   zero if the host cannot check it.
 * - Equivalent loop: `out = places.map((k) => keys.toSorted((a, b) => a - b)[k] ?? 0)`.
 *
 * Source: Alabi, Blanchard, Gordon and Steinbach, Fast k-Selection Algorithms for Graphics Processing Units, 2012:
 * their radix select.
 *
 * @throws {@link ArgumentError} `select/place` if the host knows that `k` is past the last key.
 * @example
 * const keys = ctx.column(Float32Array.of(2.5, -1, 7, 0));
 * const both = { third: selectKth(keys, 2), ends: selectKth(keys, ctx.column(Uint32Array.of(3, 0))) };
 * await ctx.read(both); // { third: Float32Array [2.5], ends: Float32Array [7, -1] }
 */
export function selectKth<K extends SortKeys>(keys: K, k: number | Column<'u32'>, options: SelectOptions = {}): K {
  requireOptions('selectKth', OPTIONS, options);
  const columns = keyColumns(keys, 'selectKth');
  const length = commonLength(columns, 'selectKth');
  const places = typeof k === 'number' ? constant(u32, requirePlace(k, length), 1) : k;
  requireType(places, ['u32'], 'k', 'selectKth');
  const context = inNamedContext('selectKth', options, () => requireContext([...columns, places], 'selectKth'));
  const step = typeof k === 'number' ? selectingStep(context, keys, options) : undefined;
  if (step !== undefined) return step({ keys: keys as never, place: k as number }) as K;
  return context.scope(() => selectPlaces(context, keys, length, places, options));
}

/**
 * Up to this number of keys, a prepared pipeline is used to save host time. For more keys, the host issues the passes
 * faster than the device runs them, so saving host time would not help.
 */
const MAX_KEYS_OF_STEP = 2 ** 20;

/**
 * A prepared pipeline that finds the key at a single position. It works for any number of stored keys up to a capacity.
 * Undefined if the keys are views or their capacity is too large.
 */
function selectingStep(context: ColumnOwner, keys: SortKeys, { descending = false }: SelectOptions) {
  if (!(context instanceof Context)) return undefined;
  const columns = columnsOf(keys as Table);
  const max = capacityFor(columns[0]!);
  const storages = columns.map(({ source }) => (source.kind === 'stored' ? source.storage : 'view'));
  if (max > MAX_KEYS_OF_STEP || columns.length > 2 || storages.includes('view')) return undefined;
  const shape = shapeOf(keys as Table);
  const paths = leafPaths(shape);
  const packed = Object.fromEntries(paths.flatMap((path, i) => (isPacked(storages[i]!) ? [[path, storages[i]!]] : [])));
  const key = ['selectKth', max, descending, ...paths, ...leafTypes(shape), ...storages].join();
  const inputs = () => ({ keys: input(shape, max, { storage: packed }), place: uniform(u32) });
  return context.step(key, inputs, ({ keys: given, place }) => {
    const all = given as unknown as SortKeys;
    const [{ context: own, length }] = keyColumns(all) as [Column];
    return selectPlaces(own!, all, length, map(placeOf, { index: sequence(1), place }), { descending }) as Table;
  });
}

function isPacked(storage: string): storage is PackedStorage {
  return storage.endsWith('8') || storage.endsWith('16');
}

const placeOf = fn('placeOf', { index: u32, place: uniform(u32) }, u32, ({ place }) => place);

/**
 * The quantiles of keys: fraction 0 is the minimum, 0.5 the median, 1 the maximum. The key for a fraction is at
 * position `floor(fraction · (n − 1))`. Keys are never averaged, so the median of an even number of keys is the lower
 * of the two middle keys. A fraction is rounded up to the next multiple of 2⁻³².
 *
 * Cost and determinism are those of {@link selectKth} with these positions. Accepts device counts (lengths that only
 * the device knows). If there are no keys, the result is zero.
 *
 * - Equivalent loop: `out = fractions.map((f) => keys.toSorted((a, b) => a - b)[Math.floor(f * (n - 1))] ?? 0)`.
 *
 * @throws {@link ArgumentError} `select/fraction` if a fraction is not from 0 to 1.
 * @example
 * const keys = ctx.column(Uint32Array.of(40, 10, 50, 20, 30));
 * await ctx.read(quantiles(keys, [0.5, 0.1, 1])); // Uint32Array [30, 10, 50]
 */
export function quantiles<K extends SortKeys>(keys: K, fractions: readonly number[], options: SelectOptions = {}): K {
  requireOptions('quantiles', OPTIONS, options);
  const columns = keyColumns(keys, 'quantiles');
  requireArray('quantiles', 'fractions', fractions, 'an array of numbers from 0 to 1');
  const length = commonLength(columns, 'quantiles');
  const context = inNamedContext('quantiles', options, () => requireContext(columns, 'quantiles'));
  const scales = fractions.map((fraction) => scaleOf('quantiles', fraction));
  return context.scope(() => {
    const scale = context.column(Uint32Array.from(scales, (each) => each % 2 ** 32));
    const isWhole = context.column(scales.map((each) => each === 2 ** 32));
    const rows = { context, length: fractions.length };
    const places = computedColumn('places', 'u32', rows, undefined, (index, loader) => {
      const [part, whole] = loader.load([scale, isWhole], index) as [U32, Bool];
      const last = loader.length(length).max(1).sub(1);
      return select(mulhi(last, part), last, whole);
    });
    return selectPlaces(context, keys, length, places, options);
  });
}

/**
 * A fraction as a multiple of 2⁻³². It is rounded up, so that a fraction whose position is a whole number keeps that
 * position.
 */
export function scaleOf(call: string, fraction: number): number {
  if (typeof fraction === 'number' && fraction >= 0 && fraction <= 1) return Math.ceil(fraction * 2 ** 32);
  throw wrongArgument(call, 'one of its fractions', fraction, 'a number from 0 to 1', {
    code: 'select/fraction',
  });
}

function requirePlace(k: number, length: Length): number {
  const end = typeof length === 'number' ? length : 2 ** 32;
  if (Number.isInteger(k) && k >= 0 && k < end) return k;
  const expected = end === 0 ? 'no position, because there are no keys' : `a whole number from 0 to ${end - 1}`;
  throw wrongArgument('selectKth', 'k, a position among the sorted keys', k, expected, { code: 'select/place' });
}

/** Up to this number of positions, keys are selected without sorting. For more positions, the keys are sorted. */
const MAX_PLACES = 256;

function selectPlaces<K extends SortKeys>(
  context: ColumnOwner,
  keys: K,
  length: Length,
  places: Column<'u32'>,
  options: SelectOptions,
): K {
  if (places.capacity === 0) return context.materialize(gather(keys, places));
  if (places.capacity > MAX_PLACES) return context.materialize(gather(sort(keys, options), places));
  const words = orderedWords(keys, options.descending);
  const found = (places.capacity === 1 ? findOne : findAll)(context, words, lastOr(places, length));
  const types = keyColumns(keys).map(({ type }) => type);
  const [high, low] = found.map((column, i) => keysOfSortable(column, types[i]!, options.descending));
  const rows = (low === undefined ? high : { ...keys, lo: low, hi: high }) as K;
  return context.materialize(gather(rows, rowOfPlace(places, length)));
}

/** Replaces every position past the last key by the position of the last key. */
function lastOr(places: Column<'u32'>, length: Length): Column<'u32'> {
  const key = { by: [lastOr], columns: [places], lengths: [length] };
  return computedColumn('lastOr', 'u32', places, key, (index, loader) => {
    const [place] = loader.load([places], index) as [U32];
    return place.min(loader.length(length).max(1).sub(1));
  });
}

/**
 * For every position, the row of the results that contains its key. For a position past the last key, the row is
 * `NONE`. No result has this row, so reading it gives zero.
 */
function rowOfPlace(places: Column<'u32'>, length: Length): Column<'u32'> {
  const key = { by: [rowOfPlace], columns: [places], lengths: [length] };
  return computedColumn('rowOfPlace', 'u32', places, key, (index, loader) => {
    const [place] = loader.load([places], index) as [U32];
    return select(NONE, index, place.lt(loader.length(length)));
  });
}

const DIGITS = 256;
const NONE = 2 ** 32 - 1;

/** The search state for the key at one position, in columns of one row. */
interface SoughtKey {
  /** The position of the sought key among the keys that start with its known bits. */
  readonly rank: Column<'u32'>;
  /** The known bits of the sought key, as words, the most significant first. Bits that are not known yet are zero. */
  readonly words: readonly Column<'u32'>[];
}

/** Finds the words of the key at one position. `rank` is a column of one row that contains this position. */
function findOne(context: ColumnOwner, words: readonly Column<'u32'>[], rank: Column<'u32'>): readonly Column<'u32'>[] {
  let sought: SoughtKey = { rank, words: words.map(() => constant(u32, 0, 1)) };
  for (let level = 0; level < 4 * words.length; level++) sought = learnDigit(context, words, sought, level);
  return sought.words;
}

/**
 * Finds the next digit (8 bits) of the sought key: the digit at which the cumulative number of keys exceeds the rank.
 */
function learnDigit(
  context: ColumnOwner,
  words: readonly Column<'u32'>[],
  { rank, words: known }: SoughtKey,
  level: number,
): SoughtKey {
  return context.scope(() => {
    const counts = histogram(digitsOf(words, known, level), DIGITS);
    const word = level >> 2;
    const shift = shiftAt(level);
    const next = context.allocate(2);
    const store = { buffer: next.buffer, capacity: 1, guard: 0, index: 1 };
    fusedScan('selectKth', {
      context,
      length: DIGITS,
      monoid: plus(u32),
      element: (digit, loader) => loader.load([counts], digit),
      emit: (digit, exclusive, inclusive, loader) => {
        const [before, upTo] = [...exclusive, ...inclusive] as [U32, U32];
        const [place, bits] = loader.load([rank, known[word]!], u32(0)) as [U32, U32];
        // If there are no keys, no count exceeds the rank, and the last digit is taken.
        const isFound = before.le(place).and(place.lt(upTo).or(digit.eq(DIGITS - 1)));
        return [isFound, u32(0), place.sub(before), bits.or(digit.shl(loader.uniform('u32', shift)))];
      },
      emitted: ['bool', 'u32', 'u32', 'u32'],
      stores: [
        { ...store, offset: 0, value: 2 },
        { ...store, offset: 1, value: 3 },
      ],
      keys: {
        element: { by: [learnDigit], columns: [counts] },
        emit: { by: [learnDigit], columns: [rank, known[word]!], values: [shift] },
      },
    });
    const learnt = cellColumn(next, 'u32', 1);
    return { rank: cellColumn(next, 'u32', 0), words: known.map((column, i) => (i === word ? learnt : column)) };
  });
}

/**
 * For every key, the digit (8 bits) at `level`, where level 0 is the most significant digit. `NONE` for keys whose
 * digits before `level` differ from the known bits.
 */
function digitsOf(words: readonly Column<'u32'>[], known: readonly Column<'u32'>[], level: number): Column<'u32'> {
  const key = { by: [digitsOf, level], columns: [...words, ...known] };
  return computedColumn('digitsOf', 'u32', words[0]!, key, (index, loader) => {
    const key = loader.load(words, index) as U32[];
    const sought = loader.load(known, u32(0)) as U32[];
    return select(NONE, digitAt(key, level), agree(key, sought, level));
  });
}

function digitAt(key: readonly U32[], level: number): U32 {
  return key[level >> 2]!.shr(shiftAt(level)).and(DIGITS - 1);
}

/** The search state for the keys at several positions, with one row for each position. */
interface Sought {
  /** The group of each position. Positions whose sought keys have the same known bits are in the same group. */
  readonly group: Column<'u32'>;
  /** The position of each sought key among the keys that start with its known bits. */
  readonly rank: Column<'u32'>;
  /** The known bits of each sought key, in the form of {@link SoughtKey}. */
  readonly words: readonly Column<'u32'>[];
}

/** Finds the words of the keys at the positions in `rank`. */
function findAll(context: ColumnOwner, words: readonly Column<'u32'>[], rank: Column<'u32'>): readonly Column<'u32'>[] {
  const tries = fill(context, u32, 0, 4 * words.length * DIGITS * rank.capacity);
  const zero = constant(u32, 0, rank.length);
  let sought: Sought = { group: zero, rank, words: words.map(() => zero) };
  for (let level = 0; level < 4 * words.length; level++) sought = narrow(context, words, tries, sought, level);
  return sought.words;
}

/**
 * Finds the next digit (8 bits) of all sought keys by counting the digits of the keys in every group. For each group
 * and each digit that a sought key has, `tries` records the group at the next level.
 */
function narrow(
  context: ColumnOwner,
  words: readonly Column<'u32'>[],
  tries: Column<'u32'>,
  { group, rank, words: known }: Sought,
  level: number,
): Sought {
  return context.scope(() => {
    const bins = DIGITS * rank.capacity;
    const upTo = inclusiveScan(histogram(binsAt(words, tries, bins, level), bins), plus(u32));
    const target = map(targetOf, { group, rank, upTo });
    const bin = upperBound(upTo, target);
    const word = level >> 2;
    const shift = shiftAt(level);
    const next = context.materialize(map(nextOf, { group, target, bin, word: known[word]!, upTo, shift }));
    const first = level * bins;
    const branch = map(plusUniform, { x: next.bin, by: first });
    // At the last level, `tries` is not written, because no further level reads the groups.
    if (level < 4 * words.length - 1) scatterReduce(sequence(rank.length, 1), branch, 'max', tries);
    return {
      group: map(groupOf, { branch, tries }),
      rank: next.rank,
      words: known.map((column, i) => (i === word ? next.word : column)),
    };
  });
}

const shiftAt = (level: number): number => 24 - 8 * (level & 3);

/**
 * For every key, the bin in which it is counted at a level. The group of the key and the digit of the key at this level
 * determine the bin. The digits before this level determine the group. `NONE` if the key is in no group.
 */
function binsAt(words: readonly Column<'u32'>[], tries: Column<'u32'>, bins: number, level: number): Column<'u32'> {
  const firsts = Array.from({ length: level }, (_, above) => above * bins);
  const key = { by: [binsAt, level], columns: [...words, tries], values: firsts };
  return computedColumn('binsAt', 'u32', { context: tries.context, length: words[0]!.length }, key, (index, loader) => {
    const key = loader.load(words, index) as U32[];
    let bin = digitAt(key, 0);
    for (const [above, first] of firsts.entries()) {
      const branch = bin.add(loader.uniform('u32', first));
      // The index `NONE` is past the end of `tries`, so the read returns 0, which stands for no group.
      const [group] = loader.load([tries], select(NONE, branch, bin.ne(NONE))) as [U32];
      bin = select(
        NONE,
        group
          .sub(1)
          .mul(DIGITS)
          .add(digitAt(key, above + 1)),
        group.ne(0),
      );
    }
    return bin;
  });
}

/** Whether two keys have the same digits at all levels before `level`. */
function agree(key: readonly U32[], other: readonly U32[], level: number): Bool {
  const last = level >> 2;
  const whole = key.slice(0, last).map((word, i) => word.eq(other[i]!));
  const mask = 2 ** 32 - 2 ** (shiftAt(level) + 8);
  return whole.reduce((all, each) => all.and(each), key[last]!.and(mask).eq(other[last]!));
}

/**
 * The number of counted keys before a sought key: all keys of the groups with smaller numbers, and `rank` keys of the
 * sought key's own group.
 */
const targetOf = fn('targetOf', { group: u32, rank: u32, upTo: array(u32) }, u32, ({ group, rank, upTo }) =>
  upTo.at(group.mul(DIGITS).sub(1)).add(rank),
);

const nextOf = fn(
  'nextOf',
  { group: u32, target: u32, bin: u32, word: u32, upTo: array(u32), shift: uniform(u32) },
  { bin: u32, rank: u32, word: u32 },
  ({ group, target, bin, word, upTo, shift }) => {
    const first = group.mul(DIGITS);
    // If there are no keys, no count exceeds the target, and the last digit is taken.
    const digit = bin.sub(first).min(DIGITS - 1);
    return { bin: first.add(digit), rank: target.sub(upTo.at(bin.sub(1))), word: word.or(digit.shl(shift)) };
  },
);

const plusUniform = fn('plusUniform', { x: u32, by: uniform(u32) }, u32, ({ x, by }) => x.add(by));

const groupOf = fn('groupOf', { branch: u32, tries: array(u32) }, u32, ({ branch, tries }) => tries.at(branch).sub(1));
