import {
  type BlockCells,
  type Cells,
  type RasterGrid,
  type RasterSource,
  SAMPLE_BYTES,
  type Window,
} from '../../../algorithms/geometry/raster.ts';
import type { Note } from '../../../algorithms/notes.ts';
import type { Context } from '../../../primitives/index.ts';
import { UsageError } from '../../usage-error.ts';
import type { ByteSource } from '../tiff/byte-source.ts';
import { checkBlocks, checkWindow } from '../tiff/check-window.ts';
import { crsNote } from '../tiff/crs-keys.ts';
import { uprightPlace } from '../tiff/georeference.ts';
import { usedScaling } from '../tiff/metadata.ts';
import { readNodata } from '../tiff/nodata.ts';
import { cellsOver } from '../tiff/samples.ts';
import { type Footer, readEntries, readFooter, type TileEntries } from './directory.ts';
import { isEncodable, readEncoded } from './encoded-cells.ts';
import { decodeHeader, HEADER_BYTES, type PackedLayout } from './layout.ts';
import { nodataBits, type PackedMetadata, readMetadata } from './metadata.ts';
import { type PackedTiles, packedTiles } from './tiles.ts';
import { wordMemory } from './word-memory.ts';

/** A packed raster whose header, metadata and footer have been read and checked. */
export interface PackedFile {
  readonly source: ByteSource;
  readonly layout: PackedLayout;
  readonly metadata: PackedMetadata;
  readonly footer: Footer;
  /** Reads the directory of a band, from 1. */
  entries(band: number): Promise<TileEntries>;
}

/** Options for opening a band of a packed raster. */
export interface PackedBandOptions {
  /** Number of the band, from 1. Default 1. */
  readonly band?: number | undefined;
  /** Stored value that marks cells without data, instead of the nodata value of the file. */
  readonly nodata?: number | undefined;
  /** `none` ignores the mask of the file. Default `all`. */
  readonly mask?: 'all' | 'none' | undefined;
  /** Whether to ignore scale and offset. Default false. */
  readonly raw?: boolean | undefined;
  /** Decodes tiles of BQ-trees. Default: the host decodes them, to the same cells. */
  readonly context?: Context | undefined;
}

/** A band of a packed raster, with notes on what is unusual in the file. */
export interface PackedRasterSource extends RasterSource {
  /** Number of bands of the file. */
  readonly bands: number;
  readonly notes: readonly Note[];
}

/** Reads header, footer and metadata of a packed raster. */
export async function openPackedFile(source: ByteSource): Promise<PackedFile> {
  const layout = decodeHeader(await source.read(0, Math.min(HEADER_BYTES, source.size)), source.file);
  const footer = await readFooter(source, layout);
  const metadata = await readMetadata(source, layout, footer);
  return { source, layout, metadata, footer, entries: (band) => readEntries(source, layout, footer, band) };
}

/** Cells of a band of a packed raster, wherever they are. */
export type PackedCells = Omit<PackedRasterSource, keyof RasterGrid> & Pick<RasterGrid, 'width' | 'height'>;

/** Opens a band of a packed raster, whose bytes come from any source. Closing it closes the source. */
export async function openPackedBand(source: ByteSource, options: PackedBandOptions = {}): Promise<PackedRasterSource> {
  const packed = await openPackedFile(source);
  const { geoTransform, crs, ownCrs, geographic } = packed.metadata;
  checkBand(options.band ?? 1, packed.layout.bands, source.file);
  const place = uprightPlace(geoTransform, source.file, 'Decode it, and warp it to an upright grid with gdalwarp.');
  return { ...(await openPackedCells(packed, options)), ...place, crs, ownCrs, geographic };
}

/** Opens the cells of a band, which may be rotated, sheared or mirrored. */
export async function openPackedCells(
  { source, layout, metadata, entries }: PackedFile,
  options: PackedBandOptions = {},
): Promise<PackedCells> {
  const band = options.band ?? 1;
  checkBand(band, layout.bands, source.file);
  const { file } = source;
  const stated = metadata.bands[band - 1]!;
  const notes: Note[] = [];
  if (metadata.crs === undefined) notes.push(crsNote(metadata.ownCrs));
  const { sample } = layout;
  const own = readNodata(stated.nodata, sample, options.nodata === undefined ? notes : []);
  const nodata = options.nodata === undefined ? own : readNodata(String(options.nodata), sample, notes);
  if (stated.mask !== undefined && nodata !== own && !Object.is(nodata, own)) throw maskedNodata(file, stated.nodata);
  const scaling = usedScaling(stated, options.raw ?? false, notes);
  const hasMask = stated.mask !== undefined && options.mask !== 'none';
  if (hasMask) notes.push(MASK_NOTE);
  const coding = {
    sample,
    tileColumns: layout.tileColumns,
    tileRows: layout.tileRows,
    nodataBits: nodataBits(own, sample),
  };
  const table = await entries(band);
  const tiles = packedTiles(source, layout, coding, table, options.context);
  const memory = wordMemory();
  // Masks hide cells with the nodata value of the file, and with another one they would have data.
  const isDecodable = isEncodable(layout, table) && options.nodata === undefined && options.mask !== 'none';
  return {
    ...gridOf(layout),
    file,
    sample,
    bands: layout.bands,
    nodata,
    scaling,
    notes,
    read: (window, signal, isWanted) => readWindow(tiles, layout, file, window, signal, isWanted),
    readBlocks: (window, signal, isWanted) => readBlocks(tiles, layout, file, window, signal, isWanted),
    readEncoded: isDecodable
      ? async (window, signal, isWanted, isAlike, context) => {
          checkBlocks(window, gridOf(layout), file);
          const encoded = { tiles, layout, entries: table, source, memory };
          return readEncoded(encoded, window, signal, isWanted, isAlike, context);
        }
      : undefined,
    readMask: hasMask
      ? (window, signal, isWanted) => readMask(tiles, layout, file, window, signal, isWanted)
      : undefined,
    close: () => source.close(),
  };
}

const MASK_NOTE: Note = {
  code: 'raster/mask',
  message: 'The mask in the file marks the cells without data; --mask none ignores it.',
};

function checkBand(band: number, bands: number, file: string): void {
  if (Number.isInteger(band) && band >= 1 && band <= bands) return;
  throw new UsageError('usage/unknown-band', `The raster has no band ${band}.`, {
    expected: bands === 1 ? 'band 1, the only one' : `a band from 1 to ${bands}`,
    got: band,
    remedy: 'Choose a band that is there.',
    place: { file },
  });
}

function maskedNodata(file: string, nodata: string | undefined): UsageError {
  return new UsageError(
    'usage/packed-nodata',
    'The mask of the packed raster covers cells with its own nodata value.',
    {
      expected: nodata === undefined ? 'no nodata value' : `the nodata value ${nodata}`,
      remedy: 'Leave the nodata value out, or read the GeoTIFF.',
      place: { file },
    },
  );
}

type Wanted = ((part: Window) => boolean) | undefined;

async function readWindow(
  tiles: PackedTiles,
  layout: PackedLayout,
  file: string,
  window: Window,
  signal: AbortSignal | undefined,
  isWanted: Wanted,
): Promise<Cells> {
  checkWindow(window, layout, file);
  const cells = newCells(layout, window.columns * window.rows);
  const target = tiles.wordsOf(cells);
  await tiles.forEach(window, isWanted, signal, ({ words, columns, rows }, part) => {
    const { left, right, top, bottom } = overlap(window, part.column, part.row, columns, rows);
    for (let row = top; row < bottom; row++) {
      const from = (row - part.row) * layout.tileColumns - part.column;
      const to = (row - window.row) * window.columns + left - window.column;
      target.set(words.subarray(from + left, from + right), to);
    }
  });
  return cells;
}

async function readBlocks(
  tiles: PackedTiles,
  layout: PackedLayout,
  file: string,
  window: Window,
  signal: AbortSignal | undefined,
  isWanted: Wanted,
): Promise<BlockCells> {
  checkBlocks(window, gridOf(layout), file);
  const size = layout.tileColumns * layout.tileRows;
  const across = Math.ceil(window.columns / layout.tileColumns);
  const starts = new Uint32Array(across * Math.ceil(window.rows / layout.tileRows));
  const wanted = tiles.within(window, isWanted);
  const cells = newCells(layout, wanted.length * size);
  const target = tiles.wordsOf(cells);
  let to = 0;
  await tiles.forEach(window, isWanted, signal, ({ words }, part) => {
    const down = (part.row - window.row) / layout.tileRows;
    starts[down * across + (part.column - window.column) / layout.tileColumns] = to;
    target.set(words, to);
    to += size;
  });
  return { cells, starts };
}

async function readMask(
  tiles: PackedTiles,
  layout: PackedLayout,
  file: string,
  window: Window,
  signal: AbortSignal | undefined,
  isWanted: Wanted,
): Promise<Uint8Array> {
  checkWindow(window, layout, file);
  const mask = new Uint8Array(window.columns * window.rows);
  if (isWanted !== undefined) mask.fill(1);
  await tiles.forEach(window, isWanted, signal, ({ hidden, columns, rows }, part) => {
    const { left, right, top, bottom } = overlap(window, part.column, part.row, columns, rows);
    for (let row = top; row < bottom; row++) {
      const from = (row - part.row) * columns - part.column;
      const to = (row - window.row) * window.columns - window.column;
      for (let column = left; column < right; column++) mask[to + column] = 1 - hidden[from + column]!;
    }
  });
  return mask;
}

function gridOf({ width, height, tileColumns, tileRows }: PackedLayout) {
  return { width, height, blockColumns: tileColumns, blockRows: tileRows };
}

function newCells({ sample }: PackedLayout, length: number): Cells {
  return cellsOver(sample, new ArrayBuffer(length * SAMPLE_BYTES[sample]), length);
}

function overlap(window: Window, column: number, row: number, columns: number, rows: number) {
  return {
    left: Math.max(window.column, column),
    right: Math.min(window.column + window.columns, column + columns),
    top: Math.max(window.row, row),
    bottom: Math.min(window.row + window.rows, row + rows),
  };
}
