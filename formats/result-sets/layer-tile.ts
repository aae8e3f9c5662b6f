import { finishedNow, type Steps } from '../bytes/steps.ts';
import { canonicalCrs } from '../crs.ts';
import { bytesInput, type LayerInput } from '../polygons/layer-input.ts';
import type { PolygonFormat } from '../polygons/polygon-format.ts';
import { POLYGON_FORMATS } from '../polygons/polygon-formats.ts';
import type { PolygonLayerFormat } from '../polygons/polygon-layer.ts';
import { readAll } from '../polygons/read-layer.ts';
import type { PolygonTile, ResultSetFormat, TileParameters } from './result-set.ts';
import {
  appendVertices,
  beginPart,
  beginPolygonNamed,
  emptyTile,
  endPolygon,
  endRing,
  finishTile,
} from './tile-columns.ts';

/**
 * Reads the polygons of a tile in a format of polygon layers, such as GeoJSON. Rings of fewer than three vertices and empty
 * geometries are left out, as in all tiles.
 *
 * If `idColumn` is given, polygons are named by this property. Otherwise a polygon of GeoJSON is named by the feature's
 * `id`, else by its property `id`, else by its index in the file; one of another format by its id or its index. An `id` that is a class name, as old versions of QuPath write
 * (`PathDetectionObject`), is ignored.
 *
 * @throws FormatError or GeometryError; the error names the record. FormatError `format/needs-file` if the format is one
 * of {@link needsFile}.
 */
export function parseLayerTile(bytes: Uint8Array, parameters: TileParameters): PolygonTile {
  return finishedNow(layerTile(bytesInput(bytes, parameters.place, parameters.memoryBytes), parameters, true));
}

/** Whether tiles of a format are only read from files, because bytes in memory do not have all that their readers need. */
export function needsFile(format: ResultSetFormat): boolean {
  return layerFormat(format)?.needsFile === true;
}

/** The record of a format of polygon layers; undefined for other formats of tiles. */
export function layerFormat(format: ResultSetFormat): PolygonFormat | undefined {
  return POLYGON_FORMATS.find(({ name }) => name === format);
}

/** The steps of reading a tile like {@link parseLayerTile}. With `isNow`, they do not wait. */
export function* layerTile(
  input: LayerInput,
  { format, place, geometryColumn, idColumn: id, layer, memoryBytes }: TileParameters,
  isNow = false,
): Steps<PolygonTile> {
  const column = layerFormat(format)!.hasColumns === true ? geometryColumn : undefined;
  const options = { format: format as PolygonLayerFormat, geometryColumn: column, id, layer, memoryBytes };
  const { zones, notes } = yield* readAll(input, options, { isTile: true, isNow });
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
  // Tiles find the other notes on zones themselves, or have no use for them.
  const told = notes
    .map((note) => (note.code === 'zones/unclosed-rings' ? { ...note, code: 'polygons/unclosed-rings' } : note))
    .filter(({ code }) => code.startsWith('polygons/'));
  return { ...tile, notes: [...told, ...tile.notes], ...(zones.crs !== undefined && { crs: canonicalCrs(zones.crs) }) };
}
