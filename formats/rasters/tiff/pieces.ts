import type { Window } from '../../../algorithms/geometry/raster.ts';
import { type BandLayout, type Compression, decodedRows, rowBytes } from './layout.ts';

/** The unit of reading and decoding: a block, or some rows of an uncompressed block. */
export interface Piece {
  readonly block: number;
  /** First column of the block in the raster. */
  readonly left: number;
  /** First row of the piece in the raster. `bottom` is the row after the last row of the piece. */
  readonly top: number;
  readonly bottom: number;
  /**
   * Byte offset of the piece in the file. `packedBytes` is its length in the file, and `bytes` its decompressed length.
   */
  readonly offset: number;
  readonly packedBytes: number;
  readonly bytes: number;
  /**
   * Whether the piece is decoded without the cache. True for a block that lies inside the window, so that adjacent
   * windows do not need the block. Always true for rows of uncompressed blocks.
   */
  readonly whole: boolean;
}

/**
 * Maximum bytes that are read at once: rows of an uncompressed block, or a run (pieces that are close together in the
 * file). A larger compressed block is read alone.
 */
const RUN_BYTES = 4 * 2 ** 20;
/**
 * Maximum decompressed bytes of a run, by compression. A larger block is decoded alone. The limits apply only to runs
 * that are not sent to decoding threads. Deflate is decompressed on libuv's threads, where large runs do no harm. The
 * other compressions block the calling thread, which can do other work only between two runs.
 */
export const RUN_DECODED_BYTES: Readonly<Record<Compression, number>> = {
  none: RUN_BYTES,
  deflate: 16 * 2 ** 20,
  lzw: 2 ** 20,
  packbits: 2 ** 20,
  zstd: 2 ** 20,
  jpeg: 2 ** 20,
  lerc: 2 ** 20,
};

/** Lists the pieces that intersect a window. */
export function* listPieces(window: Window, layout: BandLayout): Generator<Piece> {
  const { blockColumns, blockRows, blocksAcross } = layout;
  if (window.columns === 0 || window.rows === 0) return;
  const lastAcross = Math.floor((window.column + window.columns - 1) / blockColumns);
  const lastDown = Math.floor((window.row + window.rows - 1) / blockRows);
  for (let down = Math.floor(window.row / blockRows); down <= lastDown; down++) {
    for (let across = Math.floor(window.column / blockColumns); across <= lastAcross; across++) {
      const block = down * blocksAcross + across;
      yield* layout.compression === 'none'
        ? listRows(window, layout, block, across * blockColumns, down * blockRows)
        : [wholeBlock(window, layout, block, across * blockColumns, down * blockRows)];
    }
  }
}

function wholeBlock(window: Window, layout: BandLayout, block: number, left: number, top: number): Piece {
  const rows = decodedRows(layout, layout.height, block);
  const right = Math.min(left + layout.blockColumns, layout.width);
  const bottom = Math.min(top + rows, layout.height);
  return {
    block,
    left,
    top,
    bottom: top + rows,
    offset: layout.offsets[block]!,
    packedBytes: layout.byteCounts[block]!,
    bytes: rows * rowBytes(layout),
    whole:
      left >= window.column &&
      top >= window.row &&
      right <= window.column + window.columns &&
      bottom <= window.row + window.rows,
  };
}

/** Divides an uncompressed block into pieces of rows. Only rows that the window needs are read. */
function* listRows(window: Window, layout: BandLayout, block: number, left: number, top: number): Generator<Piece> {
  const first = Math.max(top, window.row);
  const last = Math.min(top + decodedRows(layout, layout.height, block), window.row + window.rows);
  const step = rowsAtOnce(layout);
  for (let row = first; row < last; row += step) {
    const bottom = Math.min(row + step, last);
    const bytes = (bottom - row) * rowBytes(layout);
    const before = (row - top) * rowBytes(layout);
    const offset = layout.offsets[block]! + before;
    const packedBytes = Math.min(bytes, layout.byteCounts[block]! - before);
    yield { block, left, top: row, bottom, offset, packedBytes, bytes, whole: true };
  }
}

/**
 * Number of rows of a block that are decoded at once: all rows of a compressed block, or as many rows of an
 * uncompressed block as fit in `RUN_BYTES` (at least one row).
 */
export function rowsAtOnce(layout: BandLayout): number {
  if (layout.compression !== 'none') return layout.blockRows;
  return Math.min(layout.blockRows, Math.max(1, Math.floor(RUN_BYTES / rowBytes(layout))));
}

/** A run: pieces that are close together in the file, sorted by their positions in the file. */
export type PieceRun = readonly Piece[];

/**
 * Maximum gap in bytes between two pieces of a run. Reading the bytes of the gap costs less than another read call.
 */
const GAP_BYTES = 16 * 2 ** 10;

/**
 * Groups pieces into runs of at most `decodedBytes` decompressed bytes. Every piece must be stored in the file, so the
 * caller must leave out pieces of omitted blocks (sparse files).
 */
export function groupRuns(pieces: Piece[], decodedBytes: number): PieceRun[] {
  pieces.sort((a, b) => a.offset - b.offset);
  const runs: Piece[][] = [];
  let start = 0;
  let end = 0;
  let decoded = 0;
  for (const piece of pieces) {
    const pieceEnd = piece.offset + piece.packedBytes;
    const joins = piece.offset - end <= GAP_BYTES && Math.max(end, pieceEnd) - start <= RUN_BYTES;
    if (runs.length > 0 && joins && decoded + piece.bytes <= decodedBytes) {
      runs.at(-1)!.push(piece);
      end = Math.max(end, pieceEnd);
      decoded += piece.bytes;
    } else {
      runs.push([piece]);
      [start, end, decoded] = [piece.offset, pieceEnd, piece.bytes];
    }
  }
  return runs;
}

/** Number of numbers of a piece in {@link packPieces}. */
const PIECE_NUMBERS = 7;

/**
 * The pieces of a run as numbers, which a thread receives faster than objects. A run may have thousands of blocks of a
 * few hundred bytes. All pieces must be `whole`.
 */
export function packPieces(run: PieceRun): Float64Array {
  const numbers = new Float64Array(PIECE_NUMBERS * run.length);
  run.forEach(({ block, left, top, bottom, offset, packedBytes, bytes }, i) => {
    const at = PIECE_NUMBERS * i;
    numbers[at] = block;
    numbers[at + 1] = left;
    numbers[at + 2] = top;
    numbers[at + 3] = bottom;
    numbers[at + 4] = offset;
    numbers[at + 5] = packedBytes;
    numbers[at + 6] = bytes;
  });
  return numbers;
}

/** The pieces that {@link packPieces} has packed. */
export function unpackPieces(numbers: Float64Array): Piece[] {
  const pieces: Piece[] = [];
  for (let at = 0; at < numbers.length; at += PIECE_NUMBERS) {
    pieces.push({
      block: numbers[at]!,
      left: numbers[at + 1]!,
      top: numbers[at + 2]!,
      bottom: numbers[at + 3]!,
      offset: numbers[at + 4]!,
      packedBytes: numbers[at + 5]!,
      bytes: numbers[at + 6]!,
      whole: true,
    });
  }
  return pieces;
}
