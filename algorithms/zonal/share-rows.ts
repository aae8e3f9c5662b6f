import { UNIT } from './areas.ts';
import { createPairRuns, type Numbers, type PairRows, type PairRuns, type Pairs } from './pair-rows.ts';

/**
 * What the cells on outlines differ from whole cells, by pairs of a zone and a value, or a slot of its histogram: Σ(c − 1)
 * in units of 2⁻³⁰ of a cell is 2³² · `up` + `low`, and `over` is the sum of the shares that are negative by their rounding,
 * without their sign.
 */
export type ShareRows = PairRows<'low' | 'up' | 'over'>;

/** The same of a window, read to the host; see `OutlineShares`. */
export type WindowShares = { readonly [field in 'zone' | 'value' | 'low' | 'up' | 'over']: Uint32Array } & {
  readonly high?: Uint32Array;
};

/** Bytes of a row of {@link ShareRows}. */
export const BYTES_PER_SHARE: number = 4 * 3 + 8 * 3;

const SHARE_SUMS = ['low', 'up', 'over'] as const;

/** The shares of a window, by the zones of the job. */
export function shareRows(members: Uint32Array, { zone, up, ...others }: WindowShares): ShareRows {
  const signed = new Int32Array(up.buffer, up.byteOffset, up.length);
  return { ...others, zone: zone.map((local) => members[local]!), up: signed };
}

export function createShareRuns(): PairRuns<'low' | 'up' | 'over'> {
  return createPairRuns(SHARE_SUMS);
}

/** Σ(c − 1) of a row, in units. */
export function differenceAt({ low, up }: Pick<ShareRows, 'low' | 'up'>, row: number): bigint {
  return (BigInt(up[row]!) << 32n) + BigInt(low[row]!);
}

/**
 * For each row of some pairs, the area of the cells that have its value, in units: `count` cells and what they differ from
 * whole ones. All pairs of `shares` are among these pairs.
 */
export function areasOf(rows: PairRows<'count'>, shares: ShareRows): BigInt64Array {
  const areas = BigInt64Array.from(rows.count as Float64Array, (count) => BigInt(count) * UNIT);
  placesAmong(rows, shares).forEach((row, at) => {
    areas[row]! += differenceAt(shares, at);
  });
  return areas;
}

/** For each pair of `shares` its row among all pairs; the row after the last if it is not among them. */
export function placesAmong(rows: Pairs, shares: Pairs): Float64Array {
  const places = new Float64Array(shares.zone.length);
  const isAt = (row: number, at: number): boolean =>
    rows.zone[row] === shares.zone[at] &&
    rows.value[row] === shares.value[at] &&
    rows.high?.[row] === shares.high?.[at];
  for (let at = 0, row = 0; at < places.length; at++) {
    while (row < rows.zone.length && !isAt(row, at)) row++;
    places[at] = row++;
  }
  return places;
}

/**
 * What the cells of a zone lack to whole cells, by their values. Shares that are negative by their rounding count as 0 here,
 * so that the area of the cells up to a value never decreases.
 */
export interface LackingAreas {
  /** Of the values below a word, in units. */
  below(word: number): bigint;
  /** Of the cells of all values. */
  readonly all: bigint;
  /** Whole numbers of cells between which `below` is, for any word. */
  readonly least: number;
  readonly most: number;
}

/** @param words - The words of the rows `from … to − 1`, ascending. */
export function lackingAreas(shares: ShareRows, from: number, to: number, words: Numbers): LackingAreas {
  // For each row, what all rows before it lack: whole cells, and units.
  const cells = new Float64Array(to - from + 1);
  const units = new Float64Array(to - from + 1);
  let [least, most] = [0, 0];
  const unit = Number(UNIT);
  for (let row = from, at = 0; row < to; row++, at++) {
    const lacking = units[at]! - shares.low[row]! - shares.over[row]!;
    const whole = Math.floor(lacking / unit);
    cells[at + 1] = cells[at]! - shares.up[row]! * (2 ** 32 / unit) + whole;
    units[at + 1] = lacking - whole * unit;
    least = Math.min(least, cells[at + 1]!);
    most = Math.max(most, cells[at + 1]! + 1);
  }
  const before = (at: number): bigint => BigInt(cells[at]!) * UNIT + BigInt(units[at]!);
  return {
    below(word) {
      let [low, high] = [0, to - from];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (words[from + middle]! < word) low = middle + 1;
        else high = middle;
      }
      return before(low);
    },
    all: before(to - from),
    ...{ least, most },
  };
}
