import { isFloat, SAMPLE_BYTES, type Sample } from '../../../algorithms/geometry/raster.ts';
import { FormatError } from '../../../primitives/checks/errors.ts';
import { UsageError } from '../../usage-error.ts';
import type { JpegColours } from '../jpeg.ts';
import { type ByteSource, truncated } from './byte-source.ts';
import { damaged, type TiffDirectory } from './directory.ts';
import { LERC_SAMPLES, type LercShape } from './lerc.ts';
import type { SampleBytes } from './samples.ts';

/** Compression of blocks. */
export type Compression = 'none' | 'lzw' | 'deflate' | 'packbits' | 'zstd' | 'jpeg' | 'lerc';

/**
 * Predictor that was applied to the samples of a block before compression: `difference` (predictor 2) stores
 * differences along the row, and `float` (predictor 3) stores differences of the bytes of floats.
 */
export type Predictor = 'none' | 'difference' | 'float';

/** How the samples of a block of JPEG are stored. */
export interface JpegCoding {
  readonly colours: JpegColours;
  /** Tables that all blocks share, as a JPEG without an image; none if it is empty. */
  readonly tables: Uint8Array;
}

/** How the samples of a block of LERC are stored. */
export interface LercCoding extends Pick<LercShape, 'sample' | 'hasAlpha' | 'missing'> {
  /** The compression of its blobs. */
  readonly packing: 'none' | 'deflate' | 'zstd';
}

/** How the samples of a block are stored. */
export interface BlockCoding {
  /** The type of the cells. Samples of fewer bits become such cells when they are copied to their places. */
  readonly sample: Sample;
  /** Number of bits of a sample in the file. With 1, 2 or 4, each row of a block begins with a new byte. */
  readonly bits: number;
  readonly littleEndian: boolean;
  readonly compression: Compression;
  readonly predictor: Predictor;
  /** What decoding a JPEG or LERC needs besides; undefined for other compressions. */
  readonly jpeg: JpegCoding | undefined;
  readonly lerc: LercCoding | undefined;
  readonly blockColumns: number;
  readonly blockRows: number;
  /** Number of bands that are interleaved in a block. `position` is the index of this band among them. */
  readonly interleaved: number;
  readonly position: number;
}

/** Where the cells of one band are stored in the file. */
export interface BandLayout extends BlockCoding {
  readonly width: number;
  readonly height: number;
  /** Number of bands of the file. */
  readonly bands: number;
  readonly tiled: boolean;
  /** Number of blocks side by side. `blocks` is the number of all blocks of this band. */
  readonly blocksAcross: number;
  readonly blocks: number;
  /**
   * Byte offset and length of each block of this band. Both are 0 for a block that is omitted from the file (sparse
   * files).
   */
  readonly offsets: Float64Array;
  readonly byteCounts: Float64Array;
}

/**
 * Determines where the cells of a band are stored. Throws if an encoding is not supported; the error names the
 * encoding. Checks that every block lies inside the file, and that it has enough bytes to expand to its decompressed
 * size.
 *
 * @param maxTableBytes - Maximum bytes of the offsets and lengths of blocks.
 */
export async function readLayout(
  source: ByteSource,
  directory: TiffDirectory,
  band: number,
  maxTableBytes: number = MAX_TABLE_BYTES,
): Promise<BandLayout> {
  const { file } = source;
  const width = await sizeTag(directory, 'imageWidth', file);
  const height = await sizeTag(directory, 'imageLength', file);
  const samples = (await directory.number('samplesPerPixel')) ?? 1;
  checkBand(band, samples, file);
  const compression = await readCompression(directory, file);
  const bits = (await directory.number('bitsPerSample')) ?? 1;
  if (compression === 'jpeg' && bits !== 8) throw unsupported('compression', `JPEG of ${bits} bits`, file);
  const stored = await readSample(directory, samples, band, file);
  const separate = await readSeparate(directory, file);
  const interleaved = separate ? 1 : samples;
  const colours = await readColours(directory, compression, samples, separate, file);
  const grid = await readBlockGrid(directory, width, height, file);
  checkTable((separate ? band : 1) * grid.blocks, maxTableBytes, file);
  const shape: BlockShape = { ...grid, width, cellBits: interleaved * stored.bits };
  const firstBlock = separate ? (band - 1) * grid.blocks : 0;
  const { offsets, byteCounts } = await readBlocks(source, directory, shape, height, firstBlock, compression);
  return {
    ...grid,
    width,
    height,
    bands: samples,
    ...stored,
    littleEndian: directory.littleEndian,
    compression,
    predictor: await readPredictor(directory, compression, stored, file),
    jpeg: compression === 'jpeg' ? await readJpegCoding(directory, interleaved, colours, file) : undefined,
    lerc: compression === 'lerc' ? await readLercCoding(directory, stored, separate, file) : undefined,
    interleaved,
    position: separate ? 0 : band - 1,
    offsets,
    byteCounts,
  };
}

/** Default maximum bytes of the offsets and lengths of blocks. */
const MAX_TABLE_BYTES = 2 ** 29;
const BYTES_PER_BLOCK = 16;

/** Refuses more offsets and lengths than there is room for, before they are read. */
function checkTable(blocks: number, maxTableBytes: number, file: string): void {
  if (blocks * BYTES_PER_BLOCK <= maxTableBytes) return;
  const most = Math.floor(maxTableBytes / BYTES_PER_BLOCK);
  throw new FormatError('format/too-many-blocks', 'The TIFF has more blocks than there is memory for.', {
    expected: `at most ${most} blocks`,
    got: `${blocks} blocks`,
    remedy: 'Raise the limit (--memory), or rewrite the file in larger tiles with gdal_translate -co TILED=YES.',
    place: { file },
  });
}

async function sizeTag(
  directory: TiffDirectory,
  tag: 'imageWidth' | 'imageLength' | 'tileWidth' | 'tileLength',
  file: string,
): Promise<number> {
  const size = await directory.number(tag);
  if (size !== undefined && size >= 1 && size < 2 ** 31) return size;
  throw damaged(file, `its ${tag} is ${size ?? 'missing'}`);
}

function checkBand(band: number, samples: number, file: string): void {
  if (samples < 1) throw damaged(file, `it has ${samples} samples per pixel`);
  if (Number.isInteger(band) && band >= 1 && band <= samples) return;
  throw new UsageError('usage/unknown-band', `The raster has no band ${band}.`, {
    expected: samples === 1 ? 'band 1, the only one' : `a band from 1 to ${samples}`,
    got: band,
    remedy: 'Choose a band that is there.',
    place: { file },
  });
}

/** The type of the cells, and the number of bits of a sample in the file. */
type StoredSample = Pick<BlockCoding, 'sample' | 'bits'>;

async function readSample(
  directory: TiffDirectory,
  samples: number,
  band: number,
  file: string,
): Promise<StoredSample> {
  const bits = (await directory.numbers('bitsPerSample', samples)) ?? Float64Array.of(1);
  const formats = (await directory.numbers('sampleFormat', samples)) ?? Float64Array.of(1);
  const names = Array.from({ length: Math.min(samples, Math.max(bits.length, formats.length)) }, (_, i) =>
    describeSample(formats[i] ?? formats[0]!, bits[i] ?? bits[0]!),
  );
  const name = names[band - 1] ?? names[0]!;
  if (names.some((other) => other !== name)) {
    throw unsupported('sample-type', `bands of different types (${[...new Set(names)].join(', ')})`, file);
  }
  const sample = NARROW[name] ?? name;
  if (Object.hasOwn(SAMPLE_BYTES, sample)) return { sample: sample as Sample, bits: bits[band - 1] ?? bits[0]! };
  throw unsupported('sample-type', `samples of type ${name}`, file);
}

/** The cells that samples of fewer bits become, by the names of such samples. */
const NARROW: Readonly<Record<string, Sample>> = {
  '1-bit unsigned': 'u8',
  '2-bit unsigned': 'u8',
  '4-bit unsigned': 'u8',
  f16: 'f32',
};

/** Name of a sample type in error messages, such as `u16`, `f64`, `4-bit unsigned` or `complex f32`. */
function describeSample(format: number, bits: number): string {
  const whole = bits === 8 || bits === 16 || bits === 32 || bits === 64;
  if (format === 1 || format === 4) return whole ? `u${bits}` : `${bits}-bit unsigned`;
  if (format === 2) return whole ? `i${bits}` : `${bits}-bit signed`;
  if (format === 3) return `f${bits}`;
  return format === 5 || format === 6 ? `complex ${format === 5 ? 'i' : 'f'}${bits / 2}` : `format ${format}`;
}

async function readSeparate(directory: TiffDirectory, file: string): Promise<boolean> {
  const configuration = (await directory.number('planarConfiguration')) ?? 1;
  if (configuration !== 1 && configuration !== 2) throw damaged(file, `its planarConfiguration is ${configuration}`);
  if (((await directory.number('fillOrder')) ?? 1) !== 1) throw unsupported('fill-order', 'reversed bits', file);
  return configuration === 2;
}

/** The number of colours that are luma and chroma. */
export const YCBCR = 6;

/** How the samples of colours are returned. Luma and chroma become red, green and blue, which only JPEG does here. */
async function readColours(
  directory: TiffDirectory,
  compression: Compression,
  samples: number,
  separate: boolean,
  file: string,
): Promise<JpegColours> {
  if ((await directory.number('photometricInterpretation')) !== YCBCR) return 'stored';
  if (compression !== 'jpeg') throw unsupported('colours', 'YCbCr colours without JPEG', file);
  if (separate) throw unsupported('colours', 'YCbCr colours in separate bands', file);
  if (samples !== 3) throw unsupported('colours', `YCbCr colours in ${samples} bands`, file);
  return 'rgb';
}

async function readCompression(directory: TiffDirectory, file: string): Promise<Compression> {
  const code = (await directory.number('compression')) ?? 1;
  const compression = COMPRESSIONS.get(code);
  if (compression !== undefined) return compression;
  throw unsupported('compression', `the compression ${OTHER_COMPRESSIONS.get(code) ?? `with code ${code}`}`, file);
}

const COMPRESSIONS: ReadonlyMap<number, Compression> = new Map([
  [1, 'none'],
  [5, 'lzw'],
  [7, 'jpeg'],
  [8, 'deflate'],
  [32946, 'deflate'],
  [32773, 'packbits'],
  [34887, 'lerc'],
  [50000, 'zstd'],
]);

const OTHER_COMPRESSIONS: ReadonlyMap<number, string> = new Map([
  [2, 'CCITT RLE'],
  [3, 'CCITT T.4'],
  [4, 'CCITT T.6'],
  [6, 'old-style JPEG'],
  [34712, 'JPEG 2000'],
  [34925, 'LZMA'],
  [50001, 'WebP'],
  [50002, 'JPEG XL'],
]);

function unsupported(what: string, name: string, file: string): FormatError {
  return new FormatError(`format/unsupported-${what}`, `The TIFF has ${name}, which this reader does not decode.`, {
    expected: EXPECTED[what],
    got: name,
    remedy: what === 'sample-type' ? OTHER_TYPE : 'Rewrite it with gdal_translate -co COMPRESS=DEFLATE.',
    place: { file },
  });
}

const OTHER_TYPE =
  'Rewrite it with gdal_translate -ot Float64 -co COMPRESS=DEFLATE, which keeps values of up to 53 bits.';

const EXPECTED: Readonly<Record<string, string>> = {
  compression: 'none, deflate, LZW, PackBits, Zstandard, JPEG of 8 bits with 1 to 4 bands in a block, or LERC',
  'sample-type':
    'u8, i8, u16, i16, u32, i32, u64, i64, f16, f32, f64, or 1, 2 or 4 bits without a sign, the same in all bands',
  colours: 'grey, palette, RGB, or YCbCr of three bands together with JPEG',
  'fill-order': 'the high bit first',
};

async function readPredictor(
  directory: TiffDirectory,
  compression: Compression,
  { sample, bits }: StoredSample,
  file: string,
): Promise<Predictor> {
  const code = (await directory.number('predictor')) ?? 1;
  const applies = compression === 'lzw' || compression === 'deflate' || compression === 'zstd';
  if (code === 1 || !applies) return 'none';
  if (code === 2 && bits >= 8) return 'difference';
  if (code === 3 && isFloat(sample)) return 'float';
  throw damaged(file, `its predictor is ${code} on samples of ${bits} bits (${sample})`);
}

/** Maximum bytes of the tables of a JPEG that stand in a tag. They need fewer than 3,000. */
const MAX_TABLES = 2 ** 16;

async function readJpegCoding(
  directory: TiffDirectory,
  interleaved: number,
  colours: JpegColours,
  file: string,
): Promise<JpegCoding> {
  if (interleaved > 4) throw unsupported('compression', `JPEG of ${interleaved} bands together`, file);
  const tables = (await directory.numbers('jpegTables', MAX_TABLES)) ?? new Float64Array();
  return { colours, tables: Uint8Array.from(tables) };
}

/** Compression of blobs of LERC, by the second number of the tag LercParameters. */
const LERC_PACKINGS = ['none', 'deflate', 'zstd'] as const;
/** The values of the tag ExtraSamples for an alpha band that colours are not premultiplied by. */
const UNASSOCIATED_ALPHA = 2;

async function readLercCoding(
  directory: TiffDirectory,
  { sample, bits }: StoredSample,
  separate: boolean,
  file: string,
): Promise<LercCoding> {
  const typed = LERC_SAMPLES.find((each) => each === sample && bits === 8 * SAMPLE_BYTES[sample]);
  if (typed === undefined) throw damaged(file, `it has LERC of samples of ${bits} bits (${sample})`);
  const [, code = 0] = (await directory.numbers('lercParameters', 2)) ?? [];
  const packing = LERC_PACKINGS[code];
  if (packing === undefined) throw unsupported('compression', `LERC with a compression of code ${code}`, file);
  const extra = (await directory.numbers('extraSamples')) ?? new Float64Array();
  return { sample: typed, packing, hasAlpha: !separate && extra.at(-1) === UNASSOCIATED_ALPHA, missing: undefined };
}

interface BlockGrid {
  readonly tiled: boolean;
  readonly blockColumns: number;
  readonly blockRows: number;
  readonly blocksAcross: number;
  readonly blocks: number;
}

interface BlockShape extends BlockGrid {
  readonly width: number;
  /** Number of bits of all interleaved samples of a cell. */
  readonly cellBits: number;
}

async function readBlockGrid(
  directory: TiffDirectory,
  width: number,
  height: number,
  file: string,
): Promise<BlockGrid> {
  // As in libtiff, the size of tiles decides: some writers store the offsets of tiles under the tags of strips.
  const tiled = directory.count('tileWidth') > 0;
  const blockColumns = tiled ? await sizeTag(directory, 'tileWidth', file) : width;
  const blockRows = tiled
    ? await sizeTag(directory, 'tileLength', file)
    : Math.min(height, (await directory.number('rowsPerStrip')) || height);
  if (!(blockRows >= 1)) throw damaged(file, `its rowsPerStrip is ${blockRows}`);
  const blocksAcross = Math.ceil(width / blockColumns);
  return { tiled, blockColumns, blockRows, blocksAcross, blocks: blocksAcross * Math.ceil(height / blockRows) };
}

/**
 * More bytes than heads and tables of a compressed block have. Besides, no compression makes the cells of a block twice as
 * long.
 */
const LONGEST_HEADS = 2 ** 20;

async function readBlocks(
  source: ByteSource,
  directory: TiffDirectory,
  shape: BlockShape,
  height: number,
  first: number,
  compression: Compression,
): Promise<{ offsets: Float64Array; byteCounts: Float64Array }> {
  const end = first + shape.blocks;
  const isOfTiles = directory.count('tileOffsets') > 0;
  const offsetTag = isOfTiles ? 'tileOffsets' : 'stripOffsets';
  const countTag = directory.count('tileByteCounts') > 0 ? 'tileByteCounts' : 'stripByteCounts';
  const counted = directory.count(countTag);
  if (directory.count(offsetTag) < end) {
    throw damaged(source.file, `its ${offsetTag} has ${directory.count(offsetTag)} values for ${end} blocks`);
  }
  if (counted > 0 && counted < end)
    throw damaged(source.file, `its ${countTag} has ${counted} values for ${end} blocks`);
  const offsets = (await directory.numbers(offsetTag, end))!.subarray(first);
  const stated = counted === 0 ? undefined : (await directory.numbers(countTag, end))!.subarray(first);
  // As in libtiff, a count of 0 is no count if there is one block only; among several, it is a block without data.
  const byteCounts =
    stated === undefined || (end === 1 && stated[0] === 0)
      ? deriveCounts(source, shape, height, offsets, compression)
      : stated;
  const mostPacked = 2 * shape.blockRows * bytesOfRow(shape, shape.blockColumns) + LONGEST_HEADS;
  for (let block = 0; block < shape.blocks; block++) {
    checkBlock(source, shape, height, block, offsets[block]!, byteCounts[block]!, compression);
    // The file may end inside the padding of a tile. What is far beyond the cells of a block is not read.
    if (byteCounts[block]! > 0)
      byteCounts[block] = Math.min(byteCounts[block]!, source.size - offsets[block]!, mostPacked);
  }
  return { offsets, byteCounts };
}

/**
 * Finds the lengths of blocks for which the file states none: the number of decompressed bytes if they are uncompressed,
 * else the bytes to the next block or to the end of the file.
 */
function deriveCounts(
  source: ByteSource,
  shape: BlockShape,
  height: number,
  offsets: Float64Array,
  compression: Compression,
): Float64Array {
  const sorted = offsets.toSorted();
  const next = new Map<number, number>();
  for (let at = 0; at < sorted.length; at++) {
    if (sorted[at] !== sorted[at + 1]) next.set(sorted[at]!, sorted[at + 1] ?? source.size);
  }
  return offsets.map((offset, block) => {
    if (offset === 0) return 0;
    if (compression === 'none') return decodedRows(shape, height, block) * bytesOfRow(shape, shape.blockColumns);
    return Math.max(0, next.get(offset)! - offset);
  });
}

/** Maximum number of decompressed bytes per compressed byte. Zstandard repeats a byte 2^17 times in a block of 4 bytes. */
const MAX_EXPANSION: Readonly<Record<Compression, number>> = {
  none: 1,
  packbits: 64,
  deflate: 1032,
  lzw: 4096,
  zstd: 2 ** 15,
  // A block of 64 pixels, of each component, may take a bit; a blob of LERC may say that all cells are equal.
  jpeg: 2 ** 11,
  lerc: Number.POSITIVE_INFINITY,
};

function checkBlock(
  source: ByteSource,
  shape: BlockShape,
  height: number,
  block: number,
  offset: number,
  byteCount: number,
  compression: Compression,
): void {
  if (byteCount === 0) return;
  const bytesInRow = bytesOfRow(shape, shape.blockColumns);
  const bytes = decodedRows(shape, height, block) * bytesInRow;
  const isPadded = shape.tiled && compression === 'none';
  const needed = isPadded ? bytes - padding(shape, block) : Math.ceil(bytes / MAX_EXPANSION[compression]);
  // Only the padding of an uncompressed tile may lie beyond the end of the file.
  const slack = isPadded ? Math.min(byteCount, shape.blockRows * bytesInRow) - needed : 0;
  if (!(offset >= 0 && byteCount >= 0 && offset + byteCount - Math.max(0, slack) <= source.size)) {
    const name = `The ${shape.tiled ? 'tile' : 'strip'} ${block}`;
    throw truncated(source.file, source.size, offset, byteCount, name);
  }
  if (byteCount >= needed) return;
  throw damaged(source.file, `block ${block} has ${byteCount} bytes, too few to decode to ${bytes}`);
}

/** Number of bytes at the end of a block that lie to the right of the raster. */
function padding(shape: BlockShape, block: number): number {
  const { blockColumns, blocksAcross, width } = shape;
  const inside = Math.min(blockColumns, width - (block % blocksAcross) * blockColumns);
  return bytesOfRow(shape, blockColumns) - bytesOfRow(shape, inside);
}

function bytesOfRow({ cellBits }: Pick<BlockShape, 'cellBits'>, columns: number): number {
  return Math.ceil((columns * cellBits) / 8);
}

/**
 * Number of rows of a block that are decoded. The last strip ends with the last row of the raster. The last tiles are
 * padded to their full size, but their padding may be missing in the file.
 */
export function decodedRows(
  { blockRows, blocksAcross }: Pick<BandLayout, 'blockRows' | 'blocksAcross'>,
  height: number,
  block: number,
): number {
  return Math.min(blockRows, height - Math.floor(block / blocksAcross) * blockRows);
}

/** Number of bytes in a row of a block, after decompression. */
export function rowBytes({
  blockColumns,
  interleaved,
  bits,
}: Pick<BlockCoding, 'blockColumns' | 'interleaved' | 'bits'>): number {
  return bytesOfRow({ cellBits: interleaved * bits }, blockColumns);
}

/** Number of bytes of a stored sample; 1 if several samples share a byte. */
export function storedBytes({ bits }: Pick<BlockCoding, 'bits'>): SampleBytes {
  return Math.max(1, bits / 8) as SampleBytes;
}
