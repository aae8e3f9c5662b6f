import type { BinEdges, Slots } from './binning.ts';
import type { ZonalBins, ZonalHistogram } from './types.ts';

/** The counters of a window that are not 0, read to the host; see {@link slotCounts}. */
export interface CountedSlots {
  readonly slot: Uint32Array;
  readonly count: Uint32Array;
}

/** Numbers of cells of all zones in each slot (counter), over all windows. They are exact while they are below 2⁵³. */
export interface CountTotals {
  /** Adds the counters of a window. Zone `i` of the window is zone `members[i]` of the job. Takes over the arrays. */
  add(members: Uint32Array, window: CountedSlots): void;
  addPart(part: ZoneCounters): void;
  /** The counters that are not 0, as one part. Nothing changes it later. */
  part(): ZoneCounters;
  finish(edges: BinEdges | undefined): Pick<ZonalHistogram, 'bins' | 'cells' | 'nodata' | 'below' | 'above'> & {
    readonly near: BigUint64Array;
  };
}

/** Counters of some zones, none of which is 0. */
export interface ZoneCounters {
  /** The zones of the job, ascending. */
  readonly members: Uint32Array;
  /** For each of the zones, the index of its first row in `slot` and `count`; one more for the end. */
  readonly starts: Uint32Array;
  /** The slots of each zone, ascending. */
  readonly slot: Uint32Array;
  readonly count: Uint32Array | Float64Array;
}

/** Number of rows up to which parts are not merged. */
const FREE_ROWS = 2 ** 22;

/**
 * Creates totals in which all counts are 0. They keep the counters of windows as they come, because most zones lie in
 * one or two windows. When the rows have doubled, all parts are merged. So memory and time are bounded by the counters
 * that are not 0, and not by zones × bins.
 */
export function createCountTotals(zones: number, slots: Slots, freeRows: number = FREE_ROWS): CountTotals {
  let parts: ZoneCounters[] = [];
  let rows = 0;
  let enough = freeRows;
  const merge = (): ZoneCounters => {
    const merged = mergeParts(zones, parts, slots);
    parts = [merged];
    rows = merged.slot.length;
    enough = Math.max(freeRows, 2 * rows);
    return merged;
  };
  const addPart = (part: ZoneCounters): void => {
    parts.push(part);
    rows += part.slot.length;
    if (rows > enough) merge();
  };
  return {
    add: (members, window) => addPart(partOf(members, window, slots.count)),
    addPart,
    part() {
      const { count, ...merged } = merge();
      return { ...merged, count: count.every((cells) => cells < 2 ** 32) ? Uint32Array.from(count) : count };
    },
    finish: (edges) => collect(zones, parts, slots, edges),
  };
}

/** Cuts the counters of a window by zone, and numbers the slots within each zone. Overwrites the slots. */
function partOf(members: Uint32Array, { slot, count }: CountedSlots, slots: number): ZoneCounters {
  const starts = new Uint32Array(members.length + 1);
  let row = 0;
  for (let local = 0; local < members.length; local++) {
    starts[local] = row;
    const first = local * slots;
    const end = first + slots;
    while (row < slot.length && slot[row]! < end) slot[row++]! -= first;
  }
  starts[members.length] = row;
  return { members, starts, slot, count };
}

/** Counters of one zone: the rows `from … to − 1` of `slot` and `count`. */
interface ZoneCounts extends Pick<ZoneCounters, 'slot' | 'count'> {
  readonly from: number;
  readonly to: number;
}

/** Returns a function that finds the counters of a zone. The result is valid until the next call. */
function zoneCounts(zones: number, parts: readonly ZoneCounters[], slots: Slots): (zone: number) => ZoneCounts {
  const { ends, part, local } = partsByZone(zones, parts);
  const none: ZoneCounts = { slot: new Uint32Array(), count: new Uint32Array(), from: 0, to: 0 };
  const piece = (at: number): ZoneCounts => {
    const { starts, slot, count } = parts[part[at]!]!;
    return { slot, count, from: starts[local[at]!]!, to: starts[local[at]! + 1]! };
  };
  const add = createAdder(slots.count);
  return (zone) => {
    const from = zone === 0 ? 0 : ends[zone - 1]!;
    const pieces = ends[zone]! - from;
    if (pieces < 2) return pieces === 0 ? none : piece(from);
    return add(Array.from({ length: pieces }, (_, i) => piece(from + i)));
  };
}

/** The parts that have each zone, in the order of the zones. Those of a zone end at `ends[zone]`. */
function partsByZone(zones: number, parts: readonly ZoneCounters[]): Record<'ends' | 'part' | 'local', Uint32Array> {
  const ends = new Uint32Array(zones);
  for (const { members } of parts) for (const zone of members) ends[zone]!++;
  let pieces = 0;
  for (let zone = 0; zone < zones; zone++) {
    const before = pieces;
    pieces += ends[zone]!;
    ends[zone] = before;
  }
  const part = new Uint32Array(pieces);
  const local = new Uint32Array(pieces);
  parts.forEach(({ members }, number) => {
    for (let i = 0; i < members.length; i++) {
      const at = ends[members[i]!]!++;
      part[at] = number;
      local[at] = i;
    }
  });
  return { ends, part, local };
}

/** Returns a function that adds up the counters of one zone in several parts. The result is valid until the next call. */
function createAdder(slots: number): (pieces: readonly ZoneCounts[]) => ZoneCounts {
  let sums: Float64Array | undefined;
  let slot = new Uint32Array();
  let count = new Float64Array();
  return (pieces) => {
    sums ??= new Float64Array(slots);
    let [first, end, rows] = [slots, 0, 0];
    for (const piece of pieces) {
      if (piece.from === piece.to) continue;
      rows += piece.to - piece.from;
      first = Math.min(first, piece.slot[piece.from]!);
      end = Math.max(end, piece.slot[piece.to - 1]! + 1);
      for (let row = piece.from; row < piece.to; row++) sums[piece.slot[row]!]! += piece.count[row]!;
    }
    if (slot.length < Math.min(rows, slots)) {
      slot = new Uint32Array(Math.min(2 * rows, slots));
      count = new Float64Array(slot.length);
    }
    let to = 0;
    for (let at = first; at < end; at++) {
      if (sums[at] === 0) continue;
      slot[to] = at;
      count[to++] = sums[at]!;
      sums[at] = 0;
    }
    return { slot, count, from: 0, to };
  };
}

function mergeParts(zones: number, parts: readonly ZoneCounters[], slots: Slots): ZoneCounters {
  const countsOf = zoneCounts(zones, parts, slots);
  const sizes = Uint32Array.from({ length: zones }, (_, zone) => {
    const { from, to } = countsOf(zone);
    return to - from;
  });
  const members = Uint32Array.from(sizes.keys()).filter((zone) => sizes[zone]! > 0);
  const starts = new Uint32Array(members.length + 1);
  members.forEach((zone, i) => {
    starts[i + 1] = starts[i]! + sizes[zone]!;
  });
  const slot = new Uint32Array(starts[members.length]!);
  const count = new Float64Array(slot.length);
  members.forEach((zone, i) => {
    const counts = countsOf(zone);
    slot.set(counts.slot.subarray(counts.from, counts.to), starts[i]!);
    count.set(counts.count.subarray(counts.from, counts.to), starts[i]!);
  });
  return { members, starts, slot, count };
}

function collect(
  zones: number,
  parts: readonly ZoneCounters[],
  slots: Slots,
  edges: BinEdges | undefined,
): ReturnType<CountTotals['finish']> {
  const countsOf = zoneCounts(zones, parts, slots);
  const [cells, nodata, near] = [createU64Column(zones), createU64Column(zones), createU64Column(zones)];
  const [below, above] = [createU64Column(zones), createU64Column(zones)];
  const filled = new Uint32Array(zones);
  for (let zone = 0; zone < zones; zone++) {
    const counts = countsOf(zone);
    const { slot, count, to } = counts;
    const end = endOfBins(counts, slots.bins);
    filled[zone] = end - counts.from;
    let lacking = 0;
    for (let row = end; row < to; row++) {
      if (slot[row] === slots.below) below.set(zone, count[row]!);
      else if (slot[row] === slots.above) above.set(zone, count[row]!);
      else {
        lacking += count[row]!;
        if (slots.near !== slots.nodata && slot[row] === slots.near) near.set(zone, count[row]!);
      }
    }
    cells.set(zone, sumOf(counts));
    nodata.set(zone, lacking);
  }
  return {
    bins: edges === undefined ? NO_BINS : collectBins(countsOf, filled, edges),
    cells: cells.column,
    nodata: nodata.column,
    below: below.column,
    above: above.column,
    near: near.column,
  };
}

const NO_BINS: ZonalBins = {
  zone: new Uint32Array(),
  lower: new Float64Array(),
  upper: new Float64Array(),
  count: new BigUint64Array(),
};

/** The row after the last whose slot is a bin. */
function endOfBins({ slot, from, to }: ZoneCounts, bins: number): number {
  let end = to;
  while (end > from && slot[end - 1]! >= bins) end--;
  return end;
}

function sumOf({ count, from, to }: ZoneCounts): number {
  let sum = 0;
  for (let row = from; row < to; row++) sum += count[row]!;
  return sum;
}

/** @param filled - for each zone, the number of bins that are not empty. These are the first of its counters. */
function collectBins(countsOf: (zone: number) => ZoneCounts, filled: Uint32Array, edges: BinEdges): ZonalBins {
  const rows = filled.reduce((sum, bins) => sum + bins, 0);
  const count = createU64Column(rows);
  const bins = { zone: new Uint32Array(rows), lower: new Float64Array(rows), upper: new Float64Array(rows) };
  let row = 0;
  for (let zone = 0; zone < filled.length; zone++) {
    if (filled[zone] === 0) continue;
    const end = row + filled[zone]!;
    bins.zone.fill(zone, row, end);
    const { from, ...counts } = countsOf(zone);
    copyEdges(counts.slot, from, edges.lower, bins.lower, row, end);
    copyEdges(counts.slot, from, edges.upper, bins.upper, row, end);
    for (let at = from; row < end; row++) count.set(row, counts.count[at++]!);
  }
  return { ...bins, count: count.column };
}

/** Writes the edges of bins to the rows `row … end − 1`. The bins stand in `slot` from `from` on. */
function copyEdges(
  slot: Uint32Array,
  from: number,
  edges: Float64Array,
  into: Float64Array,
  row: number,
  end: number,
): void {
  for (let to = row, at = from; to < end; to++, at++) into[to] = edges[slot[at]!]!;
}

/**
 * A column of u64 that is written in 32-bit words. Creating a bigint for each of a million bins would take longer than
 * the counting.
 */
function createU64Column(rows: number): { readonly column: BigUint64Array; set(row: number, value: number): void } {
  const column = new BigUint64Array(rows);
  const words = new Uint32Array(column.buffer);
  const [low, high] = LITTLE_ENDIAN ? [0, 1] : [1, 0];
  return {
    column,
    set(row, value) {
      words[2 * row + low] = value;
      words[2 * row + high] = value / 2 ** 32;
    },
  };
}

const LITTLE_ENDIAN = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;
