import { FormatError } from '../../../primitives/checks/errors.ts';
import { viewOf } from '../../bytes/byte-arrays.ts';
import { type ByteSource, truncated } from './byte-source.ts';

/** Numbers of the tags that this package uses, from TIFF 6.0, GeoTIFF 1.1 and GDAL. */
export const TAG = {
  newSubfileType: 254,
  imageWidth: 256,
  imageLength: 257,
  bitsPerSample: 258,
  compression: 259,
  photometricInterpretation: 262,
  fillOrder: 266,
  imageDescription: 270,
  stripOffsets: 273,
  orientation: 274,
  samplesPerPixel: 277,
  rowsPerStrip: 278,
  stripByteCounts: 279,
  xResolution: 282,
  yResolution: 283,
  planarConfiguration: 284,
  resolutionUnit: 296,
  predictor: 317,
  colorMap: 320,
  tileWidth: 322,
  tileLength: 323,
  tileOffsets: 324,
  tileByteCounts: 325,
  extraSamples: 338,
  sampleFormat: 339,
  jpegTables: 347,
  modelPixelScale: 33550,
  modelTiepoint: 33922,
  modelTransformation: 34264,
  geoKeyDirectory: 34735,
  geoDoubleParams: 34736,
  geoAsciiParams: 34737,
  gdalMetadata: 42112,
  gdalNodata: 42113,
  lercParameters: 50674,
} as const;

export type TagName = keyof typeof TAG;

/**
 * An image file directory of a TIFF. The values of a tag are not read before they are requested. Before memory is
 * allocated for the values, their size is compared with the size of the file.
 */
export interface TiffDirectory {
  /** Byte offset of the directory in the file. */
  readonly offset: number;
  readonly littleEndian: boolean;
  /** Number of values of a tag; 0 if the tag is absent. */
  count(tag: TagName): number;
  /** Returns the first `max` (default 65,536) values of a numeric tag; undefined if the tag is absent. */
  numbers(tag: TagName, max?: number): Promise<Float64Array | undefined>;
  /** The first value of a numeric tag; undefined if the tag is absent. */
  number(tag: TagName): Promise<number | undefined>;
  /** Returns the text of an ASCII tag, up to the first NUL and at most `max` bytes; undefined if the tag is absent. */
  text(tag: TagName, max?: number): Promise<string | undefined>;
  /** Reads the next directory; undefined after the last one. */
  next(): Promise<TiffDirectory | undefined>;
}

/** Reads the header and the first directory of a classic TIFF or a BigTIFF, in either byte order. */
export async function readDirectory(source: ByteSource): Promise<TiffDirectory> {
  return readDirectoryAt(source, await readHeader(source));
}

/** Bits of the tag NewSubfileType. REDUCED marks an overview (a reduced image), and MASK marks a mask. */
const REDUCED = 1;
const MASK = 4;

export async function isReduced(directory: TiffDirectory): Promise<boolean> {
  return (((await directory.number('newSubfileType')) ?? 0) & REDUCED) !== 0;
}

export async function isMask(directory: TiffDirectory): Promise<boolean> {
  return (((await directory.number('newSubfileType')) ?? 0) & MASK) !== 0;
}

/**
 * Maximum number of directories. Real files have fewer. In a damaged file, the directories may form an endless cycle.
 */
const MAX_DIRECTORIES = 4096;

/** The directories after one, and whether all of them could be read. */
export async function followingDirectories(
  first: TiffDirectory,
): Promise<{ readonly directories: readonly TiffDirectory[]; readonly isWhole: boolean }> {
  const directories: TiffDirectory[] = [];
  try {
    for (let next = await first.next(); next !== undefined; next = await next.next()) {
      if (directories.push(next) === MAX_DIRECTORIES) return { directories, isWhole: false };
    }
    return { directories, isWhole: true };
  } catch {
    return { directories, isWhole: false };
  }
}

async function readDirectoryAt(source: ByteSource, { littleEndian, big, offset }: Header): Promise<TiffDirectory> {
  const { entries, end } = await readEntries(source, littleEndian, big, offset);
  return {
    offset,
    littleEndian,
    count: (tag) => entries.get(TAG[tag])?.count ?? 0,
    numbers: (tag, max = MAX_VALUES) => readNumbers(source, littleEndian, entries.get(TAG[tag]), tag, max),
    number: async (tag) => (await readNumbers(source, littleEndian, entries.get(TAG[tag]), tag, 1))?.[0],
    text: (tag, max = MAX_TEXT) => readText(source, entries.get(TAG[tag]), tag, max),
    async next() {
      const following = await readNext(source, littleEndian, big, end);
      return following === 0 ? undefined : readDirectoryAt(source, { littleEndian, big, offset: following });
    },
  };
}

/**
 * Reads the byte offset of the next directory, which is stored after the entries of the current directory. The result
 * is 0 if there is no next directory.
 */
async function readNext(source: ByteSource, littleEndian: boolean, big: boolean, at: number): Promise<number> {
  const bytes = big ? 8 : 4;
  if (at + bytes > source.size) return 0;
  const view = viewOf(await source.read(at, bytes));
  return big ? wide(view, 0, littleEndian) : view.getUint32(0, littleEndian);
}

/**
 * Default maximum number of values of a tag. Only the tags with the offsets and sizes of blocks may need more values.
 */
const MAX_VALUES = 65536;

interface Header {
  readonly littleEndian: boolean;
  readonly big: boolean;
  /** Byte offset of the first directory. */
  readonly offset: number;
}

async function readHeader(source: ByteSource): Promise<Header> {
  const view = viewOf(await source.read(0, Math.min(16, source.size)));
  const mark = view.byteLength >= 8 ? view.getUint16(0) : 0;
  if (mark !== LITTLE && mark !== BIG) throw notTiff(source.file, view);
  const littleEndian = mark === LITTLE;
  const version = view.getUint16(2, littleEndian);
  if (version === 42) return { littleEndian, big: false, offset: view.getUint32(4, littleEndian) };
  if (version !== 43 || view.byteLength < 16 || view.getUint16(4, littleEndian) !== 8) throw notTiff(source.file, view);
  return { littleEndian, big: true, offset: wide(view, 8, littleEndian) };
}

const LITTLE = 0x4949;
const BIG = 0x4d4d;
const GZIP = 0x1f8b;

function notTiff(file: string, head: DataView): FormatError {
  const isGzipped = head.byteLength >= 2 && head.getUint16(0) === GZIP;
  return new FormatError('format/not-tiff', 'The file is not a TIFF.', {
    expected: 'a header of TIFF or BigTIFF',
    got: isGzipped ? 'a gzip file' : head.byteLength < 16 ? `a file of ${head.byteLength} bytes` : 'other bytes',
    remedy: isGzipped
      ? 'Unpack it first, for example with gunzip.'
      : 'Rasters are read from GeoTIFF: convert other formats, for example with gdal_translate.',
    place: { file },
  });
}

/**
 * An entry of a directory. `offset` is the position of the entry's values, which are in the entry itself or elsewhere
 * in the file.
 */
interface Entry {
  readonly type: number;
  readonly count: number;
  readonly offset: number;
}

/**
 * Maximum number of entries in a directory. Real directories have fewer entries. Without this limit, a damaged BigTIFF
 * could cause an allocation of gigabytes.
 */
const MAX_ENTRIES = 65535;

async function readEntries(
  source: ByteSource,
  littleEndian: boolean,
  big: boolean,
  offset: number,
): Promise<{ readonly entries: ReadonlyMap<number, Entry>; readonly end: number }> {
  const [countBytes, entryBytes, inlineBytes] = big ? [8, 20, 8] : [2, 12, 4];
  const head = viewOf(await source.read(offset, countBytes));
  const count = big ? wide(head, 0, littleEndian) : head.getUint16(0, littleEndian);
  if (count === 0 || count > MAX_ENTRIES) throw damaged(source.file, `its directory has ${count} entries`);
  const view = viewOf(await source.read(offset + countBytes, count * entryBytes));
  const entries = new Map<number, Entry>();
  for (let at = 0; at < view.byteLength; at += entryBytes) {
    const tag = view.getUint16(at, littleEndian);
    const type = view.getUint16(at + 2, littleEndian);
    const values = big ? wide(view, at + 4, littleEndian) : view.getUint32(at + 4, littleEndian);
    const inline = (TYPES.get(type)?.bytes ?? 1) * values <= inlineBytes;
    const valueAt = at + entryBytes - inlineBytes;
    const elsewhere = big ? wide(view, valueAt, littleEndian) : view.getUint32(valueAt, littleEndian);
    if (!entries.has(tag)) {
      entries.set(tag, { type, count: values, offset: inline ? offset + countBytes + valueAt : elsewhere });
    }
  }
  return { entries, end: offset + countBytes + view.byteLength };
}

interface FieldType {
  readonly bytes: number;
  readonly get: (view: DataView, at: number, littleEndian: boolean) => number;
}

const TYPES: ReadonlyMap<number, FieldType> = new Map([
  [1, { bytes: 1, get: (view, at) => view.getUint8(at) }],
  [2, { bytes: 1, get: (view, at) => view.getUint8(at) }],
  [3, { bytes: 2, get: (view, at, little) => view.getUint16(at, little) }],
  [4, { bytes: 4, get: (view, at, little) => view.getUint32(at, little) }],
  [5, { bytes: 8, get: (view, at, little) => view.getUint32(at, little) / view.getUint32(at + 4, little) }],
  [6, { bytes: 1, get: (view, at) => view.getInt8(at) }],
  [7, { bytes: 1, get: (view, at) => view.getUint8(at) }],
  [8, { bytes: 2, get: (view, at, little) => view.getInt16(at, little) }],
  [9, { bytes: 4, get: (view, at, little) => view.getInt32(at, little) }],
  [11, { bytes: 4, get: (view, at, little) => view.getFloat32(at, little) }],
  [12, { bytes: 8, get: (view, at, little) => view.getFloat64(at, little) }],
  [13, { bytes: 4, get: (view, at, little) => view.getUint32(at, little) }],
  [16, { bytes: 8, get: wide }],
  [18, { bytes: 8, get: wide }],
]);

const ASCII = 2;

async function readNumbers(
  source: ByteSource,
  littleEndian: boolean,
  entry: Entry | undefined,
  tag: TagName,
  max: number,
): Promise<Float64Array | undefined> {
  if (entry === undefined) return undefined;
  const type = TYPES.get(entry.type);
  if (type === undefined || entry.count === 0) throw badTag(source.file, tag);
  const count = Math.min(entry.count, max);
  const view = viewOf(await readValues(source, entry, count * type.bytes, tag));
  return Float64Array.from({ length: count }, (_, i) => type.get(view, i * type.bytes, littleEndian));
}

/** Default maximum length of a text in bytes, enough for any number written as text. */
const MAX_TEXT = 1024;

async function readText(
  source: ByteSource,
  entry: Entry | undefined,
  tag: TagName,
  max: number,
): Promise<string | undefined> {
  if (entry === undefined) return undefined;
  if (entry.type !== ASCII) throw badTag(source.file, tag);
  const bytes = await readValues(source, entry, Math.min(entry.count, max), tag);
  const end = bytes.indexOf(0);
  return new TextDecoder('latin1').decode(end === -1 ? bytes : bytes.subarray(0, end));
}

function readValues(source: ByteSource, entry: Entry, length: number, tag: TagName): Promise<Uint8Array> {
  if (!(entry.offset + length <= source.size)) {
    throw truncated(source.file, source.size, entry.offset, length, `The tag ${tag}`);
  }
  return source.read(entry.offset, length);
}

function badTag(file: string, tag: TagName): FormatError {
  return damaged(file, `its tag ${tag} has no values of a type it may have`);
}

/** The error for a TIFF that contradicts itself or violates the standard. */
export function damaged(file: string, reason: string): FormatError {
  return new FormatError('format/damaged-tiff', `The TIFF is damaged: ${reason}.`, {
    remedy: 'Copy or download the file again, or rewrite it with gdal_translate.',
    place: { file },
  });
}

/**
 * Reads a 64-bit unsigned number as f64. The result is exact up to 2^53. A greater number exceeds the size of any file,
 * so it need not be exact.
 */
function wide(view: DataView, at: number, littleEndian: boolean): number {
  return Number(view.getBigUint64(at, littleEndian));
}
