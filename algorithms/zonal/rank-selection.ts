import { array, fn, u32 } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import { type Column, type Context, map, rankHistogram } from '../../primitives/index.ts';
import type { NarrowSample } from '../geometry/raster.ts';
import { type RankedValue, rankTarget, type Target } from './rank-search.ts';
import { bySample, isTaken, LEFT_OUT, numberOf, type SoughtTable, soughtRows, type ValueRows } from './value-rows.ts';
import { orderedRaw } from './zone-cells.ts';

/** Values of zones of a job, in rows whose zones have numbers of their own. */
export interface MemberRows extends ValueRows {
  /** The zone of the job for each number. */
  readonly members: Uint32Array;
}

/** Values of a zone among which some are sought: those from `low` to `low + 2 ** bits − 1`. */
export interface Sought {
  readonly zone: number;
  readonly low: number;
  readonly bits: number;
  /** The number of values of the zone below `low`. */
  readonly before: number;
  /** What is sought among them, ascending. Undefined before the values were counted. */
  readonly targets?: readonly Target[] | undefined;
}

/** Is told of a value that was found: for a target, or beside the value of one that may ask for the next. */
export type OnFound = (zone: number, value: RankedValue, target?: Target) => void;

/**
 * Finds the values at some ranks of zones, digit after digit: counts how many values have each digit, which tells the
 * digits of the sought ones, and goes on among the values that have these.
 *
 * Source: Alabi, Blanchard, Gordon and Steinbach, Fast k-Selection Algorithms for Graphics Processing Units, 2012: their
 * radix select, for many zones at once.
 *
 * @param sought - For each zone, all its values: the smallest one, and the bits in which others differ from it.
 * @param onCounted - Is told the number of values of a zone, and says what is sought among them.
 */
export async function selectRanks(
  context: Context,
  stores: readonly MemberRows[],
  sought: readonly Sought[],
  onCounted: (zone: number, count: number) => readonly Target[],
  onFound: OnFound,
): Promise<void> {
  for (let first = 0; first < sought.length; first += BATCH)
    await selectAmong(context, stores, sought.slice(first, first + BATCH), onCounted, onFound);
}

/** Maximum number of zones at a time. */
const BATCH = 2 ** 15;

/** Maximum number of counters of all zones together, which fit in the caches of processors. */
const COUNTERS = 2 ** 21;

/** Maximum number of bits of a digit. */
const DIGIT_BITS = 11;

async function selectAmong(
  context: Context,
  stores: readonly MemberRows[],
  sought: readonly Sought[],
  onCounted: (zone: number, count: number) => readonly Target[],
  onFound: OnFound,
): Promise<void> {
  const digitBits = Math.min(DIGIT_BITS, Math.floor(Math.log2(COUNTERS / sought.length)));
  const counts = await countDigits(context, stores, sought, digitBits);
  const next = sought.flatMap((own, at) => {
    const digits = counts.subarray(at << digitBits, (at + 1) << digitBits);
    const targets = own.targets ?? onCounted(own.zone, sumOf(digits));
    return narrowed({ ...own, targets }, digits, digitBits, onFound);
  });
  for (const layer of layersOf(next)) {
    const rows = withZones(stores, layer).map((store) => narrowRows(context, store, layer));
    try {
      await selectAmong(context, rows, layer, onCounted, onFound);
    } finally {
      // The cells belong to the stores.
      context.dispose(rows.map((each) => each.rows));
    }
  }
}

/** The number of values, from that of each digit. */
export function sumOf(counts: Float64Array): number {
  let sum = 0;
  for (const count of counts) sum += count;
  return sum;
}

/** Splits values that are sought by zone, so that none of the parts has a zone twice. */
export function layersOf<S extends Sought>(sought: readonly S[]): S[][] {
  const layers: S[][] = [];
  const met = new Map<number, number>();
  for (const each of sought) {
    const layer = met.get(each.zone) ?? 0;
    met.set(each.zone, layer + 1);
    if (layer === layers.length) layers.push([]);
    layers[layer]!.push(each);
  }
  return layers;
}

/**
 * Narrows values to those with the digits of the sought ones, from the number of values with each digit.
 *
 * @param seeksNext - Whether to seek the values beside one that may ask for the next, too, if they have other digits.
 */
export function narrowed(
  { zone, low, bits, before, targets }: Sought,
  counts: Float64Array,
  digitBits: number,
  onFound: OnFound,
  seeksNext = false,
): Sought[] {
  const rest = Math.max(0, bits - digitBits);
  const next: (Sought & { targets: Target[] })[] = [];
  const wordOf = (digit: number): number => low + digit * 2 ** rest;
  const take = (digit: number, passed: number, target?: Target): void => {
    const from = wordOf(digit);
    if (rest === 0) onFound(zone, { word: from, before: passed, count: counts[digit]! }, target);
    else if (target !== undefined) {
      const known = next.find((each) => each.low === from);
      if (known) known.targets.push(target);
      else next.push({ zone, low: from, bits: rest, before: passed, targets: [target] });
    }
  };
  let [digit, passed] = [0, before];
  for (const target of targets!) {
    if (!target.isFrom(passed, wordOf(digit))) [digit, passed] = [0, before];
    while (counts[digit] === 0 || target.isFrom(passed + counts[digit]!, wordOf(digit + 1))) passed += counts[digit++]!;
    take(digit, passed, target);
    if (!target.hasNext || (rest > 0 && !seeksNext)) continue;
    const end = passed + counts[digit]!;
    const lower = digitBefore(counts, digit);
    const upper = digitAfter(counts, digit);
    if (lower >= 0) take(lower, passed - counts[lower]!, rest > 0 ? rankTarget(passed - 1) : undefined);
    if (upper < counts.length) take(upper, end, rest > 0 ? rankTarget(end) : undefined);
  }
  return next;
}

/** The nearest digit below that any value has, or -1. */
function digitBefore(counts: Float64Array, digit: number): number {
  let lower = digit - 1;
  while (lower >= 0 && counts[lower] === 0) lower--;
  return lower;
}

/** The nearest digit above that any value has, or the number of digits. */
function digitAfter(counts: Float64Array, digit: number): number {
  let upper = digit + 1;
  while (upper < counts.length && counts[upper] === 0) upper++;
  return upper;
}

/** The stores that have values of any of the zones. */
function withZones<S extends MemberRows>(stores: readonly S[], zones: readonly { readonly zone: number }[]): S[] {
  const wanted = new Set(zones.map(({ zone }) => zone));
  return stores.filter(({ members }) => members.some((zone) => wanted.has(zone)));
}

/**
 * Counts how many of the values have each of the next digits: `2 ** digitBits` counts for each zone.
 *
 * @param sought - At most one row for each zone.
 */
export async function countDigits(
  context: Context,
  stores: readonly MemberRows[],
  sought: readonly Sought[],
  digitBits: number,
): Promise<Float64Array> {
  const bins = 2 ** digitBits;
  const counts = new Float64Array(sought.length * bins);
  for (const store of withZones(stores, sought)) {
    const { slots, places } = slotsOf(store, sought);
    const shifts = places.map((at) => Math.max(0, sought[at]!.bits - digitBits));
    const digits = context.scope(() => {
      const table = tableOf(
        context,
        slots,
        places.map((at) => sought[at]!.low),
        shifts,
      );
      return histogramsOf(context, store, table, places.length, bins);
    });
    try {
      const part = await context.read(digits);
      places.forEach((at, slot) => {
        for (let bin = 0; bin < bins; bin++) counts[at * bins + bin]! += part[slot * bins + bin]!;
      });
    } finally {
      context.dispose(digits);
    }
  }
  return counts;
}

function narrowRows(context: Context, store: MemberRows, sought: readonly Sought[]): MemberRows {
  const { slots, places } = slotsOf(store, sought);
  return context.scope(() => {
    const of = (field: 'low' | 'bits'): number[] => places.map((at) => sought[at]![field]);
    return { ...soughtRows(context, store, tableOf(context, slots, of('low'), of('bits'))), members: store.members };
  });
}

/** For each number of a zone its slot, and for each slot the place of its zone in `sought`. */
function slotsOf({ members }: MemberRows, sought: readonly Sought[]): { slots: Uint32Array; places: number[] } {
  const placeOf = new Map(sought.map(({ zone }, place) => [zone, place]));
  const places: number[] = [];
  const slots = members.map((zone) => {
    const place = placeOf.get(zone);
    return place === undefined ? LEFT_OUT : places.push(place) - 1;
  });
  return { slots, places };
}

function tableOf(context: Context, slots: Uint32Array, low: number[], bits: number[]): SoughtTable {
  const column = (numbers: number[]): Column<'u32'> => context.column(Uint32Array.from(numbers));
  return { slots: context.column(slots), low: column(low), bits: column(bits) };
}

/** The histograms of the digits of zones. */
function histogramsOf(
  context: Context,
  { rows, cells, sample }: ValueRows,
  { slots, low, bits }: SoughtTable,
  histograms: number,
  bins: number,
): Column<'u32'> {
  const { zone, cell, mask } = rows;
  const slot = map(numberOf, { zone, numbers: slots });
  const digit = {
    low: map(numberOf, { zone: slot, numbers: low }),
    shift: map(numberOf, { zone: slot, numbers: bits }),
  };
  const active = map(isTaken, { zone: slot });
  return context.scope(() =>
    rankHistogram({ active, slot, cell, mask, ...digit }, digitOf(sample), {
      ...{ ranks: 32, bins, histograms },
      captures: { cells },
    }),
  );
}

const digitOf = bySample(defineDigitOf);

/** The functor that gives the next digit of a value. Values that are not sought have no digit, or one past the last. */
function defineDigitOf(sample: NarrowSample) {
  const row = { slot: u32, cell: u32, mask: u32, low: u32, shift: u32, rank: u32 };
  return fn(
    'digitOf',
    { ...row, cells: array(u32) },
    { bin: u32, histogram: u32 },
    ({ slot, cell, mask, low, shift, rank, cells }) => {
      const word = orderedRaw(sample, [cells.at(cell.add(rank))])[0]!;
      const bin = select(u32(LEFT_OUT), word.sub(low).shr(shift), mask.shr(rank).and(1).eq(1));
      return { bin, histogram: slot };
    },
  );
}
