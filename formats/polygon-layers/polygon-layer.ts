import type { Zones } from '../../algorithms/geometry/polygons.ts';
import type { Note } from '../../algorithms/notes.ts';
import { aPositive, aText, aWord, type Kind, optional, someOptions } from '../../primitives/kinds.ts';

/** The formats a layer of polygons may be in. `geojson-lines` has a Feature or a geometry a line. */
export type PolygonLayerFormat = 'geojson' | 'geojson-lines' | 'topojson' | 'flatgeobuf' | 'shapefile' | 'wkt';

/** How to read a layer of polygons. */
export interface PolygonLayerOptions {
  /** Format of the file, where it is not to be told by its content and its ending. */
  readonly format?: PolygonLayerFormat | undefined;
  /** Object of a TopoJSON file; may be left out where the file has one. A GeoJSON file has one at most, its `name`. */
  readonly layer?: string | undefined;
  /** Property that names the polygons, instead of the features' `id`. */
  readonly id?: string | undefined;
  /** Coordinate system to take the coordinates in, whatever the file says. */
  readonly crs?: string | undefined;
  /**
   * What a ring means whose longitudes jump by more than 180°: `as-written` (default) takes the long edge as it is, `unwrap`
   * takes the ring to cross the antimeridian, so that its longitudes may pass 180. Coordinates of other kinds are always as
   * written.
   */
  readonly antimeridian?: 'as-written' | 'unwrap' | undefined;
  /**
   * What is done about a record that cannot be read: `stop` (default) throws its error, `skip` leaves it out and notes
   * it. Where it cannot be told where the next record begins, reading stops in either case.
   */
  readonly onBadRecord?: 'stop' | 'skip' | undefined;
  /** Bytes that reading may take: a sixteenth of it one record may have. Bounded by what a string may have where left out. */
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

/** Some of the polygons of a layer, in the file's order. */
export interface PolygonBatch {
  readonly zones: Zones;
  /** So far the file has been read. */
  readonly bytesRead: number;
}

/** A layer on its way out of its file. */
export interface PolygonBatches extends AsyncIterable<PolygonBatch> {
  /**
   * Coordinate system, as far as is known: a GeoJSON text may name it behind its polygons, and one that names none is
   * taken to be OGC:CRS84 until it turns out to hold latitudes that cannot be.
   */
  readonly crs: string | undefined;
  /** What was noticed so far, and of the whole layer once the last batch is out. */
  notes(): Note[];
}

/** A file of polygons, not yet read. */
export interface PolygonLayer {
  readonly file: string;
  readonly format: PolygonLayerFormat;
  /** What the format's head or the file beside it states, or the options; undefined where they do not. */
  readonly crs: string | undefined;
  /** Bytes of the file. */
  readonly size: number;
  /** Reads the layer; each call reads it anew. */
  batches(signal?: AbortSignal): PolygonBatches;
}
