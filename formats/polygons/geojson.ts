import type { JsonObject } from './feature.ts';

/** Whether the `type` of a parsed JSON text is one of the types of GeoJSON (RFC 7946). */
export function isGeoJson(root: JsonObject): boolean {
  return GEOJSON_TYPES.has(root.type);
}

const GEOJSON_TYPES: ReadonlySet<unknown> = new Set([
  'FeatureCollection',
  'Feature',
  'Point',
  'MultiPoint',
  'LineString',
  'MultiLineString',
  'Polygon',
  'MultiPolygon',
  'GeometryCollection',
]);
