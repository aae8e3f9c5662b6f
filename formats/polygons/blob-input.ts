import type { AbortSignal, BlobLike } from '../../primitives/host/platform-types.ts';
import { blobNamed, nameOfBlob, readBlob } from '../bytes/blob-bytes.ts';
import { endingOf } from '../bytes/path-names.ts';
import { type LayerInput, type LayerPlatform, storedInput } from './layer-input.ts';

/** Opens a blob, with the files that were given with it. It is read by slices. */
export function blobInput(
  blob: BlobLike,
  given: readonly BlobLike[],
  platform: LayerPlatform,
  memoryBytes?: number,
): Promise<LayerInput> {
  const file = nameOfBlob(blob);
  const stem = file.slice(0, file.length - endingOf(file).length);
  return storedInput(
    {
      ...{ file, size: blob.size },
      read: (offset, length) => readBlob(blob, offset, offset + length),
      blocks: (length, signal, from) => blocksOf(blob, length, signal, from),
      async beside(ending) {
        const other = blobNamed(given, stem + ending);
        return other && blobInput(other, given, platform, memoryBytes);
      },
    },
    platform,
    memoryBytes,
  );
}

async function* blocksOf(
  blob: BlobLike,
  length: number,
  signal: AbortSignal | undefined,
  from: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const readFrom = (start: number): Promise<Uint8Array> => {
    const reading = readBlob(blob, start, Math.min(blob.size, start + length));
    // Nobody waits for it if the consumer stops early.
    reading.catch(() => {});
    return reading;
  };
  signal?.throwIfAborted();
  let reading = readFrom(from);
  for (let at = from; at < blob.size; ) {
    const block = await reading;
    signal?.throwIfAborted();
    at += block.length;
    // Start to read the next block, while the consumer processes this one.
    reading = readFrom(at);
    yield block;
  }
}
