import { capacityOf, type TileHistogramsCommand } from '../../../../primitives/contract/backend.ts';
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
import { chunkSizeOf, type Launch, type Launcher, type Phase } from '../../commands/launch.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import { emitIndexLoop } from '../../wasm/index-loop.ts';
import { type FunctionBody, I32 } from '../../wasm/wasm-encoder.ts';
import { i32 } from '../../wasm/wasm-expressions.ts';
import { asInt32 } from '../../wasm/wasm-locals.ts';
import { doWhile, fillMemory, store, when } from '../../wasm/wasm-statements.ts';
import {
  BINS,
  emitClear,
  emitMerge,
  emitTableOf,
  overTables,
  ROW_STRIDE,
  ROWS,
  RUNS,
  STRIDE,
  TABLES,
  WORDS,
  worthTables,
} from '../histogram/count-tables.ts';
import { releaseAll } from '../shared/monoid-code.ts';
import { cellCounter, counterBytes } from './cell-counter.ts';
import { maskBytes, partMasks } from './part-masks.ts';
import { decoderBytes, tileDecoder } from './tile-decoder.ts';
import { TABLE_WORDS, unpackTable } from './unpack-block.ts';

/** Indices of the kernel-specific argument words, after those of the tables in which cells are counted. */
const tileWords = {
  /** The three words of `takeOwnMemory`. */
  own: WORDS,
  /** Address of the words with the tiles, and their number. */
  words: WORDS + 3,
  count: WORDS + 4,
  /** Address of the words with the bits of parts, and their number; then the same of hidden cells. */
  masks: WORDS + 5,
  maskCount: WORDS + 6,
  hidden: WORDS + 7,
  hiddenCount: WORDS + 8,
  hiddenPitch: WORDS + 9,
  hiddenBin: WORDS + 10,
  /** First word of the table of `unpackTable`. */
  table: WORDS + 11,
};

/** Cells that are counted in the time in which a word of a private table is cleared and added to the result. */
const SHARING = 8;

/** Cells of a chunk, at most. A thread must add what it has counted to the histograms at the end of a chunk. */
const CHUNK_CELLS = 2 ** 18;

/**
 * Decodes tiles and counts their cells in one parallel phase. A thread decodes a tile in its private memory, as
 * `decode-tiles.ts` does, and counts it for one part after the other; see `cell-counter.ts`. Phases before and after clear
 * tables, and add up those of the threads.
 */
export function launchTileHistograms(launcher: Launcher, command: TileHistogramsCommand): Launch {
  const { extent, tile, part, bin, words, masks, hidden, columns, rows, bins, histograms, into } = command;
  const cells = columns * rows;
  const shape = shapeOf([tile, part, bin], tileWords.table + TABLE_WORDS);
  const { addresses, workers } = launcher;
  const length = lengthWords(extent, addresses);
  const counters = bins * histograms;
  const tables = workers > 1 && worthTables(counters, workers, (length[2] * cells) / SHARING) ? workers : 1;
  const shared = tables < workers;
  const kind = `${columns} ${rows} ${command.bits} ${hidden !== undefined} ${shared}`;
  const kernel = launcher.compile(`tileHistograms ${kind} ${shapeKey(shape)}`, () => [
    emitClear(),
    emitCounting(shape, command, shared),
    emitMerge(),
  ]);
  const [clear, count, merge] = kernel.functions as readonly [number, number, number];
  const chunkSize = Math.max(1, Math.floor(chunkSizeOf(length[2] * cells, workers, CHUNK_CELLS) / cells));
  const chunks = Math.ceil(length[2] / chunkSize);
  const target = addresses.of(into, counters);
  const first = tables === 1 ? target : launcher.scratch(4 * counters * tables);
  const rowBytes = counterBytes(command);
  const rowTables = launcher.scratch(workers * rowBytes);
  const stride = tables === 1 ? 0 : 4 * counters;
  const memory = takeOwnMemory(launcher, decoderBytes(command) + maskBytes(command), chunks);
  const placed = ({ buffer, offset, length }: typeof words): [number, number] => {
    const count = capacityOf(length);
    return [addresses.of({ buffer, word: offset }, count), count];
  };
  const own = [
    ...[target, bins, histograms, 0, 0, first, stride, tables, rowTables, rowBytes, 4 * counters],
    ...memory,
    ...placed(words),
    ...placed(masks),
    ...(hidden === undefined ? [0, 0, 0, 0] : [...placed(hidden.bits), hidden.pitch, hidden.bin]),
    ...unpackTable(),
  ];
  const phases: Phase[] = [overTables(clear, counters * tables), { run: count, length, chunkSize, minimum: 0 }];
  if (tables > 1) phases.push(overTables(merge, counters));
  return { words: argumentWords(shape, addresses, length, chunkSize, own), phases };
}

function emitCounting(shape: KernelShape, command: TileHistogramsCommand, shared: boolean): FunctionBody {
  const { columns, rows, hidden } = command;
  const { code, inputs } = beginKernel(shape);
  const word = (name: keyof typeof tileWords) => emitOwnWord(code, tileWords[name]);
  const memory = emitOwnMemory(code, tileWords.own);
  const decoder = tileDecoder(code, command, {
    ...{ memory, words: word('words'), count: word('count'), table: tileWords.table },
  });
  const index = code.local(I32);
  const counter = cellCounter(code, command, {
    address: emitTableOf(code, TABLES, STRIDE),
    bins: emitOwnWord(code, BINS),
    shared,
    own: emitTableOf(code, ROWS, ROW_STRIDE),
    tile: decoder.tile,
    binOf: (cell) => asInt32(inlineEntry(code, inputs.environments[2]!, [index, cell])[0]!),
  });
  const masks = partMasks(code, command, {
    into: memory.add(decoderBytes(command)),
    masks: { address: word('masks'), count: word('maskCount') },
    hidden: hidden && { address: word('hidden'), count: word('hiddenCount'), pitch: word('hiddenPitch') },
  });
  const hiddenBin = word('hiddenBin');
  const runs = emitOwnWord(code, RUNS);
  const part = code.local(I32);
  emitIndexLoop(code, {
    ...emitChunk(code, inputs.extent),
    index,
    scalar: () => {
      const place = inlineEntry(code, inputs.environments[0]!, [index]);
      const [start, first, begin, end, hiddenWord] = place.map(asInt32);
      when(code, begin!.ltU(end!), () => {
        decoder.unpack(start!, counter.rebase(first!), () => {
          // All cells are 0.
          fillMemory(code, decoder.tile, 0, 4 * columns * rows);
          store(code, decoder.tile, counter.rebase(i32(0)));
        });
        counter.place();
        part.set(begin!);
        doWhile(
          code,
          () => {
            const found = inlineEntry(code, inputs.environments[1]!, [part]);
            const [histogram, word, pitch] = found.map(asInt32);
            when(code, histogram!.ltU(runs), () => {
              masks.collect(word!, pitch!, hiddenWord);
              if (hidden !== undefined) counter.add(histogram!, hiddenBin, masks.hidden);
              when(code, masks.cells, () => counter.count(histogram!, masks));
            });
            releaseAll(code, found);
          },
          part.tee(part.add(1)).ltU(end!),
        );
      });
      releaseAll(code, place);
    },
  });
  counter.end();
  return code.finish();
}
