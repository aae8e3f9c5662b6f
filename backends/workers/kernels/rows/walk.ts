import type { WalkCommand } from '../../../../primitives/contract/backend.ts';
import {
  argumentWords,
  beginKernel,
  emitChunk,
  type KernelShape,
  lengthWords,
  resultsOf,
  shapeKey,
  shapeOf,
} from '../../commands/kernel-arguments.ts';
import type { Launch, Launcher } from '../../commands/launch.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import { emitIndexLoop } from '../../wasm/index-loop.ts';
import { type FunctionBody, I32 } from '../../wasm/wasm-encoder.ts';
import { asInt32 } from '../../wasm/wasm-locals.ts';
import { whileTrue } from '../../wasm/wasm-statements.ts';
import { copyAll, releaseAll } from '../shared/monoid-code.ts';
import { emitStores } from '../shared/stores.ts';

const LARGEST_CHUNK = 1024;
const SMALLEST_CHUNK = 16;
const CHUNKS_PER_WORKER = 64;

/**
 * Performs a walk for every index, in one parallel phase: repeats `step` until its first result is false. Chunks are
 * small, because some walks can take far more steps than others.
 */
export function launchWalk(launcher: Launcher, { extent, start, step, changing, stores }: WalkCommand): Launch {
  const shape = shapeOf([step, start], 0, stores);
  const kernel = launcher.compile(`walk ${changing} ${shapeKey(shape)}`, () => [emitWalk(shape, changing)]);
  const length = lengthWords(extent, launcher.addresses);
  const even = Math.ceil(length[2] / (launcher.workers * CHUNKS_PER_WORKER));
  const chunkSize = Math.max(SMALLEST_CHUNK, Math.min(LARGEST_CHUNK, even));
  return {
    words: argumentWords(shape, launcher.addresses, length, chunkSize, []),
    phases: [{ run: kernel.functions[0]!, length, chunkSize, minimum: 0 }],
  };
}

function emitWalk(shape: KernelShape, changing: number): FunctionBody {
  const { code, inputs } = beginKernel(shape, resultsOf(shape.programs[0]!));
  const { extent, stores } = inputs;
  const [step, start] = inputs.environments;
  const { from, to } = emitChunk(code, extent);
  const index = code.local(I32);
  emitIndexLoop(code, {
    from,
    to,
    index,
    scalar: () => {
      const state = inlineEntry(code, start!, [index]);
      const [more, ...leaves] = state;
      whileTrue(code, asInt32(more!), () => {
        const results = inlineEntry(code, step!, [index, ...leaves]);
        emitStores(code, stores, index, results);
        copyAll(state.slice(0, 1 + changing), results);
        releaseAll(code, results);
      });
      releaseAll(code, state);
    },
  });
  return code.finish();
}
