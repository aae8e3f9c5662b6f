import type { ImageSize } from '../../algorithms/cross-compare/tile-comparison.ts';
import { aVoxelGrid, type VoxelGrid } from '../../algorithms/cross-compare/voxel-grid.ts';
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
} from '../../primitives/checks/kinds.ts';
import type { AbortSignal } from '../../primitives/host/platform-types.ts';
import { POLYGON_LAYER_FORMATS, type PolygonLayerFormat } from '../polygons/polygon-layer.ts';

export type { TextColumn } from '../../algorithms/text-column.ts';

/** The polygons of one image tile. */
export interface PolygonTile {
  /** Names of the polygons, as given in the file. If the file has no names, the indices of the polygons are used. */
  readonly ids: TextColumn;
  readonly polygons: Polygons;
  readonly notes: readonly Note[];
  /** Size of the image in pixels, if the file states it: label images and COCO. */
  readonly size?: ImageSize | undefined;
  /** Name or definition of the coordinate reference system, if the file states it; equal for equal systems. */
  readonly crs?: string | undefined;
}

/** The formats of result sets. */
export type ResultSetFormat = PolygonLayerFormat | 'boundaries' | 'png' | 'nifti' | 'coco';

export const RESULT_SET_FORMATS: readonly ResultSetFormat[] = [
  ...POLYGON_LAYER_FORMATS,
  'boundaries',
  'png',
  'nifti',
  'coco',
];

/** Whether tiles of a format are label images rather than outlines. */
export function isLabelFormat(format: ResultSetFormat): boolean {
  return format === 'png' || format === 'nifti';
}

/** A tile that has not been read yet: a file of a folder, a slice of a volume, or an image of a COCO file. */
export interface TileSource {
  /**
   * The name by which tiles of two result sets are paired. It is the name of the file without extensions, the number of
   * the slice, or the name of the image.
   */
  readonly name: string;
  /**
   * Name of the tile in error messages. It consists of the file and, if the file has several tiles, the slice or image.
   */
  readonly place: string;
  readonly format: ResultSetFormat;
  /** Path of the file, if it contains only this tile. A worker thread can then read the file itself. */
  readonly file?: string | undefined;
  /** Reads the bytes of this tile, from a file or from a volume in memory. */
  load(signal?: AbortSignal): Promise<Uint8Array>;
  /** Parameters of `parseTile` for this tile. They can be sent to a worker thread. */
  readonly parameters: TileParameters;
}

/** Parameters for parsing the bytes of a tile, as plain data without functions. */
export interface TileParameters {
  readonly format: ResultSetFormat;
  readonly place: string;
  /** Size of the image and type of the labels, if the tile consists of labels without a header. */
  readonly labels?:
    | {
        readonly width: number;
        readonly height: number;
        readonly type: LabelType;
        /** Where the voxels are in space, if the file states it. */
        readonly grid?: VoxelGrid | undefined;
      }
    | undefined;
  /** Size of the image in pixels, if the file states it beside the polygons, as COCO does. */
  readonly image?: Pick<ImageSize, 'width' | 'height'> | undefined;
  /**
   * Names of two columns: `geometryColumn` contains the geometries of a CSV file or of GeoParquet, and `idColumn` contains
   * the ids, which may be a property of features. By default, the header says both.
   */
  readonly geometryColumn?: string | undefined;
  readonly idColumn?: string | undefined;
  /** Name of the layer to read from a file with several, such as a GeoPackage. */
  readonly layer?: string | undefined;
  /**
   * What forms one polygon of a label image: a 4-connected component of equal labels (`components`, default), or all
   * pixels with the same label (`labels`).
   */
  readonly regions?: 'components' | 'labels' | undefined;
  /** Maximum bytes of memory for parsing the tile, not counting its own bytes. Default: unlimited. */
  readonly memoryBytes?: number | undefined;
}

/** Type of labels in memory; `f64` holds whole numbers below 2⁵³, such as labels that a file stores in 64 bits. */
export type LabelType = 'u8' | 'i8' | 'u16' | 'i16' | 'u32' | 'i32' | 'f64';

const aLabelSize: Kind = aRecord<NonNullable<TileParameters['labels']>>({
  width: aWhole(),
  height: aWhole(),
  type: aWord(['u8', 'i8', 'u16', 'i16', 'u32', 'i32', 'f64']),
  grid: optional(aVoxelGrid),
});

const anImageSize: Kind = aRecord<NonNullable<TileParameters['image']>>({ width: aWhole(), height: aWhole() });

/** Validators of those parameters of `parseTile` that are also options of `openResultSet`. */
export const tileKinds: Pick<
  FieldKinds<TileParameters>,
  'format' | 'geometryColumn' | 'idColumn' | 'layer' | 'regions' | 'memoryBytes'
> = {
  format: aWord(RESULT_SET_FORMATS),
  geometryColumn: optional(aText),
  idColumn: optional(aText),
  layer: optional(aText),
  regions: optional(aWord(['components', 'labels'])),
  memoryBytes: optional(aPositive()),
};

/** Validator of the parameters of `parseTile`. */
export const someParameters: Kind = someOptions<TileParameters>({
  ...tileKinds,
  place: aText,
  labels: optional(aLabelSize),
  image: optional(anImageSize),
});

/** One of the two sets of polygons in a comparison, as a list of tiles ordered by name. */
export interface ResultSet {
  readonly path: string;
  readonly format: ResultSetFormat;
  readonly tiles: readonly TileSource[];
  readonly notes: readonly Note[];
}
