import { MASK } from './directory.ts';
import { decodeMask } from './masks.ts';

/** The part of a tile inside a raster, and the bits of cells without data that it belongs to. */
export interface BitArea {
  readonly bits: Uint32Array;
  /** Words of a row of bits. */
  readonly pitch: number;
  /** Place of the part's first cell. Its column is a multiple of 32. */
  readonly column: number;
  readonly row: number;
  readonly columns: number;
  readonly rows: number;
}

/** Sets the bits of cells that have 1 in `hidden`, which has a byte for each cell of the area. Returns true. */
export function hideCells(hidden: Uint8Array, area: BitArea): true {
  const { columns, rows } = area;
  const cells = hidden.subarray(0, columns * rows);
  for (let from = cells.indexOf(1); from !== -1; ) {
    const next = cells.indexOf(0, from);
    const end = next === -1 ? cells.length : next;
    hideRun(area, from, end);
    from = cells.indexOf(1, end);
  }
  return true;
}

/** Sets the bits of the cells that a mask hides. Returns whether the bytes are a mask of the area. */
export function hideMask(kind: number, bytes: Uint8Array, area: BitArea): boolean {
  const count = area.columns * area.rows;
  if (kind === MASK.runs) return hideRuns(bytes, area);
  if (kind !== MASK.none) {
    const hidden = new Uint8Array(count);
    return decodeMask(kind, bytes, count, hidden) && hideCells(hidden, area);
  }
  hideRun(area, 0, count);
  return bytes.length === 0;
}

/**
 * Sets the bits of cells in runs, as {@link hideMask} does. Written out in one loop, because many tiles have a run or two
 * in each row.
 */
function hideRuns(bytes: Uint8Array, { bits, pitch, column, row, columns, rows }: BitArea): boolean {
  const rowBits = 32 * pitch;
  const end = (row + rows) * rowBits + column;
  let rowStart = row * rowBits + column;
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
      if (rowStart === end) return false;
      const part = Math.min(length, columns - across);
      if (state === 1) setBits(bits, rowStart + across, part);
      length -= part;
      across += part;
      if (across === columns) {
        across = 0;
        rowStart += rowBits;
      }
    }
    state = 1 - state;
    shift = 0;
  }
  return rowStart === end && shift === 0;
}

/** Sets the bits of the cells from `start` to `end`, in rows of the area. */
function hideRun({ bits, pitch, column, row, columns }: BitArea, start: number, end: number): void {
  for (let at = start; at < end; ) {
    const down = Math.floor(at / columns);
    const across = at - down * columns;
    const length = Math.min(end - at, columns - across);
    setBits(bits, 32 * (row + down) * pitch + column + across, length);
    at += length;
  }
}

/** Sets `count` bits, at least one, from the bit `first` on. */
function setBits(bits: Uint32Array, first: number, count: number): void {
  const last = first + count - 1;
  const from = first >>> 5;
  const to = last >>> 5;
  const low = 0xffffffff << (first & 31);
  const high = 0xffffffff >>> (31 - (last & 31));
  if (from === to) {
    bits[from]! |= low & high;
    return;
  }
  bits[from]! |= low;
  if (to > from + 1) bits.fill(0xffffffff, from + 1, to);
  bits[to]! |= high;
}
