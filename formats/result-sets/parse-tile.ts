import { requireArguments } from '../../primitives/checks/arguments.ts';
import { anInstance } from '../../primitives/checks/kinds.ts';
import { parseBoundaries } from './boundaries-text.ts';
import { parseCoco } from './coco.ts';
import { parseCsv } from './csv.ts';
import { traceLabelImage } from './label-image.ts';
import { parseLayerTile } from './layer-tile.ts';
import { type PolygonTile, type ResultSetFormat, someParameters, type TileParameters } from './result-set.ts';
import { parseWkt } from './wkt.ts';

/**
 * Reads the polygons of one tile from its bytes. Shapefiles, GeoParquet and GeoPackages are read from files only: give
 * `{ file }` to `createParsePool`. The result depends only on the arguments. No Node modules are used, so
 * the function runs in worker threads and in browsers.
 *
 * The result has at most one note for each of these codes:
 *
 * - `polygons/unclosed-rings`: rings that were not closed in the file, and have been closed;
 * - `polygons/short-rings`: rings with fewer than three vertices, which are left out;
 * - `polygons/zero-area-rings`: rings whose vertices all lie on one line;
 * - `polygons/empty`: polygons without rings, because all their rings are short;
 * - `polygons/empty-geometry`: empty geometries, such as `POLYGON EMPTY`, which are no polygons and are left out;
 * - `polygons/components`: labels of a label image that fell into several polygons;
 * - `polygons/mask-size`: COCO masks whose size is not that of their image;
 * - `polygons/other-geometry`: geometries that are not polygons, which are left out;
 * - `polygons/duplicate-ids`: polygons with the id of an earlier polygon;
 * - `polygons/crowd`: COCO crowd regions, each of which is read as one polygon.
 *
 * @throws FormatError or GeometryError of the format's reader, which names the line or the record; FormatError
 * `format/needs-file` if the format is only read from files; OutOfMemoryError
 * `memory/limit` if the tile takes more than `parameters.memoryBytes`.
 * @example
 * const bytes = new TextEncoder().encode('a 0,0 4,0 4,3 0,3\n');
 * parseTile(bytes, { format: 'boundaries', place: 'a.txt' }).polygons.x; // Float64Array [0, 4, 4, 0]
 */
export function parseTile(bytes: Uint8Array, parameters: TileParameters): PolygonTile {
  const kinds = { bytes: anInstance(Uint8Array), parameters: someParameters };
  requireArguments('parseTile', { bytes, parameters }, kinds);
  return (READERS[parameters.format] ?? parseLayerTile)(bytes, parameters);
}

type Reader = (bytes: Uint8Array, parameters: TileParameters) => PolygonTile;

/** Readers of formats that are not formats of polygon layers, or are read faster as a whole. */
const READERS: Readonly<Partial<Record<ResultSetFormat, Reader>>> = {
  boundaries: (bytes, { place, memoryBytes }) => parseBoundaries(bytes, place, memoryBytes),
  wkt: (bytes, { place, memoryBytes }) => parseWkt(bytes, place, memoryBytes),
  csv: parseCsv,
  coco: parseCoco,
  png: traceLabelImage,
  nifti: traceLabelImage,
};
