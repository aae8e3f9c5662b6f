import { expect } from 'vitest';
import { undoDifferences, undoFloatDifferences } from '../../../formats/rasters/tiff/predictor.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';

/**
 * Rows of words, with `stride` samples per cell. The row lengths include odd numbers of words, and multiples of a
 * vector's length.
 */
const rows = fc
  .record({
    cells: fc.integer({ min: 1, max: 40 }),
    stride: fc.integer({ min: 1, max: 4 }),
    count: fc.integer({ min: 1, max: 4 }),
  })
  .chain(({ cells, stride, count }) => {
    const words = fc.array(fc.integer({ min: 0, max: 2 ** 32 - 1 }), {
      minLength: cells * stride * count,
      maxLength: cells * stride * count,
    });
    return words.map((values) => ({ rowWords: cells * stride, stride, values: Uint32Array.from(values) }));
  });

/** Encodes words as differences along rows. */
function differences<A extends Uint8Array | Uint16Array | Uint32Array>(words: A, rowWords: number, stride: number): A {
  return words.map((word, at) => (at % rowWords < stride ? word : word - words[at - stride]!)) as A;
}

/** Encodes each row of words as planes of bytes: all highest bytes first, all lowest bytes last. */
function planes(words: Uint16Array | Uint32Array, rowWords: number): Uint8Array {
  const size = words.BYTES_PER_ELEMENT;
  return Uint8Array.from({ length: size * words.length }, (_, at) => {
    const row = Math.floor(at / (size * rowWords));
    const inRow = at - size * rowWords * row;
    return words[rowWords * row + (inRow % rowWords)]! >>> (8 * (size - 1 - Math.floor(inRow / rowWords)));
  });
}

test.prop([rows, fc.constantFrom(Uint8Array, Uint16Array, Uint32Array)], { numRuns: caseCount(300) })(
  'differences along rows are undone, for any words',
  ({ rowWords, stride, values }, Words) => {
    const words = Words.from(values);
    const undone = differences(words, rowWords, stride);
    undoDifferences(undone, rowWords, stride);
    expect(undone).toEqual(words);
  },
);

test.prop([rows, fc.nat(3), fc.constantFrom(Uint16Array, Uint32Array)], { numRuns: caseCount(500) })(
  'differences of the bytes of floats are undone, at any alignment',
  ({ rowWords, stride, values }, shift, Words) => {
    const words = Words.from(values);
    const size = Words.BYTES_PER_ELEMENT as 2 | 4;
    const packed = differences(planes(words, rowWords), size * rowWords, stride);
    const bytes = new Uint8Array(packed.length + shift).subarray(shift);
    bytes.set(packed);
    expect(undoFloatDifferences(bytes, rowWords, stride, size)).toEqual(words);
  },
);
