import { plainMerge } from './plain.ts';
import type { PlainInputs } from './plain-primitives.ts';

type Words = Uint32Array;

/**
 * The inputs of the composed primitives, in addition to those of `plain-primitives.ts`: the two halves of `x`, each
 * sorted (`low` and `high`), the same without their lowest bits, counts below 8, and the sorted keys in which `lowerBound` searches.
 */
export interface ComposedInputs extends PlainInputs {
  readonly low: Uint32Array;
  readonly high: Uint32Array;
  readonly lowSet: Uint32Array;
  readonly highSet: Uint32Array;
  readonly counts: Uint32Array;
  readonly keys: Uint32Array;
}

/**
 * Hand-written JavaScript for the composed primitives (primitives built from other primitives). Each function returns
 * the results of one primitive. See also `plain-primitives.ts`.
 */
export function plainComposed(n: number, inputs: ComposedInputs): { readonly [name: string]: () => readonly Words[] } {
  const { x, index, runs, order, low, high, lowSet, highSet, keys, counts } = inputs;
  const words = (): Words => new Uint32Array(n).fill(1);
  const [out, second] = [words(), words()];
  const first = (length: number): Words[] => [out.subarray(0, length)];
  return {
    reverse: () => first(reverse(x, out)),
    count: () => first(count(x, out)),
    minElement: () => minElement(x),
    adjacentDifference: () => first(adjacentDifference(x, out)),
    'stencil of 3': () => first(stencil(x, out)),
    'stencil of 3 × 3': () => first(gridStencil(x, out, WIDTH)),
    partition: () => {
      const kept = partition(x, out, second);
      return [...first(kept), second.subarray(0, n - kept)];
    },
    unique: () => first(unique(runs, out)),
    runLengthEncode: () => {
      const found = runLengthEncode(runs, out, second);
      return [...first(found), second.subarray(0, found)];
    },
    segmentedScan: () => first(segmentedScan(x, out)),
    expand: () => first(expand(index, counts, out)),
    merge: () => [plainMerge(low, high, out)],
    setUnion: () => first(setUnion(lowSet, highSet, out)),
    setIntersection: () => first(setIntersection(lowSet, highSet, out)),
    setDifference: () => first(setDifference(lowSet, highSet, out)),
    setSymmetricDifference: () => first(setSymmetricDifference(lowSet, highSet, out)),
    lowerBound: () => first(lowerBound(keys, x, out)),
    selectKth: () => first(selectKth(x, n / 2, out, second)),
    'scatterReduce add': () => first(scatterAdd(index, order, out)),
  };
}

/** Maximum number of cells per row of the grid. */
export const WIDTH = 4096;

export function reverse(x: Words, out: Words): number {
  for (let i = 0, j = x.length - 1; j >= 0; i++, j--) out[i] = x[j]!;
  return x.length;
}

export function count(x: Words, out: Words): number {
  let odd = 0;
  for (let i = 0; i < x.length; i++) odd += x[i]! & 1;
  out[0] = odd;
  return 1;
}

export function minElement(x: Words): Words[] {
  let place = 0;
  for (let i = 1; i < x.length; i++) if (x[i]! < x[place]!) place = i;
  return [Uint32Array.of(x[place]!), Uint32Array.of(place)];
}

export function adjacentDifference(x: Words, out: Words): number {
  let before = 0;
  for (let i = 0; i < x.length; i++) {
    const value = x[i]!;
    out[i] = value - before;
    before = value;
  }
  return x.length;
}

/**
 * Writes to `out`, for each row, the sum of the row and its two neighbours. The first and the last row count twice in
 * their own sums, in place of their missing neighbours.
 */
export function stencil(x: Words, out: Words): number {
  const last = x.length - 1;
  for (let i = 1; i < last; i++) out[i] = x[i - 1]! + x[i]! + x[i + 1]!;
  out[0] = x[0]! + x[0]! + x[Math.min(1, last)]!;
  if (last > 0) out[last] = x[last - 1]! + x[last]! + x[last]!;
  return x.length;
}

export function gridStencil(x: Words, out: Words, width: number): number {
  const rows = x.length / width;
  for (let row = 0; row < rows; row++) {
    const [above, here, below] = [Math.max(0, row - 1), row, Math.min(rows - 1, row + 1)].map((each) => each * width);
    for (let i = 0; i < width; i++) {
      const [left, right] = [i === 0 ? 0 : i - 1, i === width - 1 ? i : i + 1];
      const top = x[above! + left]! + x[above! + i]! + x[above! + right]!;
      const middle = x[here! + left]! + x[here! + i]! + x[here! + right]!;
      out[here! + i] = top + middle + x[below! + left]! + x[below! + i]! + x[below! + right]!;
    }
  }
  return x.length;
}

export function partition(x: Words, selected: Words, rejected: Words): number {
  let place = 0;
  for (let i = 0; i < x.length; i++) {
    const value = x[i]!;
    selected[place] = value;
    rejected[i - place] = value;
    place += value & 1;
  }
  return place;
}

export function unique(keys: Words, out: Words): number {
  let run = 0;
  for (let i = 0; i < keys.length; i++) {
    if (i === 0 || keys[i] !== keys[i - 1]) out[run++] = keys[i]!;
  }
  return run;
}

export function runLengthEncode(keys: Words, out: Words, lengths: Words): number {
  let run = 0;
  for (let i = 0; i < keys.length; ) {
    const start = i;
    const key = keys[i]!;
    while (i < keys.length && keys[i] === key) i++;
    out[run] = key;
    lengths[run++] = i - start;
  }
  return run;
}

/** Inclusive sums within segments of 16 rows. */
export function segmentedScan(x: Words, out: Words): number {
  let sum = 0;
  for (let i = 0; i < x.length; i++) {
    sum = ((i & 15) === 0 ? x[i]! : sum + x[i]!) | 0;
    out[i] = sum;
  }
  return x.length;
}

/** Repeats every row as often as its count in `counts`. */
export function expand(rows: Words, counts: Words, out: Words): number {
  let place = 0;
  for (let i = 0; i < counts.length; i++) {
    for (let rank = 0; rank < counts[i]!; rank++) out[place++] = rows[i]! + rank;
  }
  return place;
}

export function lowerBound(keys: Words, needles: Words, out: Words): number {
  for (let i = 0; i < needles.length; i++) {
    let [low, high] = [0, keys.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (keys[middle]! < needles[i]!) low = middle + 1;
      else high = middle;
    }
    out[i] = low;
  }
  return needles.length;
}

/**
 * Finds the k-th smallest key, one digit of 11 bits after another, from the highest digit. Each pass keeps only the
 * keys with the digit that was found.
 */
export function selectKth(x: Words, k: number, out: Words, spare: Words): number {
  const counts = new Uint32Array(2048);
  let [from, to, length] = [x, out, x.length];
  let rank = k;
  for (const shift of [21, 10, 0]) {
    counts.fill(0);
    for (let i = 0; i < length; i++) counts[(from[i]! >>> shift) & 2047]!++;
    let digit = 0;
    while (rank >= counts[digit]!) rank -= counts[digit++]!;
    let kept = 0;
    for (let i = 0; i < length; i++) if (((from[i]! >>> shift) & 2047) === digit) to[kept++] = from[i]!;
    [from, to, length] = [to, to === out ? spare : out, kept];
  }
  out[0] = from[rank]!;
  return 1;
}

export function scatterAdd(x: Words, places: Words, out: Words): number {
  out.fill(0);
  for (let i = 0; i < places.length; i++) out[places[i]!]! += x[i]!;
  return out.length;
}

/** Inclusive scan by composition of the maps x ↦ scale · x + offset, one map per row. */
export function composeMaps(scales: Words, offsets: Words): Words[] {
  const [out, second] = [new Uint32Array(scales.length), new Uint32Array(scales.length)];
  let [scale, offset] = [1, 0];
  for (let i = 0; i < scales.length; i++) {
    const factor = scales[i]!;
    offset = (Math.imul(factor, offset) + offsets[i]!) | 0;
    scale = Math.imul(scale, factor);
    out[i] = scale;
    second[i] = offset;
  }
  return [out, second];
}

/** Keeps the rows of three columns in which the first column is odd. */
export function copyRecordsIf([x, y, z]: readonly [Words, Words, Words]): Words[] {
  const out = [x, y, z].map(({ length }) => new Uint32Array(length)) as [Words, Words, Words];
  let place = 0;
  for (let i = 0; i < x.length; i++) {
    const value = x[i]!;
    out[0][place] = value;
    out[1][place] = y[i]!;
    out[2][place] = z[i]!;
    place += value & 1;
  }
  return out.map((column) => column.subarray(0, place));
}

function setUnion(a: Words, b: Words, out: Words): number {
  let [i, j, place] = [0, 0, 0];
  while (i < a.length && j < b.length) {
    const [x, y] = [a[i]!, b[j]!];
    out[place++] = Math.min(x, y);
    if (x <= y) i++;
    if (y <= x) j++;
  }
  return append(a, i, out, append(b, j, out, place));
}

function setIntersection(a: Words, b: Words, out: Words): number {
  let [i, j, place] = [0, 0, 0];
  while (i < a.length && j < b.length) {
    const [x, y] = [a[i]!, b[j]!];
    if (x === y) out[place++] = x;
    if (x <= y) i++;
    if (y <= x) j++;
  }
  return place;
}

function setDifference(a: Words, b: Words, out: Words): number {
  let [i, j, place] = [0, 0, 0];
  while (i < a.length && j < b.length) {
    const [x, y] = [a[i]!, b[j]!];
    if (x < y) out[place++] = x;
    if (x <= y) i++;
    if (y <= x) j++;
  }
  return append(a, i, out, place);
}

function setSymmetricDifference(a: Words, b: Words, out: Words): number {
  let [i, j, place] = [0, 0, 0];
  while (i < a.length && j < b.length) {
    const [x, y] = [a[i]!, b[j]!];
    if (x !== y) out[place++] = Math.min(x, y);
    if (x <= y) i++;
    if (y <= x) j++;
  }
  return append(a, i, out, append(b, j, out, place));
}

/** Appends what is left of a column; one of two columns has nothing left. */
function append(from: Words, row: number, out: Words, place: number): number {
  out.set(from.subarray(row), place);
  return place + from.length - row;
}
