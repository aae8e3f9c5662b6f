import type { Backend, DeviceBuffer, WordSource } from './backend.ts';

/** What a source failed with: its own affair, even where it looks like a failure of the backend that read it. */
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

/** Lets a backend read a source, or, where it cannot, writes what the source gives. */
export async function uploadTo(backend: Backend, buffer: DeviceBuffer, source: WordSource): Promise<void> {
  if (backend.upload !== undefined) return backend.upload(buffer, source);
  const words = new Uint32Array(Math.ceil(source.bytes / 4));
  await source.read(new Uint8Array(words.buffer, 0, source.bytes), 0);
  backend.write(buffer, 0, words);
}

/** The same bytes out of memory of their own, of a source that is there at once. */
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
