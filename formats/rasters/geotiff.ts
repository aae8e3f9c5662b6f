import { isFloat, type RasterGrid, type RasterSource, type Window } from '../../algorithms/geometry/raster.ts';
import type { Note } from '../../algorithms/notes.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { FormatError } from '../../primitives/checks/errors.ts';
import {
  aBigint,
  aFlag,
  aNumber,
  anInstance,
  aPositive,
  aSignal,
  aText,
  atLeast,
  aWhole,
  aWord,
  eitherOf,
  optional,
  someOptions,
} from '../../primitives/checks/kinds.ts';
import type { AbortSignal } from '../../primitives/host/platform-types.ts';
import { nameOfUrl, openBytes } from '../bytes/open-bytes.ts';
import { isHalfFloat } from '../tables/half-float.ts';
import { BandCache } from './tiff/band-cache.ts';
import { type ByteSource, bytesInMemory } from './tiff/byte-source.ts';
import { lercError } from './tiff/decode.ts';
import { readDirectory, type TiffDirectory } from './tiff/directory.ts';
import { type Georeference, readGeoreference, uprightPlace } from './tiff/georeference.ts';
import { type BandLayout, readLayout, rowBytes } from './tiff/layout.ts';
import { type BandMask, findMasks } from './tiff/mask.ts';
import { type ScalingTexts, scalingTexts, usedScaling } from './tiff/metadata.ts';
import { fillValue, readNodata } from './tiff/nodata.ts';
import { chooseImage, placedBy, type TiffImage } from './tiff/overviews.ts';
import { rowsAtOnce } from './tiff/pieces.ts';
import { readSideFile, type SideFile } from './tiff/side-file.ts';
import { windowReader } from './tiff/windows.ts';

/** Options for opening a GeoTIFF. */
export interface GeoTiffOptions {
  /** Number of the band, from 1. Default 1. */
  readonly band?: number | undefined;
  /**
   * Stored value that marks cells without data, instead of the nodata value of the file and of its side file. The given
   * value is rounded to f32 in a band of f32, and loses its fraction in a band of integers. A bigint keeps all digits
   * for bands of i64 and u64.
   */
  readonly nodata?: number | bigint | undefined;
  /**
   * `none` ignores all masks: those in the file, a neighbouring `.msk` file, and an alpha band. Near infrared is flagged
   * as alpha in many aerial images. Default `all`.
   */
  readonly mask?: 'all' | 'none' | undefined;
  /**
   * Maximum width and height of a cell, in cells of the raster. With 8, an overview whose cells are at most 8 × 8 of the raster's
   * is read in place of its cells, the one with the largest cells, if there is one: far less is read, and results are
   * approximate. Default: the cells themselves.
   */
  readonly approximate?: number | undefined;
  /** Whether to ignore scale and offset of the file and of its side file, and to use stored values unchanged. Default false. */
  readonly raw?: boolean | undefined;
  /**
   * Maximum bytes of the cache for decoded blocks. A block is cached if a window used only a part of it. A block larger
   * than this limit is cached alone. Default 32 MiB.
   */
  readonly keepBytes?: number | undefined;
  /** Shared by several bands of a file, so that a block in which they are interleaved is decoded once; see {@link createBandCache}. */
  readonly bandCache?: BandCache | undefined;
  /** Maximum decoded bytes of one block. Default 512 MiB. */
  readonly maxBlockBytes?: number | undefined;
  /**
   * Number of threads that read and decode blocks. The threads write cells to a `SharedArrayBuffer`. With 0, no threads
   * are started. Default: one thread per core, started when a window of at least 4 MiB is first read.
   */
  readonly threads?: number | undefined;
  /**
   * Whether the threads start immediately instead of at the first large window. This is useful if most of a large
   * raster will be read.
   */
  readonly startThreads?: boolean | undefined;
  /**
   * Maximum bytes of a file of the web that are held at the same time: what is fetched ahead, at most 32 MiB, or the whole
   * file, if the server does not send ranges. Default 256 MiB.
   */
  readonly downloadBytes?: number | undefined;
  /** Ends everything that is read from an address, also after opening. */
  readonly signal?: AbortSignal | undefined;
}

/** Cells of a band of a raster, wherever they are. */
export type GeoTiffCells = Omit<GeoTiffSource, keyof RasterGrid> & Pick<RasterGrid, 'width' | 'height'>;

/** One band of a GeoTIFF, with notes on what was ignored or unusual in the file. */
export interface GeoTiffSource extends RasterSource {
  /** Number of bands of the file. */
  readonly bands: number;
  readonly notes: readonly Note[];
  /** What the server says of the version of a file of the web (ETag or Last-Modified). Undefined if it says nothing. */
  readonly version?: string | undefined;
}

/**
 * Opens one band of the first image of a GeoTIFF, to be read window by window.
 *
 * Reads classic TIFF and BigTIFF of either byte order; strips and tiles; uncompressed, deflate, LZW, PackBits, Zstandard,
 * LERC, and JPEG of 8 bits with one to four bands in a block, of which YCbCr becomes red, green and blue as in GDAL;
 * predictors 2 and 3; interleaved and separate bands; u8, i8, u16, i16, u32, i32, f32, u64, i64, f64.
 * Cells are read bit for bit. Cells that LERC marks as missing are NaN in bands of floats, and have the nodata value in
 * bands of integers; `read` throws `format/unmarked-cells` if there is none.
 * Samples of 1, 2 or 4 bits without a sign become u8 as they are (0 may mean white, and palettes are not applied), and
 * floats of 16 bits become f32. Only blocks that overlap a window are read. If a block is uncompressed, only its rows inside the window are read. A block
 * that is partly used by a window is cached for the next window. Cells of omitted blocks (GDAL's sparse files) have the
 * file's nodata value, or 0 if there is none. If the file says that cells represent points, each point is the centre of
 * a cell.
 *
 * Nodata value, scale, offset, geotransform and coordinate system of a side file of GDAL (`x.tif.aux.xml`) win over
 * those in the file, as in GDAL; the option `nodata` wins over both.
 *
 * The placement of a file without georeference of its own is read from a world file beside it (`.tfw`, `.tifw` or
 * `.wld`, also in upper case). `ownCrs` describes a coordinate system without an EPSG code.
 *
 * With `approximate`, an overview may be read in place of the raster: a reduced image in the file or, if it has none, in the file
 * `.ovr` beside it. Then `width`, `height` and the cells are those of the overview, which covers the same place. Values are those
 * that its writer made of the cells, often their averages. It has the nodata value of the raster, and masks of its own; one
 * without a mask where the raster has one is not taken.
 *
 * `read` returns stored values. `scaling` is the scale and offset of the band, as GDAL writes them. `readMask` combines
 * a mask in the file, a mask in a neighbouring `.msk` file, and an alpha band: a cell has no data if at least one of
 * the three is 0 at the cell.
 *
 * Opening checks that all blocks lie inside the file. Concurrent reads are allowed. If the signal is aborted, `read`
 * reads no further blocks and rejects with the signal's reason.
 *
 * The following notes may be added to `notes`: `raster/approximate` if an overview is read, `raster/no-overview` if there is none; `raster/nodata-unusable`, `raster/nodata-rounded`,
 * `raster/lossy-nodata` (JPEG and LERC may have changed cells near the nodata value), `raster/side-file`,
 * `raster/side-file-unreadable`, `raster/colours-raw`, `raster/sparse-blocks`, `raster/single-block`,
 * `raster/large-blocks`, `raster/crs-unknown`, `raster/world-file`, `raster/orientation-ignored`,
 * `raster/negative-scale`; `raster/scaled` or, with `raw`, `raster/scaling-left-out`; `raster/scaling-unusable`; `raster/mask` for every mask that is applied;
 * `raster/mask-size` for a mask that is ignored because its size differs from the size of the raster;
 * `raster/directories-unreadable`.
 *
 * A file behind an address (`http://…`, `https://…`) is read by ranges; `prefetch` says which windows will be read soon. It
 * has no side files, and the note `raster/no-side-files`. Name and password in the address are told to its server only, and
 * `file` and messages show neither them nor the query.
 *
 * @param input - A file's path, its address (also as a `URL`), or its bytes.
 * @throws FormatError if the file is missing, truncated, damaged, not a TIFF, not georeferenced, rotated, or compressed
 * in an unsupported way. All codes begin with `format/`; the code and the message give the reason. Those of servers begin
 * with `format/address-`; `format/changed` means that the file is another than when it was opened.
 * @throws OutOfMemoryError `memory/limit` if a server sends only the whole file, and it has more than three quarters of `downloadBytes`.
 * @throws UsageError if the band does not exist.
 * @example
 * const raster = await openGeoTiff('examples/ndvi.tif');
 * const cells = await raster.read({ column: 0, row: 300, columns: raster.width, rows: 10 });
 * await raster.close();
 * [raster.sample, cells.length]; // ['f32', 11600]
 */
export async function openGeoTiff(
  input: string | URL | Uint8Array,
  options: GeoTiffOptions = {},
): Promise<GeoTiffSource> {
  requireArguments('openGeoTiff', { input, options }, ARGUMENTS);
  return openPlaced(input instanceof URL ? nameOfUrl(input) : input, options, uprightly);
}

const uprightly = ({ geoTransform, ...crs }: Georeference, file: string) => ({
  ...uprightPlace(geoTransform, file),
  ...crs,
});

/** Opens a band as {@link openGeoTiff} does, of bytes that are open. `path` is their file. */
export function openGeoTiffFrom(source: ByteSource, options: GeoTiffOptions, path?: string): Promise<GeoTiffSource> {
  return openBand(source, options, path, uprightly);
}

/** Opens a band as {@link openGeoTiff} does. Its cells may be rotated, sheared or mirrored. */
export async function openTurnedGeoTiff(path: string, options: GeoTiffOptions): Promise<GeoTiffCells & Georeference> {
  return openPlaced(path, options, (place) => place);
}

/** Opens a band. `placeOf` makes of its placement what is told of it, or refuses it. */
async function openPlaced<P>(
  input: string | Uint8Array,
  options: GeoTiffOptions,
  placeOf: (place: Georeference, file: string) => P,
): Promise<GeoTiffCells & P> {
  const source = typeof input === 'string' ? await openBytes(input, options) : bytesInMemory(input);
  try {
    return await openBand(source, options, typeof input === 'string' ? input : undefined, placeOf);
  } catch (error) {
    await source.close();
    throw error;
  }
}

const ARGUMENTS = {
  input: eitherOf(
    'the path or the address of a file, or its bytes as a Uint8Array',
    aText,
    anInstance(Uint8Array, URL),
  ),
  options: someOptions<GeoTiffOptions>({
    band: optional(aNumber),
    nodata: optional(eitherOf('a number or a bigint', aNumber, aBigint)),
    mask: optional(aWord(['all', 'none'])),
    raw: optional(aFlag),
    approximate: optional(atLeast(1)),
    keepBytes: optional(atLeast(0)),
    bandCache: optional(anInstance(BandCache)),
    maxBlockBytes: optional(aPositive()),
    threads: optional(aWhole()),
    startThreads: optional(aFlag),
    downloadBytes: optional(aPositive()),
    signal: optional(aSignal),
  }),
};

async function openBand<P>(
  source: ByteSource,
  options: GeoTiffOptions,
  name: string | undefined,
  placeOf: (place: Georeference, file: string) => P,
): Promise<GeoTiffCells & P> {
  const notes: Note[] = [];
  const isFarAway = source.announce !== undefined;
  if (isFarAway) notes.push(NOT_BESIDE);
  const path = isFarAway ? undefined : name;
  const directory = await readDirectory(source);
  const { approximate, mask } = options;
  const image = await chooseImage({ source, directory, path, approximate, isMasked: mask !== 'none' }, notes);
  try {
    return await openImage({ source, directory, name, path, image, notes }, options, placeOf);
  } catch (error) {
    await image.close();
    throw error;
  }
}

interface OpeningBand {
  readonly source: ByteSource;
  readonly directory: TiffDirectory;
  readonly name: string | undefined;
  readonly path: string | undefined;
  readonly image: TiffImage;
  readonly notes: Note[];
}

async function openImage<P>(
  { source, directory, name, path, image, notes }: OpeningBand,
  options: GeoTiffOptions,
  placeOf: (place: Georeference, file: string) => P,
): Promise<GeoTiffCells & P> {
  const { file } = source;
  const band = options.band ?? 1;
  const stored = await readLayout(image.source, image.directory, band);
  const checkBlocks = (of: BandLayout, name: string): void =>
    checkBlockSize(of, options.maxBlockBytes ?? 512 * 2 ** 20, name);
  checkBlocks(stored, file);
  const beside = await readSideFile(path, band, notes);
  const stated = await readGeoreference(directory, file, path, beside, notes);
  const place = placeOf({ ...stated, geoTransform: placedBy(stated.geoTransform, image) }, file);
  const inFile = { nodata: await directory.text('gdalNodata'), ...(await scalingInFile(directory, band)) };
  const srs = beside.srs === undefined ? undefined : (stated.crs ?? stated.ownCrs ?? 'unknown');
  const taken = { ...beside, srs, nodata: options.nodata === undefined ? beside.nodata : undefined };
  noteSideFile(taken, { ...inFile, ...(await placesInTags(directory)) }, path!, notes);
  const nodataText = beside.nodata ?? inFile.nodata;
  const nodata = readNodata(options.nodata === undefined ? nodataText : String(options.nodata), stored.sample, notes);
  const layout = withMissing(stored, nodata);
  await noteLosses(image.source, layout, nodata, notes);
  if (layout.sample === 'f32' && layout.bits === 16) noteHalves(nodata, notes);
  noteOrientation((await directory.number('orientation')) ?? 1, notes);
  noteColours((await directory.number('photometricInterpretation')) ?? 1, band, notes);
  const fill = fillValue(nodataText, layout.sample);
  noteBlocks(layout, fill, notes);
  const texts = { scale: beside.scale ?? inFile.scale, offset: beside.offset ?? inFile.offset };
  const scaling = usedScaling(texts, options.raw ?? false, notes);
  const keepBytes = options.keepBytes ?? 32 * 2 ** 20;
  const masked = { ...image, isOverview: image.directory !== directory, layout, band, keepBytes, checkBlocks };
  const masks = options.mask === 'none' ? [] : await findMasks(masked, path, notes);
  for (const { name } of masks) {
    notes.push({
      code: 'raster/mask',
      message: `${name} marks the cells without data: where it is 0, a cell has none; --mask none ignores it.`,
    });
  }
  // Bytes in memory have no name that tells them from others.
  const { bandCache } = options;
  const shared = name === undefined || bandCache === undefined ? undefined : { bandCache, name };
  const reader = windowReader({ source: image.source, layout, fill, keepBytes, threads: options.threads, shared });
  if (options.startThreads) reader.start();
  return {
    width: layout.width,
    height: layout.height,
    ...place,
    file,
    sample: layout.sample,
    bands: layout.bands,
    nodata,
    scaling,
    blockColumns: layout.blockColumns,
    blockRows: rowsAtOnce(layout),
    notes,
    version: source.version,
    ...(source.announce && {
      prefetch(window, isWanted) {
        const ranges = [reader, ...masks].flatMap((each) => each.rangesOf(window, isWanted));
        return source.announce!(ranges.sort((a, b) => a.start - b.start));
      },
    }),
    read: (window, signal, isWanted) => reader.read(window, signal, isWanted),
    // Only blocks that are read as a whole can be returned as blocks. Large uncompressed blocks are read some rows at a
    // time instead.
    ...(rowsAtOnce(layout) === layout.blockRows && {
      readBlocks: (window, signal, isWanted) => reader.readBlocks(window, signal, isWanted),
    }),
    readMask: masks.length === 0 ? undefined : (window, signal, isWanted) => readMasks(masks, window, signal, isWanted),
    reuse: (cells) => reader.reuse(cells),
    async close() {
      await reader.close();
      await image.close();
      await source.close();
      for (const mask of masks) await mask.close();
    },
  };
}

const NOT_BESIDE: Note = {
  code: 'raster/no-side-files',
  message: 'Read from an address: files beside it (.aux.xml, .msk, world files) are not looked for.',
};

/** A layout of LERC, in which cells may have no value, with the value that they get. */
function withMissing(layout: BandLayout, nodata: number | bigint | undefined): BandLayout {
  if (layout.lerc === undefined || nodata === undefined) return layout;
  return { ...layout, lerc: { ...layout.lerc, missing: Number(nodata) } };
}

/**
 * Notes a nodata value in cells that may have changed when they were compressed. What is not a number is never stored as
 * one.
 */
async function noteLosses(
  source: ByteSource,
  layout: BandLayout,
  nodata: number | bigint | undefined,
  notes: Note[],
): Promise<void> {
  if (nodata === undefined || Number.isNaN(nodata)) return;
  const error = await lossOf(source, layout);
  if (error === undefined) return;
  const message = `The cells are compressed with losses (${error}): where ${nodata} stood beside other values, cells may have values near it, which count as data.`;
  notes.push({ code: 'raster/lossy-nodata', message });
}

/** Describes the losses of a compression; undefined if it has none. */
async function lossOf(source: ByteSource, layout: BandLayout): Promise<string | undefined> {
  if (layout.compression === 'jpeg') return 'JPEG';
  const error = layout.compression === 'lerc' ? await lercError(source, layout) : 0;
  return error > (isFloat(layout.sample) ? 0 : 0.5) ? `LERC, up to ${error} from each value` : undefined;
}

/** Notes a nodata value between two floats of 16 bits, which are the only ones that such a file can store. */
function noteHalves(nodata: number | bigint | undefined, notes: Note[]): void {
  if (nodata === undefined || isHalfFloat(Number(nodata))) return;
  const message = `The nodata value ${nodata} cannot occur in floats of 16 bits, and marks no cell that is stored, as in GDAL.`;
  notes.push({ code: 'raster/nodata-unusable', message });
}

/** Maximum bytes of the GDAL metadata. The limit suffices even for files with hundreds of bands. */
const MAX_METADATA = 2 ** 24;

async function scalingInFile(directory: TiffDirectory, band: number): Promise<ScalingTexts> {
  return scalingTexts(await directory.text('gdalMetadata', MAX_METADATA), band);
}

/** Combines several masks into one. A cell of the result has data if it is nonzero in every mask. */
async function readMasks(
  masks: readonly BandMask[],
  window: Window,
  signal: AbortSignal | undefined,
  isWanted: ((part: Window) => boolean) | undefined,
): Promise<Uint8Array> {
  const [first, ...others] = await Promise.all(masks.map((mask) => mask.read(window, signal, isWanted)));
  for (const other of others) {
    for (let cell = 0; cell < first!.length; cell++) if (other[cell] === 0) first![cell] = 0;
  }
  return first!;
}

function checkBlockSize(layout: BandLayout, max: number, file: string): void {
  const bytes = rowsAtOnce(layout) * rowBytes(layout);
  if (bytes <= max) return;
  const message = 'A block of the TIFF is too large to be decoded as a whole, and cannot be read in windows.';
  throw new FormatError('format/block-too-large', message, {
    expected: `at most ${max} bytes`,
    got: `${bytes} bytes (${layout.blockColumns} × ${layout.blockRows} cells)`,
    remedy: `Rewrite the file ${IN_TILES}.`,
    place: { file },
  });
}

/** Which statements of a side file replace tags. */
async function placesInTags(directory: TiffDirectory): Promise<Pick<SideFile, 'geoTransform' | 'srs'>> {
  const placed = (await directory.numbers('modelPixelScale')) ?? (await directory.numbers('modelTransformation'));
  const keyed = await directory.numbers('geoKeyDirectory');
  const inTags = 'that in the tags';
  return { geoTransform: placed && inTags, srs: keyed && inTags };
}

/** Names of what a side file may state. */
const SIDE_NAMES: Readonly<Record<keyof SideFile, string>> = {
  nodata: 'nodata',
  scale: 'scale',
  offset: 'offset',
  geoTransform: 'the geotransform',
  srs: 'the coordinate system',
};

/** Notes what is taken from a side file, and what it replaces in the file. */
function noteSideFile(beside: SideFile, inFile: SideFile, path: string, notes: Note[]): void {
  const taken = (Object.keys(SIDE_NAMES) as (keyof SideFile)[]).filter((name) => beside[name] !== undefined);
  if (taken.length === 0) return;
  const said = taken.map((name) => {
    const [value, replaced] = [beside[name], inFile[name]];
    return `${SIDE_NAMES[name]} ${value}${replaced === undefined || replaced.trim() === value ? '' : ` (instead of ${replaced.trim()})`}`;
  });
  notes.push({ code: 'raster/side-file', message: `${path}.aux.xml gives ${said.join(', ')}.` });
}

/** Colours whose stored values are counted as they are, by the tag PhotometricInterpretation. */
const RAW_COLOURS: Readonly<Record<number, string>> = { 5: 'CMYK', 8: 'CIE Lab', 9: 'ICC Lab', 10: 'ITU Lab' };

function noteColours(photometric: number, band: number, notes: Note[]): void {
  const colours = RAW_COLOURS[photometric];
  if (colours === undefined) return;
  const message = `The colours of the raster are ${colours}; the stored values of band ${band} are counted, not red, green or blue.`;
  notes.push({ code: 'raster/colours-raw', message });
}

function noteOrientation(orientation: number, notes: Note[]): void {
  if (orientation === 1) return;
  notes.push({
    code: 'raster/orientation-ignored',
    message: `The tag Orientation is ${orientation}; rows and columns are taken as stored, as GDAL does.`,
  });
}

const IN_TILES = 'in tiles with gdal_translate -co TILED=YES -co COMPRESS=DEFLATE';

/** A decoded block of at least this many bytes causes a note, because the whole block is held in memory. */
const LARGE = 16 * 2 ** 20;

function noteBlocks(layout: BandLayout, fill: number | bigint, notes: Note[]): void {
  const sparse = layout.byteCounts.filter((bytes) => bytes === 0).length;
  if (sparse > 0) {
    const message = `${sparse} of ${layout.blocks} blocks were never written; their cells read as ${fill}.`;
    notes.push({ code: 'raster/sparse-blocks', message, count: sparse });
  }
  const bytes = rowsAtOnce(layout) * rowBytes(layout);
  if (bytes > LARGE) notes.push(largeBlocks(layout.blocks, (bytes / 2 ** 20).toFixed(0)));
}

/** The note on large blocks that must be decoded as a whole. Such blocks are held in memory as a whole. */
function largeBlocks(blocks: number, size: string): Note {
  const less = `Less memory is needed for the same ${IN_TILES}.`;
  if (blocks === 1) {
    const message = `The raster is one compressed block of ${size} MiB, which cannot be read in windows and is held as a whole. ${less}`;
    return { code: 'raster/single-block', message };
  }
  const message = `The raster has compressed blocks of ${size} MiB, which cannot be read in windows and are held as wholes. ${less}`;
  return { code: 'raster/large-blocks', message };
}
