import type { Zones } from '../../../algorithms/geometry/polygons.ts';
import type { TableField } from '../../tables/table-file.ts';
import type { Rows } from '../../tables/write/text-writers.ts';

/** Zones as features of a layer. */
export type WrittenZones = Pick<Zones, 'polygons' | 'crs' | 'crsText'>;

/**
 * Writes a layer of polygons part by part. Each row of a table becomes a feature: the geometry of the next zone, and the
 * cells of the row as its attributes. After the last zone, the first follows again.
 */
export interface LayerWriter {
  /** What stands before the first feature. Types of attributes may depend on the rows that are added first. */
  begin(first: Rows): string | Uint8Array;
  add(rows: Rows): Generator<string | Uint8Array>;
  /** What stands after the last feature. */
  readonly end?: () => string;
}

/** Makes a writer of a layer with attributes of these names and types. */
export type MakeLayerWriter = (fields: readonly TableField[], zones: WrittenZones) => LayerWriter;

/** Numbers of zones, over and over. */
export function nextZone({ polygons }: WrittenZones): () => number {
  const zones = polygons.polygonRings.length - 1;
  let next = 0;
  return () => next++ % zones;
}

/**
 * The authority and the code of a coordinate system; undefined if it has none that layers can name. Longitudes and
 * latitudes of WGS 84 are `EPSG:4326`: layers have x first, whatever the order of the axes is.
 */
export function codeOfCrs(crs: string | undefined): { readonly authority: string; readonly code: number } | undefined {
  if (crs === 'OGC:CRS84') return { authority: 'EPSG', code: 4326 };
  const [, authority, code] = /^([A-Z]+):(\d{1,9})$/.exec(crs ?? '') ?? [];
  return code === undefined ? undefined : { authority: authority!, code: Number(code) };
}

/**
 * The well-known text of a coordinate system without a code, which other programs understand: of its name, GDAL makes
 * WGS 84 in GeoJSON, and nothing in FlatGeobuf. Undefined if there is none, as of a text for PROJ.
 */
export function wktOfCrs({ crs, crsText }: Pick<Zones, 'crs' | 'crsText'>): string | undefined {
  return [crsText, crs].find((text) => text !== undefined && /^\s*[A-Z]\w*\s*[[(]/i.test(text));
}
