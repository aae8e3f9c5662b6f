import type { StripsCommand } from '../../../../primitives/contract/backend.ts';
import {
  argumentWords,
  beginKernel,
  emitChunk,
  emitOwnWord,
  type KernelShape,
  lengthWords,
  shapeKey,
  shapeOf,
} from '../../commands/kernel-arguments.ts';
import type { Launch, Launcher } from '../../commands/launch.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import { type FunctionBody, I32 } from '../../wasm/wasm-encoder.ts';
import { lower, whileTrue } from '../../wasm/wasm-statements.ts';

/** Maximum number of rows in a chunk of several strips. A longer strip is a chunk of its own. */
const LARGEST_CHUNK = 1024;
const CHUNKS_PER_WORKER = 64;

/** Runs a program for every strip, in one parallel phase; see `StripsCommand`. A thread runs one strip at a time. */
export function launchStrips(launcher: Launcher, { extent, rows, program }: StripsCommand): Launch {
  const shape = shapeOf([program], 1);
  const kernel = launcher.compile(`strips ${shapeKey(shape)}`, () => [emitStrips(shape)]);
  const length = lengthWords(extent, launcher.addresses);
  const own = Math.max(1, Math.min(rows, length[2]));
  const even = Math.ceil(length[2] / own / (launcher.workers * CHUNKS_PER_WORKER));
  const chunkSize = own * Math.max(1, Math.min(Math.floor(LARGEST_CHUNK / own), even));
  return {
    words: argumentWords(shape, launcher.addresses, length, chunkSize, [own]),
    phases: [{ run: kernel.functions[0]!, length, chunkSize, minimum: 0 }],
  };
}

function emitStrips(shape: KernelShape): FunctionBody {
  const { code, inputs } = beginKernel(shape);
  const { from: first, to } = emitChunk(code, inputs.extent);
  const rows = emitOwnWord(code, 0);
  const [strip, count, end] = [code.local(I32), code.local(I32), code.local(I32)];
  const environment = { ...inputs.environments[0]!, strip: { first, rows: count } };
  strip.set(first.divU(rows));
  whileTrue(code, first.ltU(to), () => {
    count.set(rows);
    lower(code, count, to.sub(first));
    end.set(first.add(count));
    inlineEntry(code, environment, [strip, first, end]);
    strip.set(strip.add(1));
    first.set(end);
  });
  return code.finish();
}
