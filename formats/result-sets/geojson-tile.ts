import { quoteName } from '../../algorithms/notes.ts';
import { FormatError, GeometryError } from '../../primitives/checks/errors.ts';
import { isJsonObject, type JsonObject, nullRecord, shallowText, withoutGeometry } from '../feature.ts';
import { isGeoJson } from '../geojson.ts';
import { type LeftOut, leaveOut, withFirstErrors } from '../left-out.ts';
import { nullName } from '../record-name.ts';
import { foreignJson } from './foreign-json.ts';
import { parseJsonBytes } from './json-bytes.ts';
import type { PolygonTile, TileParameters } from './result-set.ts';
import {
  addVertex,
  beginPart,
  beginPolygonNamed,
  dropPolygon,
  emptyTile,
  endPolygon,
  endRing,
  finishTile,
  note,
  type TileColumns,
} from './tile-columns.ts';

/**
 * Reads the polygons of a GeoJSON text: a FeatureCollection, a bare array of Features (as QuPath writes it), a Feature
 * or a geometry. Each feature becomes one polygon, whether its geometry is a Polygon, a MultiPolygon or a collection of
 * these. Points and lines are left out, also from collections, and noted as `polygons/other-geometry`.
 *
 * If `idColumn` is given, polygons are named by this property. Otherwise a polygon is named by the feature's `id`, else
 * by its property `id`, else by its index in the file. An `id` that is a class name, as old versions of QuPath write
 * (`PathDetectionObject`), is ignored.
 *
 * Features that are null, or lack their geometry or their name, are left out and noted as
 * `polygons/incomplete-records`.
 *
 * @throws FormatError if the text is not GeoJSON, GeometryError if a coordinate is not finite; both name the feature's
 * index.
 */
export function parseGeoJsonTile(bytes: Uint8Array, { place, idColumn, memoryBytes }: TileParameters): PolygonTile {
  const features = listFeatures(parseJsonBytes(bytes, place, memoryBytes), place);
  const columns = emptyTile(0, { place, memoryBytes });
  const leftOut: LeftOut = { tally: columns.tally, firstErrors: new Map() };
  for (const [record, feature] of features.entries()) {
    try {
      readFeature(columns, feature, idColumn, { file: place, record });
    } catch (error) {
      leaveOut(error, record, 'stop', leftOut);
    }
  }
  const tile = finishTile(columns);
  return { ...tile, notes: withFirstErrors(tile.notes, leftOut) };
}

function readFeature(columns: TileColumns, feature: unknown, idColumn: string | undefined, at: FeatureAt): void {
  const { file, record } = at;
  if (feature === null) throw nullRecord(file, record);
  if (!isJsonObject(feature) || feature.type !== 'Feature') throw malformed('a Feature', feature, file, record);
  const { geometry, id } = feature;
  if (geometry === undefined) throw withoutGeometry({ file, index: record, id });
  beginPolygonNamed(columns, nameOf(feature, idColumn, file, record));
  readGeometry(columns, geometry, at);
}

function listFeatures(root: unknown, file: string): readonly unknown[] {
  if (Array.isArray(root)) {
    const [first] = root;
    const foreign = isJsonObject(first) && first.type !== 'Feature' ? foreignJson(first, file) : undefined;
    if (foreign !== undefined) throw foreign;
    return root;
  }
  if (!isJsonObject(root) || !isGeoJson(root)) throw foreignJson(root, file) ?? malformed('GeoJSON', root, file);
  if (root.type === 'Feature') return [root];
  if (root.type !== 'FeatureCollection') return [{ type: 'Feature', geometry: root }];
  if (Array.isArray(root.features)) return root.features;
  throw malformed('an array "features"', root.features, file);
}

const CLASS_OF_QUPATH = /^Path\w*Object$/;

function nameOf(feature: JsonObject, idColumn: string | undefined, file: string, record: number): string | number {
  const properties = isJsonObject(feature.properties) ? feature.properties : {};
  if (idColumn !== undefined) {
    const name = Object.hasOwn(properties, idColumn) ? nameText(properties[idColumn]) : undefined;
    if (name !== undefined) return name;
    if (properties[idColumn] === null) throw nullName(idColumn, { file, index: record, id: feature.id });
    throw new FormatError('format/missing-property', `Feature ${record} has no ${quoteName(idColumn)} to name it.`, {
      expected: 'a text or a number',
      got: Object.keys(properties).slice(0, 20).join(', ') || 'no properties',
      remedy: 'Name the polygons by another property.',
      place: { file, record },
    });
  }
  const { id } = feature;
  if (!(typeof id === 'string' && CLASS_OF_QUPATH.test(id)) && nameText(id) !== undefined) return nameText(id)!;
  return nameText(properties.id) ?? record;
}

function nameText(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

interface FeatureAt {
  readonly file: string;
  readonly record: number;
}

/**
 * Appends a geometry to the current polygon. Walks nested collections with an explicit stack, so that deep nesting
 * cannot overflow the call stack.
 */
function readGeometry(columns: TileColumns, geometry: unknown, at: FeatureAt): void {
  const pending: unknown[] = geometry === null ? [] : [geometry];
  let [polygons, others] = [0, 0];
  while (pending.length > 0) {
    const next = pending.pop();
    if (!isJsonObject(next) || !isGeoJson(next)) throw malformed('a geometry', next, at.file, at.record);
    if (next.type === 'GeometryCollection') {
      for (const part of arrayOf(next.geometries, '"geometries"', at).toReversed()) pending.push(part);
    } else if (next.type === 'Polygon' || next.type === 'MultiPolygon') {
      polygons++;
      const coordinates = arrayOf(next.coordinates, '"coordinates"', at);
      const parts = next.type === 'Polygon' ? [coordinates] : coordinates;
      for (const part of parts) {
        beginPart(columns);
        for (const ring of arrayOf(part, 'rings', at)) readRing(columns, ring, at);
      }
    } else others++;
  }
  if (others > 0) note(columns, 'polygons/other-geometry');
  if (others > 0 && polygons === 0) dropPolygon(columns);
  else endPolygon(columns);
}

function arrayOf(value: unknown, what: string, { file, record }: FeatureAt): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw malformed(`an array of ${what}`, value, file, record);
}

function readRing(columns: TileColumns, ring: unknown, at: FeatureAt): void {
  for (const position of arrayOf(ring, 'positions', at)) {
    const [x, y] = Array.isArray(position) ? position : [undefined, undefined];
    if (Number.isFinite(x) && Number.isFinite(y)) addVertex(columns, x, y);
    else throw notFinite(position, at);
  }
  endRing(columns, true);
}

function notFinite(position: unknown, place: FeatureAt): GeometryError {
  return new GeometryError('geometry/not-finite', `A position of feature ${place.record} is not a pair of numbers.`, {
    expected: 'positions of two finite numbers',
    got: kindOfValue(position),
    remedy: 'Correct or remove the feature.',
    place,
  });
}

function malformed(expected: string, got: unknown, file: string, record?: number): FormatError {
  const subject = record === undefined ? 'The text' : `Feature ${record}`;
  return new FormatError('format/malformed-geojson', `${subject} is not GeoJSON.`, {
    expected,
    got: kindOfValue(got),
    remedy: 'Write the file again as GeoJSON (RFC 7946).',
    place: { file, record },
  });
}

function kindOfValue(value: unknown): string {
  if (Array.isArray(value))
    return value.length > 4 ? `an array of ${value.length}` : quoteName(`[${value.map(shallowText).join(',')}]`);
  if (!isJsonObject(value)) return value === undefined ? 'nothing' : quoteName(String(value));
  return typeof value.type === 'string' ? `an object of type ${quoteName(value.type)}` : 'an object without a type';
}
