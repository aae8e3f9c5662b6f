import { FormatError } from '../../primitives/checks/errors.ts';
import { utf8Text, viewOf } from '../bytes/byte-arrays.ts';
import { type Steps, wait } from '../bytes/steps.ts';
import { truncated } from '../rasters/tiff/byte-source.ts';
import { nameText } from '../text/record-name.ts';
import { readBinaryRing, readPositions } from './binary-rings.ts';
import { type ByteWindow, bytesThere, closeWindow, moveTo, need, offsetOf, openWindow, skipTo } from './byte-window.ts';
import { type AttributeRecord, type AttributeTable, openAttributes } from './dbase.ts';
import { type FeaturePlace, type FoundGeometries, NO_GEOMETRY } from './feature.ts';
import { beginPolygon, isFull, type LayerColumns } from './layer-columns.ts';
import { type LayerInput, readWhole } from './layer-input.ts';
import { endRecord, type OpenedFormat, type Reading, readRecord } from './layer-reading.ts';
import type { PolygonFormat } from './polygon-format.ts';
import { crsOfWkt } from './projection.ts';
import { partsByDirection } from './ring-nesting.ts';
import {
  HEAD_BYTES,
  isRemoved,
  openIndex,
  RECORD_HEAD_BYTES,
  type RecordIndex,
  type RecordPlace,
  requireApart,
  SHAPEFILE_CODE,
  unusableIndex,
} from './shapefile-index.ts';

const VERSION = 1000;
const MAX_PRJ_BYTES = 2 ** 20;

const NULL_SHAPE = 0;
/**
 * Shape types with polygons: Polygon, PolygonZ and PolygonM. Heights (Z) and measures (M) are stored after the points
 * and ignored.
 */
const POLYGONS: ReadonlySet<number> = new Set([5, 15, 25]);
/** Shape types without polygons: points, lines, and surface patches (MultiPatch). */
const OTHERS: ReadonlySet<number> = new Set([1, 3, 8, 11, 13, 18, 21, 23, 28, 31]);
const SINGLE_POINTS: ReadonlySet<number> = new Set([1, 11, 21]);
const POINTS: ReadonlySet<number> = new Set([...SINGLE_POINTS, 8, 18, 28]);

/** Shapefiles, named by their `.shp` file. */
export const SHAPEFILE: PolygonFormat = {
  name: 'shapefile',
  title: 'a Shapefile',
  endings: ['.shp'],
  hasPoints: true,
  isBinary: true,
  needsFile: true,
  // The index of a Shapefile begins like the file itself.
  tells: ({ head, ending }) => head.length >= 4 && viewOf(head).getInt32(0) === SHAPEFILE_CODE && ending !== '.shx',
  open: openShapefile,
};

/**
 * Opens a Shapefile (ESRI, Shapefile Technical Description, 1998). Names are read from the `.dbf` file, and the
 * coordinate system from the `.prj` file. Records that the `.dbf` marks as deleted are left out and noted. If there is an
 * `.shx` file, it states where records are, in any order, as in GDAL: the first place is that of the record with the first
 * attributes. Bytes between records are skipped and noted. Without it, records must follow each other.
 *
 * The npm package shapefile is used only in tests, for comparison. It is not used here because it silently skips
 * damaged records, and compares every hole with every polygon, which takes 13 s for 16,000 holes.
 */
function* openShapefile(input: LayerInput): Steps<OpenedFormat> {
  const window = openWindow(input);
  try {
    yield* readHead(window, input);
  } finally {
    yield* closeWindow(window);
  }
  const projection = yield* wait(input.beside('.prj'));
  const text = projection === undefined ? '' : utf8Text(yield* readWhole(projection, MAX_PRJ_BYTES));
  return { read: readShapes, stated: crsOfWkt(text), crsText: text === '' ? undefined : text, geographic: false };
}

function* readShapes(reading: Reading): Steps {
  const { input, options, signal, forZones } = reading;
  const attributes = yield* attributesOf(reading);
  let index: RecordIndex | undefined;
  try {
    if ((options.id !== undefined || forZones.attributes !== undefined) && attributes?.unknownPage !== undefined) {
      reading.columns.tally.add('polygons/unknown-code-page', attributes.unknownPage);
    }
    const beside = yield* wait(input.beside('.shx'));
    const end = yield* readHead(reading.window, input);
    index = beside && (yield* openIndex(beside, signal));
    yield* readRecords(reading, attributes, index, end);
  } finally {
    if (attributes !== undefined) yield* closeWindow(attributes.window);
    if (index !== undefined) yield* index.close();
  }
}

function* attributesOf(reading: Reading): Steps<AttributeTable | undefined> {
  const { input, options } = reading;
  const beside = yield* wait(input.beside('.dbf'));
  if (beside !== undefined) return yield* openAttributes(beside, reading);
  if (options.id === undefined) return undefined;
  throw new FormatError('format/missing-file', 'There is no attribute table to name the polygons from.', {
    expected: 'a file beside it that ends in .dbf',
    got: 'none',
    remedy: 'Copy all files of the Shapefile, or name no property.',
    place: { file: input.file },
  });
}

/** The character in place of bytes that a code page does not have. */
const REPLACEMENT = '\uFFFD';

function* readRecords(
  reading: Reading,
  attributes: AttributeTable | undefined,
  places: RecordIndex | undefined,
  end: number,
): Steps {
  const { window, input, columns } = reading;
  const reached: Reached = { index: 0, number: 0, unused: end - HEAD_BYTES, end };
  for (; ; reached.index++) {
    const { index } = reached;
    const place = places && (yield* places.next());
    if (places === undefined ? offsetOf(window) >= end : place === undefined) break;
    const view = yield* contentsOf(reading, places, place, reached);
    if (index === attributes?.records) throw unequalCounts(attributes, `more than ${index} shapes`);
    const attribute = attributes && (yield* attributes.next());
    if (attribute?.deleted) columns.tally.add('polygons/deleted-records', String(index));
    else {
      if (attribute?.value?.includes(REPLACEMENT)) columns.tally.add('polygons/undecoded-names', attribute.value);
      readRecord(reading, index, () => readShape(reading, view, attribute, index));
    }
    if (isFull(columns)) yield;
  }
  const { index } = reached;
  if (attributes !== undefined && attributes.records !== index) throw unequalCounts(attributes, `${index} shapes`);
  const isInOrder = places?.isInOrder ?? true;
  const unused = isInOrder ? end - offsetOf(window) : reached.unused;
  if (unused > 0) columns.tally.add('polygons/unused-bytes', `${unused} bytes ${isInOrder ? 'at the end' : 'in all'}`);
  if (end < input.size) columns.tally.add('polygons/trailing-bytes', `${input.size - end} bytes`);
}

/** How far a file has been read. */
interface Reached {
  /** Index of the record to be read. */
  index: number;
  /** Number in the header of the record before it. */
  number: number;
  /** Number of bytes behind the header that are in none of the records so far. */
  unused: number;
  /** Length of the file that its header states. */
  readonly end: number;
}

/** Length of the type of a shape, with which the contents of a record begin. */
const TYPE_BYTES = 4;
/** The contents of a removed record: a null shape. */
const NO_SHAPE = new DataView(new ArrayBuffer(TYPE_BYTES));

/**
 * Reads the contents of the next record, and moves behind it. The contents are valid until more bytes are read.
 *
 * @param place - Where the index places the record; undefined without an index.
 */
function* contentsOf(
  reading: Reading,
  places: RecordIndex | undefined,
  place: RecordPlace | undefined,
  reached: Reached,
): Steps<DataView> {
  const { window, input, signal } = reading;
  const { index, end } = reached;
  if (place !== undefined && isRemoved(place)) return NO_SHAPE;
  const isAside = place !== undefined && place.start !== offsetOf(window);
  if (isAside) {
    requirePlace(places!, place, places!.isInOrder ? offsetOf(window) : HEAD_BYTES, reached);
    if (places!.isInOrder) yield* skipGap(reading, place.start, index);
    else yield* moveTo(window, input, place.start, signal);
  }
  const length = yield* requireRecord(window, input, end, index);
  const number = viewOf(window.bytes).getUint32(window.at - RECORD_HEAD_BYTES);
  if (isAside) {
    const before = places!.isInOrder ? reached.number : undefined;
    requireHead({ number, length }, { number: before, length: place.length }, places!, index);
  }
  if (place !== undefined) requireApart(places!, place, index, place.start + RECORD_HEAD_BYTES + length);
  reached.number = number;
  reached.unused -= RECORD_HEAD_BYTES + length;
  const view = new DataView(window.bytes.buffer, window.bytes.byteOffset + window.at, length);
  window.at += length;
  return view;
}

/** Throws if the index places a record before the byte `from`, or beyond the end of the file. */
function requirePlace({ file }: RecordIndex, { start }: RecordPlace, from: number, { index, end }: Reached): void {
  const last = end - RECORD_HEAD_BYTES;
  if (start >= from && start <= last) return;
  throw unusableIndex(file, `a record at byte ${from} to ${last}`, `one at byte ${start}`, index);
}

/** Skips the bytes before a record that the index places further on. */
function* skipGap({ window, columns, input }: Reading, start: number, index: number): Steps {
  const from = offsetOf(window);
  if (!(yield* skipTo(window, start))) throw truncated(input.file, offsetOf(window), start, RECORD_HEAD_BYTES);
  columns.tally.add('polygons/unused-bytes', `${start - from} bytes before record ${index}`);
}

interface RecordHead {
  readonly number: number;
  readonly length: number;
}

/**
 * Throws if the header of a record that does not follow the one before has no type, or a greater length than the index
 * states, or no higher number than the record before, if records are in order. In this case, the index may point into a
 * record. Numbers may be left out, as records are deleted.
 */
function requireHead(
  found: RecordHead,
  stated: { readonly length: number; readonly number: number | undefined },
  { file }: RecordIndex,
  index: number,
): void {
  if (found.length >= TYPE_BYTES && found.length <= stated.length && found.number > (stated.number ?? -1)) return;
  const after = stated.number === undefined ? '' : `, after number ${stated.number}`;
  const expected = `the header of a record of ${TYPE_BYTES} to ${stated.length} bytes${after}`;
  throw unusableIndex(file, expected, `${found.length} bytes, number ${found.number}`, index);
}

/** Checks and skips the header of the file. Returns the file length stated in the header, in bytes. */
function* readHead(window: ByteWindow, input: LayerInput): Steps<number> {
  if (!(yield* need(window, HEAD_BYTES))) throw truncated(input.file, input.size, 0, HEAD_BYTES, 'The head');
  const head = viewOf(window.bytes);
  const [code, version, type] = [head.getInt32(0), head.getInt32(28, true), head.getInt32(32, true)];
  if (code !== SHAPEFILE_CODE || version !== VERSION) {
    throw malformed(
      'The file is no Shapefile.',
      `code ${SHAPEFILE_CODE}, version ${VERSION}`,
      `${code}, ${version}`,
      input.file,
    );
  }
  const end = 2 * head.getUint32(24);
  if (end < HEAD_BYTES || end > input.size) throw truncated(input.file, input.size, 0, Math.max(end, HEAD_BYTES));
  if (type !== NULL_SHAPE && !POLYGONS.has(type) && !OTHERS.has(type)) {
    throw malformed('The shapes are of no known kind.', 'polygons', `type ${type}`, input.file);
  }
  window.at = HEAD_BYTES;
  return end;
}

/**
 * Skips the header of a record, and waits until the contents of the record are available. Returns the length of the
 * contents in bytes.
 */
function* requireRecord(window: ByteWindow, input: LayerInput, end: number, index: number): Steps<number> {
  const what = `Record ${index}`;
  const start = offsetOf(window);
  const head = RECORD_HEAD_BYTES;
  if (start + head > end) throw truncated(input.file, end, start, head, what);
  if (bytesThere(window) < head && !(yield* need(window, head))) throw truncated(input.file, start, start, head, what);
  const length = 2 * viewOf(window.bytes).getUint32(window.at + 4);
  if (start + head + length > end) throw truncated(input.file, end, start, head + length, what);
  if (bytesThere(window) < head + length && !(yield* need(window, head + length))) {
    throw truncated(input.file, start, start, head + length, what);
  }
  window.at += head;
  return length;
}

function readShape(reading: Reading, view: DataView, attribute: AttributeRecord | undefined, index: number): void {
  const { columns, input, options } = reading;
  const at = { file: input.file, index, id: undefined };
  const name = options.id === undefined ? String(index) : nameText(attribute?.value, options.id, at);
  beginPolygon(columns, name);
  if (view.byteLength < 4) throw damaged('a kind of shape', `${view.byteLength} bytes`, at);
  const type = view.getInt32(0, true);
  if (POLYGONS.has(type)) readRings(columns, view, at);
  else if (columns.takesPoints && POINTS.has(type)) readPoints(columns, view, type, at);
  else if (type !== NULL_SHAPE && !OTHERS.has(type)) throw damaged('a kind of shape', `type ${type}`, at);
  const found = columns.takesPoints && POINTS.has(type) ? NO_GEOMETRY : foundIn(type);
  if (endRecord(reading, found)) reading.forZones.attributes?.add(attribute?.properties);
}

/** Reads a point, or the points of a MultiPoint, which has a bounding box and the number of points before these. */
function readPoints(columns: LayerColumns, view: DataView, type: number, at: FeaturePlace): void {
  const isSingle = SINGLE_POINTS.has(type);
  const start = isSingle ? TYPE_BYTES : COUNTS + 4;
  const points = isSingle || view.byteLength < start ? 1 : view.getUint32(COUNTS, true);
  if (start + 16 * points > view.byteLength) throw damaged(`${points} points`, `${view.byteLength} bytes`, at);
  readPositions(columns, view, start, points, at);
}

function foundIn(type: number): FoundGeometries {
  return { polygons: POLYGONS.has(type) ? 1 : 0, others: OTHERS.has(type) ? 1 : 0 };
}

/**
 * Byte offset of two counts in a record: the number of parts and the number of points. The shape type and the bounding
 * box precede these counts. The index of the first point of each part follows, and then the points.
 */
const COUNTS = 36;
const PARTS = 44;

function readRings(columns: LayerColumns, view: DataView, at: FeaturePlace): void {
  if (view.byteLength < PARTS) throw damaged(`${PARTS} bytes or more`, `${view.byteLength}`, at);
  const parts = view.getUint32(COUNTS, true);
  const points = view.getUint32(COUNTS + 4, true);
  const start = PARTS + 4 * parts;
  if (start + 16 * points > view.byteLength) {
    throw damaged(`${parts} parts and ${points} points in ${view.byteLength} bytes`, 'more than these hold', at);
  }
  if (parts === 0 && points > 0) throw damaged('points that are of a part', `${points} of none`, at);
  for (let part = 0; part < parts; part++) {
    const from = view.getUint32(PARTS + 4 * part, true);
    const to = part + 1 < parts ? view.getUint32(PARTS + 4 * part + 4, true) : points;
    if (from > to || to > points || (part === 0 && from !== 0)) {
      throw damaged(`a part from 0 to ${points} after the previous one`, `${from} to ${to}`, at);
    }
    readBinaryRing(columns, view, start + 16 * from, to - from, at);
  }
  tellParts(columns);
}

/** Determines to which parts the rings of the last polygon belong. */
function tellParts({ polygonRings, ringVertices, ringParts, vertices, mayJump, unwraps }: LayerColumns): void {
  const first = polygonRings.at(-1)!;
  if (ringParts.length - first < 2) return;
  const parts = partsByDirection(vertices, ringVertices.slice(first), mayJump && unwraps);
  for (const [ring, part] of parts.entries()) {
    ringParts[first + ring] = part;
  }
}

function unequalCounts({ file, records }: AttributeTable, got: string): FormatError {
  return new FormatError('format/unequal-counts', 'There are not as many attributes as shapes.', {
    expected: `${records} shapes, as many as records of attributes`,
    got,
    remedy: 'Copy all files of the Shapefile again.',
    place: { file },
  });
}

function damaged(expected: string, got: string, { file, index }: FeaturePlace): FormatError {
  return malformed(`Record ${index} is damaged.`, expected, got, file, index);
}

function malformed(sentence: string, expected: string, got: string, file: string, record?: number): FormatError {
  const remedy = 'Copy the file again, or write it again.';
  return new FormatError('format/malformed-shapefile', sentence, { expected, got, remedy, place: { file, record } });
}
