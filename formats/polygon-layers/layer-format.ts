import { extname } from 'node:path';
import { FormatError } from '../../primitives/checks/errors.ts';
import { isGeoJson } from '../geojson.ts';
import { withoutGz } from '../gzip.ts';
import { beginsObject, membersOf, skipJsonSpace } from '../result-sets/json-spans.ts';
import { type ByteWindow, need, needMore } from './byte-window.ts';
import { FLATGEOBUF_MAGIC } from './flatgeobuf-header.ts';
import { RECORD_SEPARATOR } from './geojson-lines.ts';
import { emptyRecord, scanRecord } from './json-record.ts';
import type { PolygonLayerFormat } from './polygon-layer.ts';
import { SHAPEFILE_CODE } from './shapefile-index.ts';

/** Number of bytes at the start of a file that are used to detect the format. */
export const HEAD_BYTES = 65_536;

/**
 * Detects the format of a file from its first bytes. If the bytes are JSON or of unknown format, the file's extension
 * is used as well.
 *
 * @throws FormatError `format/unknown-layer` if neither the bytes nor the extension identify a format.
 */
export async function formatOf(window: ByteWindow, file: string): Promise<PolygonLayerFormat> {
  const { head, start, ending } = await lookAt(window, file);
  if (head.length >= 3 && head.compare(FLATGEOBUF_MAGIC, 0, 3, 0, 3) === 0) return 'flatgeobuf';
  if (head.length >= 4 && head.readInt32BE(0) === SHAPEFILE_CODE && ending !== '.shx') return 'shapefile';
  if (head[start] === RECORD_SEPARATOR) return 'geojson-lines';
  if (beginsObject(head, start)) return formatOfJson(window, start, ending);
  if (WKT.test(head.toString('latin1', start, start + 40))) return 'wkt';
  const byEnding = ENDINGS.get(ending);
  if (byEnding !== undefined) return byEnding;
  throw unknownFormat(head, ending, file);
}

/**
 * Whether a text has one GeoJSON feature per line or per record separator. If it does not begin with an object, its
 * extension decides.
 */
export async function hasLines(window: ByteWindow, file: string): Promise<boolean> {
  const { head, start, ending } = await lookAt(window, file);
  if (head[start] === RECORD_SEPARATOR) return true;
  return beginsObject(head, start)
    ? (await formatOfJson(window, start, ending)) === 'geojson-lines'
    : LINES.has(ending);
}

/** The first bytes of a file, where its text begins, and its extension in lower case. */
async function lookAt(window: ByteWindow, file: string) {
  await need(window, HEAD_BYTES, 0);
  const head = window.bytes.subarray(0, window.end);
  const start = skipJsonSpace(head, head[0] === 0xef ? 3 : 0);
  return { head, start, ending: extname(withoutGz(file)).toLowerCase() };
}

/**
 * Matches the start of a WKT text: a comment, or the keyword of a geometry. The number of a coordinate system may
 * precede the keyword.
 */
const WKT =
  /^(#|(SRID\s*=\s*\d+\s*;\s*)?(MULTI)?(POLYGON|POINT|LINESTRING|SURFACE|CURVE)|(SRID\s*=\s*\d+\s*;\s*)?GEOMETRYCOLLECTION)/i;

const ENDINGS: ReadonlyMap<string, PolygonLayerFormat> = new Map([
  ['.geojson', 'geojson'],
  ['.json', 'geojson'],
  ['.topojson', 'topojson'],
  ['.fgb', 'flatgeobuf'],
  ['.shp', 'shapefile'],
  ['.wkt', 'wkt'],
]);

/** Extensions of files with one GeoJSON feature per line. */
const LINES: ReadonlySet<string> = new Set([
  '.ndjson',
  '.jsonl',
  '.ldjson',
  '.ndgeojson',
  '.geojsonl',
  '.geojsonld',
  '.geojsons',
  '.geojsonseq',
]);

async function formatOfJson(window: ByteWindow, start: number, ending: string): Promise<PolygonLayerFormat> {
  const kind = kindOfRoot(window.bytes.subarray(0, window.end), start);
  if (kind === 'topology') return 'topojson';
  const isLines = LINES.has(ending);
  const first = kind === 'single' || isLines ? await firstValue(window, start) : 'of several lines';
  const byLine = first === 'followed' || (first === 'alone' && kind === 'single' && isLines);
  return byLine ? 'geojson-lines' : 'geojson';
}

/**
 * The kind of the JSON object that begins at `start`, detected from its first keys. If no key decides, a collection is
 * assumed.
 */
export function kindOfRoot(head: Uint8Array, start: number): 'topology' | 'single' | 'collection' {
  for (const { key, start: from, end } of membersOf(head, start)) {
    if (key === 'arcs' || key === 'objects') return 'topology';
    if (key === 'features') return 'collection';
    if (key === 'geometry' || key === 'coordinates' || key === 'geometries') return 'single';
    if (key !== 'type') continue;
    const type = typeOf(head.subarray(from, end));
    if (type === 'Topology') return 'topology';
    if (type === 'FeatureCollection') return 'collection';
    if (isGeoJson({ type })) return 'single';
  }
  return 'collection';
}

function typeOf(bytes: Uint8Array): string {
  return new TextDecoder('latin1').decode(bytes.subarray(1, Math.min(bytes.length - 1, 30)));
}

/**
 * Whether the value at `start` is on one line, and whether more text follows it, as in a file with one feature per line.
 */
async function firstValue(window: ByteWindow, start: number): Promise<'of several lines' | 'alone' | 'followed'> {
  const record = emptyRecord();
  let end = scanRecord(record, window.bytes, start, window.end);
  while (end === -1 && (await needMore(window))) end = scanRecord(record, window.bytes, start, window.end);
  const hasLineEnd = window.bytes.subarray(start, end === -1 ? window.end : end).includes(10);
  if (end === -1) return hasLineEnd ? 'followed' : 'alone';
  if (hasLineEnd) return 'of several lines';
  let next = skipJsonSpace(window.bytes, end);
  while (next === window.end && (await needMore(window))) next = skipJsonSpace(window.bytes, end);
  return next < window.end ? 'followed' : 'alone';
}

/**
 * Common files that cannot be read as a polygon layer. Each entry has the first bytes of the file, and texts for the
 * error message: what the file is, and the remedy.
 */
const FOREIGN: readonly (readonly [bytes: string, what: string, remedy: string])[] = [
  ['PK\x03\x04', 'a ZIP archive', 'Unpack it, and name the file in it.'],
  ['\x1f\x8b', 'compressed by gzip', 'Unpack it first.'],
  ['SQLite format 3', 'an SQLite database, such as GeoPackage', 'Convert it, for example with ogr2ogr.'],
  ['MAQTREE\n', 'a tree, written by quadrille index build', 'Name the files of polygons that the tree was built from.'],
  ['PAR1', 'a Parquet file', 'Convert it, for example with ogr2ogr.'],
  ['\xff\xfe', 'text in UTF-16', 'Write it as UTF-8.'],
  ['\xfe\xff', 'text in UTF-16', 'Write it as UTF-8.'],
  ['<', 'XML, such as KML or GML', 'Convert it, for example with ogr2ogr.'],
  ['[', 'an array of JSON', 'Write it as a FeatureCollection, or as one Feature per line.'],
];

/** Companion files of a Shapefile, which users may name by mistake instead of the `.shp` file. */
const BESIDE: ReadonlySet<string> = new Set(['.dbf', '.shx', '.prj', '.cpg']);

function unknownFormat(head: Buffer, ending: string, file: string): FormatError {
  const text = head.toString('latin1', 0, 16);
  const foreign = FOREIGN.find(([bytes]) => text.startsWith(bytes));
  const remedy = BESIDE.has(ending) ? 'Name the file that ends in .shp.' : foreign?.[2];
  return new FormatError(
    'format/unknown-layer',
    'The format of the file is not known, so its polygons cannot be read.',
    {
      expected: 'GeoJSON, TopoJSON, FlatGeobuf, a Shapefile or WKT',
      got: head.length === 0 ? 'an empty file' : (foreign?.[1] ?? 'something else'),
      remedy: remedy ?? 'Convert it, for example with ogr2ogr.',
      place: { file },
    },
  );
}
