import { MASK } from './directory.ts';
import { decodeMask, forRuns } from './masks.ts';

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
  if (kind === MASK.runs) return forRuns(bytes, count, (start, end) => hideRun(area, start, end));
  if (kind !== MASK.none) {
    const hidden = new Uint8Array(count);
    return decodeMask(kind, bytes, count, hidden) && hideCells(hidden, area);
  }
  hideRun(area, 0, count);
  return bytes.length === 0;
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

function setBits(bits: Uint32Array, first: number, count: number): void {
  const last = first + count;
  for (let at = first; at < last; ) {
    const end = Math.min(last, at - (at % 32) + 32);
    bits[Math.floor(at / 32)]! |= (0xffffffff >>> (32 - (end - at))) << (at % 32);
    at = end;
  }
}
