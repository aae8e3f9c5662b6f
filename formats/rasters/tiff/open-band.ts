import { isFloat, type RasterGrid, type RasterSource, type Window } from '../../../algorithms/geometry/raster.ts';
import type { Note } from '../../../algorithms/notes.ts';
import { requireArguments } from '../../../primitives/checks/arguments.ts';
import { FormatError } from '../../../primitives/checks/errors.ts';
import {
  aBigint,
  aFlag,
  aNumber,
  anArrayOf,
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
} from '../../../primitives/checks/kinds.ts';
import type { AbortSignal, BlobLike } from '../../../primitives/host/platform-types.ts';
import { type Beside, besideOf } from '../../bytes/beside.ts';
import { openInput } from '../../bytes/open-bytes.ts';
import { isHalfFloat } from '../../tables/half-float.ts';
import { BandCache } from './band-cache.ts';
import { type ByteSource, openOver } from './byte-source.ts';
import { lercError } from './decode.ts';
import { readDirectory, type TiffDirectory } from './directory.ts';
import { type Georeference, readGeoreference, type UprightPlace, uprightPlace } from './georeference.ts';
import { type BandLayout, readLayout, rowBytes } from './layout.ts';
import { type BandMask, findMasks } from './mask.ts';
import { type ScalingTexts, scalingTexts, usedScaling } from './metadata.ts';
import { fillValue, readNodata } from './nodata.ts';
import { chooseImage, placedBy, type TiffImage } from './overviews.ts';
import { rowsAtOnce } from './pieces.ts';
import { readSideFile, type SideFile } from './side-file.ts';
import type { Codecs, TiffPlatform } from './tiff-platform.ts';
import { windowReader } from './windows.ts';

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
  /** Maximum decoded bytes of one block, and of the table that says where blocks are. Default 512 MiB. */
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
  /**
   * Files that stand beside a `File`, such as those that were dropped with it: its side file (`.aux.xml`), world file and
   * mask (`.msk`) are found by their names. Beside a file on disk they are found in its folder.
   */
  readonly beside?: readonly BlobLike[] | undefined;
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

/** Takes only upright cells. */
export const uprightly: PlaceOf<UprightPlace & Omit<Georeference, 'geoTransform'>> = (
  { geoTransform, ...crs },
  file,
) => ({
  ...uprightPlace(geoTransform, file),
  ...crs,
});

/** Places the cells of a band in rows and columns, or refuses to. */
export type PlaceOf<P> = (place: Georeference, file: string) => P;

/**
 * Opens a band of a GeoTIFF. `placeOf` makes of its placement what is told of it.
 *
 * @param input - A file's path, its address, its bytes, or a blob.
 */
export async function openPlacedBand<P>(
  input: string | Uint8Array | BlobLike,
  options: GeoTiffOptions,
  platform: TiffPlatform,
  placeOf: PlaceOf<P>,
): Promise<GeoTiffCells & P> {
  const source = await openInput(input, platform.openFile, options);
  const beside = besideOf(input, platform.openFile, options.beside);
  return openOver(source, () => openBand(source, options, platform, beside, placeOf));
}

/** Opens a band of a GeoTIFF on a page or on Node, as `openGeoTiff` does. */
export function openBandOn(
  platform: TiffPlatform,
  input: string | Uint8Array | BlobLike,
  options: GeoTiffOptions,
): Promise<GeoTiffSource> {
  requireArguments('openGeoTiff', { input, options }, ARGUMENTS);
  return openPlacedBand(input, options, platform, uprightly);
}

const ARGUMENTS = {
  input: eitherOf(
    'the path or the address of a file, its bytes as a Uint8Array, or a Blob',
    aText,
    anInstance(Uint8Array, Blob, URL),
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
    beside: optional(anArrayOf(anInstance(Blob))),
    signal: optional(aSignal),
  }),
};

/** Opens a band of bytes that are open, with the files beside it. */
export async function openBand<P>(
  source: ByteSource,
  options: GeoTiffOptions,
  platform: TiffPlatform,
  besideIt: Beside | undefined,
  placeOf: PlaceOf<P>,
): Promise<GeoTiffCells & P> {
  const notes: Note[] = [];
  const isFarAway = source.announce !== undefined;
  if (isFarAway) notes.push(NOT_BESIDE);
  const around = isFarAway ? undefined : besideIt;
  const directory = await readDirectory(source);
  const { approximate, mask } = options;
  const isMasked = mask !== 'none';
  const image = await chooseImage({ source, directory, beside: around, approximate, isMasked }, notes);
  try {
    return await openImage(
      { source, directory, only: besideIt?.only, around, image, platform, notes },
      options,
      placeOf,
    );
  } catch (error) {
    await image.close();
    throw error;
  }
}

interface OpeningBand {
  readonly source: ByteSource;
  readonly directory: TiffDirectory;
  /** What tells the file from all others; undefined for bytes in memory. */
  readonly only: string | undefined;
  readonly around: Beside | undefined;
  readonly image: TiffImage;
  readonly platform: TiffPlatform;
  readonly notes: Note[];
}

async function openImage<P>(
  { source, directory, only, around, image, platform, notes }: OpeningBand,
  options: GeoTiffOptions,
  placeOf: PlaceOf<P>,
): Promise<GeoTiffCells & P> {
  const { file } = source;
  const band = options.band ?? 1;
  const { maxBlockBytes = 512 * 2 ** 20 } = options;
  const stored = await readLayout(image.source, image.directory, band, maxBlockBytes);
  const checkBlocks = (of: BandLayout, name: string): void => checkBlockSize(of, maxBlockBytes, name);
  checkBlocks(stored, file);
  const beside = await readSideFile(around, band, notes);
  const stated = await readGeoreference(directory, file, around, beside, notes);
  const place = placeOf({ ...stated, geoTransform: placedBy(stated.geoTransform, image) }, file);
  const inFile = { nodata: await directory.text('gdalNodata'), ...(await scalingInFile(directory, band)) };
  const srs = beside.srs === undefined ? undefined : (stated.crs ?? stated.ownCrs ?? 'unknown');
  const taken = { ...beside, srs, nodata: options.nodata === undefined ? beside.nodata : undefined };
  noteSideFile(taken, { ...inFile, ...(await placesInTags(directory)) }, around?.path, notes);
  const nodataText = beside.nodata ?? inFile.nodata;
  const nodata = readNodata(options.nodata === undefined ? nodataText : String(options.nodata), stored.sample, notes);
  const layout = withMissing(stored, nodata);
  await noteLosses(image.source, layout, platform.codecs, nodata, notes);
  if (layout.sample === 'f32' && layout.bits === 16) noteHalves(nodata, notes);
  noteOrientation((await directory.number('orientation')) ?? 1, notes);
  noteColours((await directory.number('photometricInterpretation')) ?? 1, band, notes);
  const fill = fillValue(nodataText, layout.sample);
  noteBlocks(layout, fill, notes);
  const texts = { scale: beside.scale ?? inFile.scale, offset: beside.offset ?? inFile.offset };
  const scaling = usedScaling(texts, options.raw ?? false, notes);
  const keepBytes = options.keepBytes ?? 32 * 2 ** 20;
  const isOverview = image.directory !== directory;
  const shape = { layout, band, keepBytes, maxTableBytes: maxBlockBytes };
  const masked = { ...image, isOverview, ...shape, platform, checkBlocks };
  const masks = options.mask === 'none' ? [] : await findMasks(masked, around, notes);
  for (const { name } of masks) {
    notes.push({
      code: 'raster/mask',
      message: `${name} marks the cells without data: where it is 0, a cell has none; --mask none ignores it.`,
    });
  }
  const { bandCache, threads } = options;
  const shared = only === undefined || bandCache === undefined ? undefined : { bandCache, name: only };
  const reader = windowReader({ source: image.source, layout, fill, keepBytes, threads, shared, platform });
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
  codecs: Codecs,
  nodata: number | bigint | undefined,
  notes: Note[],
): Promise<void> {
  if (nodata === undefined || Number.isNaN(nodata)) return;
  const error = await lossOf(source, layout, codecs);
  if (error === undefined) return;
  const message = `The cells are compressed with losses (${error}): where ${nodata} stood beside other values, cells may have values near it, which count as data.`;
  notes.push({ code: 'raster/lossy-nodata', message });
}

/** Describes the losses of a compression; undefined if it has none. */
async function lossOf(source: ByteSource, layout: BandLayout, codecs: Codecs): Promise<string | undefined> {
  if (layout.compression === 'jpeg') return 'JPEG';
  const error = layout.compression === 'lerc' ? await lercError(source, layout, codecs) : 0;
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
function noteSideFile(beside: SideFile, inFile: SideFile, path: string | undefined, notes: Note[]): void {
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
