import type { HostColumn } from '../harness/experiment.ts';
import { zeros } from './inputs.ts';

/** This file contains primitives in plain JavaScript over typed arrays, on one thread, written by hand. */

const DIGITS = 256;
const RUN = 16;

/** A new array of the same type; by default of the same length. */
function like<A extends HostColumn>(array: A, length: number = array.length): A {
  return zeros(array instanceof Float32Array ? 'f32' : array instanceof Int32Array ? 'i32' : 'u32', length) as A;
}

export function plainCopy(x: HostColumn): HostColumn {
  const out = like(x);
  out.set(x);
  return out;
}

export function plainAffine(x: HostColumn): HostColumn {
  const out = like(x);
  if (x instanceof Float32Array) {
    for (let i = 0; i < x.length; i++) out[i] = Math.fround(x[i]! * 1.5) + 0.25;
  } else {
    for (let i = 0; i < x.length; i++) out[i] = Math.imul(x[i]!, 2654435761) + 1;
  }
  return out;
}

/** Sums of f32 are computed in f64. */
export function plainSum(x: HostColumn): HostColumn {
  const out = like(x, 1);
  let sum = 0;
  if (x instanceof Float32Array) for (let i = 0; i < x.length; i++) sum += x[i]!;
  else for (let i = 0; i < x.length; i++) sum = (sum + x[i]!) | 0;
  out[0] = sum;
  return out;
}

export function plainScan(x: HostColumn): HostColumn {
  const out = like(x);
  let sum = 0;
  if (x instanceof Float32Array) {
    for (let i = 0; i < x.length; i++) {
      out[i] = sum;
      sum += x[i]!;
    }
    return out;
  }
  for (let i = 0; i < x.length; i++) {
    out[i] = sum;
    sum = (sum + x[i]!) | 0;
  }
  return out;
}

/** Keeps odd integers, or f32 elements below 0.5. */
export function plainCopyIf(x: HostColumn): HostColumn {
  const out = like(x);
  let kept = 0;
  if (x instanceof Float32Array) {
    for (let i = 0; i < x.length; i++) if (x[i]! < 0.5) out[kept++] = x[i]!;
  } else {
    for (let i = 0; i < x.length; i++) if ((x[i]! & 1) === 1) out[kept++] = x[i]!;
  }
  return out.subarray(0, kept);
}

export function plainGather(x: HostColumn, order: Uint32Array, out: HostColumn = like(x)): HostColumn {
  for (let i = 0; i < out.length; i++) out[i] = x[order[i]!]!;
  return out;
}

export function plainScatter(x: HostColumn, order: Uint32Array, out: HostColumn = like(x)): HostColumn {
  for (let i = 0; i < x.length; i++) out[order[i]!] = x[i]!;
  return out;
}

/** Sorts with the engine's built-in sort, which compares typed arrays numerically. */
export function plainSort(x: HostColumn): HostColumn {
  return x.slice().sort();
}

/** A hand-written stable radix sort with four digits of 8 bits. Keys in f32 must not be negative. */
export function plainSortByKey(x: HostColumn, values: Uint32Array): readonly [HostColumn, Uint32Array] {
  const flip = x instanceof Int32Array ? 2 ** 31 : 0;
  let keys: Uint32Array<ArrayBufferLike> = new Uint32Array(x.buffer, x.byteOffset, x.length);
  let rows = values;
  let spare: [Uint32Array<ArrayBufferLike>, Uint32Array<ArrayBufferLike>] | undefined;
  for (let shift = 0; shift < 32; shift += 8) {
    const to = spare ?? [new Uint32Array(keys.length), new Uint32Array(keys.length)];
    const places = new Uint32Array(DIGITS);
    for (let i = 0; i < keys.length; i++) places[((keys[i]! ^ flip) >>> shift) & 255]!++;
    for (let digit = 0, sum = 0; digit < DIGITS; digit++) {
      const count = places[digit]!;
      places[digit] = sum;
      sum += count;
    }
    for (let i = 0; i < keys.length; i++) {
      const place = places[((keys[i]! ^ flip) >>> shift) & 255]!++;
      to[0][place] = keys[i]!;
      to[1][place] = rows[i]!;
    }
    // The next pass writes to the spare arrays. In the first pass, `keys` and `rows` belong to the caller, so they must
    // not become spare arrays.
    spare = shift === 0 ? undefined : [keys, rows];
    [keys, rows] = to;
  }
  const sorted = like(x, 0).constructor as new (buffer: ArrayBufferLike, at: number, length: number) => HostColumn;
  return [new sorted(keys.buffer, keys.byteOffset, keys.length), rows];
}

export function plainReduceByKey(keys: Uint32Array, values: HostColumn): readonly [Uint32Array, HostColumn] {
  const outKeys = new Uint32Array(keys.length);
  const out = like(values);
  let runs = 0;
  for (let i = 0; i < keys.length; ) {
    const key = keys[i]!;
    let sum = 0;
    while (i < keys.length && keys[i] === key) sum += values[i++]!;
    outKeys[runs] = key;
    out[runs++] = sum;
  }
  return [outKeys.subarray(0, runs), out.subarray(0, runs)];
}

/** The number of elements for each value of the bits from `shift` on; by default, of the highest byte. */
export function plainHistogram(x: Uint32Array, shift = 24, bins: Uint32Array = new Uint32Array(256)): Uint32Array {
  bins.fill(0);
  for (let i = 0; i < x.length; i++) bins[x[i]! >>> shift]!++;
  return bins;
}

/** Merges two sorted columns. */
export function plainMerge(
  a: Uint32Array,
  b: Uint32Array,
  out: Uint32Array = new Uint32Array(a.length + b.length),
): Uint32Array {
  for (let i = 0, j = 0, place = 0; place < out.length; place++) {
    out[place] = j === b.length || (i < a.length && a[i]! <= b[j]!) ? a[i++]! : b[j++]!;
  }
  return out;
}

/** A chain of primitives: map, copyIf, sortByKey, reduceByKey (16 rows per key), and scan. */
export function plainChain(x: Uint32Array): Uint32Array {
  const keys = new Uint32Array(x.length);
  const rows = new Uint32Array(x.length);
  let kept = 0;
  for (let i = 0; i < x.length; i++) {
    const key = Math.imul(x[i]!, 2654435761) + 1;
    if ((key & 1) === 0) continue;
    keys[kept] = key;
    rows[kept++] = i;
  }
  const [, sorted] = plainSortByKey(keys.subarray(0, kept), rows.subarray(0, kept));
  const out = new Uint32Array(Math.ceil(kept / RUN));
  for (let run = 0, sum = 0; run < out.length; run++) {
    out[run] = sum;
    const end = Math.min(kept, (run + 1) * RUN);
    for (let i = run * RUN; i < end; i++) sum = (sum + sorted[i]!) | 0;
  }
  return out;
}
