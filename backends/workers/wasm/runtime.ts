import { DeviceLostError } from '../../../primitives/checks/errors.ts';
import { CHUNK, emitOwnWord, kernelParameters, restOf } from '../commands/kernel-arguments.ts';
import { Code } from './wasm-code.ts';
import { encodeModule, type FunctionBody, I32 } from './wasm-encoder.ts';
import { load } from './wasm-expressions.ts';
import { copyMemory, lower, when } from './wasm-statements.ts';

/** Throws if WebAssembly is not available, for example because a Content-Security-Policy forbids it. */
export function requireWebAssembly(): void {
  try {
    new WebAssembly.Module(encodeRuntime());
  } catch (cause) {
    throw new DeviceLostError(
      'workers/no-webassembly',
      'WebAssembly, which the workers run, cannot be compiled here.',
      {
        remedy:
          "Add 'wasm-unsafe-eval' to script-src in the Content-Security-Policy of the page; in Node, leave out --jitless.",
        cause,
      },
    );
  }
}

/** Encodes the runtime module, which each thread instantiates before any kernel. */
export function encodeRuntime(): Uint8Array<ArrayBuffer> {
  return encodeModule(new Map([['length', emitLengthFunction()]]));
}

/**
 * Emits the function `length(count, minus, limit)`. The function returns `min(limit, max(0, word − minus))`, where
 * `word` is the word at address `count`. If `count` is 0, the function returns `limit`.
 */
function emitLengthFunction(): FunctionBody {
  const code = new Code([I32, I32, I32]);
  const [count, minus, limit] = [code.parameter(0), code.parameter(1), code.parameter(2)];
  when(code, count, () => {
    count.set(load(count));
    lower(code, limit, restOf(count, minus));
  });
  code.push(limit);
  return code.finish([I32]);
}

/** Number of bytes per chunk of the copy kernel. */
export const COPY_CHUNK: number = 2 ** 20;

/**
 * Emits the copy kernel, which copies memory in chunks. The arguments of this kernel, one word each, are the target
 * address, the source address, and the number of bytes.
 */
export function emitCopyKernel(): FunctionBody {
  const code = new Code(kernelParameters);
  const to = emitOwnWord(code, 0);
  const from = emitOwnWord(code, 1);
  const bytes = emitOwnWord(code, 2);
  const start = code.local(I32);
  start.set(CHUNK.mul(COPY_CHUNK));
  bytes.set(bytes.sub(start));
  lower(code, bytes, COPY_CHUNK);
  copyMemory(code, to.add(start), from.add(start), bytes);
  return code.finish();
}
