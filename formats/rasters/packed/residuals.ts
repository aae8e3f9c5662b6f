/**
 * Residuals of the plane predictor, as `docs/packed-rasters.md` specifies them: what a cell differs by from left + above
 * − above left, with a width of its own for every block of 32 cells of a tile.
 */

/** Number of cells of a block, whose residuals all take the same number of bits. */
export const BLOCK = 32;

/** Number of blocks of a tile with `cells` cells. */
export function blocksOf(cells: number): number {
  return Math.ceil(cells / BLOCK);
}

/**
 * Packs the residuals of whole blocks.
 *
 * @param words - Takes the packed words, from index `to` on.
 * @returns The index after the last word.
 */
export function packBlocks(residuals: Int32Array, widths: Uint8Array, words: Int32Array, start: number): number {
  let to = start;
  for (let block = 0, from = 0; block < widths.length; block++) {
    const end = from + BLOCK;
    const width = widths[block]!;
    if (width === 0) {
      from = end;
      continue;
    }
    // As many residuals as fit in a word are joined first, which saves steps.
    const joined = width <= 8 ? 4 : width <= 16 ? 2 : 1;
    const bits = joined * width;
    let word = 0;
    for (let used = 0; from < end; from += joined) {
      let value = residuals[from]!;
      if (joined > 1) value |= residuals[from + 1]! << width;
      if (joined > 2) value |= (residuals[from + 2]! << (2 * width)) | (residuals[from + 3]! << (3 * width));
      word |= value << used;
      used += bits;
      if (used < 32) continue;
      words[to++] = word;
      used -= 32;
      word = used === 0 ? 0 : value >>> (bits - used);
    }
  }
  return to;
}

/**
 * Decodes residuals to the bits of cells: a two-dimensional prefix sum modulo 2^32, of which the low bits count.
 *
 * @param words - The packed words. The caller has checked that they are as many as the widths say.
 * @param first - The bits of the first cell.
 * @param plane - Takes the cells row by row, filled up to whole blocks.
 */
export function decodeResiduals(
  widths: Uint8Array,
  words: Int32Array,
  first: number,
  columns: number,
  rows: number,
  plane: Int32Array,
): void {
  unpackBlocks(widths, words, plane);
  let sum = first | 0;
  for (let at = 0; at < columns; at++) {
    sum = (sum + plane[at]!) | 0;
    plane[at] = sum;
  }
  for (let row = 1, at = columns; row < rows; row++) {
    let along = 0;
    for (const end = at + columns; at < end; at++) {
      along = (along + plane[at]!) | 0;
      plane[at] = (along + plane[at - columns]!) | 0;
    }
  }
}

function unpackBlocks(widths: Uint8Array, words: Int32Array, plane: Int32Array): void {
  for (let block = 0, from = 0, at = 0; block < widths.length; block++) {
    const width = widths[block]!;
    const end = at + BLOCK;
    if (width === 0) {
      plane.fill(0, at, end);
      at = end;
      continue;
    }
    const mask = width === 32 ? -1 : (1 << width) - 1;
    const joined = width <= 8 ? 4 : width <= 16 ? 2 : 1;
    const bits = joined * width;
    let word = words[from]!;
    for (let used = 0; at < end; at += joined) {
      let coded = word >>> used;
      used += bits;
      if (used >= 32) {
        used -= 32;
        from++;
        // The word after the last one of a block is not read, because the tile may end there.
        if (used > 0 || at + joined < end) word = words[from]!;
        if (used > 0) coded |= word << (bits - used);
      }
      plane[at] = unzigzag(coded & mask);
      if (joined === 1) continue;
      plane[at + 1] = unzigzag((coded >>> width) & mask);
      if (joined === 2) continue;
      plane[at + 2] = unzigzag((coded >>> (2 * width)) & mask);
      plane[at + 3] = unzigzag((coded >>> (3 * width)) & mask);
    }
  }
}

function unzigzag(coded: number): number {
  return (coded >>> 1) ^ -(coded & 1);
}
