import { type Context, OutOfMemoryError } from '../../primitives/index.ts';
import { bytesText } from '../bytes-text.ts';
import { type NarrowSample, SAMPLE_BYTES } from '../geometry/raster.ts';
import type { MemberRows } from './digit-counts.ts';
import { layersOf, narrowed, readDigits, type Sought, searchDigits } from './digit-search.ts';
import { createOpenShares } from './open-shares.ts';
import { orderedWord, valueOfOrderedWord } from './ordered-words.ts';
import type { Pixels } from './pixels.ts';
import { createRankSearch, type RankedValue, type RankSearch, type Target } from './rank-search.ts';
import { selectRanks } from './rank-selection.ts';
import { isReversed, scaledValue } from './scaling.ts';
import { shareRows, type WindowShares } from './share-rows.ts';
import type { Folded, FoldedZones, RankStatistic, Stored } from './statistic-kinds.ts';
import { BYTES_PER_ROW, type CountedValues, copyRows, LEFT_OUT } from './value-rows.ts';

/** What there is to know of a window whose values are counted. */
export interface RankedWindow {
  /** The zones of the job that lie in the window. */
  readonly members: Uint32Array;
  /** The zones that have no cell in a window still to come. */
  readonly complete: readonly number[];
  /** Undefined if the window was not read. The caller gives them away. */
  readonly values?: CountedValues | undefined;
  /** By fractions: what cells on outlines differ from whole ones, by their values. */
  readonly shares?: WindowShares | undefined;
  /** For zones whose values were counted so far, the smallest and the largest one. */
  readonly folded: FoldedZones;
}

/** Statistics of ranks, such as medians, of the zones of a job. */
export interface ZoneRanks {
  /** Adds a window. Windows that are added meanwhile wait. */
  add(window: RankedWindow): Promise<void>;
  /** Ends a reading of the rasters. Returns whether a zone must be read a second time; see {@link ZoneRanks.isSought}. */
  endReading(folded: FoldedZones): Promise<boolean>;
  /** Whether values of a zone are sought in the second reading. */
  isSought(zone: number): boolean;
  /** For each zone the statistic, NaN if it has no cells with data. */
  columnOf(statistic: RankStatistic): Float64Array;
  dispose(): void;
}

/** What {@link createZoneRanks} is told of a job. */
export interface RanksOptions extends Pick<Stored, 'scaling'> {
  readonly sample: NarrowSample;
  readonly statistics: readonly RankStatistic[];
  readonly zones: number;
  readonly pixels?: Pixels | undefined;
  /** Maximum bytes of the values of zones that are not complete, and of the counters of those that do not fit. */
  readonly memoryBytes: number;
}

/** The values of zones that are not complete. */
interface Store extends MemberRows {
  /** For each of its zones, the number of rows. */
  readonly lengths: readonly number[];
  readonly rowCount: number;
}

/** A zone whose values do not fit in memory: what is sought of it, and how many values have each of the next digits. */
interface Counted extends Sought {
  readonly counts: Float64Array;
}

/** Number of values of a zone from which counters on the device may overflow. */
const MANY = 2 ** 32;

/** Bits of the digits by which zones are counted that do not fit in memory. */
const COUNTED_BITS = 16;

/** Maximum number of zones of which such digits are counted at once. */
const COUNTED_ZONES = 32;

/**
 * Creates statistics of no values. The values of a zone are kept from its first window to its last; then the sought ranks
 * are selected, and the values are freed. If the values of all such zones together take too much memory, those of the
 * largest zones are counted by their upper bits instead, and a second reading counts the lower bits of the values whose
 * upper bits are those of a sought one.
 */
export function createZoneRanks(context: Context, options: RanksOptions): ZoneRanks {
  const { sample, scaling, statistics, zones, pixels, memoryBytes } = options;
  const columns = new Map(statistics.map((each) => [each, new Float64Array(zones).fill(Number.NaN)]));
  const sampleBits = 8 * SAMPLE_BYTES[sample];
  const digitBits = Math.min(COUNTED_BITS, sampleBits);
  const tableBytes = 8 * 2 ** digitBits;
  let stores: Store[] = [];
  /** The zones whose values are counted, in the first reading one row for each. */
  let counted: Counted[] = [];
  const isCounted = new Uint8Array(zones);
  const isComplete = new Uint8Array(zones);
  let reading = 1;

  const shares = pixels === 'fractional' ? createOpenShares() : undefined;

  /** For each zone, the number of values so far. */
  const valuesOf = new Float64Array(zones);
  const searches = new Map<number, RankSearch>();
  const openSearch = (zone: number): RankSearch => {
    const numberOf = (word: number): number => scaledValue(scaling, valueOfOrderedWord(sample, word));
    const values = { count: valuesOf[zone]!, isReversed: isReversed(scaling), numberOf };
    const search = createRankSearch(statistics, values, shares?.lackingOf(zone));
    searches.set(zone, search);
    return search;
  };
  /** Whether what is sought of a zone are ranks, which the device finds by itself. */
  const hasRanks = (zone: number): boolean => shares === undefined && valuesOf[zone]! < MANY;
  const onFound = (zone: number, value: RankedValue, target?: Target): void => searches.get(zone)!.found(value, target);
  const settle = (zone: number): void => {
    const search = searches.get(zone)!;
    for (const [statistic, column] of columns) column[zone] = Number(search.resultOf(statistic));
    searches.delete(zone);
  };

  /** Selects among all values of zones that are complete. */
  const select = async (complete: readonly number[], among: readonly MemberRows[], folded: RankedWindow['folded']) => {
    const all = complete.flatMap((zone) => {
      const extremes = folded.get(zone);
      return extremes === undefined || isCounted[zone] === 1 ? [] : [valueRange(sample, zone, extremes)];
    });
    const withTargets = (zones: readonly ValueRange[]): Sought[] =>
      zones.flatMap((own) => {
        const targets = (searches.get(own.zone) ?? openSearch(own.zone)).open();
        return targets.length === 0 ? [] : [{ ...own, before: 0, targets }];
      });
    const [byRank, others] = [true, false].map((is) => all.filter(({ zone }) => hasRanks(zone) === is));
    const ranked = withTargets(byRank!).map((own) => ({ ...own, ranks: own.targets.map(({ rank }) => rank!) }));
    await selectRanks(context, among, ranked, (zone, rank, word) => onFound(zone, { word, before: rank, count: 1 }));
    // Values beside a found one are mostly found with it. Others are sought when it is known which.
    for (let open = withTargets(others!); open.length > 0; open = withTargets(open)) {
      await searchDigits(context, among, open, onFound);
    }
    for (const { zone } of all) settle(zone);
  };

  /** Adds the digits of values to counters of zones. */
  const count = async (among: readonly MemberRows[], into: readonly Counted[]): Promise<void> => {
    for (const layer of layersOf(into)) {
      for (let first = 0; first < layer.length; first += COUNTED_ZONES) {
        const batch = layer.slice(first, first + COUNTED_ZONES);
        const found = await readDigits(context, among, batch, digitBits);
        batch.forEach(({ counts }, at) => {
          for (let digit = 0; digit < counts.length; digit++) counts[digit]! += found[(at << digitBits) + digit]!;
        });
      }
    }
  };

  const inWindow = (members: Uint32Array): Counted[] => {
    const met = new Set(members.filter((zone) => isCounted[zone] === 1));
    return counted.filter(({ zone }) => met.has(zone));
  };
  const isKept = (zone: number): boolean => isComplete[zone] === 0 && isCounted[zone] === 0;

  /** Copies the rows of zones whose values are kept. */
  const copy = (from: MemberRows, lengths: readonly number[]): Store[] => {
    const kept: number[] = [];
    const numbers = from.members.map((zone, at) => (isKept(zone) && lengths[at]! > 0 ? kept.push(at) - 1 : LEFT_OUT));
    if (kept.length === 0) return [];
    const own = kept.map((at) => lengths[at]!);
    const rowCount = own.reduce((sum, length) => sum + length, 0);
    const members = Uint32Array.from(kept, (at) => from.members[at]!);
    return [{ ...copyRows(context, from, numbers, rowCount), members, lengths: own, rowCount }];
  };

  /** Frees the values that are no longer needed, if they are more than half of a store or if memory is short. */
  const shrink = (isShort: boolean): void => {
    stores = stores.flatMap((store) => {
      const needed = store.lengths.reduce((sum, length, at) => sum + (isKept(store.members[at]!) ? length : 0), 0);
      if (needed === store.rowCount || (!isShort && 2 * needed > store.rowCount)) return [store];
      const rest = copy(store, store.lengths);
      context.dispose(store.rows, store.cells);
      return rest;
    });
  };

  const bytesKept = (): number => stores.reduce((sum, { rowCount }) => sum + rowCount * BYTES_PER_ROW, 0);

  /** Counts the values of the largest zones instead of keeping them, until the others fit in memory. */
  const makeRoom = async (): Promise<void> => {
    const room = (): number => memoryBytes - counted.length * tableBytes - (shares?.bytes() ?? 0);
    if (bytesKept() <= room()) return;
    shrink(true);
    let over = bytesKept() - room();
    if (over <= 0) return;
    const rows = new Map<number, number>();
    for (const { members, lengths } of stores) {
      for (const [at, zone] of members.entries()) rows.set(zone, (rows.get(zone) ?? 0) + lengths[at]!);
    }
    const largest = Array.from(rows).sort(([, a], [, b]) => b - a);
    const more: Counted[] = [];
    for (const [zone, length] of largest) {
      if (over <= 0) break;
      const gained = length * BYTES_PER_ROW - tableBytes;
      if (gained <= 0) throw tooLarge(memoryBytes, memoryBytes + over, rows.size + counted.length);
      const whole = { zone, low: 0, bits: sampleBits, before: 0, targets: [] };
      more.push({ ...whole, counts: new Float64Array(2 ** digitBits) });
      over -= gained;
    }
    if (over > 0) throw tooLarge(memoryBytes, memoryBytes + over, rows.size + counted.length);
    await count(stores, more);
    counted = counted.concat(more);
    for (const { zone } of more) isCounted[zone] = 1;
    shrink(true);
  };

  const addToFirst = async ({ members, complete, values, shares: more, folded }: RankedWindow): Promise<void> => {
    if (more !== undefined) shares?.add(shareRows(members, more));
    const lengths = new Array<number>(members.length).fill(0);
    values?.counts.zone.forEach((zone, at) => {
      lengths[zone] = values.counts.rows[at]!;
      valuesOf[members[zone]!]! += values.counts.values[at]!;
    });
    const own: MemberRows[] = values === undefined ? [] : [{ ...values, members }];
    await count(own, inWindow(members));
    await select(complete, [...stores, ...own], folded);
    for (const zone of complete) isComplete[zone] = 1;
    shares?.shrink((zone) => isKept(zone) || isCounted[zone] === 1);
    if (values !== undefined) stores = stores.concat(copy({ ...values, members }, lengths));
    shrink(false);
    await makeRoom();
  };

  /** Finds the upper bits of what is sought of counted zones. There is no third reading, so values beside a found one are sought with it. */
  const endFirst = async (folded: RankedWindow['folded']): Promise<boolean> => {
    const open = new Set(stores.flatMap(({ members }) => Array.from(members)));
    await select(Array.from(open).filter(isKept), stores, folded);
    isComplete.fill(1);
    shrink(true);
    const next = counted.flatMap(({ counts, ...own }) => {
      const targets = valuesOf[own.zone] === 0 ? [] : openSearch(own.zone).open();
      return narrowed({ ...own, targets }, counts, digitBits, onFound, true);
    });
    if (next.length * tableBytes > memoryBytes) throw tooLarge(memoryBytes, next.length * tableBytes, counted.length);
    counted = next.map((own) => ({ ...own, counts: new Float64Array(2 ** digitBits) }));
    return counted.length > 0;
  };

  let turn: Promise<unknown> = Promise.resolve();
  return {
    add(window) {
      const added = turn.then(() =>
        reading === 1
          ? addToFirst(window)
          : count(window.values ? [{ ...window.values, members: window.members }] : [], inWindow(window.members)),
      );
      turn = added.catch(() => undefined);
      return added;
    },
    async endReading(folded) {
      const isSecond = reading++ === 2;
      if (isSecond) for (const own of counted) narrowed(own, own.counts, digitBits, onFound, true);
      else if (await endFirst(folded)) return true;
      for (const zone of Array.from(searches.keys())) settle(zone);
      return false;
    },
    isSought: (zone) => isCounted[zone] === 1,
    columnOf: (statistic) => columns.get(statistic)!,
    dispose() {
      for (const { rows, cells } of stores) context.dispose(rows, cells);
      stores = [];
    },
  };
}

/** Where the values of a zone are: the word of the smallest, and the number of bits in which others differ from it. */
type ValueRange = Pick<Sought, 'zone' | 'low' | 'bits'>;

export function valueRange(sample: NarrowSample, zone: number, { minimum, maximum }: Folded): ValueRange {
  const [low, high] = [orderedWord(sample, Number(minimum)), orderedWord(sample, Number(maximum))];
  // The difference of two values has no more bits than that of the largest and the smallest.
  return { zone, low, bits: high === low ? 0 : 32 - Math.clz32(high - low) };
}

function tooLarge(memoryBytes: number, bytes: number, zones: number): OutOfMemoryError {
  return new OutOfMemoryError(
    'zonal/rank-memory-bytes',
    'The values of the zones for quantiles do not fit in memory.',
    {
      expected: `at most ${bytesText(memoryBytes)}`,
      got: `${bytesText(bytes)} for ${zones} zones that lie in the rasters at the same time`,
      remedy: 'Count fewer zones at a time, or raise the limit (--memory; a quarter of it is used for this).',
    },
  );
}
