/**
 * Decompresses a PackBits block (TIFF 6.0, section 9) to at most `size` bytes. The block is a sequence of packets. A
 * packet contains either one byte to repeat or several bytes to copy.
 *
 * @returns The bytes; fewer than `size` if the block ends too early.
 */
export function unpackPackBits(packed: Uint8Array, size: number): Uint8Array {
  const output = new Uint8Array(size);
  let written = 0;
  for (let at = 0; at + 1 < packed.length && written < size; ) {
    const header = packed[at++]!;
    if (header === 128) continue;
    const length = Math.min(header < 128 ? header + 1 : 257 - header, size - written);
    if (header > 128) {
      output.fill(packed[at++]!, written, written + length);
      written += length;
      continue;
    }
    const copied = packed.subarray(at, at + length);
    output.set(copied, written);
    written += copied.length;
    at += length;
  }
  return output.subarray(0, written);
}
