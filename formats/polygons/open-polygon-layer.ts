import type { BlobLike } from '../../primitives/host/platform-types.ts';
import { fileInput } from './file-input.ts';
import { type LayerFiles, openLayerOn, readLayerOn } from './layer-files.ts';
import { nodeLayers } from './node-layers.ts';
import type { PolygonLayer, PolygonLayerOptions, ReadZones } from './polygon-layer.ts';

const NODE: LayerFiles = { platform: nodeLayers, openPath: fileInput };

/**
 * Opens a layer of polygons. The file may be GeoJSON of any size (FeatureCollection, Feature, geometry), GeoJSON with
 * one Feature or geometry per line or per record separator (RFC 8142), TopoJSON, FlatGeobuf, a Shapefile with its
 * companion files or in a ZIP archive, GeoParquet (and Parquet with a column of WKB), GeoPackage, WKT in which each geometry begins on a new line, or CSV with a column of WKT. The format is detected from the content and the
 * extension, or given by `options.format`.
 *
 * Every Polygon and MultiPolygon feature becomes one polygon, in the file's order. As with `readZones`, rings keep
 * their direction, and closing vertices are not stored. The polygons of a multipolygon or a collection become parts of
 * one polygon. A Shapefile does not state which rings form a part. So a clockwise ring begins a part, and any other
 * ring is a hole in the smallest part that contains the ring. A polygon is named by its `id`, by the property
 * `options.id`, or by its index among the file's records. Of a whole number, the name has all digits that the text has. Only the first two numbers of a position are used.
 *
 * Polygons are returned in batches of about 2^20 vertices. Memory depends on the size of a batch and of the longest
 * record, or row group of GeoParquet, but not on the size of the file. Only a TopoJSON file, and what is in a ZIP archive, is held in memory as a whole. O(bytes).
 *
 * The following is noted, and does not throw: `zones/none`, `zones/unclosed-rings`, `zones/empty-rings` (which are left
 * out), `zones/zero-area-rings`, `zones/no-geometry`, `zones/crs-unknown`; for longitudes `zones/antimeridian-jumps`,
 * or with `antimeridian: 'unwrap'` `zones/antimeridian-unwrapped` and `zones/antimeridian-kept`;
 * `polygons/other-geometry` (points and lines, which are left out); `polygons/short-rings` (rings of WKT with fewer
 * than three vertices, which are left out); for Shapefiles `polygons/deleted-records`, `polygons/unknown-code-page`,
 * `polygons/undecoded-names` (with bytes that the code page does not have),
 * `polygons/unused-bytes` (gaps between records, which the `.shx` file states) and `polygons/trailing-bytes`;
 * `polygons/spherical-edges`, `polygons/other-geometry-columns` and `polygons/bounds-beyond-degrees` of GeoParquet; `polygons/named-by-row` of views of a GeoPackage;
 * `polygons/incomplete-records` (records that are null, or lack their geometry or their name, which are left out); with
 * `onBadRecord: 'skip'` `polygons/bad-records`. Duplicate names are not detected, because all names would have to
 * be kept in memory.
 *
 * A `Blob` or `File` is read by slices; the files beside it are given as `options.beside`. On a page files have no path, and
 * GeoParquet and GeoPackage throw `format/needs-node`.
 *
 * GeoPackage is read by the SQLite of Node 22.13 or newer. Other versions throw `format/needs-newer-node`.
 *
 * @throws FormatError if the file is missing or truncated, if its format is unknown, or if it is not of the format
 * `options.format`. Reading the batches also throws a FormatError if a record is malformed or lacks the naming
 * property, or if the layer has only points and lines (`format/not-polygon`). If a record is at fault, the error names
 * the record.
 * @throws GeometryError if a coordinate is not a finite number; `place.record` is the record's index.
 * @throws CapacityError if one record has more bytes than a JavaScript string can have; OutOfMemoryError `memory/limit`
 * if a record, or a topology, would take more than `options.memoryBytes`.
 * @throws UsageError if the requested layer does not exist, or if the file has several layers and none is requested.
 * @example
 * const layer = await openPolygonLayer('examples/counties-10m.json', { layer: 'counties' });
 * let polygons = 0;
 * for await (const { zones } of layer.batches()) polygons += zones.names.length;
 * [layer.format, polygons]; // ['topojson', 3231]
 */
export function openPolygonLayer(file: string | BlobLike, options: PolygonLayerOptions = {}): Promise<PolygonLayer> {
  return openLayerOn(NODE, file, options);
}

/**
 * Reads all polygons of a layer into memory. The result is that of {@link openPolygonLayer}, with all batches joined.
 * Duplicate names are also noted (`zones/duplicate-names`).
 *
 * @example
 * const { zones } = await readPolygonLayer('examples/counties-10m.json', { layer: 'states', id: 'name' });
 * [zones.names.length, zones.names[0]]; // [56, 'Arizona']
 */
export function readPolygonLayer(file: string | BlobLike, options: PolygonLayerOptions = {}): Promise<ReadZones> {
  return readLayerOn(NODE, file, options);
}
