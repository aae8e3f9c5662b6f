import { filled, piecewise, type Stretches } from '../stretches.ts';
import { RadixKeys } from './radix-keys.ts';

/** Ranges of at most this many strings are sorted by insertion. */
const FEW = 12;
/** Number of strings between two pauses. */
const PAUSE = 2 ** 13;

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
 * number of characters. Readers may append strings between two steps; these are not sorted.
 */
export function* orderOfStrings(texts: readonly string[]): Stretches<StringOrder> {
  const count = texts.length;
  const order = yield* filled(new Uint32Array(count), (i) => i);
  if (yield* isAscending(texts, count)) return { order, areDistinct: true };
  let areDistinct = true;
  let done = 0;
  yield;
  const keys = new RadixKeys(order);
  yield;
  // Ranges of strings that are equal before `depth`: three numbers for each.
  const ranges = [0, count, yield* sharedLength(texts, count)];
  while (ranges.length > 0) {
    const depth = ranges.pop()!;
    const to = ranges.pop()!;
    const from = ranges.pop()!;
    done += to - from;
    if (done >= PAUSE) {
      yield;
      done = 0;
    }
    if (to - from <= FEW) {
      if (!insertionSort(texts, order, from, to, depth)) areDistinct = false;
      continue;
    }
    const next = depth + (yield* pack(keys, texts, from, to, depth));
    yield* keys.sort(from, to);
    for (let end = from, start = from; start < to; start = end) {
      end = keys.endOfTie(start, to);
      done += end - start;
      if (done >= PAUSE) {
        yield;
        done = 0;
      }
      if (end - start === 1) continue;
      if (goesOn(keys, start)) ranges.push(start, end, next);
      else areDistinct = false;
    }
  }
  return { order, areDistinct };
}

/** The strings of some numbers. */
export function* stringsAt(texts: readonly string[], order: Uint32Array): Stretches<string[]> {
  const found = new Array<string>(order.length);
  yield* piecewise(0, order.length, (from, to) => {
    for (let place = from; place < to; place++) found[place] = texts[order[place]!]!;
  });
  return found;
}

/** The place of every number in an order. */
export function* placesIn(order: Uint32Array): Stretches<Uint32Array> {
  const places = new Uint32Array(order.length);
  yield* piecewise(0, order.length, (from, to) => {
    for (let place = from; place < to; place++) places[order[place]!] = place;
  });
  return places;
}

/** Whether every string is greater than the string before it. */
function* isAscending(texts: readonly string[], count: number): Stretches<boolean> {
  for (let i = 1; i < count; i++) {
    if (compareStrings(texts[i - 1]!, texts[i]!) >= 0) return false;
    if (i % PAUSE === 0) yield;
  }
  return true;
}

/** How many characters all strings begin with in common. */
function* sharedLength(texts: readonly string[], count: number): Stretches<number> {
  const first = texts[0] ?? '';
  let shared = first.length;
  yield* piecewise(1, count, (from, to) => {
    for (let i = from; i < to && shared > 0; i++) {
      const text = texts[i]!;
      let same = 0;
      while (same < shared && same < text.length && text.charCodeAt(same) === first.charCodeAt(same)) same++;
      shared = same;
    }
  });
  return shared;
}

/**
 * Packs characters from `depth` on, and returns how many: seven if all are below 256, otherwise three. The last bits
 * of a key count the remaining characters, because a string that ends is less than one that goes on with zeros.
 */
function* pack(keys: RadixKeys, texts: readonly string[], from: number, to: number, depth: number): Stretches<number> {
  let isNarrow = true;
  yield* piecewise(from, to, (start, end) => {
    isNarrow &&= packNarrow(keys, texts, start, end, depth);
  });
  if (isNarrow) return 7;
  yield* piecewise(from, to, (start, end) => packWide(keys, texts, start, end, depth));
  return 3;
}

/** Returns whether all characters are below 256. */
function packNarrow(keys: RadixKeys, texts: readonly string[], from: number, to: number, depth: number): boolean {
  const { order, high, low } = keys;
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
    if ((a | b | c | d | e | f | g) > 0xff) return false;
    high[i] = (a << 24) | (b << 16) | (c << 8) | d;
    low[i] = (e << 24) | (f << 16) | (g << 8) | (left > 7 ? MORE : left);
  }
  return true;
}

function packWide(keys: RadixKeys, texts: readonly string[], from: number, to: number, depth: number): void {
  const { order, high, low } = keys;
  for (let i = from; i < to; i++) {
    const text = texts[order[i]!]!;
    const left = text.length - depth;
    const a = left > 0 ? orderOfUnit(text.charCodeAt(depth)) : 0;
    const b = left > 1 ? orderOfUnit(text.charCodeAt(depth + 1)) : 0;
    const c = left > 2 ? orderOfUnit(text.charCodeAt(depth + 2)) : 0;
    high[i] = (a << 16) | b;
    low[i] = (c << 16) | (left > 3 ? MORE : left);
  }
}

/** Stands in place of the number of remaining characters if the string goes on after the characters of a key. */
const MORE = 8;

/** Whether the strings go on after the characters of the key. */
function goesOn({ low }: RadixKeys, i: number): boolean {
  return (low[i]! & 0xff) === MORE;
}

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
