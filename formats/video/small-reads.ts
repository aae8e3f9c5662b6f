import type { ByteSource } from '../rasters/tiff/byte-source.ts';

/** Number of bytes to read from the source when a smaller number is requested. */
const WINDOW_BYTES = 4096;

/** Wraps a source so that small reads at nearby positions, such as headers of chunks, are served by one larger read. */
export function withSmallReads(source: ByteSource): ByteSource {
  let start = 0;
  let window: Uint8Array = new Uint8Array(0);
  return {
    file: source.file,
    size: source.size,
    async read(offset, length) {
      const inFile = offset >= 0 && length >= 0 && offset + length <= source.size;
      if (!inFile || length > WINDOW_BYTES / 4) return source.read(offset, length);
      if (offset < start || offset + length > start + window.length) {
        const read = await source.read(offset, Math.min(WINDOW_BYTES, source.size - offset));
        [start, window] = [offset, read];
        return read.slice(0, length);
      }
      return window.slice(offset - start, offset - start + length);
    },
    close: () => source.close(),
  };
}
