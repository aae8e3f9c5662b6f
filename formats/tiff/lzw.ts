/** Codes 256 and 257 of TIFF's LZW. */
const CLEAR = 256;
const END = 257;
const TABLE = 4096;

/**
 * Unpacks one LZW block of TIFF 6.0 (high bit first, codes of 9 to 12 bits, widened one code early) until `size` bytes
 * are there.
 *
 * Table entries are not stored as strings. An entry is the string of an earlier code plus the byte after it, which are
 * adjacent in the output already. So an entry is a position and a length in the output.
 *
 * Welch, "A technique for high-performance data compression", Computer 17(6), 1984; TIFF 6.0, section 13.
 *
 * @returns The bytes; fewer than `size` if the codes end too early; undefined if a code has no entry, as in the old LZW
 * variant with the low bit first.
 */
export function unpackLzw(packed: Uint8Array, size: number): Uint8Array | undefined {
  const output = new Uint8Array(size);
  const starts = new Uint32Array(TABLE);
  const lengths = new Uint16Array(TABLE);
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
      held = ((held << 8) | packed[at++]!) & 0xfffff;
      heldBits += 8;
    }
    heldBits -= width;
    const code = (held >>> heldBits) & ((1 << width) - 1);
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
      if (next + 1 >= 1 << width && width < 12) width++;
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
