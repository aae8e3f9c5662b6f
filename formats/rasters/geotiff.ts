import type { BlobLike, Url } from '../../primitives/host/platform-types.ts';
import { besideFile } from '../bytes/beside.ts';
import { nameOfUrl, openFileBytes } from '../bytes/file-bytes.ts';
import type { ByteSource } from './tiff/byte-source.ts';
import { createDecodePool } from './tiff/decode-pool.ts';
import type { Georeference } from './tiff/georeference.ts';
import { nodeCodecs } from './tiff/node-codecs.ts';
import {
  type GeoTiffCells,
  type GeoTiffOptions,
  type GeoTiffSource,
  openBand,
  openBandOn,
  openPlacedBand,
  uprightly,
} from './tiff/open-band.ts';
import type { TiffPlatform } from './tiff/tiff-platform.ts';

export type { GeoTiffCells, GeoTiffOptions, GeoTiffSource } from './tiff/open-band.ts';

const nodeTiff: TiffPlatform = { codecs: nodeCodecs, openFile: openFileBytes, createPool: createDecodePool };

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
 * @param input - A file's path, its address (also as a `URL`), its bytes, or a `Blob` or `File`, of which only the parts that are needed are read. On
 * a page files have no path.
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
  input: string | Url | Uint8Array | BlobLike,
  options: GeoTiffOptions = {},
): Promise<GeoTiffSource> {
  return openBandOn(nodeTiff, input instanceof URL ? nameOfUrl(input) : input, options);
}

/** Opens a band as {@link openGeoTiff} does, of bytes that are open. `path` is their file. */
export function openGeoTiffFrom(source: ByteSource, options: GeoTiffOptions, path?: string): Promise<GeoTiffSource> {
  const beside = path === undefined ? undefined : besideFile(path, openFileBytes);
  return openBand(source, options, nodeTiff, beside, uprightly);
}

/** Opens a band as {@link openGeoTiff} does. Its cells may be rotated, sheared or mirrored. */
export function openTurnedGeoTiff(path: string, options: GeoTiffOptions): Promise<GeoTiffCells & Georeference> {
  return openPlacedBand(path, options, nodeTiff, (place) => place);
}
