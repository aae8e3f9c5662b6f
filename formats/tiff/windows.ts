import { type Cells, SAMPLE_BYTES, type Window } from '../../algorithms/geometry/raster.ts';
import { ArgumentError } from '../../primitives/errors.ts';
import type { ByteSource } from './byte-source.ts';
import { decodeBlock } from './decode.ts';
import { type BandLayout, type Compression, decodedRows, rowBytes } from './layout.ts';
import { cellsOver, type Words, wordsOver } from './samples.ts';

/** Reads windows of one band, decoding no more blocks than they meet. */
export interface WindowReader {
  read(window: Window, signal: AbortSignal | undefined): Promise<Cells>;
}

/**
 * Makes a reader of windows. Blocks that stand side by side in the file are read together, two such runs at a time;
 * a block that reaches beyond a window is kept for the next, within `keepBytes`, or alone where it is larger.
 *
 * @param fill - Value of the cells of blocks that were never written.
 */
export function windowReader(source: ByteSource, layout: BandLayout, fill: number, keepBytes: number): WindowReader {
  const kept = keptBlocks(keepBytes);
  return {
    async read(window, signal) {
      checkWindow(window, layout, source.file);
      signal?.throwIfAborted();
      const cells = cellsOver(
        layout.sample,
        new ArrayBuffer(window.columns * window.rows * SAMPLE_BYTES[layout.sample]),
      );
      const target = wordsOver(new Uint8Array(cells.buffer), SAMPLE_BYTES[layout.sample]);
      const pieces: Piece[] = [];
      for (const piece of listPieces(window, layout)) {
        if (layout.byteCounts[piece.block] === 0) fillPiece(cells, window, layout, piece, fill);
        else pieces.push(piece);
      }
      const reading: Reading = { source, layout, window, target, kept, signal };
      await readRuns(reading, groupRuns(pieces, layout.compression));
      return cells;
    },
  };
}

function checkWindow({ column, row, columns, rows }: Window, { width, height }: BandLayout, file: string): void {
  const whole = [column, row, columns, rows].every((value) => Number.isInteger(value) && value >= 0);
  if (whole && column + columns <= width && row + rows <= height) return;
  throw new ArgumentError('argument/window-outside', 'The window does not lie inside the raster.', {
    expected: `a window within ${width} × ${height} cells`,
    got: `${columns} × ${rows} cells from (${column}, ${row})`,
    remedy: 'Cut the window to the raster.',
    place: { file },
  });
}

/** What is read and decoded at once: a block, or some rows of an uncompressed one. */
interface Piece {
  readonly block: number;
  /** Column of the raster where the block starts. */
  readonly left: number;
  /** Rows of the raster that the piece holds. */
  readonly top: number;
  readonly bottom: number;
  /** Where the piece stands in the file, and how many bytes it decodes to. */
  readonly offset: number;
  readonly packedBytes: number;
  readonly bytes: number;
  /** Whether the window wants cells of this block alone: nothing of it is left for another window. */
  readonly whole: boolean;
}

/** Bytes of an uncompressed block, or of a run of blocks, that are read at once; a larger block is read alone. */
const RUN_BYTES = 4 * 2 ** 20;
/**
 * Bytes that a run may decode to; a larger block is decoded alone. Deflate works on other threads; the others hold up
 * this one, between two runs of which it does what else there is to do.
 */
const RUN_DECODED_BYTES: Readonly<Record<Compression, number>> = {
  none: RUN_BYTES,
  deflate: 16 * 2 ** 20,
  lzw: 2 ** 20,
  packbits: 2 ** 20,
};

function* listPieces(window: Window, layout: BandLayout): Generator<Piece> {
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

/** The rows of an uncompressed block that the window wants: no others are read. */
function* listRows(window: Window, layout: BandLayout, block: number, left: number, top: number): Generator<Piece> {
  const first = Math.max(top, window.row);
  const last = Math.min(top + layout.blockRows, window.row + window.rows);
  const step = rowsAtOnce(layout);
  for (let row = first; row < last; row += step) {
    const bottom = Math.min(row + step, last);
    const bytes = (bottom - row) * rowBytes(layout);
    const offset = layout.offsets[block]! + (row - top) * rowBytes(layout);
    yield { block, left, top: row, bottom, offset, packedBytes: bytes, bytes, whole: true };
  }
}

/** Rows of a block that are decoded together: all, but of an uncompressed block no more than one read takes. */
export function rowsAtOnce(layout: BandLayout): number {
  if (layout.compression !== 'none') return layout.blockRows;
  return Math.min(layout.blockRows, Math.max(1, Math.floor(RUN_BYTES / rowBytes(layout))));
}

/** Pieces that stand close together in the file, in its order. */
type Run = readonly Piece[];

/** Bytes between two pieces that are cheaper to read than to skip. */
const GAP_BYTES = 16 * 2 ** 10;

function groupRuns(pieces: Piece[], compression: Compression): Run[] {
  pieces.sort((a, b) => a.offset - b.offset);
  const runs: Piece[][] = [];
  let start = 0;
  let end = 0;
  let decoded = 0;
  for (const piece of pieces) {
    const pieceEnd = piece.offset + piece.packedBytes;
    const joins = piece.offset - end <= GAP_BYTES && Math.max(end, pieceEnd) - start <= RUN_BYTES;
    if (runs.length > 0 && joins && decoded + piece.bytes <= RUN_DECODED_BYTES[compression]) {
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

interface Reading {
  readonly source: ByteSource;
  readonly layout: BandLayout;
  readonly window: Window;
  readonly target: Words;
  readonly kept: KeptBlocks;
  readonly signal: AbortSignal | undefined;
}

/** Runs in hand at a time: one is read while another is decoded. */
const LANES = 2;

async function readRuns(reading: Reading, runs: readonly Run[]): Promise<void> {
  let next = 0;
  let failed = false;
  const lane = async () => {
    while (next < runs.length && !failed) {
      try {
        reading.signal?.throwIfAborted();
        await readRun(reading, runs[next++]!);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const lanes = await Promise.allSettled(Array.from({ length: LANES }, lane));
  const failure = lanes.find((settled) => settled.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
  reading.signal?.throwIfAborted();
}

async function readRun({ source, layout, window, target, kept }: Reading, run: Run): Promise<void> {
  const start = run[0]!.offset;
  const end = run.reduce((furthest, piece) => Math.max(furthest, piece.offset + piece.packedBytes), start);
  let packed: Promise<Uint8Array> | undefined;
  const decode = async (piece: Piece): Promise<Words> => {
    packed ??= source.read(start, end - start);
    const bytes = (await packed).subarray(piece.offset - start, piece.offset - start + piece.packedBytes);
    return decodeBlock(bytes, piece.bytes, layout, source.file, piece.block);
  };
  const copy = async (piece: Piece): Promise<void> => {
    const words = await (piece.whole ? decode(piece) : kept.get(piece.block, piece.bytes, () => decode(piece)));
    copyPiece(target, window, layout, piece, words);
  };
  const copies = await Promise.allSettled(run.map(copy));
  const failure = copies.find((settled) => settled.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
}

function copyPiece(target: Words, window: Window, layout: BandLayout, piece: Piece, words: Words): void {
  const { blockColumns, interleaved, position } = layout;
  const { fromRow, toRow, fromColumn, toColumn } = overlap(window, layout, piece);
  for (let row = fromRow; row < toRow; row++) {
    const from = ((row - piece.top) * blockColumns + fromColumn - piece.left) * interleaved + position;
    const to = (row - window.row) * window.columns + fromColumn - window.column;
    const count = toColumn - fromColumn;
    if (interleaved === 1) target.set(words.subarray(from, from + count), to);
    else for (let i = 0; i < count; i++) target[to + i] = words[from + i * interleaved]!;
  }
}

function fillPiece(cells: Cells, window: Window, layout: BandLayout, piece: Piece, value: number): void {
  const { fromRow, toRow, fromColumn, toColumn } = overlap(window, layout, piece);
  for (let row = fromRow; row < toRow; row++) {
    const to = (row - window.row) * window.columns - window.column;
    cells.fill(value, to + fromColumn, to + toColumn);
  }
}

function overlap(window: Window, { blockColumns }: BandLayout, { left, top, bottom }: Piece) {
  return {
    fromRow: Math.max(top, window.row),
    toRow: Math.min(bottom, window.row + window.rows),
    fromColumn: Math.max(left, window.column),
    toColumn: Math.min(left + blockColumns, window.column + window.columns),
  };
}

/** Decoded blocks that another window will want, the last used ones. */
interface KeptBlocks {
  has(block: number): boolean;
  get(block: number, bytes: number, decode: () => Promise<Words>): Promise<Words>;
}

function keptBlocks(limit: number): KeptBlocks {
  const blocks = new Map<number, { readonly words: Promise<Words>; readonly bytes: number }>();
  let held = 0;
  const drop = (block: number) => {
    held -= blocks.get(block)?.bytes ?? 0;
    blocks.delete(block);
  };
  return {
    has: (block) => blocks.has(block),
    get(block, bytes, decode) {
      const entry = blocks.get(block) ?? { words: decode(), bytes };
      drop(block);
      blocks.set(block, entry);
      held += bytes;
      for (const oldest of blocks.keys()) {
        if (held <= limit || blocks.size === 1) break;
        drop(oldest);
      }
      entry.words.catch(() => {
        if (blocks.get(block) === entry) drop(block);
      });
      return entry.words;
    },
  };
}
