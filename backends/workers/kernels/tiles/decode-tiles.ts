import { capacityOf, type DecodeTilesCommand } from '../../../../primitives/contract/backend.ts';
import {
  argumentWords,
  beginKernel,
  emitChunk,
  emitOwnMemory,
  emitOwnWord,
  type KernelShape,
  lengthWords,
  shapeKey,
  shapeOf,
  takeOwnMemory,
} from '../../commands/kernel-arguments.ts';
import { chunkSizeOf, type Launch, type Launcher } from '../../commands/launch.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import { emitIndexLoop } from '../../wasm/index-loop.ts';
import { type FunctionBody, I32 } from '../../wasm/wasm-encoder.ts';
import { asInt32 } from '../../wasm/wasm-locals.ts';
import { fillMemory } from '../../wasm/wasm-statements.ts';
import { releaseAll } from '../shared/monoid-code.ts';
import { decoderBytes, tileDecoder } from './tile-decoder.ts';
import { emitNarrow, emitSums } from './tile-rows.ts';
import { TABLE_WORDS, unpackTable } from './unpack-block.ts';

/** Indices of the kernel-specific argument words. */
const decodeWords = {
  /** The three words of `takeOwnMemory`. */
  own: 0,
  /** Address of the words with the tiles, and their number. */
  words: 3,
  count: 4,
  into: 5,
  /** First word of the table of {@link unpackTable}. */
  table: 6,
};

type TileForm = Pick<DecodeTilesCommand, 'columns' | 'rows' | 'bits'>;

/**
 * Decodes tiles in one parallel phase. A thread unpacks the residuals of a tile in its private memory, adds them up
 * there, row by row, and stores the sums. All this memory stays in the nearest cache.
 */
export function launchDecodeTiles(launcher: Launcher, command: DecodeTilesCommand): Launch {
  const { extent, tile, words, into, columns, rows, bits } = command;
  const cells = columns * rows;
  const shape = shapeOf([tile], decodeWords.table + TABLE_WORDS);
  const kernel = launcher.compile(`decodeTiles ${columns} ${rows} ${bits} ${shapeKey(shape)}`, () => [
    emitTiles(shape, command),
  ]);
  const { addresses, workers } = launcher;
  const length = lengthWords(extent, addresses);
  const chunkSize = Math.max(1, Math.floor(chunkSizeOf(length[2] * cells, workers) / cells));
  const chunks = Math.ceil(length[2] / chunkSize);
  const count = capacityOf(words.length);
  const own = takeOwnMemory(launcher, decoderBytes(command), chunks);
  own[decodeWords.words] = addresses.of({ buffer: words.buffer, word: words.offset }, count);
  own[decodeWords.count] = count;
  own[decodeWords.into] = addresses.of(into, (capacityOf(extent) * cells * bits) / 32);
  own.push(...unpackTable());
  return {
    words: argumentWords(shape, addresses, length, chunkSize, own),
    phases: [{ run: kernel.functions[0]!, length, chunkSize, minimum: 0 }],
  };
}

function emitTiles(shape: KernelShape, form: TileForm): FunctionBody {
  const { columns, rows, bits } = form;
  const cells = columns * rows;
  const { code, inputs } = beginKernel(shape);
  const memory = emitOwnMemory(code, decodeWords.own);
  const words = emitOwnWord(code, decodeWords.words);
  const count = emitOwnWord(code, decodeWords.count);
  const into = emitOwnWord(code, decodeWords.into);
  const decoder = tileDecoder(code, form, { memory, words, count, table: decodeWords.table });
  const index = code.local(I32);
  const tileBytes = (cells * bits) / 8;
  emitIndexLoop(code, {
    ...emitChunk(code, inputs.extent),
    index,
    scalar: () => {
      const [start, first] = inlineEntry(code, inputs.environments[0]!, [index]);
      const to = code.local(I32);
      to.set(into.add(index.mul(tileBytes)));
      decoder.unpack(
        asInt32(start!),
        asInt32(first!),
        () => fillMemory(code, to, 0, tileBytes),
        () => {
          emitSums(code, decoder.tile, columns, rows);
          emitNarrow(code, decoder.tile, to, cells, bits);
        },
      );
      releaseAll(code, [start!, first!, to]);
    },
  });
  return code.finish();
}
