import { ARGUMENTS, ownWordOffset } from '../../commands/kernel-arguments.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32, I64, V128 } from '../../wasm/wasm-encoder.ts';
import { i64, load, load64, loadVector, v128 } from '../../wasm/wasm-expressions.ts';
import type { Int32Local, VectorLocal } from '../../wasm/wasm-locals.ts';
import { doWhile, forRange, store, when } from '../../wasm/wasm-statements.ts';
import { releaseAll } from '../shared/monoid-code.ts';

/**
 * Most bits of a residual that vectors unpack: with up to 7 bits before it in its first byte, it must lie in four bytes.
 */
const VECTOR_WIDTH = 25;

/** Words of the table for one width: two vectors for the first four values of each eight, and two for the others. */
const WIDTH_WORDS = 16;

export const TABLE_WORDS: number = (VECTOR_WIDTH + 1) * WIDTH_WORDS;

/**
 * How vectors unpack four values of each width: the bytes to take for each value, and the factors that shift the value's
 * highest bit to the top of its lane. Eight values begin at a byte; the second four of them begin in the middle of one
 * if the width is odd.
 */
export function unpackTable(): Uint32Array {
  const table = new Uint32Array(TABLE_WORDS);
  for (let width = 1; width <= VECTOR_WIDTH; width++) {
    for (const half of [0, 1]) {
      for (let lane = 0; lane < 4; lane++) {
        const bit = half * 4 * (width & 1) + lane * width;
        const byte = bit >> 3;
        const at = width * WIDTH_WORDS + half * 8 + lane;
        table[at] = [0, 1, 2, 3].reduce((bytes, k) => bytes + (byte + k) * 2 ** (8 * k), 0);
        table[at + 4] = 2 ** (32 - width - (bit & 7));
      }
    }
  }
  return table;
}

/** Where the encoded tile is, and where its residuals go. */
interface Unpacking {
  /** Address of the widths, a word for each block, from 0 to 32. */
  readonly widths: Int32Local;
  readonly blocks: number;
  /** Address of the packed residuals. */
  readonly residuals: Int32Local;
  /** Index of the kernel-specific argument word in which the table begins. */
  readonly table: number;
  /** Address of the residuals, as words. */
  readonly into: Int32Local;
}

/** Unpacks the residuals of a tile. Reads up to 16 bytes past its end. */
export function emitUnpack(code: Code, { widths, blocks, residuals, table, into }: Unpacking): void {
  const [next, from, to, width] = [code.local(I32), code.local(I32), code.local(I32), code.local(I32)];
  next.set(widths);
  from.set(residuals);
  to.set(into);
  const end = code.local(I32);
  end.set(widths.add(4 * blocks));
  doWhile(
    code,
    () => {
      width.set(load(next));
      when(
        code,
        width.leU(VECTOR_WIDTH),
        () => emitVectors(code, table, width, from, to),
        () => emitWide(code, width, from, to),
      );
      from.set(from.add(width.shl(2)));
      to.set(to.add(128));
    },
    next.tee(next.add(4)).ltU(end),
  );
  releaseAll(code, [next, from, to, width, end]);
}

/** Unpacks a block of residuals of up to 25 bits. With 0 bits, the table has the factor 0, so all residuals are 0. */
function emitVectors(code: Code, table: number, width: Int32Local, from: Int32Local, to: Int32Local): void {
  const [row, shift, at, middle] = [code.local(I32), code.local(I32), code.local(I32), code.local(I32)];
  row.set(ARGUMENTS.add(width.mul(4 * WIDTH_WORDS)));
  const vectors = [0, 1, 2, 3].map((k): VectorLocal => {
    const local = code.local(V128);
    local.set(loadVector(row, ownWordOffset(table) + 16 * k));
    return local;
  });
  shift.set(width.sub(32).mul(-1));
  at.set(from);
  middle.set(from.add(width.shrU(1)));
  const value = code.local(V128);
  const one = v128([1, 1, 1, 1]);
  for (let four = 0; four < 8; four++) {
    const [bytes, factors] = four % 2 === 0 ? [vectors[0]!, vectors[1]!] : [vectors[2]!, vectors[3]!];
    const place = four % 2 === 0 ? at : middle;
    value.set(loadVector(place).swizzle(bytes).mul(factors).shrU(shift));
    store(code, to, value.shrU(1).xor(value.and(one).neg()), 16 * four);
    place.set(place.add(width));
  }
  releaseAll(code, [row, shift, at, middle, value, ...vectors]);
}

/** Unpacks a block of residuals of any width, one by one. A residual with the bits before it lies in eight bytes. */
function emitWide(code: Code, width: Int32Local, from: Int32Local, to: Int32Local): void {
  const [bit, at] = [code.local(I32), code.local(I32)];
  const [mask, value] = [code.local(I64), code.local(I64)];
  mask.set(i64(1).shl(width.extendU()).sub(1));
  bit.set(0);
  at.set(to);
  const count = code.local(I32);
  count.set(32);
  forRange(code, count, () => {
    value.set(load64(from.add(bit.shrU(3))).shrU(bit.and(7).extendU()));
    const low = code.local(I32);
    // The mask has up to 32 bits, so the lower half of both is enough.
    low.set(value.wrap().and(mask.wrap()));
    store(code, at, low.shrU(1).xor(low.and(1).mul(-1)));
    code.release(low);
    bit.set(bit.add(width));
    at.set(at.add(4));
  });
  releaseAll(code, [bit, at, mask, value, count]);
}
