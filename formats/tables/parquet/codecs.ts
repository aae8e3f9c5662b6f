import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import type { CompressionCodec } from 'hyparquet/src/types.js';
import { loadZstd, type Unpack } from '../../bytes/zstd.ts';
import { unpackLz4 } from '../lz4.ts';

/**
 * The supported codecs, which are loaded when first needed. Not every codec checks the decompressed length, so callers
 * must compare the length of the result with the expected length.
 */
export const CODECS: { readonly [codec in CompressionCodec]?: () => Promise<Unpack> } = {
  UNCOMPRESSED: async () => (bytes) => bytes,
  GZIP: async () => (bytes, length) => gunzip(bytes, length),
  BROTLI: async () => (bytes, length) => brotliDecompressSync(bytes, { maxOutputLength: Math.max(1, length) }),
  SNAPPY: () => (snappy ??= loadSnappy()),
  ZSTD: loadZstd,
  LZ4_RAW: async () => unpackLz4,
  LZ4: async () => unpackHadoopLz4,
};

let snappy: Promise<Unpack> | undefined;

/** Decompresses a gzip stream, or a zlib stream, which some old writers use instead. */
function gunzip(bytes: Uint8Array, length: number): Uint8Array {
  const bounds = { maxOutputLength: Math.max(1, length) };
  return bytes[0] === 0x78 ? inflateSync(bytes, bounds) : gunzipSync(bytes, bounds);
}

async function loadSnappy(): Promise<Unpack> {
  const { snappyUncompressor } = await import('hysnappy');
  const unpack = snappyUncompressor();
  return (bytes, length) => {
    // The decoder ignores `length` and trusts the length that the bytes state. So check that both lengths are equal.
    if (snappyLength(bytes) !== length) throw new RangeError('its decompressed length is not the stated one');
    return unpack(bytes, length);
  };
}

function snappyLength(bytes: Uint8Array): number {
  let length = 0;
  for (let at = 0; at < Math.min(5, bytes.length); at++) {
    length += (bytes[at]! & 127) * 128 ** at;
    if (bytes[at]! < 128) return length;
  }
  return -1;
}

/**
 * Decompresses LZ4 in Hadoop's framing, in which each block is preceded by its decompressed and its compressed length,
 * big-endian. Some writers name this codec in the file but omit the framing. If the framing is missing, the bytes are
 * read as a plain block.
 */
function unpackHadoopLz4(bytes: Uint8Array, length: number): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const blocks: (readonly [at: number, packed: number, unpacked: number])[] = [];
  let [at, total] = [0, 0];
  while (at + 8 <= bytes.length && total < length) {
    const [unpacked, packed] = [view.getUint32(at), view.getUint32(at + 4)];
    blocks.push([at + 8, packed, unpacked]);
    at += 8 + packed;
    total += unpacked;
  }
  if (at !== bytes.length || total !== length) return unpackLz4(bytes, length);
  const out = new Uint8Array(length);
  let to = 0;
  for (const [from, packed, unpacked] of blocks) {
    out.set(unpackLz4(bytes.subarray(from, from + packed), unpacked), to);
    to += unpacked;
  }
  return out;
}
