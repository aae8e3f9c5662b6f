import type { Note } from '../../algorithms/notes.ts';
import { openFileBytes } from '../bytes/file-bytes.ts';
import { openBytes } from '../bytes/open-bytes.ts';
import { type GeoTiffOptions, type GeoTiffSource, openGeoTiffFrom } from './geotiff.ts';
import { isPackedRaster, MAGIC } from './packed/layout.ts';
import { openPackedBand } from './packed/reader.ts';
import { openOver } from './tiff/byte-source.ts';

const NO_OVERVIEWS: Note = {
  code: 'raster/no-overview',
  message: 'A packed raster has no overviews: all cells are read.',
};

/** Opens a band of a raster: a packed raster if the file begins as one does, otherwise a GeoTIFF. */
export async function openRaster(path: string, options: GeoTiffOptions): Promise<GeoTiffSource> {
  const source = await openBytes(path, openFileBytes, options);
  return openOver(source, async () => {
    if (!isPackedRaster(await source.read(0, Math.min(MAGIC.length, source.size)))) {
      return openGeoTiffFrom(source, options, path);
    }
    const { band, nodata, mask, raw } = options;
    // No cell of a packed raster has a value that needs a bigint.
    const number = typeof nodata === 'bigint' ? Number(nodata) : nodata;
    const packed = await openPackedBand(source, { band, nodata: number, mask, raw });
    return options.approximate === undefined ? packed : { ...packed, notes: [...packed.notes, NO_OVERVIEWS] };
  });
}
