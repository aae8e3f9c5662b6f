import type { Zones } from '../../algorithms/geometry/polygons.ts';
import type { Note } from '../../algorithms/notes.ts';
import {
  anArrayOf,
  anInstance,
  aPositive,
  aText,
  aWord,
  type Kind,
  optional,
  someOptions,
} from '../../primitives/checks/kinds.ts';
import type { AbortSignal, BlobLike } from '../../primitives/host/platform-types.ts';
import type { ZoneAttribute } from './zone-attributes.ts';

/** The formats of polygon layers. `geojson-lines` has one Feature or geometry per line. */
export type PolygonLayerFormat =
  | 'geojson'
  | 'geojson-lines'
  | 'topojson'
  | 'flatgeobuf'
  | 'shapefile'
  | 'zipped-shapefile'
  | 'geoparquet'
  | 'geopackage'
  | 'wkt'
  | 'csv';

/** The names of the formats, for options. Their readers are listed in `polygon-formats.ts`. */
export const POLYGON_LAYER_FORMATS: readonly PolygonLayerFormat[] = [
  'geojson',
  'geojson-lines',
  'topojson',
  'flatgeobuf',
  'shapefile',
  'zipped-shapefile',
  'geoparquet',
  'geopackage',
  'wkt',
  'csv',
];

/** Options for reading a layer of polygons. */
export interface PolygonLayerOptions {
  /** Format of the file. Default: detected from content and extension. */
  readonly format?: PolygonLayerFormat | undefined;
  /**
   * Name of the object to read from a TopoJSON file, of the layer of a GeoPackage, or of the Shapefile in a ZIP archive. It may be omitted if there is only one. For a GeoJSON file,
   * only the `name` of its FeatureCollection is accepted, and has no effect.
   */
  readonly layer?: string | undefined;
  /**
   * Column of the geometries in GeoParquet or CSV. Default: the one that the file says; of CSV the one that is called `wkt`,
   * `geometry` or the like.
   */
  readonly geometryColumn?: string | undefined;
  /** Property whose values name the polygons. Default: the features' `id`. */
  readonly id?: string | undefined;
  /** Coordinate system of the layer, instead of the system that the file states. */
  readonly crs?: string | undefined;
  /**
   * How to read a ring with an edge that is longer than 180° of longitude. `as-written` (default) keeps this edge.
   * `unwrap` assumes that the ring crosses the antimeridian, so its longitudes may pass 180. Coordinates that are not
   * longitudes are always read as written.
   */
  readonly antimeridian?: 'as-written' | 'unwrap' | undefined;
  /**
   * What to do with a malformed record: `stop` (default) throws its error, `skip` leaves the record out and notes it.
   * If the start of the next record cannot be found, reading stops in either case.
   */
  readonly onBadRecord?: 'stop' | 'skip' | undefined;
  /**
   * Files that stand beside a `File`, such as those that were dropped with it: of a Shapefile `.dbf`, `.shx`, `.prj` and
   * `.cpg`, found by their names. Beside a file on disk they are found in its folder.
   */
  readonly beside?: readonly BlobLike[] | undefined;
  /**
   * Maximum bytes of memory for reading. A single record may have a sixteenth of this number of bytes. Default: records
   * are limited only by the maximum length of a string.
   */
  readonly memoryBytes?: number | undefined;
}

export const LAYER_OPTIONS: Kind = someOptions<PolygonLayerOptions>({
  format: optional(aWord(POLYGON_LAYER_FORMATS)),
  layer: optional(aText),
  geometryColumn: optional(aText),
  id: optional(aText),
  crs: optional(aText),
  antimeridian: optional(aWord(['as-written', 'unwrap'])),
  onBadRecord: optional(aWord(['stop', 'skip'])),
  beside: optional(anArrayOf(anInstance(Blob))),
  memoryBytes: optional(aPositive()),
});

/** A batch of consecutive polygons from a layer. */
export interface PolygonBatch {
  readonly zones: Zones;
  /** Number of bytes of the layer read so far. */
  readonly bytesRead: number;
}

/** Zones, and the notes on reading them. */
export interface ReadZones {
  readonly zones: Zones;
  readonly notes: readonly Note[];
  /** The attributes that the options ask for. Undefined if they ask for none. */
  readonly attributes?: readonly ZoneAttribute[] | undefined;
}

/** One pass over a layer, which yields its polygons in batches. */
export interface PolygonBatches extends AsyncIterable<PolygonBatch> {
  /**
   * Coordinate system, as far as known. A GeoJSON text may state its coordinate system after its polygons. If the text
   * states none, the system is assumed to be OGC:CRS84 until a latitude is out of range.
   */
  readonly crs: string | undefined;
  /** The notes on the polygons that have been read. They are complete once the last batch has been read. */
  notes(): Note[];
}

/** A layer of polygons that is opened but not yet read. */
export interface PolygonLayer {
  readonly file: string;
  readonly format: PolygonLayerFormat;
  /**
   * Coordinate system from the options, the file's header or a companion file. If none of these states one, it is
   * OGC:CRS84 for GeoJSON and TopoJSON, otherwise undefined.
   */
  readonly crs: string | undefined;
  /** Whether `crs` is assumed. In this case, the rest of the file may state another system. */
  readonly assumesCrs: boolean;
  /** Number of bytes to read. For a gzipped file, this is the unpacked size. */
  readonly size: number;
  /** Starts a pass over the layer. Each call reads the file again. */
  batches(signal?: AbortSignal): PolygonBatches;
}
