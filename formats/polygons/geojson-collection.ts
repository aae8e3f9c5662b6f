import { quoteName } from '../../algorithms/quoted-names.ts';
import { FormatError } from '../../primitives/checks/errors.ts';
import type { Steps } from '../bytes/steps.ts';
import { requireJsonRoom } from '../memory.ts';
import { foreignJson } from '../result-sets/foreign-json.ts';
import { skipJsonSpace } from '../result-sets/json-spans.ts';
import { type ByteWindow, bytesThere, need, needMore, offsetOf } from './byte-window.ts';
import { unknownLayer } from './choose-layer.ts';
import { isJsonObject, type JsonObject, nullRecord, statedCrs } from './feature.ts';
import { isGeoJson } from './geojson.ts';
import { malformed, readFeature } from './geojson-feature.ts';
import { faultErrorIn, faultOf, syntaxFault } from './json-faults.ts';
import { emptyRecord, holdText, type JsonRecord, parseRecord, scanRecord } from './json-record.ts';
import { isFull } from './layer-columns.ts';
import { type Reading, readRecord } from './layer-reading.ts';

const COMMA = 44;
const COLON = 58;
const OPEN_ARRAY = 91;
const CLOSE_ARRAY = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

/**
 * Reads a text that is one FeatureCollection or an array of Features (as QuPath writes it), feature by feature. The member "features" may be preceded and followed by
 * other members. Only one feature, or one other member, is in memory at a time.
 */
export function* readCollection(reading: Reading): Steps {
  const { window } = reading;
  const record = emptyRecord();
  const root = new Map<string, unknown>();
  yield* skipMark(window);
  const first = yield* token(window);
  if (first === OPEN_ARRAY) {
    // An array has no name.
    checkLayer(reading, {});
    yield* readFeatures(reading, record);
    yield* requireEnd(reading);
    return;
  }
  if (first !== OPEN_OBJECT) {
    yield* need(window, Number.POSITIVE_INFINITY);
    holdText(record, window.bytes, window.at, window.end);
    throw notGeoJson(reading, yield* parse(reading, record, window.end));
  }
  window.at++;
  let more = (yield* token(window)) !== CLOSE_OBJECT;
  if (!more) window.at++;
  while (more) {
    const key = yield* readKey(reading, record);
    yield* take(reading, COLON);
    const isArray = (yield* token(window)) === OPEN_ARRAY;
    if (key === 'features' && root.has(key)) throw malformed('The text has two members "features".', reading.input);
    if (key === 'features' && isArray) {
      root.set(key, []);
      yield* readFeatures(reading, record);
    } else {
      root.set(key, yield* readValue(reading, record));
      if (key === 'crs') reading.stated = statedCrs({ crs: root.get('crs') });
    }
    more = yield* separated(reading, CLOSE_OBJECT);
  }
  yield* requireEnd(reading);
  checkRoot(reading, Object.fromEntries(root));
}

/** Reads a text that is a single Feature or a single geometry. */
export function* readSingle(reading: Reading): Steps {
  yield* skipMark(reading.window);
  yield* token(reading.window);
  const record = emptyRecord();
  const value = yield* readValue(reading, record);
  yield* requireEnd(reading);
  if (!isJsonObject(value) || !isGeoJson(value)) throw notGeoJson(reading, value);
  checkLayer(reading, value);
  reading.stated = statedCrs(value);
  readRecord(reading, 0, () => {
    readFeature(reading, value.type === 'Feature' ? value : { geometry: value }, splitOf(record), 0);
  });
}

/** Skips the byte-order mark at the start of a text, if there is one. */
export function* skipMark(window: ByteWindow): Steps {
  yield* need(window, 3);
  if (window.bytes[0] === 0xef && window.bytes[1] === 0xbb && window.bytes[2] === 0xbf) window.at += 3;
}

/** Skips white space. Returns the byte after the white space, but does not consume it; 0 at the end of the stream. */
function* token(window: ByteWindow): Steps<number> {
  do {
    window.at = skipJsonSpace(window.bytes, window.at);
  } while (bytesThere(window) === 0 && (yield* needMore(window)));
  return window.bytes[window.at]!;
}

function* take(reading: Reading, wanted: number): Steps {
  if ((yield* token(reading.window)) !== wanted)
    throw yield* fault(reading, `expected '${String.fromCharCode(wanted)}'`);
  reading.window.at++;
}

/**
 * Skips the comma or the closing bracket `close` after a member of an object or array. Returns true for a comma, which
 * means that another member follows.
 */
function* separated(reading: Reading, close: number): Steps<boolean> {
  const { window } = reading;
  window.at = skipJsonSpace(window.bytes, window.at);
  const byte = bytesThere(window) > 0 ? window.bytes[window.at] : yield* token(window);
  if (byte !== COMMA && byte !== close) throw yield* fault(reading, `expected ',' or '${String.fromCharCode(close)}'`);
  window.at++;
  return byte === COMMA;
}

function* requireEnd(reading: Reading): Steps {
  if ((yield* token(reading.window)) !== 0 || bytesThere(reading.window) > 0) {
    throw yield* fault(reading, 'expected nothing after the value');
  }
}

function* readKey(reading: Reading, record: JsonRecord): Steps<string> {
  yield* token(reading.window);
  const start = offsetOf(reading.window);
  const key = yield* readValue(reading, record);
  if (typeof key === 'string') return key;
  throw yield* faultErrorIn(reading.input, syntaxFault(start, 'expected a key in double quotes'));
}

/** Reads the JSON value at the start of the window and consumes its bytes. */
function* readValue(reading: Reading, record: JsonRecord, index?: number): Steps<unknown> {
  const end = yield* endOfValue(reading, record, index);
  const value = yield* parse(reading, record, end, index);
  reading.window.at = end;
  return value;
}

function* endOfValue({ window, input }: Reading, record: JsonRecord, index?: number): Steps<number> {
  let end = scanRecord(record, window.bytes, window.at, window.end);
  while (end === -1 && (yield* needMore(window))) end = scanRecord(record, window.bytes, window.at, window.end, true);
  if (end !== -1) return end;
  throw yield* faultErrorIn(input, syntaxFault(window.base + window.end, 'the text ends too early'), index);
}

function* parse({ window, input }: Reading, record: JsonRecord, end: number, index?: number): Steps<unknown> {
  requireJsonRoom(record.text.subarray(0, record.textLength), input.file, input.memoryBytes);
  try {
    return parseRecord(record);
  } catch {
    const { offset, ...told } = faultOf(window.bytes.subarray(window.at, end));
    throw yield* faultErrorIn(input, { ...told, offset: offsetOf(window) + offset }, index);
  }
}

function* fault({ window, input }: Reading, reason: string): Steps<FormatError> {
  const told = bytesThere(window) === 0 ? 'the text ends too early' : reason;
  return yield* faultErrorIn(input, syntaxFault(offsetOf(window), told));
}

function* readFeatures(reading: Reading, record: JsonRecord): Steps {
  const { window } = reading;
  window.at++;
  let more = (yield* token(window)) !== CLOSE_ARRAY;
  if (!more) window.at++;
  for (let index = 0; more; index++) {
    window.at = skipJsonSpace(window.bytes, window.at);
    const there = bytesThere(window) > 0 || (yield* token(window)) !== 0;
    const feature = there ? yield* readValue(reading, record, index) : undefined;
    readRecord(reading, index, () => {
      if (feature === null) throw nullRecord(reading.input.file, index);
      if (!isJsonObject(feature) || feature.type !== 'Feature') {
        const { file } = reading.input;
        throw foreignJson(feature, file) ?? malformed(`Feature ${index} is not of the type Feature.`, { file, index });
      }
      readFeature(reading, feature, splitOf(record), index);
    });
    if (isFull(reading.columns)) yield;
    more = yield* separated(reading, CLOSE_ARRAY);
  }
}

/** The coordinates of a record, if they were moved from the record's text to columns; otherwise undefined. */
export function splitOf({ split, coordinates }: JsonRecord): JsonRecord['coordinates'] | undefined {
  return split ? coordinates : undefined;
}

function checkRoot(reading: Reading, root: JsonObject): void {
  if (root.type !== 'FeatureCollection') throw notGeoJson(reading, root);
  if (!Array.isArray(root.features)) throw malformed('The FeatureCollection has no array "features".', reading.input);
  checkLayer(reading, root);
}

/** Throws if the requested layer is not the "name" of the collection. (A GeoJSON text has only one layer.) */
function checkLayer({ input, options }: Reading, root: JsonObject): void {
  const { layer } = options;
  if (layer === undefined || layer === root.name) return;
  const only = typeof root.name === 'string' ? `only ${quoteName(root.name)}` : 'no layers: it is GeoJSON';
  throw unknownLayer(layer, input.file, only);
}

function notGeoJson({ input }: Reading, root: unknown): FormatError {
  const foreign = foreignJson(root, input.file);
  if (foreign !== undefined) return foreign;
  const type = isJsonObject(root) ? root.type : undefined;
  return new FormatError('format/not-zones', 'The file is JSON, but not GeoJSON.', {
    expected: 'an object whose "type" is FeatureCollection, Feature or a geometry',
    got: typeof type === 'string' ? JSON.stringify(type) : 'no type',
    remedy: 'Convert the file to GeoJSON, for example with ogr2ogr.',
    place: { file: input.file },
  });
}
