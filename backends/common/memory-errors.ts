import { ArgumentError, OutOfMemoryError } from '../../primitives/checks/errors.ts';
import type { DeviceBuffer } from '../../primitives/contract/backend.ts';

/** The error for an access to a released buffer. */
export function usedAfterRelease({ id }: DeviceBuffer): ArgumentError {
  return new ArgumentError('memory/released', `Buffer ${id} is used after its release.`, {
    remedy: 'Keep the column alive, or return it from its scope.',
  });
}

/** Returns the buffer if it contains `words` words from index `word` on; else throws. */
export function inRange<B extends Pick<DeviceBuffer, 'words'>>(buffer: B, word: number, words: number): B {
  if (word >= 0 && words >= 0 && word + words <= buffer.words) return buffer;
  throw new ArgumentError('memory/range', 'A transfer reaches beyond its buffer.', {
    expected: `words within 0 … ${buffer.words}`,
    got: `${word} … ${word + words}`,
  });
}

/** The error for an allocation of `bytes` bytes that exceeds `limits.memoryBytes` while `live` bytes are in use. */
export function outOfMemory(bytes: number, live: number, limit: number): OutOfMemoryError {
  return new OutOfMemoryError('memory/limit', `${bytes} bytes do not fit beside ${live} bytes in use.`, {
    expected: `at most ${limit} bytes in all`,
    got: `${live + bytes}`,
    remedy: 'Raise limits.memoryBytes, free columns earlier, or work in smaller windows.',
  });
}

/** The error for an array that the JavaScript engine refuses: it is too large for one array, or for the machine. */
export function outOfHostMemory(bytes: number, cause: unknown): OutOfMemoryError {
  return new OutOfMemoryError('memory/host', `The host could not allocate ${bytes} bytes in one piece.`, {
    remedy: 'Free columns earlier, or work in smaller windows.',
    cause,
  });
}
