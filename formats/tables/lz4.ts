/**
 * Decompresses a block of LZ4 (https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md) into `out`, beginning at
 * `start`. The block may refer to bytes before `start`, which were decompressed earlier.
 *
 * @returns The end position in `out`.
 * @throws RangeError if the block is damaged or does not fit in `out`.
 */
function unpackLz4Block(bytes: Uint8Array, out: Uint8Array, start: number): number {
  let [at, to] = [0, start];
  const lengthOf = (nibble: number): number => {
    let total = nibble;
    for (let byte = nibble === 15 ? 255 : 0; byte === 255; total += byte) {
      if (at >= bytes.length) throw cutOff();
      byte = bytes[at++]!;
    }
    return total;
  };
  while (at < bytes.length) {
    const token = bytes[at++]!;
    const literals = lengthOf(token >> 4);
    if (at + literals > bytes.length || to + literals > out.length) throw cutOff();
    out.set(bytes.subarray(at, at + literals), to);
    at += literals;
    to += literals;
    if (at === bytes.length) break;
    if (at + 2 > bytes.length) throw cutOff();
    const distance = bytes[at]! + 256 * bytes[at + 1]!;
    at += 2;
    const copied = lengthOf(token & 15) + 4;
    if (distance === 0 || distance > to || to + copied > out.length) throw new RangeError('its LZ4 block is wrong');
    if (distance >= copied) out.copyWithin(to, to - distance, to - distance + copied);
    else for (let i = to; i < to + copied; i++) out[i] = out[i - distance]!;
    to += copied;
  }
  return to;
}

/** Decompresses a block of LZ4 to exactly `length` bytes. */
export function unpackLz4(bytes: Uint8Array, length: number): Uint8Array {
  const out = new Uint8Array(length);
  if (unpackLz4Block(bytes, out, 0) !== length) throw cutOff();
  return out;
}

const FRAME_MAGIC = 0x184d2204;
const CHECKSUM_BYTES = 4;

/**
 * Decompresses a frame of LZ4 (https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md) to exactly `length` bytes.
 * Checksums are not verified.
 */
export function unpackLz4Frame(bytes: Uint8Array, length: number): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(0, true) !== FRAME_MAGIC) throw new RangeError('its LZ4 frame is wrong');
  const flags = view.getUint8(4);
  if (flags >> 6 !== 1) throw new RangeError('its LZ4 frame is of another version');
  const [hasChecksums, hasSize, hasDictionary] = [flags & 16, flags & 8, flags & 1];
  const out = new Uint8Array(length);
  let at = 7 + (hasSize ? 8 : 0) + (hasDictionary ? 4 : 0);
  let to = 0;
  for (;;) {
    const head = view.getUint32(at, true);
    at += 4;
    if (head === 0) break;
    const size = head & 0x7fffffff;
    if (at + size > bytes.length) throw cutOff();
    const block = bytes.subarray(at, at + size);
    if (head >>> 31 === 0) to = unpackLz4Block(block, out, to);
    else {
      out.set(block, to);
      to += size;
    }
    at += size + (hasChecksums ? CHECKSUM_BYTES : 0);
  }
  if (to !== length) throw cutOff();
  return out;
}

function cutOff(): RangeError {
  return new RangeError('its LZ4 block is cut off');
}
