import type { AtomicCombination } from '../../primitives/contract/backend.ts';

/** Combines a value with the stored word. The result may exceed 32 bits: typed arrays store it modulo 2³². */
export const combinations: Readonly<Record<AtomicCombination, (old: number, value: number) => number>> = {
  add: (old, value) => old + value,
  and: (old, value) => old & value,
  or: (old, value) => old | value,
  xor: (old, value) => old ^ value,
  min: Math.min,
  max: Math.max,
};
