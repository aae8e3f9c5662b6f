import type { Case, ElementType, HostColumn } from '../harness/experiment.ts';

/** A 32-bit hash of an index, without collisions. */
export function hashed(index: number): number {
  let x = index;
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (x ^ (x >>> 16)) >>> 0;
}

/** Pseudo-random elements of a type. Integers use all 32 bits; f32 are multiples of 2⁻²⁴ in [0, 1). */
export function randomOf({ n, type }: Case): HostColumn {
  return filled(zeros(type, n), type === 'f32' ? (i) => (hashed(i) >>> 8) * 2 ** -24 : hashed);
}

/** The numbers from 0 to n − 1. */
export function indices(n: number): Uint32Array {
  return filled(new Uint32Array(n), (i) => i);
}

/** The numbers from 0 to n − 1 as elements of a type. */
export function indicesOf({ n, type }: Case): HostColumn {
  return filled(zeros(type, n), (i) => i);
}

/**
 * A pseudo-random permutation of the numbers below n: a bijection on the next power of two, iterated until its value is
 * below n.
 */
export function permutation(n: number): Uint32Array {
  const bits = n < 2 ? 0 : 32 - Math.clz32(n - 1);
  if (bits === 0) return new Uint32Array(n);
  const [mask, half] = [(2 ** bits - 1) >>> 0, (bits + 1) >> 1];
  return filled(new Uint32Array(n), (index) => {
    let i = index;
    do {
      for (let round = 0; round < FACTORS.length; round++) {
        i = ((Math.imul(i, FACTORS[round]!) + 0x7f4a7c15) & mask) >>> 0;
        i ^= i >>> half;
      }
      i >>>= 0;
    } while (i >= n);
    return i;
  });
}

const FACTORS = [0x9e3779b1, 0x85ebca6b, 0xc2b2ae35];

/** A zero-filled array for elements of a type. */
export function zeros(type: ElementType, length: number): HostColumn {
  return type === 'f32' ? new Float32Array(length) : type === 'i32' ? new Int32Array(length) : new Uint32Array(length);
}

function filled<A extends HostColumn>(array: A, valueAt: (index: number) => number): A {
  for (let i = 0; i < array.length; i++) array[i] = valueAt(i);
  return array;
}
