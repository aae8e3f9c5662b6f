import fc from 'fast-check';
import { serialize } from 'flatgeobuf/lib/mjs/geojson.js';
import type { Geometry, MultiPolygon, Polygon } from 'geojson';
import { finished } from '../../formats/bytes/steps.ts';
import type { LayerInput } from '../../formats/polygons/layer-input.ts';
import { nodeLayers } from '../../formats/polygons/node-layers.ts';
import type { PolygonLayerOptions } from '../../formats/polygons/polygon-layer.ts';
import { readAll } from '../../formats/polygons/read-layer.ts';
import type { AttributeReader } from '../../formats/polygons/zone-attributes.ts';
import type { ReadZones } from '../../formats/polygons/zones.ts';
import type { Parts, Ring } from '../fixtures/random-zones.ts';

export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Sizes in bytes of the blocks in which a reader receives a file. After the last size, the list starts again. */
export type BlockSizes = readonly number[];

/** Number of the streams of all {@link memoryInput} that are started and not closed. */
export const openStreams = { count: 0 };

/** A file in memory. Its companion files (such as .dbf) are given by their extensions. */
export function memoryInput(
  bytes: Uint8Array,
  sizes: BlockSizes = [65_536],
  beside: Readonly<Record<string, Uint8Array>> = {},
  file = 'layer',
): LayerInput {
  return {
    file,
    size: bytes.length,
    platform: nodeLayers,
    async *blocks(signal, from = 0) {
      let at = from;
      openStreams.count++;
      try {
        for (let block = 0; at < bytes.length; block++) {
          signal?.throwIfAborted();
          const size = sizes[block % sizes.length]!;
          // A block is valid only until the reader requests the next block. To test this, the copy is then overwritten.
          const copy = Uint8Array.from(bytes.subarray(at, at + size));
          yield copy;
          copy.fill(0xff);
          at += size;
        }
      } finally {
        openStreams.count--;
      }
    },
    async beside(ending) {
      const other = beside[ending];
      return other === undefined ? undefined : memoryInput(other, sizes, beside, file + ending);
    },
  };
}

/** Reads all zones of a polygon file in memory. */
export function readBytes(
  bytes: Uint8Array,
  options: PolygonLayerOptions = {},
  sizes?: BlockSizes,
  beside?: Readonly<Record<string, Uint8Array>>,
  attributes?: AttributeReader,
): Promise<ReadZones> {
  return finished(readAll(memoryInput(bytes, sizes, beside), options, { attributes }));
}

/** Reads all zones of a polygon file given as text. */
export function readText(text: string, options: PolygonLayerOptions = {}, sizes?: BlockSizes): Promise<ReadZones> {
  return readBytes(bytesOf(text), options, sizes);
}

/** Block sizes: single bytes, a few bytes, or more than the whole file. */
export const blockSizes: fc.Arbitrary<BlockSizes> = fc.oneof(
  fc.constant([1]),
  fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 6 }),
  fc.constant([65_536]),
);

/** Coordinates that are large or small, with few or many digits, and with or without an exponent. */
const coordinate: fc.Arbitrary<number> = fc.oneof(
  fc.integer({ min: -80, max: 80 }),
  fc.integer({ min: -80_000_000, max: 80_000_000 }).map((value) => value / 1e6),
  fc.double({ min: -80, max: 80, noNaN: true }),
  fc.double({ min: -1e30, max: 1e30, noNaN: true }),
);

/** A closed ring of three vertices or more. */
const ring: fc.Arbitrary<Ring> = fc
  .array(fc.tuple(coordinate, coordinate), { minLength: 3, maxLength: 8 })
  .map((vertices) => vertices.map(([x, y]) => [x + 0, y + 0] as const))
  .filter((open) => open.at(-1)![0] !== open[0]![0] || open.at(-1)![1] !== open[0]![1])
  .map((open) => [...open, open[0]!]);

/**
 * The polygons of one feature. Each polygon is a list of rings. A single polygon is written as a Polygon, several
 * polygons as a MultiPolygon.
 */
const parts: fc.Arbitrary<Parts> = fc.array(fc.array(ring, { minLength: 1, maxLength: 3 }), {
  minLength: 1,
  maxLength: 3,
});

export interface WrittenFeature {
  readonly name: string;
  readonly parts: Parts;
}

/** Features whose names all formats can represent, even dBASE. */
export const features: fc.Arbitrary<readonly WrittenFeature[]> = fc.array(
  fc.record({ name: fc.stringMatching(/^[A-Za-z0-9äЖ]([A-Za-z0-9 äЖ"\\]{0,10}[A-Za-z0-9])?$/u), parts }),
  { minLength: 1, maxLength: 6 },
);

/**
 * The rings that a reader should return: the rings of all parts of each feature. The closing vertex of each ring is
 * left out.
 */
export function openRings(written: readonly WrittenFeature[]): Ring[][] {
  return written.map(({ parts }) => parts.flat().map((ring) => ring.slice(0, -1)));
}

/**
 * The rings of a geometry that another reader returned, in the order in which our reader returns them. The closing
 * vertex of each ring is left out.
 */
export function ringsIn(geometry: Geometry | null): Ring[] {
  const { type, coordinates } = geometry as Polygon | MultiPolygon;
  const rings = type === 'Polygon' ? coordinates : coordinates.flat();
  return rings.map((ring) => ring.slice(0, -1).map(([x, y]) => [x!, y!] as const));
}

/** A GeoJSON geometry (RFC 7946). */
function geometryOf(parts: Parts): { type: 'Polygon' | 'MultiPolygon'; coordinates: unknown } {
  const [only] = parts;
  return parts.length === 1 ? { type: 'Polygon', coordinates: only } : { type: 'MultiPolygon', coordinates: parts };
}

/** GeoJSON features with a property `name`. */
export function featuresOf(written: readonly WrittenFeature[]): { type: 'Feature'; [member: string]: unknown }[] {
  return written.map(({ name, parts }) => ({ type: 'Feature', properties: { name }, geometry: geometryOf(parts) }));
}

/** A FlatGeobuf file, written by the npm package flatgeobuf. */
export function flatGeobufOf(written: readonly WrittenFeature[], crs = 0): Uint8Array {
  return serialize({ type: 'FeatureCollection', features: featuresOf(written) } as never, crs);
}

/** Lines of well-known text, with one geometry per line. */
export function wktOf(written: readonly WrittenFeature[]): string {
  const rings = (polygon: Parts[number]) =>
    `(${polygon.map((ring) => `(${ring.map(([x, y]) => `${x} ${y}`).join(', ')})`).join(', ')})`;
  const lines = written.map(({ parts }) =>
    parts.length === 1 ? `POLYGON ${rings(parts[0]!)}` : `MULTIPOLYGON (${parts.map(rings).join(', ')})`,
  );
  return `${lines.join('\n')}\n`;
}

/** A CSV with a column of well-known text, between those of a number and of the name. */
export function csvOf(written: readonly WrittenFeature[], delimiter = ',', newline = '\n'): string {
  const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
  const geometries = wktOf(written).trimEnd().split('\n');
  const rows = written.map(({ name }, at) => [at, quoted(geometries[at]!), quoted(name)].join(delimiter));
  return [['number', 'wkt', 'name'].join(delimiter), ...rows, ''].join(newline);
}

/** White space that may stand between the words of well-known text. */
export const gaps: fc.Arbitrary<readonly string[]> = fc.array(
  fc.constantFrom('', ' ', '\n', '\r\n', ' \n\t ', '\n\n  \n'),
  { minLength: 1, maxLength: 12 },
);

/** A geometry in well-known text, with other white space between its words. After the last gap, the list starts again. */
export function spacedOut(geometry: string, gaps: readonly string[]): string {
  const words = geometry.match(/[^\s(),;]+|[(),;]/g)!;
  const isWord = (text: string): boolean => !/^[(),;]$/.test(text);
  let next = 0;
  return words
    .map((word, at) => {
      if (at === 0) return word;
      const gap = gaps[next++ % gaps.length]!;
      return (gap === '' && isWord(words[at - 1]!) && isWord(word) ? ' ' : gap) + word;
    })
    .join('');
}

/** For each Shapefile shape type, the number of values that a point has besides x and y. */
const MORE: Readonly<Record<number, number>> = { 5: 0, 15: 2, 25: 1 };

/** Writes a Shapefile of polygons. A polygon without parts becomes a null shape. */
export function shapefileOf(written: readonly Pick<WrittenFeature, 'parts'>[], type: 5 | 15 | 25 = 5): Uint8Array {
  const records = written.map(({ parts }, index) => shapeRecord(parts, index, type));
  const length = records.reduce((sum, record) => sum + record.length, 100);
  const bytes = new Uint8Array(length);
  const head = new DataView(bytes.buffer);
  head.setInt32(0, 9994);
  head.setInt32(24, length / 2);
  head.setInt32(28, 1000, true);
  head.setInt32(32, type, true);
  let at = 100;
  for (const record of records) {
    bytes.set(record, at);
    at += record.length;
  }
  return bytes;
}

/**
 * A Shapefile with unused bytes before its records and at its end, and its `.shx` file. `gaps` has these bytes, one item
 * more than records; their lengths are even, as positions count words of two bytes.
 */
export function withGaps(shp: Uint8Array, gaps: readonly Uint8Array[]): { shp: Uint8Array; shx: Uint8Array } {
  const view = new DataView(shp.buffer);
  const [parts, places]: [Uint8Array[], number[]] = [[shp.slice(0, 100)], []];
  let [from, to] = [100, 100];
  for (const gap of gaps) {
    parts.push(gap);
    to += gap.length;
    if (from === shp.length) break;
    const length = 8 + 2 * view.getInt32(from + 4);
    parts.push(shp.subarray(from, from + length));
    places.push(to / 2, length / 2 - 4);
    from += length;
    to += length;
  }
  const shx = new Uint8Array(100 + 4 * places.length);
  shx.set(parts[0]!);
  new DataView(parts[0]!.buffer).setInt32(24, to / 2);
  const index = new DataView(shx.buffer);
  index.setInt32(24, shx.length / 2);
  for (const [at, value] of places.entries()) index.setInt32(100 + 4 * at, value);
  return { shp: Uint8Array.from(Buffer.concat(parts)), shx };
}

function shapeRecord(parts: Parts, index: number, type: 5 | 15 | 25): Uint8Array {
  const rings = parts.flat();
  const points = rings.flat();
  const start = 52 + 4 * rings.length;
  // After the points, a record has the z values and measures that its shape type requires. Each of these lists has two
  // numbers for the range of its values, then one value per point.
  const length = rings.length === 0 ? 12 : start + 16 * points.length + MORE[type]! * (16 + 8 * points.length);
  const bytes = new Uint8Array(length);
  const view = new DataView(bytes.buffer);
  view.setInt32(0, index + 1);
  view.setInt32(4, (length - 8) / 2);
  if (rings.length === 0) return bytes;
  view.setInt32(8, type, true);
  view.setInt32(44, rings.length, true);
  view.setInt32(48, points.length, true);
  let before = 0;
  for (const [part, ring] of rings.entries()) {
    view.setInt32(52 + 4 * part, before, true);
    before += ring.length;
  }
  for (const [point, [x, y]] of points.entries()) {
    view.setFloat64(start + 16 * point, x, true);
    view.setFloat64(start + 16 * point + 8, y, true);
  }
  return bytes;
}

/**
 * Writes a dBASE file with the text column `column`, preceded by a numeric column. `deleted` gives the rows that are
 * marked as deleted.
 */
export function dbaseOf(column: string, values: readonly string[], deleted: readonly number[] = []): Uint8Array {
  const other = { name: 'other', type: 'N', width: 3, texts: values.map(() => '') };
  return dbaseTable([other, { name: column, type: 'C', width: 48, texts: values }], deleted);
}

/** A column of a table in dBASE format: a letter for its type, and texts that blanks fill up to the width, in bytes. */
export interface DbaseColumn {
  readonly name: string;
  readonly type: string;
  readonly width: number;
  readonly texts: readonly string[];
}

/** A table in dBASE format. The records at the places `deleted` are marked as deleted. */
export function dbaseTable(columns: readonly DbaseColumn[], deleted: readonly number[] = []): Uint8Array {
  const head = 32 + 32 * columns.length + 1;
  const record = columns.reduce((sum, { width }) => sum + width, 1);
  const rows = columns[0]!.texts.length;
  const bytes = new Uint8Array(head + record * rows).fill(32);
  bytes.fill(0, 0, head);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, 3);
  view.setUint32(4, rows, true);
  view.setUint16(8, head, true);
  view.setUint16(10, record, true);
  bytes[head - 1] = 0x0d;
  let start = 1;
  for (const [field, { name, type, width, texts }] of columns.entries()) {
    bytes.set(bytesOf(name), 32 + 32 * field);
    bytes.set(bytesOf(type), 32 + 32 * field + 11);
    bytes[32 + 32 * field + 16] = width;
    for (const [row, text] of texts.entries()) bytes.set(bytesOf(text), head + record * row + start);
    start += width;
  }
  for (const row of deleted) bytes[head + record * row] = 42;
  return bytes;
}
