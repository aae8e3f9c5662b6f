import type { Sample } from '../../algorithms/geometry/raster.ts';
import type { Words } from '../tiff/samples.ts';
import { CODEC, MASK, MASK_OVER_CELLS } from './directory.ts';
import { sampleBits } from './layout.ts';
import { encodeMask } from './masks.ts';
import { ORDER_FLIP, sortableBits } from './ordered.ts';
import { blocksOf, computeResiduals, findWidths, packBlocks } from './residuals.ts';
import { maxWidthBytes, packWidths } from './widths.ts';

/** What the encoder of the tiles of a band has to know. */
export interface TileCoding {
  readonly sample: Sample;
  readonly tileColumns: number;
  readonly tileRows: number;
  /** The stored bits that mark a cell without data; undefined if none do. */
  readonly nodataBits: number | undefined;
}

/** Cells of a raster, of which a tile is a part. */
export interface TileCells {
  /** The stored bits of the cells, and the index of the tile's first cell. */
  readonly words: Words;
  readonly start: number;
  /** Distance between rows. */
  readonly stride: number;
  readonly columns: number;
  readonly rows: number;
  /** A byte for each cell, at the same index; 0 if it has no data. Undefined if nothing but the nodata value tells. */
  readonly mask: Uint8Array | undefined;
}

/** A tile as it is stored. */
export interface EncodedTile {
  readonly codec: number;
  readonly mask: number;
  readonly maskBytes: number;
  readonly minimum: number;
  readonly maximum: number;
  readonly first: number;
  /** Valid until the next tile is encoded. */
  readonly payload: Uint8Array;
}

/** How tiles are stored unless they are constant or smaller as they are: `auto` takes the smaller of the two others. */
export type PackedCodec = 'residuals' | 'bq' | 'auto';

/**
 * Returns a function that encodes tiles as the smallest of constant, raw and what the codec says. Unless it says
 * residuals, the function is given the BQ-trees of each tile.
 */
export function tileEncoder(
  coding: TileCoding,
  codec: PackedCodec = 'residuals',
): (cells: TileCells, trees?: Uint8Array) => EncodedTile {
  const { sample, tileColumns, tileRows, nodataBits } = coding;
  const size = tileColumns * tileRows;
  const bits = sampleBits(sample);
  const plane = new Int32Array(size);
  const residuals = new Int32Array(size);
  const hidden = new Uint8Array(size);
  const widths = new Uint8Array(blocksOf(size));
  const bytes = new Uint8Array(maxWidthBytes(widths.length) + 4 * size + (size >> 3));
  const words = new Int32Array(bytes.buffer, 0, bytes.length >> 2);
  const gather = cellGatherer(coding, plane, hidden);

  /** Writes the mask after `dataBytes` of cells. */
  const close = (seen: SeenTile, codec: number, dataBytes: number, cells: number, hasMask = true): EncodedTile => {
    const { first, minimum, maximum, withoutData, isKept } = seen;
    const over = isKept ? MASK_OVER_CELLS : 0;
    const whole = { kind: withoutData === 0 ? MASK.all : MASK.none, bytes: 0 };
    const isWhole = withoutData === 0 || withoutData === cells;
    const mask = isWhole ? whole : hasMask ? encodeMask(hidden, cells, bytes, dataBytes) : RAW_MASK;
    const payload = bytes.subarray(0, dataBytes + mask.bytes);
    return { codec, mask: mask.kind | over, maskBytes: mask.bytes, minimum, maximum, first, payload };
  };

  return (cells, trees) => {
    const count = cells.columns * cells.rows;
    const seen = gather(cells);
    if (seen.withoutData === count && !seen.isKept) return close(seen, CODEC.constant, 0, count);
    const isFilled = seen.withoutData > 0 && !seen.isKept;
    if (isFilled || count < size) fillPlane(plane, isFilled ? hidden : undefined, cells, coding, seen.first);
    computeResiduals(plane, tileColumns, tileRows, bits, residuals);
    findWidths(residuals, widths);
    if (widths.every((width) => width === 0)) return close(seen, CODEC.constant, 0, count);
    const dataBytes = 4 * packBlocks(residuals, widths, words, packWidths(widths, bytes) >> 2);
    const tile = close(seen, CODEC.residuals, dataBytes, count);
    const rawBytes = (count * bits) / 8;
    const needsMask = nodataBits === undefined || seen.isKept;
    const largest = rawBytes + (needsMask ? tile.maskBytes : 0);
    const isWorse = codec === 'bq' || tile.payload.length > largest;
    const limit = isWorse ? largest : tile.payload.length - 1;
    if (trees !== undefined && trees.length + tile.maskBytes <= limit) {
      bytes.set(trees);
      return close(seen, CODEC.bqTree, trees.length, count);
    }
    if (!isWorse) return tile;
    copyRaw(cells, bytes);
    return close(seen, CODEC.raw, rawBytes, count, needsMask);
  };
}

/** Where stored cells tell by the nodata value which of them have no data. */
const RAW_MASK = { kind: MASK.nodata, bytes: 0 };

/** What the cells of a tile are like. */
interface SeenTile {
  readonly withoutData: number;
  /** Whether a cell without data is stored as something else than the nodata value, or than 0 if there is none. */
  readonly isKept: boolean;
  /** Smallest and largest cell with data, as ordered words. */
  readonly minimum: number;
  readonly maximum: number;
  /** The first cell with data. */
  readonly first: number;
}

/** Returns a function that copies the bits of a tile's cells to `plane`, and the cells without data to `hidden`. */
export function cellGatherer(
  coding: TileCoding,
  plane: Int32Array,
  hidden: Uint8Array,
): (cells: TileCells) => SeenTile {
  const { sample, tileColumns, nodataBits } = coding;
  const isFloat = sample === 'f32';
  const isWide = sampleBits(sample) === 32;
  // Words of 32 bits are compared as signed integers, so their highest bit is flipped once more.
  const flip = ORDER_FLIP[sample] ^ (isWide ? 0x80000000 : 0);
  const hasNodata = nodataBits !== undefined;
  const extremes = new Int32Array(2);
  const nodata = isFloat ? sortableBits(nodataBits ?? 0) : (nodataBits ?? 0) | 0;
  return ({ words: stored, start, stride, columns, rows, mask }) => {
    const words = isWide ? new Int32Array(stored.buffer, stored.byteOffset, stored.length) : stored;
    for (let row = 0; row < rows; row++) {
      copyBits(words, start + row * stride, plane, row * tileColumns, columns, isFloat);
    }
    const count = columns * rows;
    hidden.fill(0, 0, count);
    let isKept = false;
    for (let at = 0; at < count && mask !== undefined; at++) {
      const row = Math.floor(at / columns);
      const column = at - row * columns;
      if (mask[start + row * stride + column] !== 0) continue;
      hidden[at] = 1;
      if (plane[row * tileColumns + column] !== nodata) isKept = true;
    }
    const withoutData =
      hasNodata || mask !== undefined
        ? scanHidden(plane, columns, rows, tileColumns, hasNodata, nodata, flip, hidden, extremes)
        : scanAll(plane, columns, rows, tileColumns, flip, extremes);
    const hasData = withoutData < count;
    const from = isKept || !hasData ? 0 : hidden.indexOf(0);
    const first = hasData || isKept ? plane[Math.floor(from / columns) * tileColumns + (from % columns)]! >>> 0 : 0;
    const [minimum, maximum] = hasData ? extremes.map((order) => (isWide ? order ^ 0x80000000 : order)) : [0, 0];
    return { withoutData, isKept, minimum: minimum! >>> 0, maximum: maximum! >>> 0, first };
  };
}

/** Copies the stored bits of a row of cells to those that residuals are of. */
function copyBits(
  words: Words | Int32Array,
  from: number,
  plane: Int32Array,
  to: number,
  columns: number,
  isFloat: boolean,
): void {
  if (isFloat) for (let at = 0; at < columns; at++) plane[to + at] = sortableBits(words[from + at]!);
  else for (let at = 0; at < columns; at++) plane[to + at] = words[from + at]!;
}

/** The largest integer of 32 bits. */
const LARGEST = 0x7fffffff;

/** Finds the extremes of the cells that are not hidden. Hides those of the nodata value. Returns how many are hidden. */
function scanHidden(
  plane: Int32Array,
  columns: number,
  rows: number,
  pitch: number,
  hasNodata: boolean,
  nodata: number,
  flip: number,
  hidden: Uint8Array,
  extremes: Int32Array,
): number {
  let low = LARGEST;
  let high = ~LARGEST;
  let withoutData = 0;
  for (let row = 0, at = 0; row < rows; row++) {
    for (let from = row * pitch; from < row * pitch + columns; from++, at++) {
      const bits = plane[from]!;
      if ((hasNodata && bits === nodata) || hidden[at] === 1) {
        hidden[at] = 1;
        withoutData++;
        continue;
      }
      const order = bits ^ flip;
      low = Math.min(low, order);
      high = Math.max(high, order);
    }
  }
  extremes[0] = low;
  extremes[1] = high;
  return withoutData;
}

/** Finds the extremes of all cells. Returns 0. */
function scanAll(
  plane: Int32Array,
  columns: number,
  rows: number,
  pitch: number,
  flip: number,
  extremes: Int32Array,
): number {
  let low = LARGEST;
  let high = ~LARGEST;
  for (let row = 0; row < rows; row++) {
    for (let from = row * pitch; from < row * pitch + columns; from++) {
      const order = plane[from]! ^ flip;
      low = Math.min(low, order);
      high = Math.max(high, order);
    }
  }
  extremes[0] = low;
  extremes[1] = high;
  return 0;
}

/**
 * Gives the cells beyond the raster, and those of `hidden`, the value that the predictor predicts, so that they cost
 * nothing.
 */
function fillPlane(
  plane: Int32Array,
  hidden: Uint8Array | undefined,
  { columns, rows }: TileCells,
  { tileColumns, tileRows }: TileCoding,
  first: number,
): void {
  for (let row = 0; row < rows && hidden !== undefined; row++) {
    for (let column = 0, at = row * columns; column < columns; column++, at++) {
      if (hidden[at] === 1) fillCell(plane, tileColumns, row, column, first);
    }
  }
  for (let row = 0; row < tileRows; row++) {
    for (let column = row < rows ? columns : 0; column < tileColumns; column++) {
      fillCell(plane, tileColumns, row, column, first);
    }
  }
}

function fillCell(plane: Int32Array, pitch: number, row: number, column: number, first: number): void {
  const at = row * pitch + column;
  const left = column === 0 ? 0 : plane[at - 1]!;
  const above = row === 0 ? 0 : plane[at - pitch]!;
  const aboveLeft = row === 0 || column === 0 ? 0 : plane[at - pitch - 1]!;
  plane[at] = at === 0 ? first : left + above - aboveLeft;
}

function copyRaw({ words, start, stride, columns, rows }: TileCells, bytes: Uint8Array): void {
  const size = words.BYTES_PER_ELEMENT;
  for (let row = 0; row < rows; row++) {
    const from = words.byteOffset + (start + row * stride) * size;
    bytes.set(new Uint8Array(words.buffer, from, columns * size), row * columns * size);
  }
}
