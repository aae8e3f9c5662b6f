import type { Context } from '../../primitives/index.ts';
import { countDigits, digitBitsFor, type MemberRows, placesOf, withZones } from './digit-counts.ts';
import { type RankedValue, rankTarget, type Target } from './rank-search.ts';

/** Values of a zone among which some are sought: those from `low` to `low + 2 ** bits − 1`. */
export interface Sought {
  readonly zone: number;
  readonly low: number;
  readonly bits: number;
  /** The number of values of the zone below `low`. */
  readonly before: number;
  /** What is sought among them, ascending. */
  readonly targets: readonly Target[];
}

/** Is told of a value that was found: for a target, or beside the value of one that may ask for the next. */
export type OnFound = (zone: number, value: RankedValue, target?: Target) => void;

/**
 * Finds values by targets that only the host can judge, digit after digit, as `selectRanks` finds ranks: the counts of each
 * digit are read.
 *
 * @param sought - For each zone, all its values: the smallest one, and the bits in which others differ from it.
 */
export async function searchDigits(
  context: Context,
  stores: readonly MemberRows[],
  sought: readonly Sought[],
  onFound: OnFound,
): Promise<void> {
  for (const layer of layersOf(sought)) {
    for (let first = 0; first < layer.length; first += BATCH) {
      const batch = layer.slice(first, first + BATCH);
      const digitBits = digitBitsFor(batch.length);
      const counts = await readDigits(context, stores, batch, digitBits);
      const next = batch.flatMap((own, at) =>
        narrowed(own, counts.subarray(at << digitBits, (at + 1) << digitBits), digitBits, onFound),
      );
      await searchDigits(context, stores, next, onFound);
    }
  }
}

/** Maximum number of zones at a time. */
const BATCH = 2 ** 15;

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
  const next: (Sought & { readonly targets: Target[] })[] = [];
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
  for (const target of targets) {
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

/**
 * Counts how many of the values have each of the next digits: `2 ** digitBits` counts for each zone.
 *
 * @param sought - At most one row for each zone.
 */
export async function readDigits(
  context: Context,
  stores: readonly MemberRows[],
  sought: readonly Sought[],
  digitBits: number,
): Promise<Float64Array> {
  const counts = new Float64Array(sought.length << digitBits);
  for (const store of withZones(stores, sought)) {
    const { places, end } = placesOf(store, sought);
    const digits = context.scope(() => {
      const column = (of: (zone: Sought, place: number) => number) => context.column(Uint32Array.from(sought, of));
      return countDigits(context, store, context.column(places), end, {
        // A zone of a single value is counted, too.
        bits: column(({ bits }) => Math.max(1, bits)),
        ...{ low: column(({ low }) => low), histogram: column((_, place) => place) },
        ...{ perZone: 0, counted: 0, used: 0, digitBits },
      });
    });
    try {
      const part = await context.read(digits);
      for (let at = 0; at < part.length; at++) counts[at]! += part[at]!;
    } finally {
      context.dispose(digits);
    }
  }
  return counts;
}
