import { DeviceLostError } from '../../../primitives/errors.ts';
import { CHUNK, emitMinimum, emitOwnWord, kernelParameters, pushRest } from '../commands/kernel-arguments.ts';
import { Code } from './wasm-code.ts';
import { encodeModule, type FunctionBody, I32, op } from './wasm-encoder.ts';

/** Throws where no WebAssembly can be compiled. */
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

/** The module that every thread has before it has any kernel. */
export function encodeRuntime(): Uint8Array<ArrayBuffer> {
  return encodeModule(new Map([['length', emitLengthFunction()]]));
}

function emitLengthFunction(): FunctionBody {
  const [count, minus, limit] = [0, 1, 2];
  const code = new Code([I32, I32, I32]);
  code.get(count);
  code.when(() => {
    code.get(count);
    code.memory(op.i32Load);
    code.set(count);
    emitMinimum(code, limit, () => pushRest(code, count, minus));
  });
  code.get(limit);
  return code.finish([I32]);
}

/** Bytes of a copy a chunk. */
export const COPY_CHUNK: number = 2 ** 20;

/** Copies memory: the kernel's own words are destination, source and bytes. */
export function emitCopyKernel(): FunctionBody {
  const code = new Code(kernelParameters);
  const to = emitOwnWord(code, 0);
  const from = emitOwnWord(code, 1);
  const bytes = emitOwnWord(code, 2);
  const start = code.local(I32);
  code.get(CHUNK);
  code.i32(COPY_CHUNK);
  code.op(op.i32Mul);
  code.set(start);
  for (const address of [to, from]) {
    code.get(address);
    code.get(start);
    code.op(op.i32Add);
  }
  code.get(bytes);
  code.get(start);
  code.op(op.i32Sub);
  code.set(bytes);
  emitMinimum(code, bytes, () => code.i32(COPY_CHUNK));
  code.get(bytes);
  code.memoryCopy();
  return code.finish();
}
