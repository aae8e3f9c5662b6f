import { u32 } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import { f32BitsToSortable } from '../../primitives/functors/standard/sortable.ts';
import type { Bool, U32 } from '../../primitives/functors/value.ts';
import { bitsOfF32, f32OfBits } from '../../primitives/ir/semantics.ts';
import type { NarrowSample } from '../geometry/raster.ts';

/** Maps a stored cell to an ordered word: a u32 that has the order of the sample's values. −0 becomes 0. */
export function orderedKey(sample: NarrowSample, raw: U32): U32 {
  if (sample === 'i32') return raw.xor(0x80000000);
  if (sample !== 'f32') return raw;
  return f32BitsToSortable({ bits: select(raw, u32(0), raw.eq(0x80000000)) });
}

/** Whether the bits of an f32 are a NaN. */
export function isNotANumber(raw: U32): Bool {
  return raw.and(0x7fffffff).gt(0x7f800000);
}

/** Same as {@link orderedKey} for a number on the host. */
export function orderedWord(sample: NarrowSample, value: number): number {
  if (sample === 'i8') return value + 0x80;
  if (sample === 'i16') return value + 0x8000;
  if (sample === 'i32') return (value ^ 0x80000000) >>> 0;
  if (sample !== 'f32') return value >>> 0;
  const bits = bitsOfF32(value === 0 ? 0 : value);
  return (bits >= 0x80000000 ? ~bits : bits | 0x80000000) >>> 0;
}

/** The number whose ordered word is `word`. */
export function valueOfOrderedWord(sample: NarrowSample, word: number): number {
  if (sample === 'i8') return word - 0x80;
  if (sample === 'i16') return word - 0x8000;
  if (sample === 'i32') return (word ^ 0x80000000) | 0;
  if (sample !== 'f32') return word;
  return f32OfBits(word >= 0x80000000 ? word & 0x7fffffff : ~word >>> 0);
}
