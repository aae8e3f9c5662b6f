import { setBits } from '../../algorithms/geometry/bit-rows.ts';
import { MASK } from './directory.ts';
import { decodeMask } from './masks.ts';

/** The part of a tile inside a raster, and the bits of cells without data that it belongs to. */
export interface BitArea {
  readonly bits: Int32Array;
  /** Words of a row of bits. */
  readonly pitch: number;
  /** Place of the part's first cell. Its column is a multiple of 32. */
  readonly column: number;
  readonly row: number;
  readonly columns: number;
  readonly rows: number;
}

/** Sets the bits of cells that have 1 in `hidden`, which has a byte for each cell of the area. Returns true. */
export function hideCells(hidden: Uint8Array, { bits, pitch, column, row, columns, rows }: BitArea): true {
  const first = row * pitch + (column >> 5);
  for (let down = 0, at = 0; down < rows; down++) {
    const start = first + down * pitch;
    for (let across = 0; across < columns; across++, at++) {
      if (hidden[at] === 1) bits[start + (across >> 5)]! |= 1 << (across & 31);
    }
  }
  return true;
}

/** Sets the bits of the cells that a mask hides. Returns whether the bytes are a mask of the area. */
export function hideMask(kind: number, bytes: Uint8Array, area: BitArea): boolean {
  if (kind === MASK.runs) return hideRuns(bytes, area);
  const { bits, pitch, column, row, columns, rows } = area;
  const count = columns * rows;
  if (kind !== MASK.none) {
    const hidden = new Uint8Array(count);
    return decodeMask(kind, bytes, count, hidden) && hideCells(hidden, area);
  }
  const first = row * pitch + (column >> 5);
  for (let down = 0; down < rows; down++) setBits(bits, first + down * pitch, 0, columns);
  return bytes.length === 0;
}

/**
 * Sets the bits of cells in runs, as {@link hideMask} does. Written out in one loop, because many tiles have a run or two
 * in each row.
 */
function hideRuns(bytes: Uint8Array, { bits, pitch, column, row, columns, rows }: BitArea): boolean {
  let start = row * pitch + (column >> 5);
  const end = start + rows * pitch;
  let [across, state, length, shift] = [0, 0, 0, 0];
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    length |= (byte & 0x7f) << shift;
    shift += 7;
    if (byte >= 0x80) {
      if (shift >= 21) return false;
      continue;
    }
    while (length > 0) {
      if (start === end) return false;
      let part = columns - across;
      if (part > length) part = length;
      if (state === 1) setBits(bits, start, across, part);
      length -= part;
      across += part;
      if (across === columns) {
        across = 0;
        start += pitch;
      }
    }
    state = 1 - state;
    shift = 0;
  }
  return start === end && shift === 0;
}
