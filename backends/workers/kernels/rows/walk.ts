import type { WalkCommand } from '../../../../primitives/contract/backend.ts';
import {
  argumentWords,
  beginKernel,
  emitChunk,
  emitOwnMemory,
  type KernelInputs,
  type KernelShape,
  lengthWords,
  loadScalar,
  resultsOf,
  shapeKey,
  shapeOf,
  takeOwnMemory,
} from '../../commands/kernel-arguments.ts';
import type { Launch, Launcher } from '../../commands/launch.ts';
import { inlineEntry, scalarLocal } from '../../wasm/emit-wasm.ts';
import { emitIndexLoop } from '../../wasm/index-loop.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { type FunctionBody, I32 } from '../../wasm/wasm-encoder.ts';
import { i32 } from '../../wasm/wasm-expressions.ts';
import { asInt32, assign, type Int32Local, type ScalarLocal } from '../../wasm/wasm-locals.ts';
import { forRounds, store, when, whileTrue } from '../../wasm/wasm-statements.ts';
import { copyAll, releaseAll } from '../shared/monoid-code.ts';
import { emitStores } from '../shared/stores.ts';

const LARGEST_CHUNK = 1024;
const SMALLEST_CHUNK = 16;
const CHUNKS_PER_WORKER = 64;

/** Walks that go on side by side read and write the words of a cache line, or of two. */
const SIDE_BY_SIDE = 32;

/** Steps of one walk before the next walk goes on. What these steps of all walks touch fits the first caches. */
const STEPS = 16;

/**
 * Performs a walk for every index, in one parallel phase: repeats `step` until its first result is false. Chunks are
 * small, because some walks can take far more steps than others.
 */
export function launchWalk(launcher: Launcher, command: WalkCommand): Launch {
  const { extent, start, step, changing, stores, sideBySide = false } = command;
  const length = lengthWords(extent, launcher.addresses);
  const even = Math.ceil(length[2] / (launcher.workers * CHUNKS_PER_WORKER));
  const chunkSize = sideBySide
    ? Math.max(1, Math.min(SIDE_BY_SIDE, Math.ceil(length[2] / launcher.workers)))
    : Math.max(SMALLEST_CHUNK, Math.min(LARGEST_CHUNK, even));
  const bytes = 4 * SIDE_BY_SIDE * resultsOf(start).length;
  const words = sideBySide ? takeOwnMemory(launcher, bytes, Math.ceil(length[2] / chunkSize)) : [];
  const shape = shapeOf([step, start], words.length, stores);
  const emit = sideBySide ? emitSideBySide : emitWalk;
  const kernel = launcher.compile(`walk ${sideBySide} ${changing} ${shapeKey(shape)}`, () => [emit(shape, changing)]);
  return {
    words: argumentWords(shape, launcher.addresses, length, chunkSize, words),
    phases: [{ run: kernel.functions[0]!, length, chunkSize, minimum: 0 }],
  };
}

function emitWalk(shape: KernelShape, changing: number): FunctionBody {
  const { code, inputs } = beginKernel(shape, resultsOf(shape.programs[0]!));
  const { from, to } = emitChunk(code, inputs.extent);
  const index = code.local(I32);
  emitIndexLoop(code, {
    from,
    to,
    index,
    scalar: () => {
      const state = inlineEntry(code, inputs.environments[1]!, [index]);
      whileTrue(code, asInt32(state[0]!), () => emitStep(code, inputs, index, state, changing));
      releaseAll(code, state);
    },
  });
  return code.finish();
}

/** Emits a step of the walk of an index, whose state begins with whether the walk goes on. */
function emitStep(
  code: Code,
  { environments, stores }: KernelInputs,
  index: Int32Local,
  state: readonly ScalarLocal[],
  changing: number,
): void {
  const results = inlineEntry(code, environments[0]!, [index, ...state.slice(1)]);
  emitStores(code, stores, index, results);
  copyAll(state.slice(0, 1 + changing), results);
  releaseAll(code, results);
}

/** Walks of a chunk take turns: each goes on for a few steps, from the state that it left in memory. */
function emitSideBySide(shape: KernelShape, changing: number): FunctionBody {
  const { code, inputs } = beginKernel(shape, resultsOf(shape.programs[0]!));
  const memory = emitOwnMemory(code, 0);
  const { from, to } = emitChunk(code, inputs.extent);
  const [index, at, isLeft] = [code.local(I32), code.local(I32), code.local(I32)];
  const types = resultsOf(shape.programs[1]!);
  const forWalks = (body: () => void): void => {
    index.set(from);
    at.set(memory);
    forRounds(code, index, to, 1, () => {
      body();
      at.set(at.add(4 * types.length));
    });
  };
  const save = (state: readonly ScalarLocal[]): void =>
    state.forEach((leaf, k) => {
      store(code, at, leaf, 4 * k);
    });
  forWalks(() => {
    const state = inlineEntry(code, inputs.environments[1]!, [index]);
    save(state);
    releaseAll(code, state);
  });
  const state = types.map((type) => scalarLocal(code, type));
  const goesOn = asInt32(state[0]!);
  const steps = code.local(I32);
  isLeft.set(i32(1));
  whileTrue(code, isLeft, () => {
    isLeft.set(i32(0));
    forWalks(() => {
      types.forEach((type, k) => {
        assign(state[k]!, loadScalar(type, at, 4 * k));
      });
      when(code, goesOn, () => {
        steps.set(i32(STEPS));
        whileTrue(code, goesOn.and(steps.ne(0)), () => {
          emitStep(code, inputs, index, state, changing);
          steps.set(steps.sub(1));
        });
        save(state);
        isLeft.set(isLeft.or(goesOn));
      });
    });
  });
  return code.finish();
}
