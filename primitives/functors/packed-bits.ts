import { Let } from './control.ts';
import { u32 } from './functor.ts';
import type { U32 } from './value.ts';

/** Emits the 32 bits from bit `bit` of the word `first` on, lowest first. Reads two words. */
export function bitsFrom(words: { at(index: U32): U32 }, first: U32, bit: U32): U32 {
  const at = Let(first.add(bit.shr(5)));
  const shift = Let(bit.and(31));
  return words
    .at(at)
    .shr(shift)
    .or(words.at(at.add(1)).shl(1).shl(u32(31).sub(shift)));
}
