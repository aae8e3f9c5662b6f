import { crc32, inflateRawSync } from 'node:zlib';
import { gunzipBlocks } from '../bytes/gzip.ts';
import type { LayerPlatform } from './layer-input.ts';

/** What readers of layers ask of Node. */
export const nodeLayers: LayerPlatform = {
  gunzip: gunzipBlocks,
  inflateRaw: (bytes, max) => inflateRawSync(bytes, { maxOutputLength: Math.max(1, max) }),
  crc32: (bytes) => crc32(bytes) >>> 0,
  async decoderOf(name) {
    // The tables are loaded only for files that need them.
    const { default: iconv } = await import('iconv-lite');
    if (NO_PAGES.has(name) || !iconv.encodingExists(name)) return undefined;
    return (bytes) => iconv.decode(bytes, name, { stripBOM: false });
  },
  readers: {
    geoparquet: async () => (await import('./geoparquet-layer.ts')).openGeoParquet,
    geopackage: async () => (await import('./geopackage-layer.ts')).openGeoPackage,
  },
};

/** Encodings of iconv-lite that are not code pages of texts. */
const NO_PAGES: ReadonlySet<string> = new Set(['hex', 'base64', 'binary', 'internal', 'system']);
