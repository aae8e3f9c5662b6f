import { type Steps, wait } from '../bytes/steps.ts';
import { skipJsonSpace } from '../result-sets/json-spans.ts';
import { type ByteWindow, needMore } from './byte-window.ts';
import { isJsonObject, nullRecord } from './feature.ts';
import { isGeoJson } from './geojson.ts';
import { skipMark, splitOf } from './geojson-collection.ts';
import { malformed, readFeature } from './geojson-feature.ts';
import { faultError, faultOf } from './json-faults.ts';
import { emptyRecord, holdText, type JsonRecord, parseRecord, scanRecord } from './json-record.ts';
import { firstValue } from './json-root.ts';
import { isFull } from './layer-columns.ts';
import { type OpenedFormat, type Reading, readRecord } from './layer-reading.ts';
import type { PolygonFormat } from './polygon-format.ts';

/** The byte in front of every record of a JSON text sequence (RFC 8142). */
const RECORD_SEPARATOR = 0x1e;
const NEWLINE = 10;

/** GeoJSON with one Feature or geometry per line, or per record separator. */
export const GEOJSON_LINES: PolygonFormat = {
  name: 'geojson-lines',
  title: 'GeoJSON with one Feature per line',
  endings: ['.ndjson', '.jsonl', '.ldjson', '.ndgeojson', '.geojsonl', '.geojsonld', '.geojsons', '.geojsonseq'],
  hasPoints: true,
  *tells({ head, start, json, ending, window }) {
    if (head[start] === RECORD_SEPARATOR) return true;
    const isNamedSo = GEOJSON_LINES.endings.includes(ending);
    if (json === undefined || (json !== 'single' && !isNamedSo)) return false;
    const first = yield* firstValue(window, start);
    return first === 'followed' || (first === 'alone' && json === 'single' && isNamedSo);
  },
  open: () => wait<OpenedFormat>({ read: readLines, stated: undefined, geographic: true }),
};

/**
 * Reads a text with one Feature or geometry per line. Empty lines are skipped. If the text begins with a record
 * separator, records end at record separators instead of newlines.
 *
 * A line that is not JSON counts as an unreadable record, after which reading can continue with the next line.
 */
function* readLines(reading: Reading): Steps {
  const { window } = reading;
  const record = emptyRecord();
  yield* skipMark(window);
  const separator = window.bytes[window.at] === RECORD_SEPARATOR ? RECORD_SEPARATOR : NEWLINE;
  let index = 0;
  for (let line = 1; ; line++) {
    const end = endOfPart(window, separator) ?? (yield* findEnd(window, separator));
    const start = skipSeparators(window.bytes, window.at);
    if (start < end) {
      const at = { index, line: separator === NEWLINE ? line : undefined, start, end };
      readRecord(reading, index, () => readLine(reading, record, at));
      index++;
      if (isFull(reading.columns)) yield;
    }
    window.at = Math.min(end + 1, window.end);
    if (end === window.end) return;
  }
}

/** Position of the next separator (a newline or a record separator); undefined if the window contains none. */
function endOfPart({ bytes, at, end }: ByteWindow, separator: number): number | undefined {
  const found = bytes.indexOf(separator, at);
  return found === -1 || found >= end ? undefined : found;
}

function* findEnd(window: ByteWindow, separator: number): Steps<number> {
  let end: number | undefined;
  while (end === undefined && (yield* needMore(window))) end = endOfPart(window, separator);
  return end ?? window.end;
}

function skipSeparators(bytes: Uint8Array, start: number): number {
  let at = skipJsonSpace(bytes, start);
  while (bytes[at] === RECORD_SEPARATOR) at = skipJsonSpace(bytes, at + 1);
  return at;
}

interface LineAt {
  readonly index: number;
  readonly line: number | undefined;
  readonly start: number;
  readonly end: number;
}

function readLine(reading: Reading, record: JsonRecord, at: LineAt): void {
  const { index } = at;
  const { file } = reading.input;
  const value = parseLine(reading, record, at);
  if (value === null) throw nullRecord(file, index);
  if (isJsonObject(value) && value.type === 'Feature') readFeature(reading, value, splitOf(record), index);
  else if (isJsonObject(value) && isGeoJson(value) && value.type !== 'FeatureCollection') {
    readFeature(reading, { geometry: value }, splitOf(record), index);
  } else throw malformed(`Text ${index} is not a Feature or a geometry.`, { file, index });
}

function parseLine({ window, input }: Reading, record: JsonRecord, at: LineAt): unknown {
  const { bytes } = window;
  const { index, line, start, end } = at;
  const fail = (fault: ReturnType<typeof faultOf>) => {
    const column = line === undefined ? undefined : start - window.at + fault.offset + 1;
    return faultError(fault, { file: input.file, line, column, record: index });
  };
  // Overwrite the separator with 0, so that scanners stop at the end of the record.
  bytes[end] = 0;
  const behind = scanRecord(record, bytes, start, end);
  if (behind === -1) holdText(record, bytes, start, end);
  else if (skipJsonSpace(bytes, behind) < end) throw fail(faultOf(bytes.subarray(start, end)));
  try {
    return parseRecord(record);
  } catch {
    throw fail(faultOf(bytes.subarray(start, end)));
  }
}
