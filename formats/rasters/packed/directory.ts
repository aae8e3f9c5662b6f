import { type ByteSource, truncated } from '../tiff/byte-source.ts';
import { crc32c } from './crc32c.ts';
import { damaged, HEADER_BYTES, type PackedLayout, tileGrid } from './layout.ts';
import { blocksOf } from './residuals.ts';
import { maxWidthBytes } from './widths.ts';

/** How the cells of a tile are stored. */
export const CODEC = { constant: 0, raw: 1, residuals: 2, bqTree: 3 } as const;

/**
 * How a tile says which cells have no data. `nodata`, for raw tiles only: those whose stored bits are the nodata value.
 */
export const MASK = { all: 0, none: 1, runs: 2, bitmap: 3, nodata: 4 } as const;

/**
 * Is added to the kind of the mask if all cells of the tile are stored as they are. Otherwise, cells without data are
 * the nodata value of the band, or 0 if it has none, and what is stored in their place means nothing.
 */
export const MASK_OVER_CELLS = 0x80;

/** Entries of the directory as columns, with a row for each tile. */
export interface TileEntries {
  readonly offset: Float64Array;
  /** Bytes of the payload, mask included, and their checksum. */
  readonly bytes: Uint32Array;
  readonly checksum: Uint32Array;
  /** Smallest and largest cell with data, as an ordered word. Both are 0 if there is none. */
  readonly minimum: Uint32Array;
  readonly maximum: Uint32Array;
  /** The bits of the cell from which the first residual is counted, or of all cells of a constant tile. */
  readonly first: Uint32Array;
  readonly codec: Uint8Array;
  readonly mask: Uint8Array;
  readonly maskBytes: Uint16Array;
}

/** Where the parts after the tiles are. */
export interface Footer {
  readonly metadataOffset: number;
  readonly metadataBytes: number;
  readonly metadataChecksum: number;
  readonly directoryOffset: number;
  readonly directoryChecksum: number;
  /** Bytes of the whole file. */
  readonly fileBytes: number;
}

export const ENTRY_BYTES = 32;
export const FOOTER_BYTES = 48;
/** Maximum bytes of the metadata. */
export const MAX_METADATA: number = 2 ** 19;
const FOOTER_MAGIC = 0x45504251; // QBPE

export function emptyEntries(tiles: number): TileEntries {
  const words = () => new Uint32Array(tiles);
  return {
    offset: new Float64Array(tiles),
    bytes: words(),
    checksum: words(),
    minimum: words(),
    maximum: words(),
    first: words(),
    codec: new Uint8Array(tiles),
    mask: new Uint8Array(tiles),
    maskBytes: new Uint16Array(tiles),
  };
}

/** Writes row `tile` of the entries at `at`. */
export function putEntry(view: DataView, at: number, entries: TileEntries, tile: number): void {
  putOffset(view, at, entries.offset[tile]!);
  view.setUint32(at + 8, entries.bytes[tile]!, true);
  view.setUint32(at + 12, entries.checksum[tile]!, true);
  view.setUint32(at + 16, entries.minimum[tile]!, true);
  view.setUint32(at + 20, entries.maximum[tile]!, true);
  view.setUint32(at + 24, entries.first[tile]!, true);
  view.setUint8(at + 28, entries.codec[tile]!);
  view.setUint8(at + 29, entries.mask[tile]!);
  view.setUint16(at + 30, entries.maskBytes[tile]!, true);
}

/** Reads the entries of `count` tiles into the first rows of `entries`. */
function takeEntries(view: DataView, count: number, entries: TileEntries): void {
  const { offset, bytes, checksum, minimum, maximum, first, codec, mask, maskBytes } = entries;
  for (let tile = 0, at = 0; tile < count; tile++, at += ENTRY_BYTES) {
    offset[tile] = view.getUint32(at, true) + 2 ** 32 * view.getUint32(at + 4, true);
    bytes[tile] = view.getUint32(at + 8, true);
    checksum[tile] = view.getUint32(at + 12, true);
    minimum[tile] = view.getUint32(at + 16, true);
    maximum[tile] = view.getUint32(at + 20, true);
    first[tile] = view.getUint32(at + 24, true);
    codec[tile] = view.getUint8(at + 28);
    mask[tile] = view.getUint8(at + 29);
    maskBytes[tile] = view.getUint16(at + 30, true);
  }
}

function putOffset(view: DataView, at: number, offset: number): void {
  view.setBigUint64(at, BigInt(offset), true);
}

function takeOffset(view: DataView, at: number): number {
  return view.getUint32(at, true) + 2 ** 32 * view.getUint32(at + 4, true);
}

export function encodeFooter(footer: Footer): Uint8Array {
  const bytes = new Uint8Array(FOOTER_BYTES);
  const view = new DataView(bytes.buffer);
  putOffset(view, 0, footer.metadataOffset);
  view.setUint32(8, footer.metadataBytes, true);
  view.setUint32(12, footer.metadataChecksum, true);
  putOffset(view, 16, footer.directoryOffset);
  view.setUint32(24, footer.directoryChecksum, true);
  putOffset(view, 32, footer.fileBytes);
  view.setUint32(40, crc32c(bytes.subarray(0, 40)), true);
  view.setUint32(44, FOOTER_MAGIC, true);
  return bytes;
}

/** Reads the footer, and checks that the parts follow each other to the end of the file. */
export async function readFooter(source: ByteSource, layout: PackedLayout): Promise<Footer> {
  const { file, size } = source;
  const start = size - FOOTER_BYTES;
  if (start < HEADER_BYTES) throw truncated(file, size, HEADER_BYTES, FOOTER_BYTES);
  const bytes = await source.read(start, FOOTER_BYTES);
  const view = new DataView(bytes.buffer, bytes.byteOffset, FOOTER_BYTES);
  if (view.getUint32(44, true) !== FOOTER_MAGIC) throw damaged(file, 'it does not end as one does, or is cut off');
  if (view.getUint32(40, true) !== crc32c(bytes.subarray(0, 40))) throw damaged(file, 'its footer is damaged');
  const footer: Footer = {
    metadataOffset: takeOffset(view, 0),
    metadataBytes: view.getUint32(8, true),
    metadataChecksum: view.getUint32(12, true),
    directoryOffset: takeOffset(view, 16),
    directoryChecksum: view.getUint32(24, true),
    fileBytes: takeOffset(view, 32),
  };
  const { metadataOffset, metadataBytes, directoryOffset, fileBytes } = footer;
  const isOrdered =
    fileBytes === size &&
    directoryOffset + tileGrid(layout).tiles * ENTRY_BYTES === start &&
    metadataOffset >= HEADER_BYTES &&
    metadataOffset + metadataBytes <= directoryOffset;
  if (!isOrdered) throw damaged(file, 'its parts do not follow each other to the end of the file');
  if (metadataBytes > MAX_METADATA) throw damaged(file, `its metadata has ${metadataBytes} bytes`);
  return footer;
}

/** Number of entries that are read at once. */
const ENTRIES_AT_ONCE = 2 ** 15;

/**
 * Reads the entries of a band. All entries of the file are read, because they have one checksum, and checked: payloads
 * follow each other, in order, between header and metadata, and none is larger than its tile can be.
 *
 * @param band - Number of the band, from 1.
 */
export async function readEntries(
  source: ByteSource,
  layout: PackedLayout,
  footer: Footer,
  band: number,
): Promise<TileEntries> {
  const { tiles } = tileGrid(layout);
  const [first, last] = [((band - 1) * tiles) / layout.bands, (band * tiles) / layout.bands];
  const entries = emptyEntries(last - first);
  const some = emptyEntries(Math.min(ENTRIES_AT_ONCE, tiles));
  const room = new Uint8Array(some.codec.length * ENTRY_BYTES);
  const largest = largestPayload(layout);
  let [checksum, end] = [0, HEADER_BYTES];
  for (let start = 0; start < tiles; start += ENTRIES_AT_ONCE) {
    const count = Math.min(ENTRIES_AT_ONCE, tiles - start);
    const size = count * ENTRY_BYTES;
    const bytes = await source.read(footer.directoryOffset + start * ENTRY_BYTES, size, room.subarray(0, size));
    checksum = crc32c(bytes, checksum);
    takeEntries(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), count, some);
    end = checkPayloads(some, start, count, end, footer.metadataOffset, largest, source.file);
    const [from, to] = [Math.max(first, start), Math.min(last, start + count)];
    if (from >= to) continue;
    for (const name of Object.keys(some) as (keyof TileEntries)[]) {
      entries[name].set(some[name].subarray(from - start, to - start), from - first);
    }
  }
  if (checksum !== footer.directoryChecksum) throw damaged(source.file, 'its directory is damaged');
  return entries;
}

/**
 * Checks that the payloads of some tiles follow each other between two offsets, and that none is too large. Returns the
 * offset after the last.
 */
function checkPayloads(
  { offset, bytes, maskBytes }: TileEntries,
  start: number,
  count: number,
  begin: number,
  limit: number,
  largest: number,
  file: string,
): number {
  let end = begin;
  for (let at = 0; at < count; at++) {
    const size = bytes[at]!;
    const from = offset[at]!;
    const isOutside = from < end || from % 4 !== 0 || from + size > limit;
    if (size > 0 && isOutside) throw damaged(file, 'the bytes of its tiles do not follow each other', start + at);
    if (size > largest || maskBytes[at]! > size) throw damaged(file, `a tile has ${size} bytes`, start + at);
    if (size > 0) end = from + size;
  }
  return end;
}

/** Maximum bytes of a payload. */
function largestPayload({ tileColumns, tileRows }: PackedLayout): number {
  const cells = tileColumns * tileRows;
  return maxWidthBytes(blocksOf(cells)) + cells * 4 + ((cells + 7) >> 3);
}
