import { type Bool, type Functor, fn, type U32, u32 } from '../../primitives/index.ts';

/** The bytes that have a special meaning in texts of boundaries (polygons, one per line), by name. */
export const BYTE = {
  tab: 9,
  newline: 10,
  return: 13,
  space: 32,
  hash: 35,
  comma: 44,
  minus: 45,
  zero: 48,
  semicolon: 59,
  bar: 124,
} as const;

/** Whether a byte separates vertices. */
export function isBlank(byte: U32): Bool {
  return byte.eq(BYTE.space).or(byte.eq(BYTE.tab));
}

/** Whether a byte separates the rings of a polygon. */
export function isRingBreak(byte: U32): Bool {
  return byte.eq(BYTE.semicolon).or(byte.eq(BYTE.bar));
}

/**
 * Finds the marks among the four bytes of a word. A mark is a byte that ends a line or a ring, or the first byte of a
 * token. A token is a sequence of bytes between blanks and ends of lines or rings. In the result, the highest bit of
 * each marked byte is set. `before` is the preceding word, whose last byte decides whether the first byte of `here`
 * begins a token.
 *
 * The code is straight-line arithmetic without carries between bytes, so it vectorises.
 */
export const markBytes: Functor<{ readonly before: typeof u32; readonly here: typeof u32 }, typeof u32> = fn(
  'markBytes',
  { before: u32, here: u32 },
  u32,
  ({ before, here }) => {
    const breaks = breakBytes(here);
    const gaps = breaks.or(blankBytes(here));
    const gapBefore = breakBytes(before).or(blankBytes(before)).shr(24);
    const starts = gaps.shl(8).or(gapBefore).and(gaps.not()).and(HIGHEST_BITS);
    return breaks.or(starts);
  },
);

const HIGHEST_BITS = 0x80808080;
const OTHER_BITS = 0x7f7f7f7f;

function breakBytes(word: U32): U32 {
  return bytesEqual(word, BYTE.newline).or(bytesEqual(word, BYTE.semicolon)).or(bytesEqual(word, BYTE.bar));
}

function blankBytes(word: U32): U32 {
  return bytesEqual(word, BYTE.space).or(bytesEqual(word, BYTE.tab));
}

/** Sets the highest bit of each byte of `word` that equals `byte`; all other bits of the result are 0. */
function bytesEqual(word: U32, byte: number): U32 {
  const difference = word.xor(byte * 0x01010101);
  return difference.and(OTHER_BITS).add(OTHER_BITS).or(difference).or(OTHER_BITS).not();
}

/** Whether a byte is a decimal digit. `aboveZero` is the byte minus the code of `0`, modulo 2³². */
export function isDigit(aboveZero: U32): Bool {
  return aboveZero.le(9);
}
