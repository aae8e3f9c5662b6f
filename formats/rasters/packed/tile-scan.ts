import type { NarrowSample } from '../../../algorithms/geometry/raster.ts';
import type { Words } from '../tiff/samples.ts';
import { sampleBits } from './layout.ts';
import { ORDER_FLIP, sortableBits } from './ordered.ts';
import { BLOCK, blocksOf } from './residuals.ts';

/** What the tiles of a band have in common. */
export interface TileCoding {
  readonly sample: NarrowSample;
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

/** What the cells of a tile are like. */
export interface SeenTile {
  readonly withoutData: number;
  /** Whether a cell without data is stored as something else than the nodata value, or than 0 if there is none. */
  readonly isKept: boolean;
  /** Smallest and largest cell with data, as ordered words. Both are 0 if there is none. */
  readonly minimum: number;
  readonly maximum: number;
  /** The first cell with data. */
  readonly first: number;
}

/** Arrays that are filled anew for each tile. */
interface TileArrays {
  /** A row of zeros, and the bits of all cells of the tile. */
  readonly padded: Int32Array;
  /** A byte for each cell of the part, row by row, 1 if it has no data. */
  readonly hidden: Uint8Array;
  /** Residuals of all cells of the tile, zigzag-coded: 0, −1, 1, −2 … are 0, 1, 2, 3 …. */
  readonly residuals: Int32Array;
  /** Bits of a residual, for each block. */
  readonly widths: Uint8Array;
}

export interface TileScanner extends TileArrays {
  /** The bits of all cells of the tile. */
  readonly plane: Int32Array;
  /**
   * Looks at the cells of a tile, and computes their residuals. Cells beyond the raster, and those without data unless
   * they are kept, take the value that the predictor predicts, so that their residuals are 0.
   */
  scan(cells: TileCells): SeenTile;
}

export function tileScanner({ sample, tileColumns, tileRows, nodataBits }: TileCoding): TileScanner {
  const size = tileColumns * tileRows;
  const isFloat = sample === 'f32';
  const isWide = sampleBits(sample) === 32;
  const arrays: TileArrays = {
    padded: new Int32Array(tileColumns + size),
    ...{ hidden: new Uint8Array(size), residuals: new Int32Array(size), widths: new Uint8Array(blocksOf(size)) },
  };
  const { padded, hidden } = arrays;
  const sorted = new Int32Array(isFloat ? size : 0);
  const nodata = isFloat ? sortableBits(nodataBits ?? 0) : (nodataBits ?? 0) | 0;
  const form: ScanForm = {
    ...{ pitch: tileColumns, shift: 32 - sampleBits(sample) },
    nodata: nodataBits === undefined ? NO_BITS : nodata,
    // Words of 32 bits are compared as signed integers, so their highest bit is flipped once more.
    flip: ORDER_FLIP[sample] ^ (isWide ? 0x80000000 : 0),
    extremes: new Int32Array(2),
  };
  return {
    ...arrays,
    plane: padded.subarray(tileColumns),
    scan(cells) {
      const { words: stored, columns, rows, mask } = cells;
      const count = columns * rows;
      const words = isWide ? new Int32Array(stored.buffer, stored.byteOffset, stored.length) : stored;
      hidden.fill(0, 0, count);
      let place: CellPlace = { words, start: cells.start, stride: cells.stride, columns, rows };
      if (isFloat) place = sortCells(place, sorted);
      const isKept = mask !== undefined && hideMasked(place, cells, mask, nodata, hidden);
      const first = firstCell(place, form.nodata, hidden, isKept);
      const withoutData = scanCells(place, form, arrays, mask !== undefined, isKept, first);
      const order = (at: number): number => {
        const word = form.extremes[at]!;
        return (withoutData === count ? 0 : isWide ? word ^ 0x80000000 : word) >>> 0;
      };
      return { withoutData, isKept, minimum: order(0), maximum: order(1), first: first >>> 0 };
    },
  };
}

/** Equals the bits of no cell. */
const NO_BITS = 0.5;

/** Where the bits of a tile's cells are. */
interface CellPlace extends Pick<TileCells, 'start' | 'stride' | 'columns' | 'rows'> {
  readonly words: Words | Int32Array;
}

/** How the cells of a band are scanned. */
interface ScanForm {
  readonly pitch: number;
  /** Bits of a word beyond those of a cell. */
  readonly shift: number;
  readonly nodata: number;
  readonly flip: number;
  /** Takes the smallest and the largest cell with data, with `flip` applied. */
  readonly extremes: Int32Array;
}

/** Copies the sortable bits of floats. */
function sortCells({ words, start, stride, columns, rows }: CellPlace, sorted: Int32Array): CellPlace {
  for (let row = 0, at = 0; row < rows; row++) {
    const from = start + row * stride;
    for (let column = 0; column < columns; column++) sorted[at++] = sortableBits(words[from + column]!);
  }
  return { words: sorted, start: 0, stride: columns, columns, rows };
}

/** Hides the cells for which a mask has 0. Returns whether one of them is stored as something else than `nodata`. */
function hideMasked(
  { words, start, stride, columns, rows }: CellPlace,
  inMask: TileCells,
  mask: Uint8Array,
  nodata: number,
  hidden: Uint8Array,
): boolean {
  let isKept = false;
  for (let row = 0, at = 0; row < rows; row++) {
    const from = inMask.start + row * inMask.stride;
    for (let column = 0; column < columns; column++, at++) {
      if (mask[from + column] !== 0) continue;
      hidden[at] = 1;
      if (words[start + row * stride + column] !== nodata) isKept = true;
    }
  }
  return isKept;
}

/** The bits of the first cell with data, or of the first of all if cells without data are kept; 0 if there is none. */
function firstCell(
  { words, start, stride, columns, rows }: CellPlace,
  nodata: number,
  hidden: Uint8Array,
  isKept: boolean,
): number {
  for (let row = 0, at = 0; row < rows; row++) {
    for (let from = start + row * stride, end = from + columns; from < end; from++, at++) {
      const bits = words[from]!;
      if (isKept || (bits !== nodata && hidden[at] === 0)) return bits | 0;
    }
  }
  return 0;
}

const LARGEST = 0x7fffffff;

/** Does the work of {@link TileScanner.scan} in one pass. Hides the cells of the nodata value. Returns how many are hidden. */
function scanCells(
  { words, start, stride, columns, rows }: CellPlace,
  { pitch, shift, nodata, flip, extremes }: ScanForm,
  { padded, hidden, residuals, widths }: TileArrays,
  hasMask: boolean,
  isKept: boolean,
  first: number,
): number {
  let [low, high, withoutData] = [LARGEST, ~LARGEST, 0];
  let [at, cell, all] = [0, 0, 0];
  for (let row = 0; at < residuals.length; row++) {
    let before = row === 0 ? first : 0;
    const end = at + pitch;
    const inside = row < rows ? at + columns : at;
    let from = start + row * stride;
    while (at < end) {
      const blockEnd = Math.min(end, (at | (BLOCK - 1)) + 1);
      const dataEnd = Math.min(blockEnd, inside);
      for (; at < dataEnd; at++, cell++, from++) {
        const above = padded[at]!;
        let bits = words[from]!;
        if (bits === nodata || (hasMask && hidden[cell] === 1)) {
          hidden[cell] = 1;
          withoutData++;
          if (!isKept) bits = (above + before) | 0;
        } else {
          const order = bits ^ flip;
          if (order < low) low = order;
          if (order > high) high = order;
        }
        padded[at + pitch] = bits;
        const fromAbove = (bits - above) | 0;
        const difference = ((fromAbove - before) << shift) >> shift;
        const coded = (difference << 1) ^ (difference >> 31);
        residuals[at] = coded;
        all |= coded;
        before = fromAbove;
      }
      for (; at < blockEnd; at++) {
        padded[at + pitch] = padded[at]! + before;
        residuals[at] = 0;
      }
      if (at % BLOCK !== 0) continue;
      widths[at / BLOCK - 1] = 32 - Math.clz32(all);
      all = 0;
    }
  }
  extremes[0] = low;
  extremes[1] = high;
  return withoutData;
}
