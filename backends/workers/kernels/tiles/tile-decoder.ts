import type { DecodeTilesCommand } from '../../../../primitives/contract/backend.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32 } from '../../wasm/wasm-encoder.ts';
import { type Int32, load } from '../../wasm/wasm-expressions.ts';
import type { Int32Local } from '../../wasm/wasm-locals.ts';
import { copyMemory, fillMemory, store, when } from '../../wasm/wasm-statements.ts';
import { emitWidths, LANES } from './tile-widths.ts';
import { emitUnpack } from './unpack-block.ts';

/** Bytes past the end of a tile that the vector loads of its last block may read. */
const SLACK = 16;

export type TileShape = Pick<DecodeTilesCommand, 'columns' | 'rows'>;

/**
 * Bytes of private memory in which a tile is decoded: a row of zeros above the tile, the tile, a copy of its residuals,
 * and its widths.
 */
export function decoderBytes({ columns, rows }: TileShape): number {
  const cells = columns * rows;
  const widths = LANES * Math.ceil(cells / 32 / LANES);
  return 16 * Math.ceil((4 * (columns + 2 * cells + widths) + SLACK) / 16);
}

/** Unpacks tiles in private memory. */
export interface TileDecoder {
  /** Address of the tile, a word for each cell. The row above is 0. */
  readonly tile: Int32Local;
  /**
   * Emits code that unpacks the residuals of the tile that begins at word `start`, and adds `first` to that of the first
   * cell. Runs `damaged` in place of this if the tile does not end within the words, and `whole` after it.
   */
  unpack(start: Int32, first: Int32, damaged: () => void, whole?: () => void): void;
}

export interface DecoderInputs {
  /** Address of {@link decoderBytes} bytes of private memory. */
  readonly memory: Int32;
  /** Address of the words with the tiles, and their number. */
  readonly words: Int32;
  readonly count: Int32;
  /** Index of the kernel-specific argument word with which the table of `unpackTable` begins. */
  readonly table: number;
}

export function tileDecoder(
  code: Code,
  { columns, rows }: TileShape,
  { memory, words, count, table }: DecoderInputs,
): TileDecoder {
  const [cells, blocks] = [columns * rows, (columns * rows) / 32];
  const [tile, copy, widths] = [code.local(I32), code.local(I32), code.local(I32)];
  const [begin, at, rest, used] = [code.local(I32), code.local(I32), code.local(I32), code.local(I32)];
  fillMemory(code, memory, 0, 4 * columns);
  tile.set(memory.add(4 * columns));
  copy.set(tile.add(4 * cells));
  widths.set(copy.add(4 * cells + SLACK));
  return {
    tile,
    unpack(start, first, damaged, whole = () => {}) {
      begin.set(start);
      rest.set(begin.ltU(count).select(count.sub(begin), 0));
      at.set(words.add(begin.shl(2)));
      // Sets `used` and `rest` to the numbers of words of the residuals and of those that are left for them.
      emitWidths(code, { at, rest, used, widths, blocks });
      when(
        code,
        used.leU(rest),
        () => {
          when(code, rest.sub(used).ltU(SLACK / 4), () => {
            copyMemory(code, copy, at, used.shl(2));
            at.set(copy);
          });
          emitUnpack(code, { widths, blocks, residuals: at, table, into: tile });
          store(code, tile, load(tile).add(first));
          whole();
        },
        damaged,
      );
    },
  };
}
