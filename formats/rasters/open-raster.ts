import { openFileBytes } from '../bytes/file-bytes.ts';
import { type GeoTiffOptions, type GeoTiffSource, openGeoTiff } from './geotiff.ts';
import { isPackedRaster, MAGIC } from './packed/layout.ts';
import { openPackedRaster } from './packed-raster.ts';

/** Opens a band of a raster: a packed raster if the file begins as one does, otherwise a GeoTIFF. */
export async function openRaster(path: string, options: GeoTiffOptions): Promise<GeoTiffSource> {
  if (!(await beginsPacked(path))) return openGeoTiff(path, options);
  const { band, nodata, mask, raw } = options;
  // No cell of a packed raster has a value that needs a bigint.
  return openPackedRaster(path, { band, nodata: typeof nodata === 'bigint' ? Number(nodata) : nodata, mask, raw });
}

/** Whether a file begins as a packed raster does. */
async function beginsPacked(path: string): Promise<boolean> {
  const source = await openFileBytes(path);
  try {
    return isPackedRaster(await source.read(0, Math.min(MAGIC.length, source.size)));
  } finally {
    await source.close();
  }
}
