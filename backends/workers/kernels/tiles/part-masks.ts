import type { Code } from '../../wasm/wasm-code.ts';
import { I32 } from '../../wasm/wasm-encoder.ts';
import { choose, type Int32, i32, load } from '../../wasm/wasm-expressions.ts';
import type { Int32Local } from '../../wasm/wasm-locals.ts';
import { doWhile, store, when } from '../../wasm/wasm-statements.ts';
import type { TileShape } from './tile-decoder.ts';

/** Words of bits, of which those past the end are 0. */
interface Bits {
  readonly address: Int32;
  readonly count: Int32;
}

/** The cells of a part that are to be counted, as the words of a mask in private memory. */
export interface PartMasks {
  /** Address of the first word, and of the word after the last. */
  readonly first: Int32Local;
  readonly end: Int32Local;
  /** Number of cells in the mask, and of those that are hidden and therefore not in it. */
  readonly cells: Int32Local;
  readonly hidden: Int32Local;
  /** Emits code that collects the mask of a part, whose bits begin at a word. Hidden cells are left out. */
  collect(word: Int32, pitch: Int32, hiddenWord: Int32 | undefined): void;
}

/** Bytes of the mask of a tile, padded to a multiple of the vector size. */
export function maskBytes({ columns, rows }: TileShape): number {
  return 16 * Math.ceil((columns * rows) / 128);
}

export function partMasks(
  code: Code,
  { columns, rows }: TileShape,
  given: {
    readonly into: Int32;
    readonly masks: Bits;
    readonly hidden: (Bits & { readonly pitch: Int32 }) | undefined;
  },
): PartMasks {
  const local = (): Int32Local => code.local(I32);
  const [first, end, cells, hidden] = [local(), local(), local(), local()];
  const [row, at, hiddenRow, hiddenAt] = [local(), local(), local(), local()];
  const [to, rowEnd, bits, covered] = [local(), local(), local(), local()];
  first.set(given.into);
  end.set(first.add((columns * rows) / 8));
  const wordAt = ({ address, count }: Bits, index: Int32): Int32 =>
    choose(index.ltU(count), load(address.add(index.shl(2))), i32(0));

  const takeWord = (): void => {
    // Most words of a zone's rectangle of tiles have no cell of the zone.
    when(code, bits.tee(wordAt(given.masks, at)), () => {
      if (given.hidden !== undefined) {
        covered.set(wordAt(given.hidden, hiddenAt).and(bits));
        hidden.set(hidden.add(covered.popcount()));
        bits.set(bits.xor(covered));
      }
      cells.set(cells.add(bits.popcount()));
    });
    store(code, to, bits);
    if (given.hidden !== undefined) hiddenAt.set(hiddenAt.add(1));
    at.set(at.add(1));
    to.set(to.add(4));
  };

  return {
    first,
    end,
    cells,
    hidden,
    collect(word, pitch, hiddenWord) {
      for (const counter of [cells, hidden]) counter.set(0);
      to.set(first);
      row.set(word);
      if (hiddenWord !== undefined) hiddenRow.set(hiddenWord);
      doWhile(
        code,
        () => {
          rowEnd.set(to.add(columns / 8));
          at.set(row);
          if (given.hidden !== undefined) hiddenAt.set(hiddenRow);
          doWhile(code, takeWord, to.ltU(rowEnd));
          row.set(row.add(pitch));
          if (given.hidden !== undefined) hiddenRow.set(hiddenRow.add(given.hidden.pitch));
        },
        to.ltU(end),
      );
    },
  };
}
