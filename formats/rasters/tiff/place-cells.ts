import { type Cells, isWide, SAMPLE_BYTES, type Window } from '../../../algorithms/geometry/raster.ts';
import { halfFloat } from '../../tables/half-float.ts';
import { type BlockCoding, rowBytes } from './layout.ts';
import type { Piece } from './pieces.ts';
import type { Words } from './samples.ts';

type BlockLayout = Pick<BlockCoding, 'sample' | 'bits' | 'blockColumns' | 'blockRows' | 'interleaved' | 'position'>;
type Place = Pick<Piece, 'left' | 'top' | 'bottom'>;

/** Number of samples up to which a loop copies a row faster than `set`. */
const SHORT_ROW = 64;

/**
 * Copies the samples of a piece to their positions in a window, whose first cell is cell `start` of `target`. Samples
 * outside the window are skipped. Samples of 1, 2 or 4 bits and floats of 16 bits become whole cells.
 *
 * @param words - The samples; bytes if several samples share a byte.
 */
export function copyPiece(
  target: Words,
  start: number,
  window: Window,
  layout: BlockLayout,
  piece: Place,
  words: Words,
): void {
  const { blockColumns, interleaved, position } = layout;
  const { fromRow, toRow, fromColumn, toColumn } = overlap(window, layout, piece);
  const count = toColumn - fromColumn;
  const isStored = layout.bits === 8 * SAMPLE_BYTES[layout.sample];
  // Samples of 64 bits are two words each.
  const size = isWide(layout.sample) ? 2 : 1;
  const isLong = isStored && interleaved === 1 && count > SHORT_ROW;
  if (isStored && interleaved === 1 && window.columns === blockColumns && window.column === piece.left) {
    const from = (fromRow - piece.top) * blockColumns;
    target.set(
      words.subarray(size * from, size * (from + (toRow - fromRow) * blockColumns)),
      size * (start + (fromRow - window.row) * blockColumns),
    );
    return;
  }
  for (let row = fromRow; row < toRow; row++) {
    const first = (fromColumn - piece.left) * interleaved + position;
    const from = (row - piece.top) * blockColumns * interleaved + first;
    const to = start + (row - window.row) * window.columns + fromColumn - window.column;
    if (layout.bits < 8) copyBits(target, to, words, (row - piece.top) * rowBytes(layout), first, count, layout);
    else if (!isStored) copyHalves(target, to, words, from, count, interleaved);
    else if (isLong) target.set(words.subarray(size * from, size * (from + count)), size * to);
    else if (size === 2) copyPairs(target, to, words, from, count, interleaved);
    else copyWords(target, to, words, from, count, interleaved);
  }
}

/** Copies `count` words, every `step`th of `words`. Each kind of array has a loop of its own, which V8 makes fast. */
function copyWords(target: Words, to: number, words: Words, from: number, count: number, step: number): void {
  if (target instanceof Uint16Array) for (let i = 0; i < count; i++) target[to + i] = words[from + i * step]!;
  else if (target instanceof Uint32Array) for (let i = 0; i < count; i++) target[to + i] = words[from + i * step]!;
  else for (let i = 0; i < count; i++) target[to + i] = words[from + i * step]!;
}

/** Copies `count` pairs of words, every `step`th of `words`. */
function copyPairs(target: Words, to: number, words: Words, from: number, count: number, step: number): void {
  for (let i = 0; i < count; i++) {
    const at = 2 * (from + i * step);
    target[2 * (to + i)] = words[at]!;
    target[2 * (to + i) + 1] = words[at + 1]!;
  }
}

/** Copies `count` samples of a few bits each, which begin with sample `first` of the row that begins at byte `row`. */
function copyBits(
  target: Words,
  to: number,
  bytes: Words,
  row: number,
  first: number,
  count: number,
  { bits, interleaved }: BlockLayout,
): void {
  const ones = 2 ** bits - 1;
  for (let i = 0, at = first * bits; i < count; i++, at += interleaved * bits) {
    // The first sample of a byte stands in its high bits.
    target[to + i] = (bytes[row + (at >> 3)]! >> (8 - bits - (at & 7))) & ones;
  }
}

/** Copies `count` floats of 16 bits, every `step`th of `words`, as the bits of floats of 32 bits. */
function copyHalves(target: Words, to: number, words: Words, from: number, count: number, step: number): void {
  widened ??= new Uint32Array(Float32Array.from({ length: 2 ** 16 }, (_, half) => halfFloat(half)).buffer);
  for (let i = 0; i < count; i++) target[to + i] = widened[words[from + i * step]!]!;
}

/** The bits of all floats of 16 bits as floats of 32 bits. */
let widened: Uint32Array | undefined;

/** The rectangle of the block to which a piece belongs. The rectangle may extend beyond the raster. */
export function blockOf({ left, top }: Place, { blockColumns, blockRows }: BlockLayout): Window {
  return { column: left, row: Math.floor(top / blockRows) * blockRows, columns: blockColumns, rows: blockRows };
}

/** Fills the cells of a piece whose block is omitted from the file. */
export function fillPiece(
  cells: Cells,
  window: Window,
  layout: BlockLayout,
  piece: Place,
  value: number | bigint,
): void {
  const { fromRow, toRow, fromColumn, toColumn } = overlap(window, layout, piece);
  for (let row = fromRow; row < toRow; row++) {
    const to = (row - window.row) * window.columns - window.column;
    // The value is a bigint where the cells are.
    cells.fill(value as never, to + fromColumn, to + toColumn);
  }
}

function overlap(window: Window, { blockColumns }: BlockLayout, { left, top, bottom }: Place) {
  return {
    fromRow: Math.max(top, window.row),
    toRow: Math.min(bottom, window.row + window.rows),
    fromColumn: Math.max(left, window.column),
    toColumn: Math.min(left + blockColumns, window.column + window.columns),
  };
}
