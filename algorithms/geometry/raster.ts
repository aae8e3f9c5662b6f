import {
  aBigint,
  aFiniteNumber,
  aFlag,
  aFunction,
  aNumber,
  aRecord,
  aText,
  aWhole,
  aWord,
  eitherOf,
  type FieldKinds,
  type Kind,
  optional,
} from '../../primitives/checks/kinds.ts';
import type { AbortSignal } from '../../primitives/host/platform-types.ts';
import type { Column, Context } from '../../primitives/index.ts';
/** Sample types that a raster band may have. */
export type Sample = NarrowSample | WideSample;

/** Sample types of up to 32 bits. */
export type NarrowSample = 'u8' | 'i8' | 'u16' | 'i16' | 'u32' | 'i32' | 'f32';

/** Sample types of 64 bits. Devices have two words for each of their cells. */
export type WideSample = 'i64' | 'u64' | 'f64';

/** Bytes per stored cell, by sample type. */
export const SAMPLE_BYTES: Readonly<Record<NarrowSample, 1 | 2 | 4> & Record<WideSample, 8>> = {
  u8: 1,
  i8: 1,
  u16: 2,
  i16: 2,
  u32: 4,
  i32: 4,
  f32: 4,
  i64: 8,
  u64: 8,
  f64: 8,
};

export function isWide(sample: Sample): sample is WideSample {
  return SAMPLE_BYTES[sample] === 8;
}

/** An array for integers of 64 bits; undefined for other sample types. */
export function exactArray(sample: Sample, length: number): BigInt64Array | BigUint64Array | undefined {
  if (sample === 'i64') return new BigInt64Array(length);
  return sample === 'u64' ? new BigUint64Array(length) : undefined;
}

export function isFloat(sample: Sample): sample is 'f32' | 'f64' {
  return sample === 'f32' || sample === 'f64';
}

export const SAMPLES: readonly string[] = Object.keys(SAMPLE_BYTES);

/** Cells of a window, row-major, as stored in the file. */
export type Cells =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | BigInt64Array
  | BigUint64Array
  | Float64Array;

/** Cells of up to 32 bits. */
export type NarrowCells = Exclude<Cells, BigInt64Array | BigUint64Array | Float64Array>;

/** A rectangle of cells of a raster. */
export interface Window {
  readonly column: number;
  readonly row: number;
  readonly columns: number;
  readonly rows: number;
}

/** Cells of a window, block by block as in the file. Blocks that were not wanted are missing. */
export interface BlockCells {
  readonly cells: Cells;
  /**
   * Index in `cells` of the first cell of each block, in row order of the blocks. A block has `blockRows` rows of
   * `blockColumns` cells. Cells beyond the raster are included, with arbitrary contents. The entry of a missing block
   * is meaningless.
   */
  readonly starts: Uint32Array;
}

/** Bits of the cells of a window by blocks or tiles. Those in which no bit is set may share one. */
export interface BlockBits {
  /** The first words are those of a block in which no bit is set. */
  readonly bits: Uint32Array;
  /** For each block, row by row, the index of its first word; 0 if none of its bits is set. */
  readonly starts: Uint32Array;
  /** Number of words from one row of a block to the next. */
  readonly pitch: number;
}

/**
 * Cells of a window, block by block, as residuals that a device decodes; see `decodeTiles` of `quadrille/primitives`.
 * Blocks that were not wanted are missing.
 */
export interface EncodedCells {
  /** Number of bytes of the words. */
  readonly bytes: number;
  /** The words as a column of the context that decodes them. */
  wordsOn(context: Context): Column<'u32'>;
  /** For each block that is there, the index of its first word, and the value from which its residuals are counted. */
  readonly start: Uint32Array;
  readonly first: Uint32Array;
  /** For each block of the window, row by row, its number among those that are there; 2^32 − 1 for a missing one. */
  readonly places: Uint32Array;
  /** A bit for each cell, 1 if it has no data. Undefined if all cells have data. */
  readonly hidden: BlockBits | undefined;
  /**
   * Takes back the memory, for the cells of later windows. Commands issued before may still use it. Must be called once
   * the cells are not needed, also if they were never decoded; later calls do nothing.
   */
  release(): void;
  /**
   * Checks the blocks on a device, as `words` there. Gives the number of the first damaged one among those that are
   * there, or any number beyond, as a column of one row.
   */
  findDamage(context: Context, words: Column<'u32'>): Column<'u32'>;
  /** The error for what {@link EncodedCells.findDamage} found; undefined if no block is damaged. */
  errorOf(found: number): Error | undefined;
}

/**
 * Position of the cells of a raster. Cell (column, row) begins at x = `originX + column · stepX` and y = `originY + row
 * · stepY`, and is one step wide and high. `stepY` is negative if row 0 is in the north.
 */
export interface RasterGrid {
  readonly width: number;
  readonly height: number;
  readonly originX: number;
  readonly originY: number;
  readonly stepX: number;
  readonly stepY: number;
  /** Coordinate reference system, such as `EPSG:4326`; undefined if the file does not state it. */
  readonly crs: string | undefined;
  /**
   * Description of the coordinate reference system if the file states one that has no code, such as a user-defined
   * projection.
   */
  readonly ownCrs?: string | undefined;
  /** True if coordinates are longitudes and latitudes in degrees. */
  readonly geographic: boolean;
}

/** A text that two rasters share if their cells lie in the same places. */
export function gridKey({ width, height, originX, originY, stepX, stepY, geographic }: RasterGrid): string {
  return [width, height, originX, originY, stepX, stepY, geographic].join();
}

/** Validators of the numbers that position a raster. */
export const gridFields: FieldKinds<RasterGrid> = {
  width: aWhole(),
  height: aWhole(),
  originX: aFiniteNumber,
  originY: aFiniteNumber,
  stepX: aFiniteNumber,
  stepY: aFiniteNumber,
  crs: optional(aText),
  ownCrs: optional(aText),
  geographic: aFlag,
};

/** Maps stored values to `stored × scale + offset`. The product and the sum are each rounded to f64. */
export interface Scaling {
  /** Factor of the stored values, not 0. */
  readonly scale: number;
  readonly offset: number;
}

const aScaling: Kind = aRecord<Scaling>({ scale: aFiniteNumber, offset: aFiniteNumber });

/** One band of a raster that can be read window by window. */
export interface RasterSource extends RasterGrid {
  /** File from which the raster is read, named in errors. */
  readonly file?: string | undefined;
  readonly sample: Sample;
  /**
   * The stored value that marks a cell without data, rounded to the sample type; undefined if there is none. It may be a
   * bigint in a band of i64 or u64, for values beyond 2⁵³. In a band of f32, `zonalHistogram` lets values within its
   * rounding match too.
   */
  readonly nodata: number | bigint | undefined;
  /** Size in cells of the blocks (strips or tiles) that the file decodes as a whole. */
  readonly blockColumns: number;
  readonly blockRows: number;
  /** Scaling of the stored values. Undefined if the values are stored unscaled. */
  readonly scaling?: Scaling | undefined;
  /**
   * Says that a window will be read soon, so that what it needs is fetched meanwhile. Returns whether there is memory to
   * fetch further windows. Undefined if reading does not take long.
   */
  prefetch?(window: Window, isWanted?: (part: Window) => boolean): boolean;
  /**
   * Reads the stored values of a window inside the raster.
   *
   * @param isWanted - Whether a part of the window will be used. Cells of unused parts may have any value in the
   * result.
   */
  read(window: Window, signal?: AbortSignal, isWanted?: (part: Window) => boolean): Promise<Cells>;
  /**
   * Reads the wanted blocks of a window that consists of whole blocks. Returns the cells block by block, which saves
   * copying them into the rows of the window. Undefined if the source cannot read block by block.
   *
   * @throws ArgumentError `argument/window-blocks` if the window cuts a block.
   */
  readBlocks?(window: Window, signal?: AbortSignal, isWanted?: (part: Window) => boolean): Promise<BlockCells>;
  /**
   * Reads the wanted blocks of a window that consists of whole blocks, without decoding them. All cells without data are
   * hidden. Undefined if a device cannot decode the blocks.
   *
   * @param isAlike - Whether cells from a smallest to a largest stored value need not be told apart. The cells of a block
   * may then all be given as the smallest, without reading it. Default: all cells are told apart.
   * @param context - The context that will decode the cells. They may be stored there at once.
   * @throws ArgumentError `argument/window-blocks` if the window cuts a block.
   */
  readonly readEncoded?:
    | ((
        window: Window,
        signal?: AbortSignal,
        isWanted?: (part: Window) => boolean,
        isAlike?: (smallest: number, largest: number) => boolean,
        context?: Context,
      ) => Promise<EncodedCells>)
    | undefined;
  /**
   * Only for rasters with a mask. Reads one byte per cell of a window, row by row. The byte is 0 if the cell has no
   * data.
   *
   * @param isWanted - Whether a part of the window will be used. Bytes of unused parts may have any value.
   */
  readonly readMask?:
    | ((window: Window, signal?: AbortSignal, isWanted?: (part: Window) => boolean) => Promise<Uint8Array>)
    | undefined;
  /**
   * Takes back cells from {@link read} or {@link readBlocks} that are no longer used, so that a later window can reuse
   * their memory.
   */
  reuse?(cells: Cells): void;
  close(): Promise<void>;
}

/** Whether a window begins and ends between blocks, or at the right and lower edges of the raster. */
export function isOfWholeBlocks(
  { column, row, columns, rows }: Window,
  { width, height, blockColumns, blockRows }: Pick<RasterSource, 'width' | 'height' | 'blockColumns' | 'blockRows'>,
): boolean {
  const [right, bottom] = [column + columns, row + rows];
  return (
    column % blockColumns === 0 &&
    row % blockRows === 0 &&
    (right % blockColumns === 0 || right === width) &&
    (bottom % blockRows === 0 || bottom === height)
  );
}

const aRasterRecord: Kind = aRecord<RasterSource>({
  ...gridFields,
  file: optional(aText),
  sample: aWord(SAMPLES),
  nodata: optional(eitherOf('a number or a bigint', aNumber, aBigint)),
  blockColumns: aWhole(1),
  blockRows: aWhole(1),
  scaling: optional(aScaling),
  prefetch: optional(aFunction),
  read: aFunction,
  readBlocks: optional(aFunction),
  readEncoded: optional(aFunction),
  readMask: optional(aFunction),
  reuse: optional(aFunction),
  close: aFunction,
});

export const aRaster: Kind = (given, path, homes) => {
  const flaw = aRasterRecord(given, path, homes);
  if (flaw !== undefined) return flaw;
  const { sample, nodata } = given as RasterSource;
  // In other bands, no cell would equal it.
  return typeof nodata === 'bigint' && sample !== 'i64' && sample !== 'u64'
    ? aNumber(nodata, `${path}.nodata`, homes)
    : undefined;
};
