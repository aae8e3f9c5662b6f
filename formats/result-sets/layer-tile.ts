import { finishedNow } from '../bytes/steps.ts';
import { bytesInput } from '../polygons/layer-input.ts';
import { readAll } from '../polygons/open-polygon-layer.ts';
import type { PolygonLayerFormat } from '../polygons/polygon-layer.ts';
import type { PolygonTile, TileParameters } from './result-set.ts';
import {
  appendVertices,
  beginPart,
  beginPolygonNamed,
  emptyTile,
  endPolygon,
  endRing,
  finishTile,
} from './tile-columns.ts';

/** Codes of notes on layers, and what they are called for tiles. Tiles find the others themselves, or have no use for them. */
const NOTED: Readonly<Record<string, string>> = {
  'zones/unclosed-rings': 'polygons/unclosed-rings',
  'polygons/other-geometry': 'polygons/other-geometry',
  'polygons/incomplete-records': 'polygons/incomplete-records',
};

/**
 * Reads the polygons of a tile in a format of polygon layers, such as GeoJSON. Rings of fewer than three vertices and empty
 * geometries are left out, as in all tiles.
 *
 * If `idColumn` is given, polygons are named by this property. Otherwise a polygon of GeoJSON is named by the feature's
 * `id`, else by its property `id`, else by its index in the file; one of another format by its id or its index. An `id` that is a class name, as old versions of QuPath write
 * (`PathDetectionObject`), is ignored.
 *
 * @throws FormatError or GeometryError; the error names the record.
 */
export function parseLayerTile(
  bytes: Uint8Array,
  { format, place, idColumn, memoryBytes }: TileParameters,
): PolygonTile {
  const input = bytesInput(bytes, place, memoryBytes);
  const { zones, notes } = finishedNow(
    readAll(input, { format: format as PolygonLayerFormat, id: idColumn }, { isTile: true, isNow: true }),
  );
  const { polygonRings, ringVertices, ringParts, x, y } = zones.polygons;
  const columns = emptyTile(x.length, { place, memoryBytes });
  for (const [polygon, name] of zones.names.entries()) {
    beginPolygonNamed(columns, name);
    for (let ring = polygonRings[polygon]!; ring < polygonRings[polygon + 1]!; ring++) {
      if (ringParts![ring] !== ringParts![ring - 1]) beginPart(columns);
      appendVertices(columns, x, y, ringVertices[ring]!, ringVertices[ring + 1]!);
      endRing(columns, false);
    }
    endPolygon(columns);
  }
  const tile = finishTile(columns);
  const told = notes.flatMap((note) => (note.code in NOTED ? [{ ...note, code: NOTED[note.code]! }] : []));
  return { ...tile, notes: [...told, ...tile.notes] };
}
