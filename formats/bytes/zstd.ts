import { viewOf } from './byte-arrays.ts';

/**
 * A function that decompresses bytes. `length` is the decompressed length, or more. If the bytes are damaged, or decompress
 * to more, it returns fewer than `length` bytes or throws.
 */
export type Unpack = (bytes: Uint8Array, length: number) => Uint8Array;

/** Maximum bytes, packed and unpacked. The limit is needed, because the decoder does not notice when it runs out of memory. */
const MAX_BYTES = 2 ** 29;

let loading: Promise<Unpack> | undefined;

/** Loads the decoder of Zstandard once, when it is first needed. */
export function loadZstd(): Promise<Unpack> {
  loading ??= load();
  return loading;
}

async function load(): Promise<Unpack> {
  const { ZSTDDecoder } = await import('zstddec');
  const decoder = new ZSTDDecoder();
  await decoder.init();
  return (bytes, length) => {
    if (bytes.length + length > MAX_BYTES) throw new RangeError(`${bytes.length} bytes would unpack to ${length}`);
    return length === 0 ? bytes.subarray(0, 0) : decoder.decode(bytes, length);
  };
}

const FRAME = 0xfd2fb528;
/** Maximum bytes that a block of a frame decompresses to. */
const MAX_BLOCK = 2 ** 17;

/** A frame of Zstandard. */
export interface ZstdFrame {
  readonly bytes: Uint8Array;
  /** At most how many bytes it decompresses to. */
  readonly contents: number;
}

/** Finds where the first frame (RFC 8878) ends. Bytes that do not begin with a whole frame are returned as they are. */
export function firstFrame(all: Uint8Array): ZstdFrame {
  const none = { bytes: all, contents: 0 };
  const view = viewOf(all);
  if (all.length < 5 || view.getUint32(0, true) !== FRAME) return none;
  const flags = all[4]!;
  const isOneSegment = (flags & 32) !== 0;
  const sizeBytes = flags >> 6 === 0 ? Number(isOneSegment) : 1 << (flags >> 6);
  const sizeAt = 5 + Number(!isOneSegment) + [0, 1, 2, 4][flags & 3]!;
  let [at, contents] = [sizeAt + sizeBytes, 0];
  for (let isLast = false; !isLast; ) {
    if (at + 3 > all.length) return none;
    const head = view.getUint16(at, true) | (all[at + 2]! << 16);
    const [type, size] = [(head >> 1) & 3, head >> 3];
    contents += type === COMPRESSED ? MAX_BLOCK : size;
    at += 3 + (type === REPEATED ? 1 : size);
    isLast = (head & 1) === 1;
  }
  return { bytes: all.subarray(0, at + ((flags & 4) === 0 ? 0 : CHECKSUM)), contents };
}

/** Types of blocks, and bytes of the checksum of a frame. */
const REPEATED = 1;
const COMPRESSED = 2;
const CHECKSUM = 4;
