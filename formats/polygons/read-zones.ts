import type { BlobLike } from '../../primitives/host/platform-types.ts';
import { anyInput } from './file-input.ts';
import { readZonesOn } from './layer-files.ts';
import { nodeLayers } from './node-layers.ts';
import type { ReadZones, ZoneOptions } from './zones.ts';

/**
 * Reads zones from a file of polygons of any format that `openPolygonLayer` reads: GeoJSON, GeoJSON with one Feature or
 * geometry per line or per record separator (RFC 8142), TopoJSON, FlatGeobuf, a Shapefile with the files beside it or in a ZIP archive, GeoParquet, GeoPackage, WKT,
 * or CSV with a column of WKT.
 * The format is detected from the content, and from the extension if the content does not tell.
 *
 * Every feature (in TopoJSON: every member of the layer) becomes one zone, in the file's order. The name of a zone is
 * the value of the property `options.id` if the option is given, else the feature's `id`, else its index. Of a whole
 * number, the name has all digits that the text has, beyond 2^53 too. Zones with equal names stay separate. The
 * polygons of a multipolygon or a collection become parts of one zone. Rings may have any direction and nesting. An
 * open ring counts as closed. If the last vertex of a ring repeats the first vertex, the last vertex is not stored. The
 * coordinate system is `options.crs`, else the system that the file's member `crs` states (an old style of GeoJSON),
 * else OGC:CRS84. If a file without a stated system has a latitude out of range, or is of another format than GeoJSON
 * and TopoJSON,
 * the coordinate system is unknown. `reprojectZones` brings zones to that of a raster. Points and lines are left out. A feature that has only points and lines is not a zone.
 *
 * These flaws cause notes instead of errors: `polygons/other-geometry`, `zones/none`, `zones/unclosed-rings`,
 * `zones/empty-rings` (left out), `zones/zero-area-rings` (all vertices on one line), `zones/no-geometry`,
 * `zones/duplicate-names`, `zones/crs-unknown`, `polygons/incomplete-records` (features that are null, or have no
 * geometry or null as the property `options.id`; left out); with `onBadRecord: 'skip'` `polygons/bad-records`. Jumps of
 * longitudes cause the notes `zones/antimeridian-jumps`, `zones/antimeridian-unwrapped` and `zones/antimeridian-kept`.
 *
 * Of the attributes of a zone (the members of its `properties`; the columns of FlatGeobuf, GeoParquet, GeoPackage, CSV and of a `.dbf` file), those of
 * `options.attributes` are given as columns. If an object names a member twice, the last one counts; of columns with
 * equal names the first, with the note `zones/repeated-attributes`. Dates are texts such as `2026-11-30`. `zones/attributes-as-text` notes attributes whose values
 * differ in kind, `zones/unread-attributes` those whose type is not read (bytes and memos).
 *
 * A `Blob` or `File` is read by slices; the files beside it are given as `options.beside`. On a page files have no path, and
 * GeoParquet and GeoPackage throw `format/needs-node`.
 *
 * @throws FormatError if the file is missing, of an unknown format, or damaged (errors of JSON have line and column); also
 * if it has points or lines but no polygons (`format/not-polygon`), or if a feature lacks the property `options.id`, or
 * all lack one of `options.attributes`.
 * @throws GeometryError if a coordinate is not a finite number; `place.record` is the feature's index.
 * @throws OutOfMemoryError `memory/limit` if the vertices or a feature would take more than `options.memoryBytes`, of
 * TopoJSON the text and its values.
 * @throws UsageError if the requested layer does not exist, or if the file has several layers and none is requested;
 * the message lists the layers.
 * @example
 * const { zones, notes } = await readZones('examples/counties-10m.json', { layer: 'counties' });
 * zones.names[0]; // '04015'
 */
export function readZones(file: string | BlobLike, options: ZoneOptions = {}): Promise<ReadZones> {
  return readZonesOn({ platform: nodeLayers, openPath: anyInput }, file, options);
}
