import { type Words, wordsOver } from '../tiff/samples.ts';
import { bqDecoder } from './bq-decoder.ts';
import { CODEC, MASK, MASK_OVER_CELLS, type TileEntries } from './directory.ts';
import { sampleBits } from './layout.ts';
import { decodeMask } from './masks.ts';
import { floatBits } from './ordered.ts';
import { blocksOf, decodeResiduals } from './residuals.ts';
import type { TileCoding } from './tile-scan.ts';
import { unpackWidths } from './widths.ts';

/** A decoded tile. Valid until the next one is decoded. */
export interface DecodedTile {
  /** The stored bits of the cells, in rows of the tile's columns. */
  readonly words: Words;
  readonly columns: number;
  readonly rows: number;
  /** A byte for each cell of the part inside the raster, 1 if it has no data. */
  readonly hidden: Uint8Array;
}

/**
 * Decodes the tile of a row of the directory. `columns` and `rows` are those of its part inside the raster. `trees` is what
 * a device has made of a tile of BQ-trees: the bits of its cells, or what is wrong with it.
 */
export type TileDecoder = (
  entries: TileEntries,
  tile: number,
  payload: Uint8Array,
  columns: number,
  rows: number,
  trees?: Int32Array | string,
) => DecodedTile;

/**
 * Returns a function that decodes tiles. It trusts nothing that the payload says: what does not add up is reported to
 * `fail`, which throws.
 */
export function tileDecoder(coding: TileCoding, fail: (what: string, tile: number) => never): TileDecoder {
  const { sample, tileColumns, tileRows, nodataBits } = coding;
  const size = tileColumns * tileRows;
  const bytes = sampleBits(sample) / 8;
  const plane = new Int32Array(size);
  const hidden = new Uint8Array(size);
  const words = wordsOver(new Uint8Array(size * bytes), bytes as 1 | 2 | 4);
  const widths = new Uint8Array(blocksOf(size));
  const isFloat = sample === 'f32';
  let decodeTrees: ReturnType<typeof bqDecoder> | undefined;
  const takePlane = (): void => {
    if (isFloat) for (let at = 0; at < size; at++) words[at] = floatBits(plane[at]!);
    else words.set(plane);
  };

  const decodeData = (
    entries: TileEntries,
    tile: number,
    data: Uint8Array,
    columns: number,
    rows: number,
    trees: Int32Array | string | undefined,
  ): void => {
    const codec = entries.codec[tile]!;
    const first = entries.first[tile]!;
    if (codec === CODEC.constant) {
      if (data.length > 0) fail('a constant tile has bytes', tile);
      words.fill(isFloat ? floatBits(first) : first);
    } else if (codec === CODEC.raw) {
      if (data.length !== columns * rows * bytes) fail(`a raw tile has ${data.length} bytes`, tile);
      const cells = wordsOver(data, bytes as 1 | 2 | 4);
      for (let row = 0; row < rows; row++) {
        words.set(cells.subarray(row * columns, (row + 1) * columns), row * tileColumns);
      }
    } else if (codec === CODEC.residuals) {
      const start = unpackWidths(data, widths);
      if (start === undefined || start + 4 * sumOf(widths) !== data.length) {
        fail('the widths of its residuals do not add up to its bytes', tile);
      }
      const packed = wordsOver(data.subarray(start), 4);
      const signed = new Int32Array(packed.buffer, packed.byteOffset, packed.length);
      decodeResiduals(widths, signed, first, tileColumns, tileRows, plane);
      takePlane();
    } else if (codec === CODEC.bqTree) {
      if (trees === undefined || typeof trees === 'string') {
        decodeTrees ??= bqDecoder(sample, tileColumns, tileRows);
        const fault = trees ?? decodeTrees(data, plane);
        if (fault !== undefined) fail(fault, tile);
      } else plane.set(trees);
      takePlane();
    } else fail(`its codec ${codec} is unknown`, tile);
  };

  return (entries, tile, payload, columns, rows, trees) => {
    const count = columns * rows;
    const kind = entries.mask[tile]! & ~MASK_OVER_CELLS;
    const dataBytes = payload.length - entries.maskBytes[tile]!;
    decodeData(entries, tile, payload.subarray(0, dataBytes), columns, rows, trees);
    if (kind === MASK.nodata) {
      if (entries.codec[tile] !== CODEC.raw || nodataBits === undefined) fail('a mask is of no kind', tile);
      markNodata(words, hidden, columns, rows, tileColumns, nodataBits!);
    } else if (!decodeMask(kind, payload.subarray(dataBytes), count, hidden)) fail('a mask is damaged', tile);
    const isOver = (entries.mask[tile]! & MASK_OVER_CELLS) !== 0;
    if (kind !== MASK.all && !isOver) hideCells(words, hidden, columns, rows, tileColumns, nodataBits ?? 0);
    return { words, columns, rows, hidden };
  };
}

function sumOf(widths: Uint8Array): number {
  let sum = 0;
  for (const width of widths) sum += width;
  return sum;
}

function markNodata(
  words: Words,
  hidden: Uint8Array,
  columns: number,
  rows: number,
  stride: number,
  nodataBits: number,
): void {
  for (let row = 0, at = 0; row < rows; row++) {
    const from = row * stride;
    for (let column = 0; column < columns; column++, at++) {
      hidden[at] = words[from + column] === nodataBits ? 1 : 0;
    }
  }
}

function hideCells(
  words: Words,
  hidden: Uint8Array,
  columns: number,
  rows: number,
  stride: number,
  bits: number,
): void {
  for (let row = 0, at = 0; row < rows; row++) {
    const to = row * stride;
    for (let column = 0; column < columns; column++, at++) if (hidden[at] === 1) words[to + column] = bits;
  }
}
