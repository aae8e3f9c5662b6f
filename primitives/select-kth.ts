import { type Column, commonLength, requireContext, requireType, viewColumn } from './columns/column.ts';
import { fuse } from './columns/program.ts';
import { keysOfSortable } from './columns/words.ts';
import type { Context } from './context.ts';
import { ArgumentError } from './errors.ts';
import { array, fn, u32, uniform } from './functors/functor.ts';
import { mulhi } from './functors/standard/bits.ts';
import { select } from './functors/standard/choose.ts';
import type { Bool, U32 } from './functors/value.ts';
import { gather } from './gather.ts';
import { histogram } from './histogram.ts';
import { map } from './map.ts';
import { plus } from './monoid.ts';
import { inclusiveScan } from './scan.ts';
import { scatterIf } from './scatter.ts';
import { lowerBound, orderedWords, upperBound } from './search.ts';
import { constant, sequence } from './sequence.ts';
import { keyColumns, type SortKeys, sort, sortByKey } from './sort.ts';

type Length = Column['length'];

export interface SelectOptions {
  /** Counts from the largest key on. */
  readonly descending?: boolean;
}

/**
 * The key that stands at place `k`, counted from 0, when the keys are sorted; or one for each of several places. A column on
 * the device: nothing waits. Order and key types as {@link sort}, of which it is `sort(keys)[k]` without sorting.
 *
 * The first 8 bits of the keys are counted, the bits of the key sought are those where the counts pass k, and so on with the
 * next 8 bits of the keys that begin with them.
 *
 * - Work O(n · bits / 8) for one place, times O(log) of their number for more, span O(bits / 8 · log n). The keys are read
 *   once for every 8 bits, so materialize a costly view; memory is taken for counts alone. More than 256 places at once are
 *   taken out of the sorted keys. Deterministic.
 * - Accepts device counts, of places too. Where there is no key at a place, as far as the host cannot know it, zero.
 * - Equivalent loop: `out = places.map((k) => keys.toSorted((a, b) => a - b)[k] ?? 0)`.
 *
 * Source: Alabi, Blanchard, Gordon and Steinbach, Fast k-Selection Algorithms for Graphics Processing Units, 2012: their
 * radix select.
 *
 * @throws {@link ArgumentError} `select/place` where `k` is no place among as many keys as the host knows of.
 * @example
 * const keys = ctx.column(Float32Array.of(2.5, -1, 7, 0));
 * const both = { third: selectKth(keys, 2), ends: selectKth(keys, ctx.column(Uint32Array.of(3, 0))) };
 * await ctx.read(both); // { third: Float32Array [2.5], ends: Float32Array [7, -1] }
 */
export function selectKth<K extends SortKeys>(keys: K, k: number | Column<'u32'>, options: SelectOptions = {}): K {
  const columns = keyColumns(keys);
  const length = commonLength(columns, 'selectKth');
  const places = typeof k === 'number' ? constant(u32, requirePlace(k, length), 1) : k;
  requireType(places, ['u32'], 'places', 'selectKth');
  const context = requireContext([...columns, places], 'selectKth');
  return context.scope(() => selectPlaces(context, keys, length, places, options));
}

/**
 * The keys at fractions of the way through the sorted keys, from 0, the least, by 0.5, the median, to 1, the greatest: for
 * every fraction the key at place `floor(fraction · (n − 1))`. No two keys are averaged, so of an even number the median is the
 * lower of the two in the middle. A fraction counts as the next multiple of 2⁻³² from it on.
 *
 * {@link selectKth} with these places, with its cost and determinism; accepts device counts. Of no keys: zeros.
 *
 * - Equivalent loop: `out = fractions.map((f) => keys.toSorted((a, b) => a - b)[Math.floor(f * (n - 1))] ?? 0)`.
 *
 * @throws {@link ArgumentError} `select/fraction` where a fraction is not from 0 to 1.
 * @example
 * const keys = ctx.column(Uint32Array.of(40, 10, 50, 20, 30));
 * await ctx.read(quantiles(keys, [0.5, 0.1, 1])); // Uint32Array [30, 10, 50]
 */
export function quantiles<K extends SortKeys>(keys: K, fractions: readonly number[], options: SelectOptions = {}): K {
  const columns = keyColumns(keys);
  const length = commonLength(columns, 'quantiles');
  const context = requireContext(columns, 'quantiles');
  const scales = fractions.map(scaleOf);
  return context.scope(() => {
    const scale = context.column(Uint32Array.from(scales, (each) => each % 2 ** 32));
    const isWhole = context.column(scales.map((each) => each === 2 ** 32));
    const view = fuse('places', [], ['u32'], (index, _, loader) => {
      const [part, whole] = loader.load([scale, isWhole], index) as [U32, Bool];
      const last = loader.length(length).max(1).sub(1);
      return [select(mulhi(last, part), last, whole)];
    });
    const places = viewColumn(context, 'u32', fractions.length, view);
    return selectPlaces(context, keys, length, places, options);
  });
}

/** A fraction in multiples of 2⁻³². Rounded up, so that what is a whole number of places stays one. */
function scaleOf(fraction: number): number {
  if (fraction >= 0 && fraction <= 1) return Math.ceil(fraction * 2 ** 32);
  throw new ArgumentError('select/fraction', 'quantiles was given no fraction.', {
    expected: 'a number from 0 to 1',
    got: fraction,
  });
}

function requirePlace(k: number, length: Length): number {
  const end = typeof length === 'number' ? length : 2 ** 32;
  if (Number.isInteger(k) && k >= 0 && k < end) return k;
  throw new ArgumentError('select/place', 'selectKth was given no place among the sorted keys.', {
    expected: end === 0 ? 'none, as there are no keys' : `a whole number from 0 below ${end}`,
    got: k,
  });
}

/** More places than this are taken out of the sorted keys. */
const MOST_PLACES = 256;

function selectPlaces<K extends SortKeys>(
  context: Context,
  keys: K,
  length: Length,
  places: Column<'u32'>,
  options: SelectOptions,
): K {
  if (places.capacity === 0) return context.materialize(gather(keys, places));
  if (places.capacity > MOST_PLACES) return context.materialize(gather(sort(keys, options), places));
  // In order, so that their prefixes are sorted too and can be searched.
  const given = { keys: context.materialize(places), values: sequence(places.length) };
  const { keys: sorted, values: row } = places.capacity === 1 ? given : sortByKey(given.keys, given.values);
  const words = orderedWords(keys, options.descending);
  const exists = fuse('exists', [], ['bool'], (index, _, loader) => {
    const [place] = loader.load([sorted], index) as [U32];
    return [place.lt(loader.length(length))];
  });
  // Held to what there is, so that no prefix comes out of order.
  const rank = fuse('rank', [], ['u32'], (index, _, loader) => {
    const [place] = loader.load([sorted], index) as [U32];
    return [place.min(loader.length(length).max(1).sub(1))];
  });
  let sought: Sought = {
    prefix: words.map(() => constant(u32, 0, places.length)),
    rank: viewColumn(context, 'u32', places.length, rank),
  };
  for (const [word] of words.entries()) {
    for (let shift = 24; shift >= 0; shift -= 8) sought = narrow(context, words, sought, word, shift);
  }
  const types = keyColumns(keys).map(({ type }) => type);
  const [high, low] = sought.prefix.map((column, i) => keysOfSortable(column, types[i]!, options.descending));
  const found = (low === undefined ? high : { ...keys, lo: low, hi: high }) as K;
  return scatterIf(found, row, viewColumn(context, 'bool', places.length, exists), places.length);
}

/** What is known of the keys at some places, in ascending order. */
interface Sought {
  /** Their first bits, the others zero; word by word, the most significant first. */
  readonly prefix: readonly Column<'u32'>[];
  /** The place of each among the keys that begin with the same bits. */
  readonly rank: Column<'u32'>;
}

const DIGITS = 256;

/** Learns the 8 bits at `shift` of a word, of which all bits above are known, as are the words before it. */
function narrow(
  context: Context,
  words: readonly Column<'u32'>[],
  { prefix, rank }: Sought,
  word: number,
  shift: number,
): Sought {
  return context.scope(() => {
    const known = words.map((column, i) => {
      const mask = i < word ? 2 ** 32 - 1 : i > word ? 0 : 2 ** 32 - 2 ** (shift + 8);
      return map(masked, { word: column, mask });
    });
    const bins = digitsOf(words[word]!, known, prefix, shift);
    const upTo = inclusiveScan(histogram(bins, DIGITS * rank.capacity), plus(u32));
    const group = groupsOf(prefix, prefix);
    const target = map(targetOf, { group, rank, upTo });
    const bin = upperBound(upTo, target);
    const next = map(nextOf, { group, target, bin, prefix: prefix[word]!, upTo, shift });
    const { prefix: longer, rank: smaller } = context.materialize(next);
    return { prefix: prefix.map((column, i) => (i === word ? longer : column)), rank: smaller };
  });
}

const masked = fn('masked', { word: u32, mask: uniform(u32) }, u32, ({ word, mask }) => word.and(mask));

/** Which bin counts a key: that of its next digit in the group of the places whose prefix it has, or none. */
function digitsOf(
  word: Column<'u32'>,
  known: readonly Column<'u32'>[],
  prefix: readonly Column<'u32'>[],
  shift: number,
): Column<'u32'> {
  const groups = groupsOf(prefix, known);
  const view = fuse('digits', [], ['u32'], (index, _, loader) => {
    const [key, group, ...own] = loader.load([word, groups, ...known], index) as [U32, U32, ...U32[]];
    const ofGroup = loader.load(prefix, prefix[0]!.capacity === 1 ? u32(0) : group);
    const isMember = own.map((part, i) => part.eq(ofGroup[i] as U32)).reduce((all, each) => all.and(each));
    const digit = key.shr(loader.uniform('u32', shift)).and(DIGITS - 1);
    return [select(u32(2 ** 32 - 1), group.mul(DIGITS).add(digit), isMember)];
  });
  return viewColumn(word.context, 'u32', word.length, view);
}

/** The first of the places that have each of the prefixes, or one that has the next. */
function groupsOf(prefix: readonly Column<'u32'>[], needles: readonly Column<'u32'>[]): Column<'u32'> {
  if (prefix[0]!.capacity === 1) return constant(u32, 0, needles[0]!.length);
  return lowerBound(asKeys(prefix), asKeys(needles));
}

function asKeys([high, low]: readonly Column<'u32'>[]): SortKeys {
  return low === undefined ? high! : { lo: low, hi: high! };
}

/** How many keys of this group and those before it stand before the one that is sought. */
const targetOf = fn('targetOf', { group: u32, rank: u32, upTo: array(u32) }, u32, ({ group, rank, upTo }) =>
  upTo.at(group.mul(DIGITS).sub(1)).add(rank),
);

const nextOf = fn(
  'nextOf',
  { group: u32, target: u32, bin: u32, prefix: u32, upTo: array(u32), shift: uniform(u32) },
  { prefix: u32, rank: u32 },
  ({ group, target, bin, prefix, upTo, shift }) => ({
    prefix: prefix.or(
      bin
        .sub(group.mul(DIGITS))
        .min(DIGITS - 1)
        .shl(shift),
    ),
    rank: target.sub(upTo.at(bin.sub(1))),
  }),
);
