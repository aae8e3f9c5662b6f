import type { BlobLike } from '../../primitives/host/platform-types.ts';
import { type ByteSource, checkRange, truncated } from '../rasters/tiff/byte-source.ts';
import { unreadableBlob } from './file-error.ts';

/** The name of a `File`; `blob` for a blob, which has none. */
export function nameOfBlob(blob: BlobLike): string {
  return 'name' in blob ? String(blob.name) : 'blob';
}

/** The file of a name among others. If none has exactly this name, lower and upper case are not distinguished. */
export function blobNamed(blobs: readonly BlobLike[], name: string): BlobLike | undefined {
  const lower = name.toLowerCase();
  return (
    blobs.find((blob) => nameOfBlob(blob) === name) ?? blobs.find((blob) => nameOfBlob(blob).toLowerCase() === lower)
  );
}

/** A source of the bytes of a blob. Only the parts that are asked for are read. */
export function blobBytes(blob: BlobLike): ByteSource {
  const file = nameOfBlob(blob);
  const { size } = blob;
  let open = true;
  return {
    file,
    size,
    async read(offset, length, into) {
      checkRange(file, size, offset, length, open);
      const bytes = await readBlob(blob, offset, offset + length);
      if (bytes.length < length) throw truncated(file, offset + bytes.length, offset, length);
      into?.set(bytes);
      return into ?? bytes;
    },
    async close() {
      open = false;
    },
  };
}

/** Reads a part of a blob. */
export async function readBlob(blob: BlobLike, from: number, to: number): Promise<Uint8Array> {
  try {
    return new Uint8Array(await blob.slice(from, to).arrayBuffer());
  } catch (cause) {
    throw unreadableBlob(nameOfBlob(blob), cause);
  }
}
