import { type FileHandle, rename, rm } from 'node:fs/promises';
import {
  type Cells,
  gridFields,
  isFloat,
  isWide,
  type RasterGrid,
  SAMPLE_BYTES,
  SAMPLES,
  type Sample,
  type Window,
} from '../../algorithms/geometry/raster.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { ArgumentError, FormatError } from '../../primitives/checks/errors.ts';
import {
  aBigint,
  aFlag,
  aFunction,
  aNumber,
  aRecord,
  aText,
  aWhole,
  aWord,
  eitherOf,
  type Kind,
  optional,
} from '../../primitives/checks/kinds.ts';
import { type OpenedOutput, openOutput } from '../bytes/atomic-write.ts';
import { reason } from '../bytes/output-errors.ts';
import { isGeographicCrs, sameCrs } from '../crs.ts';
import type { TagName } from './tiff/directory.ts';
import { encodeDirectory, encodeHeader, type Field } from './tiff/directory-writer.ts';
import { encodeBlock, type Packing } from './tiff/encode.ts';
import type { Predictor } from './tiff/layout.ts';
import { SAMPLE_FORMAT, type Words, wordsOver } from './tiff/samples.ts';

/** A raster to write: its georeference, its size and sample type, and the layout of the file. */
export interface GeoTiffRaster extends Omit<RasterGrid, 'crs' | 'ownCrs' | 'geographic'> {
  readonly sample: Sample;
  /** Number of bands. Default 1. */
  readonly bands?: number | undefined;
  /**
   * Coordinate system: `EPSG:n`, or `OGC:CRS84`, which is written as EPSG:4326. If omitted, the file states no system.
   */
  readonly crs?: string | undefined;
  /**
   * Whether the coordinates of `crs` are longitudes and latitudes. Default: true for the systems that
   * `isGeographicCrs` recognizes, else false.
   */
  readonly geographic?: boolean | undefined;
  /**
   * Nodata value, which marks cells without data. It is a string if the value cannot be represented exactly as a
   * number.
   */
  readonly nodata?: number | bigint | string | undefined;
  /** Size of a tile in cells; columns and rows must be multiples of 16. Default: the file has strips, not tiles. */
  readonly tile?: { readonly columns: number; readonly rows: number } | undefined;
  /** Number of rows in a strip. Default: as many rows as fit in 256 KiB. */
  readonly stripRows?: number | undefined;
  readonly compression?: 'none' | 'deflate' | undefined;
  /** Compression level of deflate, from 0 to 9. Default 6. */
  readonly level?: number | undefined;
  /** Predictor applied before deflate: differences along rows, or the floating-point predictor. Default: none. */
  readonly predictor?: Predictor | undefined;
  /** Whether the bands are interleaved cell by cell (`pixel`, the default) or stored one after another (`band`). */
  readonly interleave?: 'pixel' | 'band' | undefined;
  /**
   * Whether the georeference is written as scale and tie point or as a matrix. Default: a matrix for south-up rasters,
   * else scale and tie point.
   */
  readonly placement?: 'scale' | 'matrix' | undefined;
  /** Whether the georeference refers to the centres of cells instead of their corners. Default false. */
  readonly pixelIsPoint?: boolean | undefined;
  readonly byteOrder?: 'little' | 'big' | undefined;
  /**
   * Whether to write BigTIFF, which allows files of 4 GiB and more. Default: true if the uncompressed raster exceeds
   * 95 % of 4 GiB.
   */
  readonly bigTiff?: boolean | undefined;
}

/**
 * Validator of the options of `writeGeoTiff`. It checks each option separately; {@link planFile} checks combinations of
 * options.
 */
const aGeoTiff: Kind = aRecord<GeoTiffRaster>({
  ...gridFields,
  width: aNumber,
  height: aNumber,
  crs: optional(aText),
  geographic: optional(aFlag),
  sample: aWord(SAMPLES),
  bands: optional(aNumber),
  nodata: optional(eitherOf('a number, a bigint, or the text of a number', aNumber, aBigint, aText)),
  tile: optional(aRecord<NonNullable<GeoTiffRaster['tile']>>({ columns: aNumber, rows: aNumber })),
  stripRows: optional(aNumber),
  compression: optional(aWord(['none', 'deflate'])),
  level: optional(aWhole(0, 9)),
  predictor: optional(aWord(['none', 'difference', 'float'])),
  interleave: optional(aWord(['pixel', 'band'])),
  placement: optional(aWord(['scale', 'matrix'])),
  pixelIsPoint: optional(aFlag),
  byteOrder: optional(aWord(['little', 'big'])),
  bigTiff: optional(aFlag),
});

/**
 * Returns the cells of a window (a rectangle of cells), row-major, in the raster's sample type. Bands are numbered from
 * 1. Returns undefined for a window without data. A block is omitted from the file if none of its bands has data (GDAL
 * calls such files sparse).
 */
export type CellWriter = (window: Window, band: number) => Cells | undefined | Promise<Cells | undefined>;

/**
 * Writes a GeoTIFF one row of blocks at a time, so that only one such row is in memory. `cells` is called for windows
 * with the raster's full width, from top to bottom. With `interleave: 'pixel'`, each window is requested for all bands
 * before the next window. With `interleave: 'band'`, all windows of a band are requested before the next band. The data
 * go to a temporary file beside `file`, which is renamed to it when it is complete. What is no regular file, such as
 * `/dev/null`, is written in place.
 *
 * @throws ArgumentError if an option is invalid, `cells` returns the wrong number or type of cells, or the file is too
 * large for a classic TIFF and `bigTiff` is not set.
 * @throws FormatError if the file cannot be written.
 * @example
 * const place = { width: 4, height: 2, originX: -180, originY: 90, stepX: 90, stepY: -90, crs: 'EPSG:4326' };
 * const file = join(await mkdtemp(join(tmpdir(), 'example-')), 'ramp.tif');
 * await writeGeoTiff(file, { ...place, sample: 'u16', compression: 'deflate' }, ({ columns, rows, row }) =>
 *   Uint16Array.from({ length: columns * rows }, (_, i) => row * columns + i));
 * const raster = await openGeoTiff(file);
 * const cells = await raster.read({ column: 1, row: 1, columns: 2, rows: 1 });
 * await raster.close();
 * cells; // Uint16Array [5, 6]
 */
export async function writeGeoTiff(file: string, raster: GeoTiffRaster, cells: CellWriter): Promise<void> {
  requireArguments('writeGeoTiff', { file, raster, cells }, { file: aText, raster: aGeoTiff, cells: aFunction });
  await writeTiff(file, raster, cells);
}

/** What a file may hold besides the bands and what {@link GeoTiffRaster} says of them. */
export interface TiffExtras {
  /** Fields of the image's directory, which replace those of the same tag. With geo keys, `crs` is not written. */
  readonly fields?: readonly Field[] | undefined;
  /** Reads a mask, which the file holds as an image of its own: a byte for each cell, 0 if it has no data. */
  readonly mask?: ((window: Window) => Promise<Uint8Array>) | undefined;
  /** Is called with the path of the unfinished file before it is written. */
  readonly onPartial?: ((path: string) => void) | undefined;
}

/** Does the work of {@link writeGeoTiff}, with extras that it does not offer. */
export async function writeTiff(
  file: string,
  raster: GeoTiffRaster,
  cells: CellWriter,
  extras: TiffExtras = {},
): Promise<void> {
  const plan = planFile(raster);
  let output: OpenedOutput | undefined;
  try {
    output = await openOutput(file);
    const { target, temporary, handle } = output;
    if (temporary !== undefined) extras.onPartial?.(temporary);
    await writeFile(handle, plan, raster, cells, extras);
    await handle.close();
    if (temporary !== undefined) await rename(temporary, target);
  } catch (error) {
    await output?.handle.close();
    if (output?.temporary !== undefined) await rm(output.temporary, { force: true });
    throw error instanceof Error && 'syscall' in error ? notWritten(file, error) : error;
  }
}

function notWritten(file: string, cause: Error): FormatError {
  return new FormatError('format/unwritable-file', `The file cannot be written: ${reason(cause)}.`, {
    remedy: 'Check the path and the free space.',
    place: { file },
    cause,
  });
}

/** The layout of a file, derived from the options. */
interface FilePlan {
  readonly bands: number;
  readonly blockColumns: number;
  readonly blockRows: number;
  readonly blocksAcross: number;
  readonly blocksDown: number;
  readonly big: boolean;
  readonly packing: Packing;
}

function planFile(raster: GeoTiffRaster): FilePlan {
  const { width, height, sample, tile, bands = 1, compression = 'none', predictor = 'none' } = raster;
  for (const size of [width, height, bands]) {
    if (!(Number.isInteger(size) && size >= 1)) throw badOption('Sizes and bands must be whole and positive.');
  }
  if (tile !== undefined && (!isTileSize(tile.columns) || !isTileSize(tile.rows))) {
    throw badOption('Tiles must be multiples of 16 cells.');
  }
  if (predictor !== 'none' && compression !== 'deflate') throw badOption('A predictor needs compression.');
  if (predictor === 'float' && !isFloat(sample)) throw badOption('The floating-point predictor needs f32 or f64.');
  const interleaved = raster.interleave === 'band' ? 1 : bands;
  const blockColumns = tile?.columns ?? width;
  const rowBytes = blockColumns * interleaved * SAMPLE_BYTES[sample];
  const stripRows = raster.stripRows ?? Math.max(1, Math.floor(2 ** 18 / rowBytes));
  const blockRows = tile?.rows ?? Math.min(height, stripRows);
  if (!(Number.isInteger(blockRows) && blockRows >= 1)) throw badOption('Strips must have whole and positive rows.');
  return {
    bands,
    blockColumns,
    blockRows,
    blocksAcross: Math.ceil(width / blockColumns),
    blocksDown: Math.ceil(height / blockRows),
    big: raster.bigTiff ?? width * height * bands * SAMPLE_BYTES[sample] > 0.95 * 2 ** 32,
    packing: {
      sample,
      littleEndian: raster.byteOrder !== 'big',
      compression,
      level: raster.level ?? 6,
      predictor,
      rowWords: blockColumns * interleaved,
      interleaved,
    },
  };
}

function isTileSize(size: number): boolean {
  return Number.isInteger(size) && size >= 16 && size % 16 === 0;
}

function badOption(sentence: string): ArgumentError {
  return new ArgumentError('argument/geotiff-option', sentence, { remedy: 'Correct the options of writeGeoTiff.' });
}

async function writeFile(
  handle: FileHandle,
  plan: FilePlan,
  raster: GeoTiffRaster,
  cells: CellWriter,
  extras: TiffExtras,
): Promise<void> {
  const { littleEndian } = plan.packing;
  const { big } = plan;
  const image = await writeBlocks(handle, plan, raster, cells, big ? 16 : 8);
  const given = new Set(extras.fields?.map(({ tag }) => tag));
  const placed = [...placeFields(raster), ...crsFields(raster, given.has('geoKeyDirectory'))];
  const isPlaced = PLACE_TAGS.some((tag) => given.has(tag));
  const own = [...image.fields, ...placed].filter(
    ({ tag }) => !given.has(tag) && !(isPlaced && PLACE_TAGS.includes(tag)),
  );
  const fields = [...own, ...(extras.fields ?? [])];
  const mask = extras.mask && (await writeMask(handle, plan, raster, extras.mask, image.end));
  const end = mask?.end ?? image.end;
  const { length } = encodeDirectory(fields, end, littleEndian, big);
  const next = mask === undefined ? 0 : end + length;
  const directory = encodeDirectory(fields, end, littleEndian, big, next);
  const ofMask = mask === undefined ? new Uint8Array() : encodeDirectory(mask.fields, next, littleEndian, big);
  if (!big && end + directory.length + ofMask.length >= 2 ** 32)
    throw badOption('The file is too large for a classic TIFF: set bigTiff.');
  await writeAll(handle, directory, end);
  await writeAll(handle, ofMask, next);
  await writeAll(handle, encodeHeader(end, littleEndian, big), 0);
}

const PLACE_TAGS: readonly TagName[] = ['modelPixelScale', 'modelTiepoint', 'modelTransformation'];

/** Writes the blocks of an image from byte `start` on. Returns its fields, and the byte after its blocks. */
async function writeBlocks(
  handle: FileHandle,
  plan: FilePlan,
  raster: GeoTiffRaster,
  cells: CellWriter,
  start: number,
): Promise<{ readonly fields: readonly Field[]; readonly end: number }> {
  let end = start;
  const offsets: number[] = [];
  const byteCounts: number[] = [];
  for await (const block of encodeBlocks(plan, raster, cells)) {
    offsets.push(block === undefined ? 0 : end);
    byteCounts.push(block?.length ?? 0);
    if (block === undefined) continue;
    await writeAll(handle, block, end);
    end += block.length + (block.length % 2);
  }
  return { fields: layoutFields(plan, raster, offsets, byteCounts), end };
}

/** Values of the tags NewSubfileType and PhotometricInterpretation of a mask. */
const MASK_KIND = 4;

async function writeMask(
  handle: FileHandle,
  { big }: FilePlan,
  { tile, stripRows, byteOrder, ...raster }: GeoTiffRaster,
  mask: NonNullable<TiffExtras['mask']>,
  start: number,
): Promise<{ readonly fields: readonly Field[]; readonly end: number }> {
  const image: GeoTiffRaster = {
    ...raster,
    ...{ sample: 'u8', bands: 1, nodata: undefined, compression: 'deflate', predictor: 'none', bigTiff: big },
    ...{ tile, stripRows, byteOrder },
  };
  const cells: CellWriter = async (window) => (await mask(window)).map((value) => (value === 0 ? 0 : 255));
  const { fields, end } = await writeBlocks(handle, planFile(image), image, cells, start);
  const kind = { type: 'short', values: [MASK_KIND] } as const;
  const own = fields.filter(({ tag }) => tag !== 'photometricInterpretation');
  return {
    fields: [...own, { tag: 'newSubfileType', ...kind }, { tag: 'photometricInterpretation', ...kind }],
    end,
  };
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    done += (await handle.write(bytes, done, bytes.length - done, position + done)).bytesWritten;
  }
}

async function* encodeBlocks(
  plan: FilePlan,
  raster: GeoTiffRaster,
  cells: CellWriter,
): AsyncGenerator<Uint8Array | undefined> {
  const groups = plan.packing.interleaved === plan.bands ? [allBands(plan)] : allBands(plan).map((band) => [band]);
  for (const group of groups) {
    for (let down = 0; down < plan.blocksDown; down++) {
      const row = down * plan.blockRows;
      const rows = Math.min(plan.blockRows, raster.height - row);
      const window = { column: 0, row, columns: raster.width, rows };
      const samples: (Words | undefined)[] = [];
      for (const band of group) samples.push(toWords(await cells(window, band), window, raster.sample));
      yield* await encodeRow(plan, raster, window, samples);
    }
  }
}

function allBands({ bands }: FilePlan): number[] {
  return Array.from({ length: bands }, (_, i) => i + 1);
}

function toWords(cells: Cells | undefined, window: Window, sample: Sample): Words | undefined {
  if (cells === undefined) return undefined;
  const size = SAMPLE_BYTES[sample];
  if (cells.length === window.columns * window.rows && cells.BYTES_PER_ELEMENT === size) {
    return wordsOver(new Uint8Array(cells.buffer, cells.byteOffset, cells.byteLength), size);
  }
  throw new ArgumentError('argument/cells', 'The callback returned an array that does not fit its window.', {
    expected: `${window.columns * window.rows} cells of type ${sample}`,
    got: `${cells.length} cells of ${cells.BYTES_PER_ELEMENT} bytes`,
    remedy: 'Return one value of that type for each cell of the window.',
  });
}

/**
 * Encodes one row of blocks. The blocks are compressed in parallel. Blocks without data are undefined in the result.
 */
function encodeRow(
  plan: FilePlan,
  raster: GeoTiffRaster,
  window: Window,
  samples: readonly (Words | undefined)[],
): Promise<(Uint8Array | undefined)[]> {
  if (samples.every((words) => words === undefined)) return Promise.resolve(Array(plan.blocksAcross).fill(undefined));
  const blocks = Array.from({ length: plan.blocksAcross }, (_, across) => {
    const words = gatherBlock(plan, raster, window, samples, across * plan.blockColumns);
    return encodeBlock(words, plan.packing);
  });
  return Promise.all(blocks);
}

/** Copies the samples of a block from a window. Cells of a tile that lie outside the raster are 0. */
function gatherBlock(
  { packing, blockColumns, blockRows }: FilePlan,
  { tile }: GeoTiffRaster,
  window: Window,
  samples: readonly (Words | undefined)[],
  left: number,
): Words {
  const size = SAMPLE_BYTES[packing.sample];
  // Samples of 64 bits are two words each.
  const parts = isWide(packing.sample) ? 2 : 1;
  const rows = tile === undefined ? window.rows : blockRows;
  const block = wordsOver(new Uint8Array(rows * packing.rowWords * size), size);
  const columns = Math.min(blockColumns, window.columns - left);
  for (const [position, words] of samples.entries()) {
    if (words === undefined) continue;
    for (let row = 0; row < window.rows; row++) {
      const from = row * window.columns + left;
      const to = row * packing.rowWords + position;
      if (packing.interleaved === 1) block.set(words.subarray(parts * from, parts * (from + columns)), parts * to);
      else {
        for (let i = 0; i < columns; i++) {
          for (let part = 0; part < parts; part++)
            block[parts * (to + i * packing.interleaved) + part] = words[parts * (from + i) + part]!;
        }
      }
    }
  }
  return block;
}

function layoutFields(
  { bands, blockColumns, blockRows, big, packing }: FilePlan,
  { width, height, sample, tile, nodata, interleave }: GeoTiffRaster,
  offsets: readonly number[],
  byteCounts: readonly number[],
): Field[] {
  const long = big ? 'long8' : 'long';
  const tiled = tile !== undefined;
  const fields: Field[] = [
    { tag: 'imageWidth', type: 'long', values: [width] },
    { tag: 'imageLength', type: 'long', values: [height] },
    { tag: 'bitsPerSample', type: 'short', values: Array(bands).fill(8 * SAMPLE_BYTES[sample]) },
    { tag: 'compression', type: 'short', values: [packing.compression === 'deflate' ? 8 : 1] },
    { tag: 'photometricInterpretation', type: 'short', values: [1] },
    { tag: 'samplesPerPixel', type: 'short', values: [bands] },
    { tag: 'planarConfiguration', type: 'short', values: [interleave === 'band' ? 2 : 1] },
    { tag: 'sampleFormat', type: 'short', values: Array(bands).fill(SAMPLE_FORMAT[sample]) },
    { tag: tiled ? 'tileOffsets' : 'stripOffsets', type: long, values: offsets },
    { tag: tiled ? 'tileByteCounts' : 'stripByteCounts', type: long, values: byteCounts },
  ];
  if (tiled) {
    fields.push({ tag: 'tileWidth', type: 'long', values: [blockColumns] });
    fields.push({ tag: 'tileLength', type: 'long', values: [blockRows] });
  } else fields.push({ tag: 'rowsPerStrip', type: 'long', values: [blockRows] });
  if (bands > 1) fields.push({ tag: 'extraSamples', type: 'short', values: Array(bands - 1).fill(0) });
  if (packing.predictor !== 'none') {
    fields.push({ tag: 'predictor', type: 'short', values: [packing.predictor === 'float' ? 3 : 2] });
  }
  if (nodata !== undefined) fields.push({ tag: 'gdalNodata', type: 'ascii', text: String(nodata) });
  return fields;
}

function placeFields(raster: GeoTiffRaster): Field[] {
  const { stepX, stepY } = raster;
  const shift = raster.pixelIsPoint === true ? 0.5 : 0;
  const x = raster.originX + shift * stepX;
  const y = raster.originY + shift * stepY;
  if ((raster.placement ?? (stepY > 0 ? 'matrix' : 'scale')) === 'matrix') {
    const values = [stepX, 0, 0, x, 0, stepY, 0, y, 0, 0, 0, 0, 0, 0, 0, 1];
    return [{ tag: 'modelTransformation', type: 'double', values }];
  }
  if (stepY > 0) throw badOption('A scale cannot place a south-up raster: choose a matrix.');
  return [
    { tag: 'modelPixelScale', type: 'double', values: [stepX, -stepY, 0] },
    { tag: 'modelTiepoint', type: 'double', values: [0, 0, 0, x, y, 0] },
  ];
}

function crsFields(raster: GeoTiffRaster, hasKeys: boolean): Field[] {
  if (hasKeys) return [];
  const keys = [1025, 0, 1, raster.pixelIsPoint === true ? 2 : 1];
  if (raster.crs !== undefined) {
    const geographic = raster.geographic ?? isGeographicCrs(raster.crs);
    keys.unshift(1024, 0, 1, geographic ? 2 : 1);
    keys.push(geographic ? 2048 : 3072, 0, 1, epsgCode(raster.crs));
  }
  return [{ tag: 'geoKeyDirectory', type: 'short', values: [1, 1, 0, keys.length / 4, ...keys] }];
}

function epsgCode(crs: string): number {
  const code = Number(sameCrs(crs, 'EPSG:4326') ? 4326 : crs.replace(/^EPSG:/i, ''));
  if (Number.isInteger(code) && code > 0 && code < 32767) return code;
  throw badOption(`A GeoTIFF names coordinate systems by EPSG codes below 32767, not ${JSON.stringify(crs)}.`);
}
