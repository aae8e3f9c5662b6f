import { plainGather, plainHistogram, plainScatter } from './plain.ts';

export interface PlainInputs {
  readonly x: Uint32Array;
  readonly floats: Float32Array;
  readonly index: Uint32Array;
  readonly runs: Uint32Array;
  readonly order: Uint32Array;
}

type Words = Uint32Array;

/**
 * Returns the primitives as plain JavaScript over typed arrays, on one thread: loops as one would write them by hand.
 * Results are written to preallocated arrays.
 */
export function plainPrimitives(n: number, inputs: PlainInputs): { readonly [name: string]: () => void } {
  const { x, floats, index, runs, order } = inputs;
  const words = (): Words => new Uint32Array(n).fill(1);
  const [out, second, spare, spareSecond] = [words(), words(), words(), words()];
  const real = new Float32Array(out.buffer);
  const bins = new Uint32Array(8192);
  return {
    copy: () => out.set(x),
    fill: () => out.fill(7),
    sequence: () => sequence(out),
    map: () => map(x, out),
    'map f32': () => mapReal(floats, real),
    reduce: () => reduce(x, out),
    'reduce f32': () => reduceReal(floats, real),
    scan: () => scan(x, out),
    'scan f32': () => scanReal(floats, real),
    'scan of 2 × 2': () => scanMatrices([x, index, runs, order], [out, second, spare, spareSecond]),
    copyIf: () => copyIf(x, out),
    'copyIf of 3': () => copyRowsIf([x, index, runs], [out, second, spare]),
    gather: () => plainGather(index, order, out),
    scatter: () => plainScatter(index, order, out),
    reduceByKey: () => reduceByKey(runs, index, out, second),
    histogram: () => plainHistogram(x, 24, bins.subarray(0, 256)),
    'histogram 8192': () => plainHistogram(x, 19, bins),
    sort: () => sort(x, undefined, [out, spare], [second, spareSecond]),
    sortByKey: () => sort(x, index, [out, spare], [second, spareSecond]),
  };
}

function sequence(out: Words): void {
  for (let i = 0; i < out.length; i++) out[i] = i;
}

function map(x: Words, out: Words): void {
  for (let i = 0; i < x.length; i++) out[i] = Math.imul(x[i]!, 2654435761) + 1;
}

function mapReal(x: Float32Array, out: Float32Array): void {
  const { fround } = Math;
  for (let i = 0; i < x.length; i++) {
    const value = x[i]!;
    out[i] = fround(fround(fround(value * value) * 0.5 + value) - 1.25);
  }
}

function reduce(x: Words, out: Words): void {
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum = (sum + x[i]!) | 0;
  out[0] = sum;
}

function reduceReal(x: Float32Array, out: Float32Array): void {
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum = Math.fround(sum + x[i]!);
  out[0] = sum;
}

function scan(x: Words, out: Words): void {
  let sum = 0;
  for (let i = 0; i < x.length; i++) {
    out[i] = sum;
    sum = (sum + x[i]!) | 0;
  }
}

function scanReal(x: Float32Array, out: Float32Array): void {
  let sum = 0;
  for (let i = 0; i < x.length; i++) {
    out[i] = sum;
    sum = Math.fround(sum + x[i]!);
  }
}

/** Copies the odd elements. The loop has no branch that depends on the data, because that would double the time. */
function copyIf(x: Words, out: Words): void {
  let place = 0;
  for (let i = 0; i < x.length; i++) {
    const value = x[i]!;
    out[place] = value;
    place += value & 1;
  }
}

function copyRowsIf([x, y, z]: readonly Words[], [a, b, c]: readonly Words[]): void {
  let place = 0;
  for (let i = 0; i < x!.length; i++) {
    const value = x![i]!;
    a![place] = value;
    b![place] = y![i]!;
    c![place] = z![i]!;
    place += value & 1;
  }
}

/** Inclusive scan of 2 × 2 matrices by multiplication from left to right. A matrix has the rows (a, b) and (c, d). */
function scanMatrices([a, b, c, d]: readonly Words[], [e, f, g, h]: readonly Words[]): void {
  const { imul } = Math;
  let [upperLeft, upperRight, lowerLeft, lowerRight] = [1, 0, 0, 1];
  for (let i = 0; i < a!.length; i++) {
    const [left, right] = [upperLeft, lowerLeft];
    upperLeft = (imul(left, a![i]!) + imul(upperRight, c![i]!)) | 0;
    upperRight = (imul(left, b![i]!) + imul(upperRight, d![i]!)) | 0;
    lowerLeft = (imul(right, a![i]!) + imul(lowerRight, c![i]!)) | 0;
    lowerRight = (imul(right, b![i]!) + imul(lowerRight, d![i]!)) | 0;
    e![i] = upperLeft;
    f![i] = upperRight;
    g![i] = lowerLeft;
    h![i] = lowerRight;
  }
}

function reduceByKey(keys: Words, values: Words, outKeys: Words, sums: Words): void {
  let run = 0;
  for (let i = 0; i < keys.length; ) {
    const key = keys[i]!;
    let sum = 0;
    for (; i < keys.length && keys[i] === key; i++) sum = (sum + values[i]!) | 0;
    outKeys[run] = key;
    sums[run++] = sum;
  }
}

/** Radix sort by digits of 11 bits, which is the fastest size in JavaScript. */
function sort(
  input: Words,
  payload: Words | undefined,
  keys: readonly [Words, Words],
  rows: readonly [Words, Words],
): void {
  const places = new Uint32Array(2048);
  let [from, fromRows] = [input, payload];
  for (const [pass, shift] of [0, 11, 22].entries()) {
    const [to, toRows] = [keys[pass % 2]!, rows[pass % 2]!];
    places.fill(0);
    for (let i = 0; i < from.length; i++) places[(from[i]! >>> shift) & 2047]!++;
    let sum = 0;
    for (let digit = 0; digit < 2048; digit++) {
      const count = places[digit]!;
      places[digit] = sum;
      sum += count;
    }
    if (fromRows === undefined) move(from, to, places, shift);
    else moveRows(from, fromRows, to, toRows, places, shift);
    from = to;
    if (fromRows !== undefined) fromRows = toRows;
  }
}

function move(from: Words, to: Words, places: Words, shift: number): void {
  for (let i = 0; i < from.length; i++) to[places[(from[i]! >>> shift) & 2047]!++] = from[i]!;
}

function moveRows(from: Words, rows: Words, to: Words, toRows: Words, places: Words, shift: number): void {
  for (let i = 0; i < from.length; i++) {
    const place = places[(from[i]! >>> shift) & 2047]!++;
    to[place] = from[i]!;
    toRows[place] = rows[i]!;
  }
}
