import { MASK } from './directory.ts';

/**
 * Encodes which cells of a tile have no data: as runs if they take fewer bytes, else as bits. Runs are lengths, of cells
 * with and without data in turn, beginning with data; each is written in bytes of 7 bits, lowest first, of which all but
 * the last have the high bit. Of the bits, which begin with the lowest of the first byte, 1 is a cell without data.
 *
 * @param hidden - A byte for each cell of the tile, 1 if it has no data. Four at a time are compared.
 * @param to - Takes the bytes, from index `at` on. Has room for a bit for each cell.
 */
export function encodeMask(
  hidden: Uint8Array,
  cells: number,
  to: Uint8Array,
  at: number,
): { readonly kind: number; readonly bytes: number } {
  const limit = at + ((cells + 7) >> 3);
  const end = encodeRuns(hidden, cells, to, at, limit);
  if (end < limit) return { kind: MASK.runs, bytes: end - at };
  to.fill(0, at, limit);
  for (let cell = 0; cell < cells; cell++) to[at + (cell >> 3)]! |= hidden[cell]! << (cell & 7);
  return { kind: MASK.bitmap, bytes: limit - at };
}

function encodeRuns(hidden: Uint8Array, cells: number, to: Uint8Array, start: number, limit: number): number {
  const quads = new Int32Array(hidden.buffer, hidden.byteOffset, hidden.length >> 2);
  let at = start;
  for (let cell = 0, from = 0, state = 0; cell <= cells; cell++) {
    while (cell % 4 === 0 && cell + 4 <= cells && quads[cell / 4] === 0x01010101 * state) cell += 4;
    if (cell < cells && hidden[cell] === state) continue;
    let length = cell - from;
    for (; length >= 0x80 && at < limit; length >>>= 7) to[at++] = (length & 0x7f) | 0x80;
    if (at >= limit) return limit;
    to[at++] = length;
    from = cell;
    state = 1 - state;
  }
  return at;
}

/**
 * Decodes a mask.
 *
 * @param hidden - Takes a byte for each cell, 1 if it has no data.
 * @returns Whether the bytes are a mask of so many cells.
 */
export function decodeMask(kind: number, bytes: Uint8Array, cells: number, hidden: Uint8Array): boolean {
  if (kind === MASK.all || kind === MASK.none) {
    hidden.fill(kind === MASK.none ? 1 : 0, 0, cells);
    return bytes.length === 0;
  }
  if (kind === MASK.runs) return decodeRuns(bytes, cells, hidden);
  if (kind !== MASK.bitmap || bytes.length !== (cells + 7) >> 3) return false;
  for (let cell = 0; cell < cells; cell++) hidden[cell] = (bytes[cell >> 3]! >> (cell & 7)) & 1;
  return true;
}

function decodeRuns(bytes: Uint8Array, cells: number, hidden: Uint8Array): boolean {
  let [cell, state, length, shift] = [0, 0, 0, 0];
  for (const byte of bytes) {
    length |= (byte & 0x7f) << shift;
    shift += 7;
    if (byte >= 0x80 && shift < 21) continue;
    if (byte >= 0x80 || cell + length > cells) return false;
    hidden.fill(state, cell, cell + length);
    cell += length;
    [state, length, shift] = [1 - state, 0, 0];
  }
  return cell === cells && shift === 0;
}
