import { readSync } from 'node:fs';
import { SAMPLE_BYTES } from '../../../algorithms/geometry/raster.ts';
import { fileError } from '../../bytes/file-error.ts';
import { truncated } from './byte-source.ts';
import { decodeBlockNow } from './decode.ts';
import { storedBytes } from './layout.ts';
import { nodeCodecs } from './node-codecs.ts';
import { unpackPieces } from './pieces.ts';
import { blockOf, copyPiece } from './place-cells.ts';
import { wordsOver } from './samples.ts';
import type { RunRequest } from './tiff-platform.ts';

/** Synchronously reads and decodes the pieces of a run, and copies their cells to shared memory. */
export function decodeRun(request: RunRequest): void {
  const { coding, window, starts, file } = request;
  const pieces = unpackPieces(request.pieces);
  const start = pieces[0]!.offset;
  const end = pieces.reduce((furthest, piece) => Math.max(furthest, piece.offset + piece.packedBytes), start);
  // Samples stay aligned in memory as in the file, so that samples of uncompressed blocks need no copy.
  const shift = start % storedBytes(coding);
  const packed = readBytes(request, shift, start, end - start);
  const targets = request.targets.map(({ cells, position }) => ({
    words: wordsOver(new Uint8Array(cells), SAMPLE_BYTES[coding.sample]),
    coding: { ...coding, position },
  }));
  pieces.forEach((piece, i) => {
    const from = shift + piece.offset - start;
    const bytes = packed.subarray(from, from + piece.packedBytes);
    const words = decodeBlockNow(bytes, piece.bytes, coding, nodeCodecs, file, piece.block);
    for (const { words: target, coding: ofBand } of targets) {
      copyPiece(target, starts?.[i] ?? 0, window ?? blockOf(piece, coding), ofBand, piece, words);
    }
  });
}

/** Buffer for the compressed bytes of a run. The buffer is reused for the next run, because runs have similar sizes. */
let buffer = new Uint8Array(0);

/** Reads bytes of the file to the buffer, from byte `at` of the buffer on. */
function readBytes({ descriptor, file, size }: RunRequest, at: number, offset: number, length: number): Uint8Array {
  if (buffer.length < at + length) buffer = new Uint8Array(at + length);
  for (let done = 0; done < length; ) {
    const read = readSome(descriptor, file, at + done, length - done, offset + done);
    if (read === 0) throw truncated(file, size, offset + done, length - done);
    done += read;
  }
  return buffer;
}

function readSome(descriptor: number, file: string, at: number, length: number, offset: number): number {
  try {
    return readSync(descriptor, buffer, at, length, offset);
  } catch (error) {
    throw fileError(file, error);
  }
}
