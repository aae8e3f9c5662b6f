import { partitionPoint } from '../../primitives/functors/bisection.ts';
import { array, fn, u32, uniform } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import { type Column, type Context, inclusiveScan, map, plus, sequence } from '../../primitives/index.ts';
import {
  countDigits,
  digitBitsFor,
  type MemberRows,
  placesOf,
  type SoughtDigits,
  shiftOf,
  withZones,
} from './digit-counts.ts';

/** Ranks that are sought among all values of a zone, which has fewer than 2³² values. */
export interface SoughtRanks {
  readonly zone: number;
  /** The ordered word of the smallest value, and the number of bits in which others differ from it. */
  readonly low: number;
  readonly bits: number;
  /** At least one, ascending. */
  readonly ranks: readonly number[];
}

/**
 * Finds the ordered words of the values at some ranks of zones, digit after digit: counts how many values have each
 * digit, which tells the digits of the sought ones, and goes on among the values that have these. The device does all of
 * that by itself; the host waits for the words.
 *
 * Source: Alabi, Blanchard, Gordon and Steinbach, Fast k-Selection Algorithms for Graphics Processing Units, 2012: their
 * radix select, for many zones at once.
 */
export async function selectRanks(
  context: Context,
  stores: readonly MemberRows[],
  sought: readonly SoughtRanks[],
  onFound: (zone: number, rank: number, word: number) => void,
): Promise<void> {
  const most = targetsWithRoom(stores);
  if (sought.some(({ ranks }) => ranks.length > most)) {
    for (let first = 0, own = sought; own.length > 0; first += most) {
      own = sought.flatMap((zone) => {
        const ranks = zone.ranks.slice(first, first + most);
        return ranks.length === 0 ? [] : [{ ...zone, ranks }];
      });
      await selectRanks(context, stores, own, onFound);
    }
    return;
  }
  const perZone = targetBits(sought);
  const batch = Math.max(1, TARGETS / 2 ** perZone);
  for (let first = 0; first < sought.length; first += batch) {
    const own = oldestFirst(stores, sought.slice(first, first + batch));
    const found = rankedWords(context, stores, own);
    try {
      const words = await context.read(found);
      own.forEach(({ zone, ranks }, place) => {
        ranks.forEach((rank, target) => void onFound(zone, rank, words[(place << perZone) + target]!));
      });
    } finally {
      context.dispose(found);
    }
  }
}

/** Maximum number of targets of a zone at a time, a power of two: every row of a store is looked at for each of them. */
function targetsWithRoom(stores: readonly MemberRows[]): number {
  const rows = stores.reduce((most, { rows: { zone } }) => Math.max(most, zone.capacity), 1);
  return 2 ** Math.floor(Math.log2((2 ** 32 - 1) / rows));
}

/** Maximum number of targets at a time, unless a single zone has more. */
const TARGETS = 2 ** 15;

/** The logarithm of the number of targets of each zone: those of a zone with fewer ranks repeat the last one. */
function targetBits(sought: readonly SoughtRanks[]): number {
  let bits = 0;
  for (const { ranks } of sought) while (2 ** bits < ranks.length) bits++;
  return bits;
}

/** Orders zones by the first store that has any of their values, so that stores before the last need few counters. */
function oldestFirst(stores: readonly MemberRows[], sought: readonly SoughtRanks[]): SoughtRanks[] {
  const first = new Map<number, number>();
  stores.forEach(({ members }, at) => {
    for (const zone of members) if (!first.has(zone)) first.set(zone, at);
  });
  return sought.toSorted((a, b) => first.get(a.zone)! - first.get(b.zone)!);
}

/**
 * The words of the values at the ranks of zones, those of each zone side by side, without waiting for the device.
 *
 * @param stores - Where the values of the zones lie.
 */
export function rankedWords(
  context: Context,
  stores: readonly MemberRows[],
  sought: readonly SoughtRanks[],
): Column<'u32'> {
  const perZone = targetBits(sought);
  const targets = sought.length << perZone;
  const digitBits = digitBitsFor(sought.length, targets);
  const column = (of: (zone: SoughtRanks, target: number) => number): Column<'u32'> =>
    context.column(Uint32Array.from({ length: targets }, (_, at) => of(sought[at >> perZone]!, at % 2 ** perZone)));
  return context.scope(() => {
    const bits = context.column(Uint32Array.from(sought, (zone) => zone.bits));
    const own = withZones(stores, sought).map((store) => {
      const { places, end } = placesOf(store, sought);
      return { store, places: context.column(places), end };
    });
    let low = column((zone) => zone.low);
    let rank = column(({ ranks }, target) => ranks[Math.min(target, ranks.length - 1)]!);
    const most = sought.reduce((max, zone) => Math.max(max, zone.bits), 0);
    for (let used = 0; used < most; used += digitBits) {
      ({ low, rank } = context.scope(() => {
        const sizes = { perZone, counted: used === 0 ? 0 : perZone, used, digitBits };
        // At first, all targets of a zone have the same prefix.
        const histogram =
          used === 0
            ? map(zoneOf, { target: sequence(targets), perZone })
            : context.materialize(map(firstWithPrefix, { target: sequence(targets), low, perZone }));
        const counts = countInStores(context, own, { bits, low, histogram, ...sizes });
        const scanned = inclusiveScan(counts, plus(u32));
        const target = { target: sequence(targets), low, rank, histogram, bits, scanned, ...sizes };
        return context.materialize(map(nextDigit, target));
      }));
    }
    return low;
  });
}

/** A store, for each of its numbers of zones their places among those that are sought, and one more than the largest. */
interface PlacedStore {
  readonly store: MemberRows;
  readonly places: Column<'u32'>;
  readonly end: number;
}

/** Counts the digits of the values of all stores. */
function countInStores(context: Context, stores: readonly PlacedStore[], sought: SoughtDigits): Column<'u32'> {
  let counts: Column<'u32'> | undefined;
  const zones = sought.bits.capacity;
  let end = 0;
  for (const [at, { store, places, end: own }] of stores.entries()) {
    end = at === stores.length - 1 ? zones : Math.max(end, own);
    const more = countDigits(context, store, places, end, sought);
    counts = counts ? context.materialize(map(addedCounts, { more, index: sequence(more.length), counts })) : more;
  }
  return counts!;
}

const addedCounts = fn(
  'addedCounts',
  { more: u32, index: u32, counts: array(u32) },
  u32,
  // There may be fewer counts. Beyond them, 0 is read.
  ({ more, index, counts }) => more.add(counts.at(index)),
);

const zoneOf = fn('zoneOf', { target: u32, perZone: uniform(u32) }, u32, ({ target, perZone }) => target.shr(perZone));

/** The first target of the same zone with the same prefix. Prefixes ascend as ranks do. */
const firstWithPrefix = fn(
  'firstWithPrefix',
  { target: u32, low: array(u32), perZone: uniform(u32) },
  u32,
  ({ target, low, perZone }) => {
    const own = low.at(target);
    return partitionPoint(target.shr(perZone).shl(perZone), target, (other) => low.at(other).lt(own));
  },
);

/**
 * Adds the next digit to the prefix of a target, and takes off its rank the values that have smaller digits. Differences of
 * counts are right even if the sum over all histograms passes 2³².
 */
const nextDigit = fn(
  'nextDigit',
  {
    ...{ target: u32, low: u32, rank: u32, histogram: u32, bits: array(u32), scanned: array(u32) },
    ...{ perZone: uniform(u32), used: uniform(u32), digitBits: uniform(u32) },
  },
  { low: u32, rank: u32 },
  ({ target, low, rank, histogram, bits, scanned, perZone, used, digitBits }) => {
    const open = bits.at(target.shr(perZone));
    const first = histogram.shl(digitBits);
    // Before the first counter of all, 0 is read.
    const before = scanned.at(first.sub(1));
    const last = first.add(u32(1).shl(digitBits)).sub(1);
    const found = partitionPoint(first, last, (counter) => scanned.at(counter).sub(before).le(rank));
    const passed = scanned.at(found.sub(1)).sub(before);
    const shift = shiftOf(open, used, digitBits);
    const isOpen = open.gt(used);
    return {
      low: select(low, low.add(found.sub(first).shl(shift)), isOpen),
      rank: select(rank, rank.sub(passed), isOpen),
    };
  },
);
