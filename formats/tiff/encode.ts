import { SAMPLE_BYTES, type Sample } from '../../algorithms/geometry/raster.ts';
import { deflateBytes } from '../deflate.ts';
import type { Predictor } from './layout.ts';
import { LITTLE_ENDIAN_MACHINE, swappedBytes, type Words } from './samples.ts';

/** How the samples of a block are encoded and compressed. */
export interface Packing {
  readonly sample: Sample;
  readonly littleEndian: boolean;
  readonly compression: 'none' | 'deflate';
  readonly level: number;
  readonly predictor: Predictor;
  /** Number of samples in a row of a block. `interleaved` is the number of samples per cell. */
  readonly rowWords: number;
  readonly interleaved: number;
}

/** Encodes and compresses the samples of a block. May modify `words`. */
export async function encodeBlock(words: Words, packing: Packing): Promise<Uint8Array> {
  const bytes = toBytes(words, packing);
  return packing.compression === 'none' ? bytes : deflateBytes(bytes, { level: packing.level });
}

function toBytes(words: Words, { sample, littleEndian, predictor, rowWords, interleaved }: Packing): Uint8Array {
  if (predictor === 'float') return floatDifferences(words, rowWords, interleaved);
  if (predictor === 'difference') takeDifferences(words, rowWords, interleaved);
  const bytes = new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
  return littleEndian === LITTLE_ENDIAN_MACHINE ? bytes : swappedBytes(bytes, SAMPLE_BYTES[sample]);
}

function takeDifferences(words: Words | Uint8Array, rowWords: number, stride: number): void {
  for (let row = 0; row < words.length; row += rowWords) {
    for (let at = row + rowWords - 1; at >= row + stride; at--) words[at] = words[at]! - words[at - stride]!;
  }
}

function floatDifferences(words: Words, rowWords: number, stride: number): Uint8Array {
  const bytes = new Uint8Array(words.length * 4);
  for (let row = 0; row < words.length; row += rowWords) {
    for (let i = 0; i < rowWords; i++) {
      for (let b = 0; b < 4; b++) bytes[row * 4 + b * rowWords + i] = words[row + i]! >>> (24 - 8 * b);
    }
  }
  takeDifferences(bytes, rowWords * 4, stride);
  return bytes;
}
