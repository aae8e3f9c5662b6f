import type { Code } from '../../wasm/wasm-code.ts';
import { I32, V128 } from '../../wasm/wasm-encoder.ts';
import { type Int32, i32, loadByte, loadSplat, v128 } from '../../wasm/wasm-expressions.ts';
import type { Int32Local } from '../../wasm/wasm-locals.ts';
import { forRange, lower, store, when } from '../../wasm/wasm-statements.ts';
import { releaseAll } from '../shared/monoid-code.ts';

/** Maximum bits of a residual, and of what a width is above the smallest. */
const MAX_WIDTH = 32;
const MAX_BITS = 6;

interface TileWidths {
  /** Address of the tile. Becomes that of its residuals. */
  readonly at: Int32Local;
  /** Number of words from the tile on. Becomes that from its residuals on. */
  readonly rest: Int32Local;
  /** Becomes the number of words of the residuals; the largest number if even the widths do not fit. */
  readonly used: Int32Local;
  /** Address to which the widths of all blocks are unpacked, a word each. */
  readonly widths: Int32Local;
  readonly blocks: number;
}

/** Widths that a vector unpacks at once: with up to 7 bits before them in their first byte, they lie in four bytes. */
export const LANES = 4;

/**
 * Unpacks the widths of a tile, and stores a multiple of {@link LANES} of them. Reads no word past the last.
 */
export function emitWidths(code: Code, { at, rest, used, widths, blocks }: TileWidths): void {
  const [smallest, bits, words] = [code.local(I32), code.local(I32), code.local(I32)];
  const [place, from, last, to, count] = [code.local(I32), code.local(I32), code.local(I32), code.local(I32), code.local(I32)]; // biome-ignore format: one line
  const [factors, kept, base, width, sum] = [code.local(V128), code.local(V128), code.local(V128), code.local(V128), code.local(V128)]; // biome-ignore format: one line
  const takeFour = (lanes: number): void => {
    // The last differences may end with the last word.
    from.set(at.add(place.shrU(3)));
    lower(code, from, last);
    const four = loadSplat(from).shrU(place.sub(from.sub(at).shl(3)));
    width.set(four.mul(factors).shrU(i32(32).sub(bits)).and(kept).add(base).minU(i32(MAX_WIDTH).splat()));
    store(code, to, width);
    const isTaken = (lane: number): number => (lane < lanes ? -1 : 0);
    sum.set(sum.add(lanes < LANES ? width.and(v128([isTaken(0), isTaken(1), isTaken(2), isTaken(3)])) : width));
    place.set(place.add(bits.shl(2)));
    to.set(to.add(16));
  };
  used.set(-1);
  when(code, rest, () => {
    smallest.set(loadByte(at));
    bits.set(loadByte(at, 1));
    lower(code, bits, MAX_BITS);
    words.set(bits.mul(blocks).add(7).shrU(3).add(5).shrU(2));
    when(code, words.leU(rest), () => {
      // A factor moves the difference of its lane to the highest bits. Differences of no bits are masked out.
      for (const lane of [0, 1, 2, 3]) factors.set(factors.replace(lane, i32(1).shl(i32(32).sub(bits.mul(lane + 1)))));
      kept.set(i32(1).shl(bits).sub(1).splat());
      base.set(smallest.splat());
      sum.set(v128([0, 0, 0, 0]));
      place.set(16);
      to.set(widths);
      last.set(at.add(words.shl(2)).sub(4));
      count.set(Math.floor(blocks / LANES));
      forRange(code, count, () => takeFour(LANES));
      if (blocks % LANES > 0) takeFour(blocks % LANES);
      used.set([1, 2, 3].reduce((all: Int32, lane) => all.add(sum.extract(lane)), sum.extract(0)));
      rest.set(rest.sub(words));
      at.set(at.add(words.shl(2)));
    });
  });
  releaseAll(code, [smallest, bits, words, place, from, last, to, count, factors, kept, base, width, sum]);
}
