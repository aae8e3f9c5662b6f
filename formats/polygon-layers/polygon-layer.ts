import type { Zones } from '../../algorithms/geometry/polygons.ts';
import type { Note } from '../../algorithms/notes.ts';
import { aPositive, aText, aWord, type Kind, optional, someOptions } from '../../primitives/kinds.ts';

/** The formats of polygon layers. `geojson-lines` has one Feature or geometry per line. */
export type PolygonLayerFormat = 'geojson' | 'geojson-lines' | 'topojson' | 'flatgeobuf' | 'shapefile' | 'wkt';

/** Options for reading a layer of polygons. */
export interface PolygonLayerOptions {
  /** Format of the file. Default: detected from content and extension. */
  readonly format?: PolygonLayerFormat | undefined;
  /**
   * Name of the object to read in a TopoJSON file; may be omitted if there is only one. In a GeoJSON file, only the
   * `name` of its FeatureCollection is accepted, with the same result as without it.
   */
  readonly layer?: string | undefined;
  /** Property that names the polygons, instead of the features' `id`. */
  readonly id?: string | undefined;
  /** Coordinate system to assume, regardless of what the file states. */
  readonly crs?: string | undefined;
  /**
   * How to read a ring whose longitudes jump by more than 180°. `as-written` (default) keeps the long edge; `unwrap`
   * assumes that the ring crosses the antimeridian, so its longitudes may pass 180. Other coordinates are always read
   * as written.
   */
  readonly antimeridian?: 'as-written' | 'unwrap' | undefined;
  /**
   * What to do with a record that cannot be read: `stop` (default) throws its error, `skip` leaves it out and notes it.
   * If the start of the next record cannot be found, reading stops in either case.
   */
  readonly onBadRecord?: 'stop' | 'skip' | undefined;
  /**
   * Maximum bytes of memory for reading. A record may have a sixteenth of it. Default: limited only by the length of a
   * string.
   */
  readonly memoryBytes?: number | undefined;
}

export const LAYER_OPTIONS: Kind = someOptions<PolygonLayerOptions>({
  format: optional(aWord(['geojson', 'geojson-lines', 'topojson', 'flatgeobuf', 'shapefile', 'wkt'])),
  layer: optional(aText),
  id: optional(aText),
  crs: optional(aText),
  antimeridian: optional(aWord(['as-written', 'unwrap'])),
  onBadRecord: optional(aWord(['stop', 'skip'])),
  memoryBytes: optional(aPositive()),
});

/** Consecutive polygons of a layer. */
export interface PolygonBatch {
  readonly zones: Zones;
  /** Number of bytes read so far. */
  readonly bytesRead: number;
}

/** A layer that is being read. */
export interface PolygonBatches extends AsyncIterable<PolygonBatch> {
  /**
   * Coordinate system, as far as known. A GeoJSON text may state it after its polygons. A text without one is assumed
   * to be OGC:CRS84 until a latitude out of range is found.
   */
  readonly crs: string | undefined;
  /** The notes so far. They cover the whole layer once the last batch has been read. */
  notes(): Note[];
}

/** A file of polygons, not yet read. */
export interface PolygonLayer {
  readonly file: string;
  readonly format: PolygonLayerFormat;
  /** Coordinate system stated by the header, a companion file or the options; undefined if there is none. */
  readonly crs: string | undefined;
  /** Bytes of the file. */
  readonly size: number;
  /** Reads the layer; each call reads it anew. */
  batches(signal?: AbortSignal): PolygonBatches;
}
