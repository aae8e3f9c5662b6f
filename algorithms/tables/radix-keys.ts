import { piecewise, type Stretches } from '../stretches.ts';

/** Keys of 64 bits in two words, and the numbers of what they belong to. */
interface Rows {
  readonly high: Uint32Array;
  readonly low: Uint32Array;
  readonly order: Uint32Array;
}

function emptyRows(order: Uint32Array): Rows {
  return { high: new Uint32Array(order.length), low: new Uint32Array(order.length), order };
}

/** Sorts keys of 64 bits with the numbers of what they belong to, by radix. The sort is stable. */
export class RadixKeys implements Rows {
  readonly order: Uint32Array;
  readonly high: Uint32Array;
  readonly low: Uint32Array;
  private readonly others: Rows;
  private readonly counts = new Uint32Array(8 * 256);

  constructor(order: Uint32Array) {
    this.order = order;
    ({ high: this.high, low: this.low } = emptyRows(order));
    this.others = emptyRows(new Uint32Array(order.length));
  }

  /** The end of the run of keys equal to that at `start`. */
  endOfTie(start: number, to: number): number {
    const { high, low } = this;
    const [h, l] = [high[start]!, low[start]!];
    let end = start + 1;
    while (end < to && high[end] === h && low[end] === l) end++;
    return end;
  }

  /** Sorts the keys of a range, and their numbers, byte by byte from the last byte on. */
  *sort(from: number, to: number): Stretches<void> {
    const { counts, order } = this;
    counts.fill(0);
    yield* piecewise(from, to, (start, end) => this.count(start, end));
    let rows: Rows = this;
    let others: Rows = this.others;
    for (let byte = 0; byte < 8; byte++) {
      const places = counts.subarray(byte * 256, byte * 256 + 256);
      const words = byte < 4 ? rows.low : rows.high;
      const shift = (byte & 3) * 8;
      if (places[(words[from]! >>> shift) & 0xff] === to - from) continue;
      for (let digit = 0, place = from; digit < 256; digit++) {
        const count = places[digit]!;
        places[digit] = place;
        place += count;
      }
      const [source, target] = [rows, others];
      yield* piecewise(from, to, (start, end) => moveRows(source, target, words, shift, places, start, end));
      [rows, others] = [others, rows];
    }
    if (rows.order === order) return;
    this.high.set(rows.high.subarray(from, to), from);
    this.low.set(rows.low.subarray(from, to), from);
    order.set(rows.order.subarray(from, to), from);
  }

  /** Counts how often each byte occurs at each of the eight places of the keys. */
  private count(from: number, to: number): void {
    const { counts, high, low } = this;
    for (let i = from; i < to; i++) {
      const [h, l] = [high[i]!, low[i]!];
      counts[l & 0xff]!++;
      counts[256 + ((l >>> 8) & 0xff)]!++;
      counts[512 + ((l >>> 16) & 0xff)]!++;
      counts[768 + (l >>> 24)]!++;
      counts[1024 + (h & 0xff)]!++;
      counts[1280 + ((h >>> 8) & 0xff)]!++;
      counts[1536 + ((h >>> 16) & 0xff)]!++;
      counts[1792 + (h >>> 24)]!++;
    }
  }
}

/** Moves keys, with their numbers, to the next places of their digits. */
function moveRows(
  { high, low, order }: Rows,
  to: Rows,
  words: Uint32Array,
  shift: number,
  places: Uint32Array,
  start: number,
  end: number,
): void {
  const { high: toHigh, low: toLow, order: toOrder } = to;
  for (let i = start; i < end; i++) {
    const digit = (words[i]! >>> shift) & 0xff;
    const place = places[digit]!;
    places[digit] = place + 1;
    toHigh[place] = high[i]!;
    toLow[place] = low[i]!;
    toOrder[place] = order[i]!;
  }
}
