import { FormatError } from '../../primitives/checks/errors.ts';
import { beginsWith, viewOf } from '../bytes/byte-arrays.ts';
import type { Steps } from '../bytes/steps.ts';
import { attributeColumns } from './attribute-columns.ts';
import { readBinaryRing, readPositions } from './binary-rings.ts';
import { bytesThere, closeWindow, openWindow } from './byte-window.ts';
import { type FeaturePlace, type FoundGeometries, NO_GEOMETRY } from './feature.ts';
import { type FlatTable, rootTable, tableAt, tableField, u8Field, type Vector, vectorField } from './flatbuffer.ts';
import {
  FLATGEOBUF_MAGIC,
  type FlatGeobufColumn,
  type FlatGeobufHeader,
  readFlatGeobufHeader,
  requireBytes,
} from './flatgeobuf-header.ts';
import { isAttribute, propertiesOf, propertyText } from './flatgeobuf-properties.ts';
import { beginPart, beginPolygon, isFull, type LayerColumns } from './layer-columns.ts';
import type { LayerInput } from './layer-input.ts';
import { endRecord, type OpenedFormat, type Reading, readRecord } from './layer-reading.ts';
import type { PolygonFormat } from './polygon-format.ts';
import { requireStraight } from './straight-edges.ts';

const POINT = 1;
const POLYGON = 3;
const MULTI_POINT = 4;
const MULTI_POLYGON = 6;
const COLLECTION = 7;
const MULTI_SURFACE = 12;
/** Stands for the type of a polygon inside a multipolygon. Such a polygon need not state a type. */
const PART = -1;

/** FlatGeobuf. */
export const FLATGEOBUF: PolygonFormat = {
  name: 'flatgeobuf',
  title: 'FlatGeobuf',
  endings: ['.fgb'],
  hasPoints: true,
  isBinary: true,
  tells: ({ head }) => beginsWith(head, 0, FLATGEOBUF_MAGIC),
  open: openFlatGeobuf,
};

/**
 * Opens a FlatGeobuf file (https://github.com/flatgeobuf/flatgeobuf, version 3). Polygons are read in the order of the
 * file. Features have no id, so a polygon is named by its index or by a property.
 *
 * The npm package flatgeobuf is used only in tests, for comparison. It is not used here because it trusts every length
 * and offset, invents vertices if a file is truncated, and loops forever if the header states an index without
 * features.
 */
function* openFlatGeobuf(input: LayerInput): Steps<OpenedFormat> {
  const window = openWindow(input);
  try {
    const { crs, crsText } = yield* readFlatGeobufHeader(window, input);
    return { read: readFeatures, stated: crs, crsText, geographic: false };
  } finally {
    yield* closeWindow(window);
  }
}

function* readFeatures(reading: Reading): Steps {
  const { window, input } = reading;
  const header = yield* readFlatGeobufHeader(window, input);
  const read = new Set(attributeColumns(reading, header.columns, isAttribute));
  let index = 0;
  for (; bytesThere(window) > 0 || window.base + window.end < input.size; index++) {
    const what = `Feature ${index}`;
    if (bytesThere(window) < 4) yield* requireBytes(window, input, 4, what);
    const length = viewOf(window.bytes).getUint32(window.at, true);
    if (bytesThere(window) < 4 + length) yield* requireBytes(window, input, 4 + length, what);
    const start = window.at + 4;
    const view = new DataView(window.bytes.buffer, window.bytes.byteOffset + start, length);
    readRecord(reading, index, () => readFeature(reading, header, read, view, index));
    window.at = start + length;
    if (isFull(reading.columns)) yield;
  }
  if (header.features !== 0 && header.features !== index) throw wrongCount(input.file, header.features, index);
}

function readFeature(
  reading: Reading,
  header: FlatGeobufHeader,
  read: ReadonlySet<FlatGeobufColumn>,
  view: DataView,
  index: number,
): void {
  const { columns, input, options } = reading;
  const at = { file: input.file, index, id: undefined };
  try {
    const feature = rootTable(view);
    const name = options.id === undefined ? String(index) : propertyText(feature, header.columns, options.id, at);
    beginPolygon(columns, name);
    const geometry = tableField(feature, 0);
    const found = geometry === undefined ? NO_GEOMETRY : readGeometry(columns, geometry, header.geometryType, at);
    const { attributes } = reading.forZones;
    const properties = attributes && propertiesOf(feature, header.columns, read);
    if (endRecord(reading, found)) attributes?.add(properties);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw damaged('an offset or a length outside of it', at, cause);
  }
}

/**
 * Reads the polygons of a geometry, walking its parts with an explicit stack. In a damaged file, offsets may point back
 * to earlier parts, so that the walk would not end. Therefore the numbers of parts and positions are limited by the
 * size of the feature: a part takes at least 8 bytes, and a position takes 16 bytes.
 */
function readGeometry(
  columns: LayerColumns,
  geometry: FlatTable,
  headerType: number,
  at: FeaturePlace,
): FoundGeometries {
  const found: FoundGeometries = { polygons: 0, others: 0 };
  const pending: [FlatTable, number][] = [[geometry, headerType]];
  const bytes = geometry.view.byteLength;
  const before = columns.vertices.length;
  for (let parts = 1; pending.length > 0; ) {
    const [next, known] = pending.pop()!;
    const type = known === 0 ? u8Field(next, 6, 0) : known;
    if (type === POLYGON || type === MULTI_POLYGON) found.polygons++;
    if (type === POLYGON || type === PART) {
      beginPart(columns);
      readRings(columns, vectorField(next, 1, 8), vectorField(next, 0, 4), at);
    } else if (type === MULTI_POLYGON || type === COLLECTION || type === MULTI_SURFACE) {
      const members = vectorField(next, 7, 4);
      parts += members.length;
      if (8 * parts > bytes) throw damaged('parts that overlap', at);
      const kind = type === MULTI_POLYGON ? PART : 0;
      for (let part = members.length - 1; part >= 0; part--) pending.push([tableAt(members, part), kind]);
    } else if (columns.takesPoints && (type === POINT || type === MULTI_POINT)) {
      const xy = vectorField(next, 1, 8);
      if (xy.length % 2 !== 0) throw damaged(`${xy.length} coordinates`, at);
      readPositions(columns, xy.view, xy.start, xy.length / 2, at);
    } else {
      requireStraight(type, at);
      found.others++;
    }
    if (16 * (columns.vertices.length - before) > bytes) throw damaged('parts that overlap', at);
  }
  return found;
}

function readRings(columns: LayerColumns, xy: Vector, ends: Vector, at: FeaturePlace): void {
  const vertices = xy.length / 2;
  if (!Number.isInteger(vertices)) throw damaged(`${xy.length} coordinates`, at);
  if (vertices === 0 && ends.length === 0) return;
  let start = 0;
  for (let ring = 0; ring < Math.max(ends.length, 1); ring++) {
    const end = ends.length === 0 ? vertices : ends.view.getUint32(ends.start + 4 * ring, true);
    if (end < start || end > vertices) throw damaged(`a ring that ends at vertex ${end} of ${vertices}`, at);
    readBinaryRing(columns, xy.view, xy.start + 16 * start, end - start, at);
    start = end;
  }
  if (start !== vertices) throw damaged(`${vertices - start} vertices that are of no ring`, at);
}

function wrongCount(file: string, expected: number, got: number): FormatError {
  return new FormatError('format/truncated', 'The file has not as many features as its header says.', {
    expected: `${expected} features`,
    got: `${got}`,
    remedy: 'Copy the file again, or write it again.',
    place: { file },
  });
}

function damaged(got: string, { file, index }: Pick<FeaturePlace, 'file' | 'index'>, cause?: unknown): FormatError {
  return new FormatError('format/malformed-flatgeobuf', `Feature ${index} is damaged.`, {
    expected: 'the geometry of a feature',
    got,
    remedy: 'Copy the file again, or write it again.',
    place: { file, record: index },
    cause,
  });
}
