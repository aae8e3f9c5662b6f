import { openBytes } from '../bytes/open-bytes.ts';
import { type GeoTiffOptions, type GeoTiffSource, openGeoTiffFrom } from './geotiff.ts';
import { isPackedRaster, MAGIC } from './packed/layout.ts';
import { openPackedBand } from './packed/reader.ts';

/** Opens a band of a raster: a packed raster if the file begins as one does, otherwise a GeoTIFF. */
export async function openRaster(path: string, options: GeoTiffOptions): Promise<GeoTiffSource> {
  const source = await openBytes(path, options);
  try {
    if (!isPackedRaster(await source.read(0, Math.min(MAGIC.length, source.size)))) {
      return await openGeoTiffFrom(source, options, path);
    }
    const { band, nodata, mask, raw } = options;
    // No cell of a packed raster has a value that needs a bigint.
    const number = typeof nodata === 'bigint' ? Number(nodata) : nodata;
    return await openPackedBand(source, { band, nodata: number, mask, raw });
  } catch (error) {
    await source.close();
    throw error;
  }
}
