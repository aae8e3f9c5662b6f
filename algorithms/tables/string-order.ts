/** Ranges of at most this many strings are sorted by insertion. */
const FEW = 12;

/** Numbers of strings, in the order of the strings, and whether all strings are different. */
export interface StringOrder {
  readonly order: Uint32Array;
  readonly areDistinct: boolean;
}

/**
 * The numbers of strings in ascending order of the strings. Equal strings keep their order. Strings are ordered by code
 * points, which is also the order of their UTF-8 bytes, as in SQL.
 *
 * Comparing pairs of strings takes seconds for millions of strings. So characters are packed into keys of 64 bits, which
 * a radix sort orders; strings with equal keys are sorted by the characters that follow. The work is linear in the
 * number of characters.
 */
export function orderOfStrings(texts: readonly string[]): StringOrder {
  const order = new Uint32Array(texts.length);
  for (let i = 0; i < order.length; i++) order[i] = i;
  if (isAscending(texts)) return { order, areDistinct: true };
  let areDistinct = true;
  const keys = new Keys(order);
  // Ranges of strings that are equal before `depth`: three numbers for each.
  const ranges = [0, texts.length, sharedLength(texts)];
  while (ranges.length > 0) {
    const depth = ranges.pop()!;
    const to = ranges.pop()!;
    const from = ranges.pop()!;
    if (to - from <= FEW) {
      if (!insertionSort(texts, order, from, to, depth)) areDistinct = false;
      continue;
    }
    const next = depth + keys.pack(texts, from, to, depth);
    keys.sort(from, to);
    for (let end = from, start = from; start < to; start = end) {
      end = keys.endOfTie(start, to);
      if (end - start === 1) continue;
      if (keys.goesOn(start)) ranges.push(start, end, next);
      else areDistinct = false;
    }
  }
  return { order, areDistinct };
}

/** The strings of some numbers. */
export function stringsAt(texts: readonly string[], order: Uint32Array): string[] {
  const found = new Array<string>(order.length);
  for (let place = 0; place < order.length; place++) found[place] = texts[order[place]!]!;
  return found;
}

/** The place of every number in an order. */
export function placesIn(order: Uint32Array): Uint32Array {
  const places = new Uint32Array(order.length);
  for (let place = 0; place < order.length; place++) places[order[place]!] = place;
  return places;
}

/** Whether every string is greater than the string before it. */
function isAscending(texts: readonly string[]): boolean {
  for (let i = 1; i < texts.length; i++) if (compareStrings(texts[i - 1]!, texts[i]!) >= 0) return false;
  return true;
}

/** How many characters all strings begin with in common. */
function sharedLength(texts: readonly string[]): number {
  const first = texts[0] ?? '';
  let shared = first.length;
  for (let i = 1; i < texts.length && shared > 0; i++) {
    const text = texts[i]!;
    let same = 0;
    while (same < shared && same < text.length && text.charCodeAt(same) === first.charCodeAt(same)) same++;
    shared = same;
  }
  return shared;
}

/** Numbers of strings beside keys, which are packed from some characters of the strings. */
class Keys {
  private readonly order: Uint32Array;
  private readonly high: Uint32Array;
  private readonly low: Uint32Array;
  private readonly others: readonly [Uint32Array, Uint32Array, Uint32Array];
  private readonly counts = new Uint32Array(8 * 256);

  constructor(order: Uint32Array) {
    const { length } = order;
    this.order = order;
    this.high = new Uint32Array(length);
    this.low = new Uint32Array(length);
    this.others = [new Uint32Array(length), new Uint32Array(length), new Uint32Array(length)];
  }

  /**
   * Packs characters from `depth` on, and returns how many: seven if all are below 256, otherwise three. The last bits
   * of a key count the remaining characters, because a string that ends is less than one that goes on with zeros.
   */
  pack(texts: readonly string[], from: number, to: number, depth: number): number {
    const { order, high, low } = this;
    for (let i = from; i < to; i++) {
      const text = texts[order[i]!]!;
      const left = text.length - depth;
      const a = left > 0 ? text.charCodeAt(depth) : 0;
      const b = left > 1 ? text.charCodeAt(depth + 1) : 0;
      const c = left > 2 ? text.charCodeAt(depth + 2) : 0;
      const d = left > 3 ? text.charCodeAt(depth + 3) : 0;
      const e = left > 4 ? text.charCodeAt(depth + 4) : 0;
      const f = left > 5 ? text.charCodeAt(depth + 5) : 0;
      const g = left > 6 ? text.charCodeAt(depth + 6) : 0;
      if ((a | b | c | d | e | f | g) > 0xff) return this.packWide(texts, from, to, depth);
      high[i] = (a << 24) | (b << 16) | (c << 8) | d;
      low[i] = (e << 24) | (f << 16) | (g << 8) | (left > 7 ? MORE : left);
    }
    return 7;
  }

  private packWide(texts: readonly string[], from: number, to: number, depth: number): number {
    const { order, high, low } = this;
    for (let i = from; i < to; i++) {
      const text = texts[order[i]!]!;
      const left = text.length - depth;
      const a = left > 0 ? orderOfUnit(text.charCodeAt(depth)) : 0;
      const b = left > 1 ? orderOfUnit(text.charCodeAt(depth + 1)) : 0;
      const c = left > 2 ? orderOfUnit(text.charCodeAt(depth + 2)) : 0;
      high[i] = (a << 16) | b;
      low[i] = (c << 16) | (left > 3 ? MORE : left);
    }
    return 3;
  }

  /** Whether the strings go on after the characters of the key. */
  goesOn(i: number): boolean {
    return (this.low[i]! & 0xff) === MORE;
  }

  /** The end of the run of keys equal to that at `start`. */
  endOfTie(start: number, to: number): number {
    const { high, low } = this;
    const [h, l] = [high[start]!, low[start]!];
    let end = start + 1;
    while (end < to && high[end] === h && low[end] === l) end++;
    return end;
  }

  /** Sorts the keys of a range, and the numbers of their strings, byte by byte from the last byte on. */
  sort(from: number, to: number): void {
    const { counts, order } = this;
    this.count(from, to);
    let [high, low, numbers] = [this.high, this.low, order];
    let [otherHigh, otherLow, otherNumbers] = this.others;
    for (let byte = 0; byte < 8; byte++) {
      const places = counts.subarray(byte * 256, byte * 256 + 256);
      const words = byte < 4 ? low : high;
      const shift = (byte & 3) * 8;
      if (places[(words[from]! >>> shift) & 0xff] === to - from) continue;
      for (let digit = 0, place = from; digit < 256; digit++) {
        const count = places[digit]!;
        places[digit] = place;
        place += count;
      }
      for (let i = from; i < to; i++) {
        const digit = (words[i]! >>> shift) & 0xff;
        const place = places[digit]!;
        places[digit] = place + 1;
        otherHigh[place] = high[i]!;
        otherLow[place] = low[i]!;
        otherNumbers[place] = numbers[i]!;
      }
      [high, low, numbers, otherHigh, otherLow, otherNumbers] = [otherHigh, otherLow, otherNumbers, high, low, numbers];
    }
    if (numbers === order) return;
    this.high.set(high.subarray(from, to), from);
    this.low.set(low.subarray(from, to), from);
    order.set(numbers.subarray(from, to), from);
  }

  /** Counts how often each byte occurs at each of the eight places of the keys. */
  private count(from: number, to: number): void {
    const { counts, high, low } = this;
    counts.fill(0);
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

/** Stands in place of the number of remaining characters if the string goes on after the characters of a key. */
const MORE = 8;

/** Sorts a short range. Returns whether all of its strings are different. */
function insertionSort(texts: readonly string[], order: Uint32Array, from: number, to: number, depth: number): boolean {
  let areDistinct = true;
  for (let i = from + 1; i < to; i++) {
    const code = order[i]!;
    const text = texts[code]!;
    let place = i;
    for (; place > from; place--) {
      const apart = compareStrings(texts[order[place - 1]!]!, text, depth);
      if (apart === 0) areDistinct = false;
      if (apart <= 0) break;
      order[place] = order[place - 1]!;
    }
    order[place] = code;
  }
  return areDistinct;
}

/**
 * Compares strings by code points, from the character `start` on. JavaScript itself compares UTF-16 code units, which
 * orders surrogates differently.
 */
export function compareStrings(a: string, b: string, start = 0): number {
  const length = Math.min(a.length, b.length);
  for (let i = start; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return orderOfUnit(x) - orderOfUnit(y);
  }
  return a.length - b.length;
}

/**
 * Moves surrogates above all other code units, because surrogates encode the code points above all code points of one
 * unit.
 */
function orderOfUnit(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit > 0xdfff ? unit - 0x800 : unit + 0x2000;
}
