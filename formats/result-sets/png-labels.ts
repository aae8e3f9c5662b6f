import { decode } from 'fast-png';
import { Unzlib } from 'fflate';
import { messageOf } from '../../primitives/checks/message-of.ts';
import { overMemory } from '../memory.ts';
import { type LabelRows, type Labels, rowsOf } from './label-rows.ts';
import { damagedPng, type PngChunks, readPngChunks, withoutAncillary } from './png-chunks.ts';

/**
 * Opens a PNG whose grey values or palette indices of 1 to 16 bits are labels. Only two rows are decompressed at a
 * time. An interlaced PNG is decompressed as a whole, because its rows are not stored in order.
 *
 * @throws FormatError if the file is damaged, has colours or transparency, or is interlaced with fewer than 8 bits.
 * @throws OutOfMemoryError `memory/limit` if two rows, or the whole of an interlaced image, take more than
 * `memoryBytes`.
 */
export function openPngLabels(
  bytes: Uint8Array,
  file: string,
  memoryBytes: number = Number.POSITIVE_INFINITY,
): LabelRows {
  const png = readPngChunks(bytes, file);
  const { width, height, depth, interlaced, stride } = png;
  const needed = interlaced ? WHOLE_FACTOR * stride * height : ROW_FACTOR * width;
  if (needed > memoryBytes) {
    throw overMemory('The PNG is too large to be read.', {
      needed,
      what: `${width} × ${height} labels of ${depth} bits${interlaced ? ', interlaced' : ''}`,
      allowed: memoryBytes,
      instead: interlaced ? 'save the image without interlacing' : 'compare smaller tiles',
      place: { file },
    });
  }
  if (interlaced) return rowsOf(decodeWhole(bytes, file), width, height);
  return { width, height, each: (visit) => eachRow(png, visit, file) };
}

/**
 * Bytes of memory per byte of an interlaced image. They are used for decompressed pieces, for the concatenation of the
 * pieces, and for decoded samples.
 */
const WHOLE_FACTOR = 4;
/**
 * Bytes of memory per pixel of a row. They are used for two rows of up to two bytes per pixel, for their samples, and
 * for copies while arrays grow.
 */
const ROW_FACTOR = 12;

/** Decodes a PNG of 8 or 16 bits as a whole, which an interlaced one needs. */
export function decodeWhole(bytes: Uint8Array, file: string): Uint8Array | Uint16Array {
  const needed = withoutAncillary(bytes, file);
  try {
    return decode(needed).data as Uint8Array | Uint16Array;
  } catch (cause) {
    throw damagedPng(messageOf(cause), file, cause);
  }
}

/** Number of compressed bytes that are decompressed at a time. After decompression, they are at most 16 MiB. */
const PIECE = 2 ** 14;

function eachRow(png: PngChunks, visit: (row: Labels) => void, file: string): void {
  const { height, stride } = png;
  // A line consists of one byte, which is the number of the PNG filter, and the filtered bytes of a row of pixels.
  let [line, above] = [new Uint8Array(1 + stride), new Uint8Array(1 + stride)];
  const samples = samplesOf(png);
  let [filled, rows] = [0, 0];
  const take = (unpacked: Uint8Array): void => {
    for (let at = 0; at < unpacked.length && rows < height; ) {
      const length = Math.min(line.length - filled, unpacked.length - at);
      line.set(unpacked.subarray(at, at + length), filled);
      at += length;
      filled += length;
      if (filled < line.length) return;
      if (!unfilter(line, above, Math.max(1, png.depth >> 3))) throw damagedPng(`filter ${line[0]}`, file);
      visit(samples(line));
      [line, above, filled] = [above, line, 0];
      rows++;
    }
  };
  for (const piece of inflated(png.data, file)) {
    take(piece);
    if (rows === height) return;
  }
  throw damagedPng(`${rows} of ${height} rows`, file);
}

/** Decompresses data piece by piece, to bound the memory. */
function* inflated(data: readonly Uint8Array[], file: string): Generator<Uint8Array> {
  let ready: Uint8Array[] = [];
  const inflate = new Unzlib((unpacked) => ready.push(unpacked));
  const push = (bytes: Uint8Array, isLast: boolean): Uint8Array[] => {
    ready = [];
    try {
      inflate.push(bytes, isLast);
    } catch (cause) {
      throw damagedPng(messageOf(cause), file, cause);
    }
    return ready;
  };
  for (const part of data) {
    for (let at = 0; at < part.length; at += PIECE) yield* push(part.subarray(at, at + PIECE), false);
  }
  yield* push(new Uint8Array(0), true);
}

/**
 * Undoes the PNG filter of a row in place. Byte 0 of `line` is the number of the filter. Returns false if the filter is
 * unknown.
 */
export function unfilter(line: Uint8Array, above: Uint8Array, pixel: number): boolean {
  const filter = line[0]!;
  if (filter > 4) return false;
  const { length } = line;
  if (filter === 1) {
    for (let at = 1 + pixel; at < length; at++) line[at]! += line[at - pixel]!;
  } else if (filter === 2) {
    for (let at = 1; at < length; at++) line[at]! += above[at]!;
  } else if (filter === 3) {
    for (let at = 1; at <= pixel && at < length; at++) line[at]! += above[at]! >> 1;
    for (let at = 1 + pixel; at < length; at++) line[at]! += (line[at - pixel]! + above[at]!) >> 1;
  } else if (filter === 4) {
    for (let at = 1; at <= pixel && at < length; at++) line[at]! += above[at]!;
    for (let at = 1 + pixel; at < length; at++) {
      line[at]! += nearest(line[at - pixel]!, above[at]!, above[at - pixel]!);
    }
  }
  return true;
}

/** Paeth predictor of PNG: of the values left, above and upper left, the one nearest to left + above − upper left. */
function nearest(left: number, above: number, corner: number): number {
  const [toLeft, toAbove] = [Math.abs(above - corner), Math.abs(left - corner)];
  const toCorner = Math.abs(left + above - 2 * corner);
  if (toLeft <= toAbove && toLeft <= toCorner) return left;
  return toAbove <= toCorner ? above : corner;
}

/** Returns a function that extracts the samples of a row. Each call may overwrite the result of the previous call. */
export function samplesOf({
  width,
  depth,
}: Pick<PngChunks, 'width' | 'depth'>): (line: Uint8Array) => Uint8Array | Uint16Array {
  if (depth === 8) return (line) => line.subarray(1);
  if (depth === 16) {
    const row = new Uint16Array(width);
    return (line) => {
      for (let x = 0, at = 1; x < width; x++, at += 2) row[x] = (line[at]! << 8) | line[at + 1]!;
      return row;
    };
  }
  const row = new Uint8Array(width);
  const mask = (1 << depth) - 1;
  return (line) => {
    for (let x = 0, bit = 8; x < width; x++, bit += depth) row[x] = (line[bit >> 3]! >> (8 - depth - (bit & 7))) & mask;
    return row;
  };
}
