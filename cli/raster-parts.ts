import type { DecodeParts } from './raster-decode.ts';
import type { EncodeParts } from './raster-encode.ts';
import type { RasterInfoParts } from './raster-info.ts';

/** The functions that `quadrille raster` uses. Their code is imported when first needed. */
export const rasterParts: EncodeParts & RasterInfoParts & DecodeParts = {
  async openContext(options) {
    const { open } = await import('../on-node.ts');
    return open(options);
  },
  async encodeGeoTiff(path, write, options) {
    const { encodeGeoTiff } = await import('../formats/encode-packed-raster.ts');
    return encodeGeoTiff(path, write, options);
  },
  async describeRaster(path, signal, onTiles) {
    const { describeFile } = await import('../formats/describe-packed-raster.ts');
    return describeFile(path, signal, onTiles);
  },
  async decodePackedRaster(input, output, options) {
    const { decodePackedRaster } = await import('../formats/decode-packed-raster.ts');
    return decodePackedRaster(input, output, options);
  },
};
