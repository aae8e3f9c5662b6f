import { capacityOf, type DecodeTilesCommand } from '../../../../primitives/contract/backend.ts';
import {
  argumentWords,
  emitChunk,
  emitInputs,
  emitOwnMemory,
  emitOwnWord,
  type KernelShape,
  type Layout,
  layoutOf,
  lengthWords,
  shapeKey,
} from '../../commands/kernel-arguments.ts';
import { chunkSizeOf, type Launch, type Launcher } from '../../commands/launch.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import { emitIndexLoop } from '../../wasm/index-loop.ts';
import { Code } from '../../wasm/wasm-code.ts';
import { type FunctionBody, I32 } from '../../wasm/wasm-encoder.ts';
import { load } from '../../wasm/wasm-expressions.ts';
import { asInt32 } from '../../wasm/wasm-locals.ts';
import { copyMemory, fillMemory, store, when } from '../../wasm/wasm-statements.ts';
import { releaseAll } from '../shared/monoid-code.ts';
import { emitNarrow, emitSums } from './tile-rows.ts';
import { emitWidths } from './tile-widths.ts';
import { emitUnpack, TABLE_WORDS, unpackTable } from './unpack-block.ts';

/** Indices of the kernel-specific argument words. */
const decodeWords = {
  own: 0,
  ownBytes: 1,
  byChunk: 2,
  /** Address of the words with the tiles, and their number. */
  words: 3,
  count: 4,
  into: 5,
  /** First word of the table of {@link unpackTable}. */
  table: 6,
};

/** Bytes past the end of a tile that the vector loads of its last block may read. */
const SLACK = 16;

type TileForm = Pick<DecodeTilesCommand, 'columns' | 'rows' | 'bits'>;

/**
 * Decodes tiles in one parallel phase. A thread unpacks the residuals of a tile in its private memory, adds them up
 * there, row by row, and stores the sums. All this memory stays in the nearest cache.
 */
export function launchDecodeTiles(launcher: Launcher, command: DecodeTilesCommand): Launch {
  const { extent, tile, words, into, columns, rows, bits } = command;
  const cells = columns * rows;
  const shape: KernelShape = { programs: [tile], stores: [], words: decodeWords.table + TABLE_WORDS };
  const layout = layoutOf(shape.programs);
  const kernel = launcher.compile(`decodeTiles ${columns} ${rows} ${bits} ${shapeKey(shape, layout)}`, () => [
    emitTiles(shape, layout, command),
  ]);
  const { addresses, workers } = launcher;
  const length = lengthWords(extent, addresses);
  const chunkSize = Math.max(1, Math.floor(chunkSizeOf(length[2] * cells, workers) / cells));
  const chunks = Math.ceil(length[2] / chunkSize);
  // A row of zeros above the tile, the tile, a copy of its residuals, and its widths.
  const bytes = 16 * Math.ceil((4 * (columns + 2 * cells + cells / 32) + SLACK) / 16);
  const count = capacityOf(words.length);
  const own: number[] = [];
  own[decodeWords.own] = launcher.scratch(bytes * Math.max(1, Math.min(workers, chunks)));
  own[decodeWords.ownBytes] = bytes;
  own[decodeWords.byChunk] = Number(chunks < workers);
  own[decodeWords.words] = addresses.of({ buffer: words.buffer, word: words.offset }, count);
  own[decodeWords.count] = count;
  own[decodeWords.into] = addresses.of(into, (capacityOf(extent) * cells * bits) / 32);
  own.push(...unpackTable());
  return {
    words: argumentWords(shape, layout, addresses, length, chunkSize, own),
    phases: [{ run: kernel.functions[0]!, length, chunkSize, minimum: 0 }],
  };
}

function emitTiles(shape: KernelShape, layout: Layout, form: TileForm): FunctionBody {
  const { columns, rows, bits } = form;
  const [cells, blocks] = [columns * rows, (columns * rows) / 32];
  const code = new Code([I32, I32, I32]);
  const inputs = emitInputs(code, shape, layout, []);
  const memory = emitOwnMemory(code, decodeWords);
  const words = emitOwnWord(code, decodeWords.words);
  const count = emitOwnWord(code, decodeWords.count);
  const into = emitOwnWord(code, decodeWords.into);
  const [tile, copy, widths] = [code.local(I32), code.local(I32), code.local(I32)];
  const [index, at, rest, used] = [code.local(I32), code.local(I32), code.local(I32), code.local(I32)];
  fillMemory(code, memory, 0, 4 * columns);
  tile.set(memory.add(4 * columns));
  copy.set(tile.add(4 * cells));
  widths.set(copy.add(4 * cells + SLACK));
  const tileBytes = (cells * bits) / 8;
  emitIndexLoop(code, {
    ...emitChunk(code, inputs.extent),
    index,
    scalar: () => {
      const [start, first] = inlineEntry(code, inputs.environments[0]!, [index]);
      const to = code.local(I32);
      to.set(into.add(index.mul(tileBytes)));
      const begin = asInt32(start!);
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
          emitUnpack(code, { widths, blocks, residuals: at, table: decodeWords.table, into: tile });
          store(code, tile, load(tile).add(asInt32(first!)));
          emitSums(code, tile, columns, rows);
          emitNarrow(code, tile, to, cells, bits);
        },
        () => fillMemory(code, to, 0, tileBytes),
      );
      releaseAll(code, [start!, first!, to]);
    },
  });
  return code.finish();
}
