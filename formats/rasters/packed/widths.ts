/** Bytes before the packed differences: the smallest width, and the bits of a difference. */
const HEAD_BYTES = 2;
/** Maximum bits of a residual, and of a difference between two widths. */
const MAX_WIDTH = 32;
const MAX_BITS = 6;

/** Maximum bytes that the widths of so many blocks take. */
export function maxWidthBytes(blocks: number): number {
  return byteCount(blocks, MAX_BITS);
}

/** Bytes of packed widths, filled up to whole words. */
function byteCount(blocks: number, bits: number): number {
  return (HEAD_BYTES + ((blocks * bits + 7) >> 3) + 3) & ~3;
}

/**
 * Packs the widths of blocks: the smallest, then the bits of the largest difference from it, then the differences, lowest
 * bits first, and zeros up to a whole word.
 *
 * @returns The number of bytes.
 */
export function packWidths(widths: Uint8Array, to: Uint8Array): number {
  let [smallest, largest] = [MAX_WIDTH, 0];
  for (const width of widths) {
    if (width < smallest) smallest = width;
    if (width > largest) largest = width;
  }
  const bits = 32 - Math.clz32(largest - smallest);
  const bytes = byteCount(widths.length, bits);
  to.fill(0, 0, bytes);
  to[0] = smallest;
  to[1] = bits;
  for (let block = 0, at = 8 * HEAD_BYTES; block < widths.length && bits > 0; block++, at += bits) {
    const shifted = (widths[block]! - smallest) << (at & 7);
    to[at >> 3]! |= shifted;
    if ((at & 7) + bits > 8) to[(at >> 3) + 1]! |= shifted >> 8;
  }
  return bytes;
}

/**
 * Unpacks the widths of blocks.
 *
 * @returns The number of bytes that they take; undefined if the bytes are too few, or state a width beyond 32.
 */
export function unpackWidths(bytes: Uint8Array, widths: Uint8Array): number | undefined {
  if (bytes.length < HEAD_BYTES) return undefined;
  const [smallest, bits] = [bytes[0]!, bytes[1]!];
  const length = byteCount(widths.length, bits);
  if (bits > MAX_BITS || length > bytes.length) return undefined;
  const mask = (1 << bits) - 1;
  let largest = smallest;
  for (let block = 0, at = 8 * HEAD_BYTES; block < widths.length; block++, at += bits) {
    const pair = bits === 0 ? 0 : bytes[at >> 3]! | ((bytes[(at >> 3) + 1] ?? 0) << 8);
    const width = smallest + ((pair >> (at & 7)) & mask);
    widths[block] = width;
    if (width > largest) largest = width;
  }
  return largest > MAX_WIDTH ? undefined : length;
}
