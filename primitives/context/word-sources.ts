import type { Backend, DeviceBuffer, WordSource } from '../contract/backend.ts';

/**
 * The failure of a source. It has a class of its own, so that it is not mistaken for a failure of the backend that
 * reads the source.
 */
export class SourceFailure extends Error {
  static {
    SourceFailure.prototype.name = 'SourceFailure';
  }

  readonly reason: unknown;

  constructor(reason: unknown) {
    super('A source could not be read.');
    this.reason = reason;
  }
}

/**
 * Uploads a source to a buffer with the backend's `upload` if it has one, otherwise by reading the source and writing
 * its words.
 */
export async function uploadTo(backend: Backend, buffer: DeviceBuffer, source: WordSource): Promise<void> {
  if (backend.upload !== undefined) return backend.upload(buffer, source);
  const words = new Uint32Array(Math.ceil(source.bytes / 4));
  await source.read(new Uint8Array(words.buffer, 0, source.bytes), 0);
  backend.write(buffer, 0, words);
}

/** Copies into memory a source that can be read synchronously, so that the copy can be read several times. */
export function copyOf(source: WordSource): WordSource {
  const bytes = new Uint8Array(source.bytes);
  void source.read(bytes, 0);
  return {
    ...{ bytes: source.bytes, lasting: true, whole: source.whole },
    read(into, at) {
      into.set(bytes.subarray(at, at + into.length));
      return undefined;
    },
  };
}
