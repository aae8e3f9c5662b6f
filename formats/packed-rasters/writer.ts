import { ArgumentError } from '../../primitives/errors.ts';
import { crc32c } from './crc32c.ts';
import { ENTRY_BYTES, emptyEntries, encodeFooter, FOOTER_BYTES, MAX_METADATA, putEntry } from './directory.ts';
import { encodeHeader, HEADER_BYTES, type PackedLayout, tileGrid } from './layout.ts';
import { encodeMetadata, type PackedMetadata } from './metadata.ts';
import type { EncodedTile } from './tile-encoder.ts';

/** Writes a packed raster from front to back. */
export interface PackedWriter {
  /** Appends the next tile: row by row, band after band. */
  add(tile: EncodedTile): void;
  /** Passes on the bytes so far, if they are many. */
  flush(): Promise<void>;
  /** Appends metadata, directory and footer after the last tile, and returns the size of the file. */
  end(metadata: PackedMetadata): Promise<number>;
}

/** Bytes that are passed on at once. */
const CHUNK_BYTES = 2 ** 20;

/** Starts a packed raster. `write` appends bytes to the file. The directory is held in memory until the end. */
export function packedWriter(layout: PackedLayout, write: (bytes: Uint8Array) => Promise<void>): PackedWriter {
  const { tiles } = tileGrid(layout);
  const entries = emptyEntries(tiles);
  let pending: Uint8Array[] = [encodeHeader(layout)];
  let [held, end, next] = [HEADER_BYTES, HEADER_BYTES, 0];
  const append = (bytes: Uint8Array): void => {
    pending.push(bytes);
    held += bytes.length;
    end += bytes.length;
  };
  const pass = async (): Promise<void> => {
    const bytes = joined(pending, held);
    [pending, held] = [[], 0];
    await write(bytes);
  };
  return {
    add(tile) {
      const { payload } = tile;
      const at = next++;
      entries.offset[at] = payload.length === 0 ? 0 : end;
      entries.bytes[at] = payload.length;
      entries.checksum[at] = crc32c(payload);
      entries.minimum[at] = tile.minimum;
      entries.maximum[at] = tile.maximum;
      entries.first[at] = tile.first;
      entries.codec[at] = tile.codec;
      entries.mask[at] = tile.mask;
      entries.maskBytes[at] = tile.maskBytes;
      if (payload.length > 0) append(padded(payload));
    },
    async flush() {
      if (held >= CHUNK_BYTES) await pass();
    },
    async end(metadata) {
      if (next !== tiles) throw new Error(`${next} tiles of ${tiles} were added.`);
      const stated = encodeMetadata(metadata);
      if (stated.length > MAX_METADATA) throw tooLong(stated.length);
      const metadataOffset = end;
      append(padded(stated));
      const directory = new Uint8Array(tiles * ENTRY_BYTES);
      const view = new DataView(directory.buffer);
      for (let tile = 0; tile < tiles; tile++) putEntry(view, tile * ENTRY_BYTES, entries, tile);
      const directoryOffset = end;
      append(directory);
      const footer = {
        metadataOffset,
        metadataBytes: stated.length,
        metadataChecksum: crc32c(stated),
        directoryOffset,
        directoryChecksum: crc32c(directory),
        fileBytes: end + FOOTER_BYTES,
      };
      append(encodeFooter(footer));
      await pass();
      return end;
    },
  };
}

function tooLong(bytes: number): ArgumentError {
  return new ArgumentError('argument/metadata', 'The metadata of the raster are too long.', {
    expected: `at most ${MAX_METADATA} bytes as JSON`,
    got: `${bytes} bytes`,
    remedy: 'Encode fewer bands at once.',
  });
}

/** A copy of bytes, filled up with zeros to whole words. */
function padded(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array((bytes.length + 3) & ~3);
  copy.set(bytes);
  return copy;
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
