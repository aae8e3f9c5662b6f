import type { Code } from '../../wasm/wasm-code.ts';
import { I32 } from '../../wasm/wasm-encoder.ts';
import { i32, loadByte } from '../../wasm/wasm-expressions.ts';
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

/** Unpacks the widths of a tile. Reads no word past the last. */
export function emitWidths(code: Code, { at, rest, used, widths, blocks }: TileWidths): void {
  const [smallest, bits, words, mask] = [code.local(I32), code.local(I32), code.local(I32), code.local(I32)];
  const [place, width, to, count] = [code.local(I32), code.local(I32), code.local(I32), code.local(I32)];
  const [from, next, last] = [code.local(I32), code.local(I32), code.local(I32)];
  used.set(-1);
  when(code, rest, () => {
    smallest.set(loadByte(at));
    bits.set(loadByte(at, 1));
    lower(code, bits, MAX_BITS);
    words.set(bits.mul(blocks).add(7).shrU(3).add(5).shrU(2));
    when(code, words.leU(rest), () => {
      used.set(0);
      mask.set(i32(1).shl(bits).sub(1));
      place.set(16);
      to.set(widths);
      last.set(at.add(words.shl(2)).sub(1));
      count.set(blocks);
      forRange(code, count, () => {
        from.set(at.add(place.shrU(3)));
        // A difference that ends with the last byte needs none after it.
        next.set(from.add(1));
        lower(code, from, last);
        lower(code, next, last);
        const pair = loadByte(from).or(loadByte(next).shl(8));
        width.set(smallest.add(pair.shrU(place.and(7)).and(mask)));
        lower(code, width, MAX_WIDTH);
        store(code, to, width);
        used.set(used.add(width));
        place.set(place.add(bits));
        to.set(to.add(4));
      });
      rest.set(rest.sub(words));
      at.set(at.add(words.shl(2)));
    });
  });
  releaseAll(code, [smallest, bits, words, mask, place, width, from, next, last, to, count]);
}
