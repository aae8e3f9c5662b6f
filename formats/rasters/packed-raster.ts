import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import {
  aFlag,
  aNumber,
  anInstance,
  aText,
  aWord,
  eitherOf,
  optional,
  someOptions,
} from '../../primitives/checks/kinds.ts';
import type { Url } from '../../primitives/host/platform-types.ts';
import { nameOfUrl, openFileBytes } from '../bytes/file-bytes.ts';
import { openBytes } from '../bytes/open-bytes.ts';
import { openPackedBand, type PackedBandOptions, type PackedRasterSource } from './packed/reader.ts';
import { bytesInMemory } from './tiff/byte-source.ts';

/**
 * Opens a band of a packed raster (`.qbp`), to be read window by window.
 *
 * `read` returns the stored values, bit for bit those of the raster that was encoded; cells without data have the nodata
 * value of the band. Only tiles that overlap a window are read. `readBlocks` returns them as they are decoded.
 * `readMask` is there if cells have no data for another reason than the nodata value.
 *
 * Opening reads and checks header, metadata and directory; the checksum of a tile is checked when it is read. Memory is
 * bounded by the size of the file and by 2^16 cells for a tile, whatever the file states. Concurrent reads are allowed.
 *
 * A file behind an address (`http://…`, `https://…`) is read by ranges, as `openGeoTiff` does.
 *
 * @param input - A file's path, its address (also as a `URL`), or its bytes.
 * @throws FormatError if the file is missing, cut off, damaged, no packed raster, or of a newer version, which the
 * message names. All codes begin with `format/`.
 * @throws UsageError if the band does not exist; `usage/packed-nodata` if another nodata value is asked for than that
 * of a band whose mask covers it.
 * @example
 * const file = join(await mkdtemp(join(tmpdir(), 'example-')), 'ndvi.qbp');
 * await encodePackedRaster('examples/ndvi.tif', file);
 * const raster = await openPackedRaster(file);
 * const cells = await raster.read({ column: 0, row: 300, columns: raster.width, rows: 10 });
 * await raster.close();
 * [raster.sample, cells.length]; // ['f32', 11600]
 */
export async function openPackedRaster(
  input: string | Url | Uint8Array,
  options: PackedBandOptions = {},
): Promise<PackedRasterSource> {
  requireArguments('openPackedRaster', { input, options }, ARGUMENTS);
  const source =
    input instanceof Uint8Array
      ? bytesInMemory(input)
      : await openBytes(typeof input === 'string' ? input : nameOfUrl(input), openFileBytes);
  try {
    return await openPackedBand(source, options);
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
  options: someOptions<PackedBandOptions>({
    band: optional(aNumber),
    nodata: optional(aNumber),
    mask: optional(aWord(['all', 'none'])),
    raw: optional(aFlag),
    context: optional(aContext),
  }),
};
