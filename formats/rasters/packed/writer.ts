import { ArgumentError } from '../../../primitives/checks/errors.ts';
import { crc32c } from './crc32c.ts';
import { ENTRY_BYTES, emptyEntries, encodeFooter, FOOTER_BYTES, MAX_METADATA, putEntry } from './directory.ts';
import { encodeHeader, type PackedLayout, tileGrid } from './layout.ts';
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
const CHUNK_BYTES = 2 ** 18;

/**
 * Starts a packed raster. `write` appends bytes to the file, and must not keep them: their memory is used again. The
 * directory is held in memory until the end.
 */
export function packedWriter(layout: PackedLayout, write: (bytes: Uint8Array) => Promise<void>): PackedWriter {
  const { tiles } = tileGrid(layout);
  const entries = emptyEntries(tiles);
  let pending = new Uint8Array(2 * CHUNK_BYTES);
  let [held, end, next] = [0, 0, 0];
  /** Appends bytes, and zeros up to a whole word. */
  const append = (bytes: Uint8Array): void => {
    const size = (bytes.length + 3) & ~3;
    if (held + size > pending.length) {
      const larger = new Uint8Array(2 * (held + size));
      larger.set(pending.subarray(0, held));
      pending = larger;
    }
    pending.set(bytes, held);
    pending.fill(0, held + bytes.length, held + size);
    held += size;
    end += size;
  };
  const pass = async (): Promise<void> => {
    await write(pending.subarray(0, held));
    held = 0;
  };
  append(encodeHeader(layout));
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
      append(payload);
    },
    async flush() {
      if (held >= CHUNK_BYTES) await pass();
    },
    async end(metadata) {
      if (next !== tiles) throw new Error(`${next} tiles of ${tiles} were added.`);
      const stated = encodeMetadata(metadata);
      if (stated.length > MAX_METADATA) throw tooLong(stated.length);
      const metadataOffset = end;
      append(stated);
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
