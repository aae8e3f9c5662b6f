/** Control codes of LZW in TIFF. CLEAR empties the table, and END is the end of the data. */
const CLEAR = 256;
const END = 257;
const TABLE = 4096;

/**
 * Decompresses an LZW block of TIFF 6.0 to at most `size` bytes. Codes have 9 to 12 bits, the high bit first. TIFF
 * increases the number of bits one code earlier than other formats. Blocks older than TIFF 6.0 have the low bit first
 * and do not; they are recognized by their first code, CLEAR, as in libtiff.
 *
 * The table does not store the strings of its entries. The string of an entry is the string of the previous code plus
 * one byte, and it already occurs in the output. So an entry consists of the position and the length of its string in
 * the output.
 *
 * Welch, "A technique for high-performance data compression", Computer 17(6), 1984; TIFF 6.0, section 13.
 *
 * @returns The bytes; fewer than `size` if the codes end too early; undefined if a code has no entry.
 */
export function unpackLzw(packed: Uint8Array, size: number): Uint8Array | undefined {
  const output = new Uint8Array(size);
  const starts = new Uint32Array(TABLE);
  const lengths = new Uint16Array(TABLE);
  const isOld = packed[0] === 0 && (packed[1]! & 1) === 1;
  const early = isOld ? 0 : 1;
  let next = END + 1;
  let width = 9;
  let held = 0;
  let heldBits = 0;
  let at = 0;
  let written = 0;
  let previousLength = 0;
  while (written < size) {
    while (heldBits < width) {
      if (at === packed.length) return output.subarray(0, written);
      held = isOld ? held | (packed[at++]! << heldBits) : ((held << 8) | packed[at++]!) & 0xfffff;
      heldBits += 8;
    }
    heldBits -= width;
    const code = (isOld ? held : held >>> heldBits) & ((1 << width) - 1);
    if (isOld) held >>>= width;
    if (code === END) return output.subarray(0, written);
    if (code === CLEAR) {
      next = END + 1;
      width = 9;
      previousLength = 0;
      continue;
    }
    if (previousLength > 0 && next < TABLE) {
      starts[next] = written - previousLength;
      lengths[next] = previousLength + 1;
      next++;
      if (next + early >= 1 << width && width < 12) width++;
    }
    if (code < CLEAR) {
      output[written++] = code;
      previousLength = 1;
      continue;
    }
    if (code >= next || previousLength === 0) return undefined;
    previousLength = lengths[code]!;
    const end = Math.min(written + previousLength, size);
    for (let from = starts[code]!; written < end; ) output[written++] = output[from++]!;
  }
  return output;
}
