import { setBits } from '../../../algorithms/geometry/bit-rows.ts';
import type { BlockBits } from '../../../algorithms/geometry/raster.ts';
import { MASK } from './directory.ts';
import type { PackedLayout } from './layout.ts';
import { decodeMask } from './masks.ts';
import type { WordMemory } from './word-memory.ts';

/** The bits of cells without data of a tile, of which the first columns and rows are inside the raster. */
export interface BitArea {
  readonly bits: Int32Array;
  /** Index of the first word, and words of a row. */
  readonly start: number;
  readonly pitch: number;
  readonly columns: number;
  readonly rows: number;
}

/** The bits of cells without data of a window of whole tiles. */
export interface HiddenTiles {
  /** Undefined if no tile has bits. */
  readonly bits: BlockBits | undefined;
  /** The bits of a tile of the window, whose cells all have data so far. */
  areaOf(tile: number, columns: number, rows: number): BitArea;
  release(): void;
}

/** Makes room for the bits of `hiding` tiles among those of a window. */
export function hiddenTiles(
  hiding: number,
  tiles: number,
  { tileColumns, tileRows }: PackedLayout,
  memory: WordMemory,
): HiddenTiles {
  const pitch = tileColumns / 32;
  const size = pitch * tileRows;
  const length = (1 + hiding) * size;
  const bits = hiding === 0 ? undefined : memory.take(length).fill(0, 0, length);
  const starts = new Uint32Array(tiles);
  let end = size;
  return {
    bits: bits && { bits: new Uint32Array(bits.buffer, 0, length), starts, pitch },
    areaOf(tile, columns, rows) {
      const start = end;
      starts[tile] = start;
      end += size;
      return { bits: bits!, start, pitch, columns, rows };
    },
    release: () => bits && memory.give(bits),
  };
}

/** Sets the bits of cells that have 1 in `hidden`, which has a byte for each cell of the area. Returns true. */
export function hideCells(hidden: Uint8Array, { bits, start, pitch, columns, rows }: BitArea): true {
  for (let down = 0, at = 0; down < rows; down++) {
    const first = start + down * pitch;
    for (let across = 0; across < columns; across++, at++) {
      if (hidden[at] === 1) bits[first + (across >> 5)]! |= 1 << (across & 31);
    }
  }
  return true;
}

/**
 * Sets the bits of the cells that a mask hides, which lies in the bytes from `from` to `to`. Returns whether it is a mask
 * of the area.
 */
export function hideMask(kind: number, bytes: Uint8Array, from: number, to: number, area: BitArea): boolean {
  if (kind === MASK.runs) return hideRuns(bytes, from, to, area);
  const { bits, start, pitch, columns, rows } = area;
  const count = columns * rows;
  if (kind !== MASK.none) {
    const hidden = new Uint8Array(count);
    return decodeMask(kind, bytes.subarray(from, to), count, hidden) && hideCells(hidden, area);
  }
  for (let down = 0; down < rows; down++) setBits(bits, start + down * pitch, 0, columns);
  return from === to;
}

/**
 * Sets the bits of cells in runs, as {@link hideMask} does. Written out in one loop, because many tiles have a run or two
 * in each row. Where rows are whole words of bits, the rows of a tile are like one.
 */
function hideRuns(bytes: Uint8Array, from: number, to: number, { bits, start, pitch, ...inside }: BitArea): boolean {
  const isWhole = inside.columns === 32 * pitch;
  const columns = isWhole ? inside.columns * inside.rows : inside.columns;
  const end = start + (isWhole ? 1 : inside.rows) * pitch;
  let line = start;
  let [across, state, length, shift] = [0, 0, 0, 0];
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!;
    length |= (byte & 0x7f) << shift;
    shift += 7;
    if (byte >= 0x80) {
      if (shift >= 21) return false;
      continue;
    }
    while (length > 0) {
      if (line === end) return false;
      let part = columns - across;
      if (part > length) part = length;
      if (state === 1) setBits(bits, line, across, part);
      length -= part;
      across += part;
      if (across === columns) {
        across = 0;
        line += pitch;
      }
    }
    state = 1 - state;
    shift = 0;
  }
  return line === end && shift === 0;
}
