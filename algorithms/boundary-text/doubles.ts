import { scaleLength } from '../../primitives/columns/length.ts';
import type { Loader } from '../../primitives/columns/program.ts';
import {
  type Bool,
  bitsToU32,
  type Column,
  type Context,
  clz,
  type I32,
  select,
  type U32,
  u32,
} from '../../primitives/index.ts';
import { storeResults } from '../../primitives/rows/row-results.ts';
import { UNREAD } from './vertices.ts';

/**
 * Converts integers to the two words of an f64, low word first, and {@link UNREAD} to NaN. The host can then view the
 * result as a `Float64Array` without a loop.
 */
export function doubleWords(context: Context, { x, y }: Vertices<'i32'>): Vertices<'u32'> {
  return context.scope(() => {
    const { length } = x;
    const words = scaleLength(context, length, 2);
    const [xWords, yWords] = [context.stored('u32', words), context.stored('u32', words)];
    const row = (index: U32, loader: Loader): U32[] => {
      const [xDouble, yDouble] = loader.load([x, y], index).map((number) => doubleOf(number as I32));
      return [index.mul(2), index.mul(2).add(1), xDouble!.lo, xDouble!.hi, yDouble!.lo, yDouble!.hi];
    };
    storeResults('doubles', { context, length, row }, WORDS, [
      { to: xWords, index: 0, value: 2 },
      { to: xWords, index: 1, value: 3 },
      { to: yWords, index: 0, value: 4 },
      { to: yWords, index: 1, value: 5 },
    ]);
    return { x: xWords, y: yWords };
  });
}

type Vertices<T extends 'i32' | 'u32'> = { readonly x: Column<T>; readonly y: Column<T> };

/**
 * Types of the six values that are computed for each row: the two indices at which its words are stored, then the two
 * words of x and the two words of y.
 */
const WORDS = ['u32', 'u32', 'u32', 'u32', 'u32', 'u32'] as const;

/** Builds the f64 of an integer from its sign, the exponent of its highest set bit, and the bits below that bit. */
function doubleOf(number: I32): { readonly lo: U32; readonly hi: U32 } {
  const size = bitsToU32(number.abs());
  const zeros = clz(size);
  // Two shifts, because `zeros + 1` may be 32, and WebGPU and WebAssembly take a shift by 32 as a shift by 0.
  const fraction = size.shl(zeros).shl(1);
  const exponent = u32(BIAS + 31)
    .sub(zeros)
    .shl(20);
  const sign = bitsToU32(number).and(0x80000000);
  const hi = sign.or(exponent).or(fraction.shr(12));
  const lo = fraction.shl(20);
  const zero: Bool = size.eq(0);
  const unread = number.eq(UNREAD);
  return {
    lo: select(lo, u32(0), zero.or(unread)),
    hi: select(select(hi, u32(0), zero), u32(QUIET_NAN), unread),
  };
}

const BIAS = 1023;
const QUIET_NAN = 0x7ff80000;

/**
 * Views words from the device as f64. Words that are part of a larger buffer are copied first, because a view of that
 * buffer would keep all of it in memory.
 */
export function doublesOf(words: Uint32Array): Float64Array {
  const own = words.byteLength === words.buffer.byteLength ? words : words.slice();
  return new Float64Array(own.buffer as ArrayBuffer);
}
