import { type NarrowSample, SAMPLE_BYTES } from '../../../algorithms/geometry/raster.ts';
import { FormatError } from '../../../primitives/checks/errors.ts';
import { crc32c } from './crc32c.ts';

/** The sample types of packed rasters. The header has the index of one. */
const SAMPLES: readonly NarrowSample[] = ['u8', 'i8', 'u16', 'i16', 'u32', 'i32', 'f32'];

/** Sizes of a packed raster and of its tiles, as its header states them. */
export interface PackedLayout {
  readonly width: number;
  readonly height: number;
  readonly bands: number;
  readonly sample: NarrowSample;
  /** Columns of a tile, a multiple of 4. With its rows, a tile has a multiple of 32 cells. */
  readonly tileColumns: number;
  readonly tileRows: number;
}

/** The tiles of a raster, and where their bytes end in the file. */
export interface TileGrid {
  readonly across: number;
  readonly down: number;
  /** Number of tiles of all bands. */
  readonly tiles: number;
}

export const HEADER_BYTES = 64;
/** The first bytes of a packed raster. Like those of PNG, they show when a file was sent as text. */
export const MAGIC: Uint8Array = Uint8Array.of(0x8b, 0x51, 0x42, 0x50, 0x0d, 0x0a, 0x1a, 0x0a);
const MAJOR_VERSION = 1;
const MINOR_VERSION = 0;

/** Maximum number of cells of a tile, which bounds the memory of a reader. */
const MAX_TILE_CELLS = 2 ** 16;
/** Maximum number of bands, which bounds the metadata. */
const MAX_BANDS = 4096;

/** Columns and rows of a tile, unless the raster is narrower or lower. */
const TILE = 64;

/** The tiles that a raster has unless others are asked for: fewer columns if it is narrow, then more rows. */
export function defaultTile(width: number, height: number): { readonly columns: number; readonly rows: number } {
  const columns = roundUp(Math.min(width, Math.max(TILE, Math.floor(TILE ** 2 / height))), 4);
  const rows = Math.min(height, Math.max(1, Math.floor(TILE ** 2 / columns)));
  if (columns === TILE) return { columns, rows: roundUp(rows, ROWS_OF_KERNELS) };
  return { columns, rows: roundUp(rows, columns % 32 === 0 ? 1 : columns % 16 === 0 ? 2 : columns % 8 === 0 ? 4 : 8) };
}

/** Tiles with a multiple of so many rows are decoded fastest. */
const ROWS_OF_KERNELS = 16;

function roundUp(value: number, unit: number): number {
  return Math.ceil(value / unit) * unit;
}

export function tileGrid({ width, height, bands, tileColumns, tileRows }: PackedLayout): TileGrid {
  const across = Math.ceil(width / tileColumns);
  const down = Math.ceil(height / tileRows);
  return { across, down, tiles: across * down * bands };
}

/** What makes a layout impossible; undefined if nothing does. */
export function layoutFault(layout: PackedLayout): string | undefined {
  const { width, height, bands, tileColumns, tileRows } = layout;
  const cells = tileColumns * tileRows;
  if (!(width >= 1 && height >= 1 && width < 2 ** 31 && height < 2 ** 31)) return `it has ${width} × ${height} cells`;
  if (!(bands >= 1 && bands <= MAX_BANDS)) return `it has ${bands} bands`;
  if (cells < 1 || cells > MAX_TILE_CELLS || cells % 32 !== 0 || tileColumns % 4 !== 0) {
    return `its tiles have ${tileColumns} × ${tileRows} cells`;
  }
  return undefined;
}

export function encodeHeader(layout: PackedLayout): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES);
  const view = new DataView(bytes.buffer);
  bytes.set(MAGIC);
  view.setUint16(8, MAJOR_VERSION, true);
  view.setUint16(10, MINOR_VERSION, true);
  view.setUint16(12, SAMPLES.indexOf(layout.sample), true);
  view.setUint16(14, layout.bands, true);
  view.setUint32(16, layout.width, true);
  view.setUint32(20, layout.height, true);
  view.setUint32(24, layout.tileColumns, true);
  view.setUint32(28, layout.tileRows, true);
  view.setUint32(60, crc32c(bytes.subarray(0, 60)), true);
  return bytes;
}

/** Whether a file begins as a packed raster does. */
export function isPackedRaster(bytes: Uint8Array): boolean {
  return bytes.length >= MAGIC.length && MAGIC.every((byte, at) => bytes[at] === byte);
}

/**
 * Reads the header.
 *
 * @throws FormatError `format/not-a-packed-raster`; `format/newer-version`, which names the version;
 * `format/damaged-packed-raster`.
 */
export function decodeHeader(bytes: Uint8Array, file: string): PackedLayout {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (!isPackedRaster(bytes)) {
    throw new FormatError('format/not-a-packed-raster', 'The file does not begin as a packed raster does.', {
      remedy: 'Make one with quadrille raster encode.',
      place: { file },
    });
  }
  const major = view.getUint16(8, true);
  if (major > MAJOR_VERSION) throw newerVersion(`${major}.${view.getUint16(10, true)}`, file);
  if (crc32c(bytes.subarray(0, 60)) !== view.getUint32(60, true)) throw damaged(file, 'its header is damaged');
  const sample = SAMPLES[view.getUint16(12, true)];
  if (major < 1 || sample === undefined) throw damaged(file, `it has version ${major} and an unknown type of samples`);
  const layout: PackedLayout = {
    sample,
    bands: view.getUint16(14, true),
    width: view.getUint32(16, true),
    height: view.getUint32(20, true),
    tileColumns: view.getUint32(24, true),
    tileRows: view.getUint32(28, true),
  };
  const fault = layoutFault(layout);
  if (fault !== undefined) throw damaged(file, fault);
  return layout;
}

function newerVersion(version: string, file: string): FormatError {
  return new FormatError('format/newer-version', `The packed raster has version ${version}.`, {
    expected: `version ${MAJOR_VERSION}`,
    got: version,
    remedy: 'Read it with a newer Quadrille, or encode it again.',
    place: { file },
  });
}

/** The error for a packed raster whose bytes contradict themselves. */
export function damaged(file: string, what: string, block?: number): FormatError {
  return new FormatError('format/damaged-packed-raster', `The packed raster is damaged: ${what}.`, {
    remedy: 'Copy it again, or encode it again.',
    place: { file, block },
  });
}

/** Bits of a cell, which the residuals of its type wrap to. */
export function sampleBits(sample: NarrowSample): number {
  return 8 * SAMPLE_BYTES[sample];
}
