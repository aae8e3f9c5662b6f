import type { Cell } from '../../../../primitives/contract/backend.ts';
import { entryOf } from '../../../../primitives/ir/ir.ts';
import type { LinkedProgram } from '../../launches/link.ts';
import { dispatchWord } from '../../launches/parameters.ts';

/**
 * `DIGIT_BITS` is the number of key bits that one pass sorts by. `DIGITS` is the number of values that such a digit can
 * have.
 */
export const DIGIT_BITS: number = 8;
export const DIGITS: number = 2 ** DIGIT_BITS;
// Kernels store sets of digits in whole 32-bit words and use one thread per digit, in workgroups of at most 256
// threads.
if (DIGITS < 32 || DIGITS > 256) throw new RangeError('DIGIT_BITS must be 5 to 8.');

/** The destinations of sorted keys and payload; undefined if not needed. */
export interface Columns {
  readonly keys: Cell | undefined;
  readonly payload: Cell | undefined;
}

/** The part of the key that one pass sorts by: `(key >> shift) & mask`. */
export interface Digit {
  readonly shift: number;
  readonly mask: number;
}

/** Splits the bits `beginBit` … `endBit` − 1 into one digit per pass, the lowest first. */
export function passesOf(beginBit: number, endBit: number): Digit[] {
  const count = Math.ceil((endBit - beginBit) / DIGIT_BITS);
  return Array.from({ length: count }, (_, pass) => {
    const shift = beginBit + pass * DIGIT_BITS;
    return { shift, mask: 2 ** Math.min(DIGIT_BITS, endBit - shift) - 1 };
  });
}

/**
 * Emits the WGSL function `row(i)`. It returns a struct with the fields `r0` (key), `r1` (payload, or 0 if there is
 * none) and `r2` (destination index, initially 0).
 */
export function emitRows({ module }: LinkedProgram): string {
  const fields = entryOf(module).results.length === 1 ? 'r, 0u' : 'r.r0, r.r1';
  return `struct Row { r0: u32, r1: u32, r2: u32 }
fn row(i: u32) -> Row { let r = p_entry(i); return Row(${fields}, 0u); }`;
}

/**
 * Emits the WGSL function `digit(key)`. Every dispatch must pass the digit's shift as its word 1 and the mask as its
 * word 2.
 */
export function emitDigit(): string {
  return `fn digit(key: u32) -> u32 { return (key >> ${dispatchWord(1)}) & ${dispatchWord(2)}; }`;
}
