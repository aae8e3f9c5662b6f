import { requireArguments } from '../../primitives/checks/arguments.ts';
import {
  anArrayOf,
  anInstance,
  aPositive,
  aText,
  aWord,
  eitherOf,
  type FieldKinds,
  type Kind,
  optional,
  someOptions,
} from '../../primitives/checks/kinds.ts';
import type { BlobLike } from '../../primitives/host/platform-types.ts';
import { finishedNow, type Steps } from '../bytes/steps.ts';
import type { OnBadRecord } from '../left-out.ts';
import { bytesInput, type LayerInput } from './layer-input.ts';
import type { ReadZones } from './polygon-layer.ts';
import { readAll } from './read-layer.ts';
import { attributeReader, type ChosenAttributes } from './zone-attributes.ts';

export type { ReadZones } from './polygon-layer.ts';

/** Options for reading zones. */
export interface ZoneOptions {
  /**
   * Name of the object to read from a TopoJSON file, of the layer of a GeoPackage, or of the Shapefile in a ZIP archive. May be omitted if there is only one. A
   * GeoJSON file has no layers to choose from; if the option is given, it must equal the `name` of the
   * FeatureCollection.
   */
  readonly layer?: string | undefined;
  /**
   * Column of the geometries in GeoParquet or CSV. Default: the one that the file says; of CSV the one that is called `wkt`,
   * `geometry` or the like.
   */
  readonly geometryColumn?: string | undefined;
  /** Property whose values name the zones. Default: the features' `id`. */
  readonly id?: string | undefined;
  /** Coordinate system of the zones, instead of the system that the file states. */
  readonly crs?: string | undefined;
  /**
   * How to read a ring whose longitudes jump by more than 180°. `as-written` (default) keeps the coordinates; `unwrap`
   * assumes that the ring crosses the antimeridian, and makes its longitudes continuous, so they may exceed 180°.
   * Coordinates that are not longitudes and latitudes are always read as written.
   */
  readonly antimeridian?: 'as-written' | 'unwrap' | undefined;
  /**
   * What to do with a malformed feature: `stop` (default) throws its error, `skip` leaves the feature out and notes it.
   */
  readonly onBadRecord?: OnBadRecord | undefined;
  /**
   * The attributes of the zones to read: `all`, or some by their names, in their order. Default: none. A zone may lack
   * one that other zones have.
   */
  readonly attributes?: ChosenAttributes | undefined;
  /**
   * Files that stand beside a `File`, such as those that were dropped with it: of a Shapefile `.dbf`, `.shx`, `.prj` and
   * `.cpg`, found by their names. Beside a file on disk they are found in its folder.
   */
  readonly beside?: readonly BlobLike[] | undefined;
  /** Maximum bytes of memory for reading. Default: unlimited. */
  readonly memoryBytes?: number | undefined;
}

/** Options for parsing zones from a text. */
export interface ParseZonesOptions extends Omit<ZoneOptions, 'beside'> {
  /** Name of the text in error messages. Default `zones`. */
  readonly file?: string | undefined;
}

/** The kinds of {@link ZoneOptions}, to validate them. */
export const ZONE_OPTIONS: FieldKinds<ZoneOptions> = {
  layer: optional(aText),
  geometryColumn: optional(aText),
  id: optional(aText),
  crs: optional(aText),
  antimeridian: optional(aWord(['as-written', 'unwrap'])),
  onBadRecord: optional(aWord(['stop', 'skip'])),
  attributes: optional(eitherOf("'all', or a list of names", aWord(['all']), anArrayOf(aText))),
  beside: optional(anArrayOf(anInstance(Blob))),
  memoryBytes: optional(aPositive()),
};
const { beside: _, ...OF_TEXTS } = ZONE_OPTIONS;
const PARSE_OPTIONS: Kind = someOptions<ParseZonesOptions>({ ...OF_TEXTS, file: optional(aText) });

/**
 * Reads zones from a text of GeoJSON, TopoJSON, or another text that {@link readZones} reads, like `readZones`.
 *
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [2, 0], [0, 2], [0, 0]]] }');
 * [zones.names, zones.polygons.x]; // [['0'], Float64Array [0, 2, 0]]
 */
export function parseZones(text: string, options: ParseZonesOptions = {}): ReadZones {
  requireArguments('parseZones', { text, options }, { text: aText, options: PARSE_OPTIONS });
  const { file = 'zones', ...how } = options;
  return finishedNow(zonesIn(bytesInput(new TextEncoder().encode(text), file, how.memoryBytes), how, true));
}

/** Reads zones from a source of bytes; `isNow` says that the caller cannot wait. */
export function zonesIn(
  input: LayerInput,
  { attributes: chosen, ...options }: ZoneOptions,
  isNow = false,
): Steps<ReadZones> {
  const attributes = chosen && attributeReader(chosen, input.file, options.memoryBytes);
  return readAll(input, options, { attributes, noun: 'zone', isNow });
}
