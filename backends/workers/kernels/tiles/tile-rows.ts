import type { Code } from '../../wasm/wasm-code.ts';
import { I32, V128 } from '../../wasm/wasm-encoder.ts';
import { loadVector, type Vector, v128 } from '../../wasm/wasm-expressions.ts';
import type { Int32Local, VectorLocal } from '../../wasm/wasm-locals.ts';
import { doWhile, store } from '../../wasm/wasm-statements.ts';
import { releaseAll } from '../shared/monoid-code.ts';

/**
 * Adds up the words of a tile in place: each becomes the sum of all that are neither below it nor to the right of it. A
 * row of zeros must lie before the tile. `columns` is a multiple of 4.
 *
 * With `encoded`, what it makes of four sums is stored in their place. The row before the tile then becomes the sums of
 * the last row.
 */
export function emitSums(
  code: Code,
  tile: Int32Local,
  columns: number,
  rows: number,
  encoded?: (sums: VectorLocal) => Vector,
): void {
  const [at, end, rowEnd, above] = [code.local(I32), code.local(I32), code.local(I32), code.local(I32)];
  const [sum, carry] = [code.local(V128), code.local(V128)];
  const zero = v128([0, 0, 0, 0]);
  at.set(tile);
  above.set(tile.sub(4 * columns));
  end.set(tile.add(4 * columns * rows));
  // Several vectors in a round keep the latency of the carry from being all there is to do.
  const unrolled = columns % 16 === 0 ? 4 : 1;
  doWhile(
    code,
    () => {
      carry.set(zero);
      rowEnd.set(at.add(4 * columns));
      if (encoded !== undefined) above.set(tile.sub(4 * columns));
      doWhile(
        code,
        () => {
          for (let k = 0; k < unrolled; k++) {
            sum.set(loadVector(at, 16 * k));
            sum.set(sum.add(zero.shuffle(sum, [0, 4, 5, 6])));
            sum.set(sum.add(zero.shuffle(sum, [0, 1, 4, 5])).add(carry));
            carry.set(sum.shuffle(sum, [3, 3, 3, 3]));
            sum.set(sum.add(loadVector(above, 16 * k)));
            if (encoded !== undefined) store(code, above, sum, 16 * k);
            store(code, at, encoded === undefined ? sum : encoded(sum), 16 * k);
          }
          above.set(above.add(16 * unrolled));
          at.set(at.add(16 * unrolled));
        },
        at.ltU(rowEnd),
      );
    },
    at.ltU(end),
  );
  releaseAll(code, [at, end, rowEnd, above, sum, carry]);
}

/** Stores the lowest `bits` bits of each of `cells` words, a multiple of 32. */
export function emitNarrow(code: Code, from: Int32Local, into: Int32Local, cells: number, bits: 8 | 16 | 32): void {
  const [at, to, end] = [code.local(I32), code.local(I32), code.local(I32)];
  at.set(from);
  to.set(into);
  end.set(from.add(4 * cells));
  const halves = (first: number): Vector =>
    loadVector(at, first).shuffleBytes(loadVector(at, first + 16), [0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29]); // biome-ignore format: one line
  const quarters = (first: number): Vector =>
    halves(first).shuffleBytes(halves(first + 32), [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30]);
  const vectors = bits / 8;
  doWhile(
    code,
    () => {
      for (let k = 0; k < 2 * vectors; k++) {
        const first = (16 * k * 32) / bits;
        const stored = bits === 32 ? loadVector(at, first) : bits === 16 ? halves(first) : quarters(first);
        store(code, to, stored, 16 * k);
      }
      at.set(at.add(128));
      to.set(to.add(32 * vectors));
    },
    at.ltU(end),
  );
  releaseAll(code, [at, to, end]);
}
