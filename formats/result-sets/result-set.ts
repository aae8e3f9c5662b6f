import type { Polygons } from '../../algorithms/geometry/polygons.ts';
import type { Note } from '../../algorithms/notes.ts';
import type { TextColumn } from '../../algorithms/text-column.ts';
import {
  aPositive,
  aRecord,
  aText,
  aWhole,
  aWord,
  type FieldKinds,
  type Kind,
  optional,
  someOptions,
} from '../../primitives/kinds.ts';

export type { TextColumn } from '../../algorithms/text-column.ts';

/** The polygons of one image tile. */
export interface PolygonTile {
  /** Names of the polygons in their file; their indices if the file has no names. */
  readonly ids: TextColumn;
  readonly polygons: Polygons;
  readonly notes: readonly Note[];
  /** Columns and rows of a label image. */
  readonly size?: { readonly width: number; readonly height: number } | undefined;
}

/** The formats of result sets. */
export type ResultSetFormat = 'geojson' | 'wkt' | 'csv' | 'boundaries' | 'png' | 'nifti' | 'coco';

/** Whether tiles of a format are label images. */
export function isLabelFormat(format: ResultSetFormat): boolean {
  return format === 'png' || format === 'nifti';
}

/** A tile that has not been read yet: a file of a folder, a slice of a volume, an image of a collection. */
export interface TileSource {
  /**
   * Pairs the tile with that of the other result set. It is the file's name without its extensions, the number of a
   * slice, or an image's name.
   */
  readonly name: string;
  /** Name in errors: the file, and the slice or image in it. */
  readonly place: string;
  readonly format: ResultSetFormat;
  /** The file, if it contains just this tile. A thread that parses the tile can then read it itself. */
  readonly file?: string | undefined;
  /** Reads the tile's own bytes from disk, or cuts them out of the volume. */
  load(signal?: AbortSignal): Promise<Uint8Array>;
  /** Parameters of `parseTile` in `formats/result-sets/parse-tile.ts`, which can be sent to a worker thread. */
  readonly parameters: TileParameters;
}

/** Plain data that describes how to parse a tile's bytes. */
export interface TileParameters {
  readonly format: ResultSetFormat;
  readonly place: string;
  /** Columns, rows and type of the labels, if the bytes are bare labels. */
  readonly labels?: { readonly width: number; readonly height: number; readonly type: LabelType } | undefined;
  /** Columns of a CSV file with the WKT and with the ids. Default: found by their headers. */
  readonly geometryColumn?: string | undefined;
  readonly idColumn?: string | undefined;
  /**
   * What forms one polygon of a label image: each 4-connected component of a label (`components`, default), or all
   * pixels of a label (`labels`).
   */
  readonly regions?: 'components' | 'labels' | undefined;
  /** Maximum bytes for reading the tile, besides the tile itself. Default: unlimited. */
  readonly memoryBytes?: number | undefined;
}

export type LabelType = 'u8' | 'i8' | 'u16' | 'i16' | 'u32' | 'i32';

const aLabelSize: Kind = aRecord<NonNullable<TileParameters['labels']>>({
  width: aWhole(),
  height: aWhole(),
  type: aWord(['u8', 'i8', 'u16', 'i16', 'u32', 'i32']),
});

/** The parameters that are also options of a result set. */
export const tileKinds: Pick<
  FieldKinds<TileParameters>,
  'format' | 'geometryColumn' | 'idColumn' | 'regions' | 'memoryBytes'
> = {
  format: aWord(['geojson', 'wkt', 'csv', 'boundaries', 'png', 'nifti', 'coco']),
  geometryColumn: optional(aText),
  idColumn: optional(aText),
  regions: optional(aWord(['components', 'labels'])),
  memoryBytes: optional(aPositive()),
};

/** Parameters for parsing a tile and making its side. */
export const someParameters: Kind = someOptions<TileParameters>({
  ...tileKinds,
  place: aText,
  labels: optional(aLabelSize),
});

/** One side of a comparison: its tiles, ordered by name. */
export interface ResultSet {
  readonly path: string;
  readonly format: ResultSetFormat;
  readonly tiles: readonly TileSource[];
  readonly notes: readonly Note[];
}
