import type { BlobLike, Url } from '../primitives/host/platform-types.ts';
import { pageInflater } from './bytes/inflate-on-page.ts';
import { type LayerFiles, openLayerOn, readLayerOn, readZonesOn } from './polygons/layer-files.ts';
import { pageLayers } from './polygons/page-layers.ts';
import type { PolygonLayer, PolygonLayerOptions, ReadZones } from './polygons/polygon-layer.ts';
import type { ZoneOptions } from './polygons/zones.ts';
import { type GeoTiffOptions, type GeoTiffSource, openBandOn } from './rasters/tiff/open-band.ts';

const layers: LayerFiles = { platform: pageLayers };

/** Opens a GeoTIFF on a page: a file by slices, or an address. See `openGeoTiff` in `rasters/geotiff.ts`. */
export function openGeoTiff(
  input: string | Url | Uint8Array | BlobLike,
  options: GeoTiffOptions = {},
): Promise<GeoTiffSource> {
  return openBandOn({ codecs: pageInflater }, input instanceof URL ? input.href : input, options);
}

/** Opens a layer on a page. See `openPolygonLayer` in `polygons/open-polygon-layer.ts`. */
export function openPolygonLayer(file: string | BlobLike, options: PolygonLayerOptions = {}): Promise<PolygonLayer> {
  return openLayerOn(layers, file, options);
}

/** Reads a layer on a page. See `readPolygonLayer` in `polygons/open-polygon-layer.ts`. */
export function readPolygonLayer(file: string | BlobLike, options: PolygonLayerOptions = {}): Promise<ReadZones> {
  return readLayerOn(layers, file, options);
}

/** Reads zones on a page. See `readZones` in `polygons/read-zones.ts`. */
export function readZones(file: string | BlobLike, options: ZoneOptions = {}): Promise<ReadZones> {
  return readZonesOn(layers, file, options);
}
