import { ArgumentError } from '../../../primitives/checks/errors.ts';
import type { SharedDevice } from '../../../primitives/contract/backend.ts';
import type { Engine } from '../launches/engine.ts';
import type { Failure } from './failure.ts';
import { usage } from './usage.ts';

/** Returns the methods that borrow GPU buffers from, and lend them to, other code that uses the same device. */
export function shareBuffers(device: GPUDevice, { pool, recorder }: Engine, failure: Failure): SharedDevice {
  const alignment = device.limits.minStorageBufferOffsetAlignment;
  return {
    borrow(gpu, byte, bytes) {
      failure.guard();
      if ((gpu.usage & usage.storage) === 0) throw withoutUsage('STORAGE', 'be read by kernels');
      if (pool.isOwn(gpu)) throw ownBuffer();
      // WebGPU requires bindings of at least one word. For an empty range at the end of the buffer, bind the last word
      // of the buffer. If the buffer has no whole word, bind a newly allocated word.
      if (gpu.size < 4) return { buffer: pool.allocate(1), byte: 0 };
      const lastWord = Math.floor(gpu.size / 4) * 4 - 4;
      const start = Math.floor(Math.min(byte, lastWord) / alignment) * alignment;
      const end = Math.ceil((byte + bytes) / 4) * 4;
      return { buffer: pool.borrow(gpu, start, Math.max(4, end - start)), byte: byte - start };
    },
    lend(buffer, onLost) {
      failure.guard();
      const [part, ...others] = pool.resolve(buffer).parts;
      if (others.length > 0 && part!.borrowedAt === undefined) throw split(others.length + 1, buffer.words);
      recorder.flush();
      return { buffer: part!.gpu, byte: part!.borrowedAt ?? 0, end: failure.onFailure(onLost) };
    },
  };
}

/** The error for a borrowed buffer that was created without a required usage flag. */
export function withoutUsage(name: string, purpose: string): ArgumentError {
  return new ArgumentError('buffer/usage', `A borrowed buffer cannot ${purpose}.`, {
    expected: `a buffer with GPUBufferUsage.${name}`,
    got: 'a buffer without it',
    remedy: `Create it with usage: … | GPUBufferUsage.${name}.`,
  });
}

function ownBuffer(): ArgumentError {
  return new ArgumentError('buffer/own', 'A buffer that the context has lent cannot be borrowed.', {
    remedy: 'Use the column that was lent.',
  });
}

function split(parts: number, words: number): ArgumentError {
  return new ArgumentError('buffer/split', 'The column is longer than one GPU buffer of the context.', {
    expected: 'a column in one buffer',
    got: `${words * 4} bytes in ${parts} buffers`,
    remedy: 'Materialize slices of it and lend these, or raise limits.bindingBytes as far as the device allows.',
  });
}
