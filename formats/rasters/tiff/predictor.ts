import { LITTLE_ENDIAN_MACHINE, type SampleBytes, type Words, wordsOver } from './samples.ts';

/**
 * Undoes TIFF's horizontal differencing (predictor 2, TIFF 6.0 section 14) in place. Each stored value is the
 * difference from the sample `stride` positions earlier in the row, modulo 2^b for samples of b bits.
 */
export function undoDifferences(words: Words, rowWords: number, stride: number): void {
  for (let row = 0; row + rowWords <= words.length; row += rowWords) addUp(words, row, row + rowWords, stride);
}

/**
 * Undoes differencing in the range `from … to − 1`, in ascending order: adds to each word the new value of the word
 * `stride` positions earlier. The first `stride` words are unchanged.
 */
function addUp(words: Words, from: number, to: number, stride: number): void {
  for (let first = from; first < from + stride; first++) {
    let sum = 0;
    // The sum is kept in a variable. If it were read back from the array, each step would have to wait for the previous
    // write.
    for (let at = first; at < to; at += stride) {
      sum = (sum + words[at]!) | 0;
      words[at] = sum;
    }
  }
}

/**
 * Does the same as {@link undoDifferences} for samples of 64 bits, which are two words in the machine's byte order.
 *
 * @param rowSamples - Number of samples of a row.
 */
export function undoWideDifferences(words: Uint32Array, rowSamples: number, stride: number): void {
  const [low, high] = LITTLE_ENDIAN_MACHINE ? [0, 1] : [1, 0];
  for (let row = 0; row + 2 * rowSamples <= words.length; row += 2 * rowSamples) {
    for (let first = row; first < row + 2 * stride; first += 2) {
      let [sum, upper] = [0, 0];
      for (let at = first; at < row + 2 * rowSamples; at += 2 * stride) {
        const before = sum;
        sum = (sum + words[at + low]!) >>> 0;
        upper = (upper + words[at + high]! + (sum < before ? 1 : 0)) | 0;
        words[at + low] = sum;
        words[at + high] = upper;
      }
    }
  }
}

/**
 * Undoes TIFF's floating-point predictor (predictor 3, Adobe TIFF Technical Note 3). A row contains the high bytes of
 * all its floats, then the second bytes, and so on down to the low bytes. Each byte is stored as the difference from
 * the byte `stride` positions earlier.
 *
 * @param size - Number of bytes of a float.
 * @returns The bits of the floats, in the machine's byte order.
 */
export function undoFloatDifferences(bytes: Uint8Array, rowWords: number, stride: number, size: SampleBytes): Words {
  const isAligned = LITTLE_ENDIAN_MACHINE && stride === 1 && rowWords % 4 === 0 && bytes.byteOffset % 4 === 0;
  return size === 4 && isAligned ? undoByWords(bytes, rowWords) : undoByBytes(bytes, rowWords, stride, size);
}

function undoByBytes(bytes: Uint8Array, rowWords: number, stride: number, size: SampleBytes): Words {
  const rowBytes = rowWords * size;
  const floats = new Uint8Array(bytes.length);
  for (let row = 0; row + rowBytes <= bytes.length; row += rowBytes) {
    addUp(bytes, row, row + rowBytes, stride);
    for (let place = 0; place < size; place++) {
      const from = row + place * rowWords;
      const to = row + (LITTLE_ENDIAN_MACHINE ? size - 1 - place : place);
      for (let i = 0; i < rowWords; i++) floats[to + i * size] = bytes[from + i]!;
    }
  }
  return wordsOver(floats, size);
}

/**
 * Does the same as `undoByBytes` but adds four bytes at a time, which is faster. Requires a little-endian machine, a
 * stride of 1, a multiple of four floats per row, and a byte offset of `bytes` that is a multiple of four.
 */
function undoByWords(bytes: Uint8Array, rowWords: number): Uint32Array {
  const packed = new Uint32Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.length / 4));
  const words = new Uint32Array(packed.length);
  for (let row = 0; row + rowWords <= packed.length; row += rowWords) {
    let before = 0;
    for (let at = row; at < row + rowWords; at++) {
      const single = packed[at]!;
      const pairs = addBytes(single, single << 8);
      const sums = addBytes(addBytes(pairs, pairs << 16), before);
      packed[at] = sums;
      before = Math.imul(sums >>> 24, 0x01010101);
    }
    spreadBytes(packed, words, row, rowWords / 4);
  }
  return words;
}

/** Adds the four bytes of two words separately, each modulo 256. */
function addBytes(a: number, b: number): number {
  return ((a & 0x7f7f7f7f) + (b & 0x7f7f7f7f)) ^ ((a ^ b) & 0x80808080);
}

/**
 * Assembles the floats of a row from their bytes. The row contains the high bytes of all floats first, then the second
 * bytes, and so on. Each of these groups of bytes fills `quarter` words.
 */
function spreadBytes(packed: Uint32Array, words: Uint32Array, row: number, quarter: number): void {
  for (let i = 0, to = row; i < quarter; i++, to += 4) {
    const [high, second] = [packed[row + i]!, packed[row + quarter + i]!];
    const [third, low] = [packed[row + 2 * quarter + i]!, packed[row + 3 * quarter + i]!];
    words[to] = (high << 24) | ((second & 0xff) << 16) | ((third & 0xff) << 8) | (low & 0xff);
    words[to + 1] = ((high & 0xff00) << 16) | ((second & 0xff00) << 8) | (third & 0xff00) | ((low >>> 8) & 0xff);
    words[to + 2] = ((high & 0xff0000) << 8) | (second & 0xff0000) | ((third >>> 8) & 0xff00) | ((low >>> 16) & 0xff);
    words[to + 3] = (high & 0xff000000) | ((second >>> 8) & 0xff0000) | ((third >>> 16) & 0xff00) | (low >>> 24);
  }
}
