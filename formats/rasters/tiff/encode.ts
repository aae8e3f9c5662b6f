import { SAMPLE_BYTES, type Sample } from '../../../algorithms/geometry/raster.ts';
import { deflateBytes } from '../../bytes/deflate.ts';
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
  const size = SAMPLE_BYTES[sample];
  const bytes = new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
  if (predictor === 'float') return floatDifferences(bytes, rowWords, interleaved, size);
  if (predictor === 'difference' && size === 8) {
    takeDifferences(new BigUint64Array(words.buffer, words.byteOffset, words.length / 2), rowWords, interleaved);
  } else if (predictor === 'difference') takeDifferences(words, rowWords, interleaved);
  return littleEndian === LITTLE_ENDIAN_MACHINE ? bytes : swappedBytes(bytes, size);
}

function takeDifferences(words: Words | BigUint64Array, rowWords: number, stride: number): void {
  // Both operands are of one type, number or bigint.
  const numbers = words as Words;
  for (let row = 0; row < numbers.length; row += rowWords) {
    for (let at = row + rowWords - 1; at >= row + stride; at--) numbers[at] = numbers[at]! - numbers[at - stride]!;
  }
}

/** The bytes of floats of `size` bytes: in each row, the high bytes of all floats come first. */
function floatDifferences(floats: Uint8Array, rowWords: number, stride: number, size: number): Uint8Array {
  const bytes = new Uint8Array(floats.length);
  const rowBytes = rowWords * size;
  for (let row = 0; row < floats.length; row += rowBytes) {
    for (let i = 0; i < rowWords; i++) {
      for (let place = 0; place < size; place++) {
        const from = LITTLE_ENDIAN_MACHINE ? size - 1 - place : place;
        bytes[row + place * rowWords + i] = floats[row + i * size + from]!;
      }
    }
  }
  takeDifferences(bytes, rowBytes, stride);
  return bytes;
}
