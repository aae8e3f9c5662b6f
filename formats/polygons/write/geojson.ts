import { jsonCell } from '../../tables/write/text-writers.ts';
import { inChunks } from '../../text/text-chunks.ts';
import {
  codeOfCrs,
  type LayerWriter,
  type MakeLayerWriter,
  nextZone,
  type WrittenZones,
  wktOfCrs,
} from './layer-writer.ts';
import { closedRing, partsOfZone, type WrittenPart } from './zone-rings.ts';

/**
 * Writes GeoJSON (RFC 7946), a feature on each line. Coordinates are in the system of the zones: if that is not longitudes
 * and latitudes of WGS 84, the collection names it by the member `crs` of the format's first version, as GDAL does.
 */
export const geojsonWriter: MakeLayerWriter = (fields, zones): LayerWriter => {
  const zoneOf = nextZone(zones);
  const { x, y } = zones.polygons;
  let separator = '';
  function* pieces(rows: Parameters<LayerWriter['add']>[0]): Generator<string> {
    const cells = fields.map((field) => {
      const [key, cell] = [JSON.stringify(field.name), jsonCell(field, rows.columns[field.name]!)];
      return (row: number): string => `${key}:${cell(row)}`;
    });
    for (let row = 0; row < rows.rows; row++) {
      yield `${separator}{"type":"Feature","properties":{${cells.map((cell) => cell(row)).join()}},"geometry":`;
      separator = ',\n';
      const parts = partsOfZone(zones.polygons, zoneOf());
      if (parts.length === 0) yield 'null';
      else if (parts.length === 1) yield* geometry('Polygon', ringsOf(parts[0]!, x, y));
      else
        yield* geometry(
          'MultiPolygon',
          separated(parts, (part) => bracketed(ringsOf(part, x, y))),
        );
      yield '}';
    }
  }
  return {
    begin: () => `{"type":"FeatureCollection",${crsMember(zones)}"features":[\n`,
    add: (rows) => inChunks(pieces(rows)),
    end: () => '\n]}\n',
  };
};

function crsMember(zones: WrittenZones): string {
  const { crs } = zones;
  const code = codeOfCrs(crs);
  if (crs === undefined || (code?.authority === 'EPSG' && code.code === 4326)) return '';
  const name = code === undefined ? (wktOfCrs(zones) ?? crs) : `urn:ogc:def:crs:${code.authority}::${code.code}`;
  return `"crs":{"type":"name","properties":{"name":${JSON.stringify(name)}}},`;
}

function* geometry(type: string, coordinates: Iterable<string>): Generator<string> {
  yield `{"type":"${type}","coordinates":`;
  yield* bracketed(coordinates);
  yield '}';
}

function* ringsOf(part: WrittenPart, x: Float64Array, y: Float64Array): Generator<string> {
  yield* separated(part, (ring) => bracketed(separated(closedRing(ring), (v) => [`[${x[v]},${y[v]}]`])));
}

function* bracketed(pieces: Iterable<string>): Generator<string> {
  yield '[';
  yield* pieces;
  yield ']';
}

function* separated<T>(items: Iterable<T>, piecesOf: (item: T) => Iterable<string>): Generator<string> {
  let isFirst = true;
  for (const item of items) {
    if (!isFirst) yield ',';
    isFirst = false;
    yield* piecesOf(item);
  }
}
