import type { Words } from './samples.ts';

/**
 * Undoes TIFF's horizontal differencing (predictor 2, TIFF 6.0 section 14) in place: every sample holds its difference
 * from the sample `stride` before it in its row, modulo the word's size.
 */
export function undoDifferences(words: Words, rowWords: number, stride: number): void {
  for (let row = 0; row + rowWords <= words.length; row += rowWords) {
    for (let at = row + stride; at < row + rowWords; at++) words[at] = words[at]! + words[at - stride]!;
  }
}

/**
 * Undoes TIFF's floating-point predictor (predictor 3, Adobe TIFF Technical Note 3): a row holds the high bytes of all
 * its floats, then the next bytes, down to the low bytes, as differences from the byte `stride` before.
 *
 * @returns The floats' bits, in this machine's order.
 */
export function undoFloatDifferences(bytes: Uint8Array, rowWords: number, stride: number): Uint32Array {
  const rowBytes = rowWords * 4;
  const words = new Uint32Array(bytes.length / 4);
  for (let row = 0; row + rowBytes <= bytes.length; row += rowBytes) {
    for (let at = row + stride; at < row + rowBytes; at++) bytes[at] = bytes[at]! + bytes[at - stride]!;
    const first = row / 4;
    for (let i = 0, at = row; i < rowWords; i++, at++) {
      const [high, second] = [bytes[at]!, bytes[at + rowWords]!];
      const [third, low] = [bytes[at + 2 * rowWords]!, bytes[at + 3 * rowWords]!];
      words[first + i] = (high << 24) | (second << 16) | (third << 8) | low;
    }
  }
  return words;
}
