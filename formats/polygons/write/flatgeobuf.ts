import { Builder, type Offset } from 'flatbuffers';
import { quoteName } from '../../../algorithms/quoted-names.ts';
import type { HostColumn } from '../../../algorithms/tables/host-table.ts';
import { largestOf, smallestOf } from '../../../primitives/host/extremes.ts';
import { joinedArrays } from '../../bytes/byte-arrays.ts';
import type { TableField } from '../../tables/table-file.ts';
import { cellText, nullsOf } from '../../tables/write/cell-text.ts';
import { UsageError } from '../../usage-error.ts';
import type { FlatGeobufColumn } from '../flatgeobuf-header.ts';
import {
  codeOfCrs,
  type LayerWriter,
  type MakeLayerWriter,
  nextZone,
  type WrittenZones,
  wktOfCrs,
} from './layer-writer.ts';
import { closedRing, partsOfZone, type WrittenPart } from './zone-rings.ts';

/** The letters `fgb` and the version of the format, twice. */
const MAGIC = Uint8Array.of(0x66, 0x67, 0x62, 3, 0x66, 0x67, 0x62, 0);

const POLYGON = 3;
const MULTI_POLYGON = 6;
const STRING = 11;

/** The number of the type of unsigned whole numbers of 64 bits. */
const UNSIGNED = 8;
/** The greatest whole number with a sign. */
const MAX_SIGNED = 2n ** 63n - 1n;

/** The number of a column's type, the bytes of a value, and how it is written. */
type Fixed = readonly [type: number, bytes: number, write: (view: DataView, at: number, value: never) => void];

/** Types of fixed size. All other columns are texts. */
const FIXED: { readonly [type in HostColumn['type']]?: Fixed } = {
  bool: [2, 1, (view, at, value: number) => view.setUint8(at, value === 0 ? 0 : 1)],
  i32: [5, 4, (view, at, value: number) => view.setInt32(at, value, true)],
  u32: [6, 4, (view, at, value: number) => view.setUint32(at, value, true)],
  i64: [7, 8, (view, at, value: bigint) => view.setBigInt64(at, value, true)],
  u64: [UNSIGNED, 8, (view, at, value: bigint) => view.setBigUint64(at, value, true)],
  f32: [9, 4, (view, at, value: number) => view.setFloat32(at, value, true)],
  f64: [10, 8, (view, at, value: number) => view.setFloat64(at, value, true)],
};

/**
 * Writes FlatGeobuf, version 3 (https://flatgeobuf.org), without a spatial index, so that features keep their order and
 * need not be counted first.
 */
export const flatgeobufWriter: MakeLayerWriter = (fields, zones): LayerWriter => {
  const { polygons } = zones;
  const types = Uint8Array.from({ length: polygons.polygonRings.length - 1 }, (_, zone) =>
    partsOfZone(polygons, zone).length > 1 ? MULTI_POLYGON : POLYGON,
  );
  // A layer has one type of geometries, or each of them states its own, which few programs expect.
  const type = types.includes(MULTI_POLYGON) ? MULTI_POLYGON : POLYGON;
  const zoneOf = nextZone(zones);
  let columnTypes: readonly number[] = [];
  return {
    begin(first) {
      columnTypes = fields.map(({ name }) => typeOfColumn(first.columns[name]!));
      const columns = fields.map(({ name }, at) => ({ name, type: columnTypes[at]! }));
      return joinedArrays([MAGIC, header(columns, zones, type)], Uint8Array);
    },
    *add({ rows, columns }) {
      const cells = fields.map((field, at) => {
        const column = columns[field.name]!;
        if (typeOfColumn(column) === UNSIGNED && columnTypes[at] !== UNSIGNED) throw tooGreat(field.name);
        return cellOf(field, column);
      });
      for (let row = 0; row < rows; row++) {
        const builder = new Builder(1024);
        const parts = partsOfZone(polygons, zoneOf());
        const geometry = parts.length === 0 ? 0 : geometryOf(builder, parts, type, polygons.x, polygons.y);
        const properties = builder.createByteVector(
          joinedArrays(
            cells.flatMap((cell, at) => cell(row, at)),
            Uint8Array,
          ),
        );
        builder.startObject(3);
        if (geometry !== 0) builder.addFieldOffset(0, geometry, 0);
        builder.addFieldOffset(1, properties, 0);
        yield finished(builder);
      }
    },
  };
};

/**
 * The number of the type of a column. Whole numbers without a sign are stored as numbers with one where they fit, as
 * numbers of cells do: GDAL takes others for f64.
 */
function typeOfColumn(column: HostColumn): number {
  if (column.type !== 'u64' || column.values.some((value) => value > MAX_SIGNED)) {
    return FIXED[column.type]?.[0] ?? STRING;
  }
  return FIXED.i64![0];
}

function tooGreat(name: string): UsageError {
  const sentence = `A value of ${quoteName(name)} is above 2^63 - 1, and those of the first raster are not, so one layer cannot hold both.`;
  return new UsageError('zonal/other-types', sentence, {
    remedy: 'Write CSV, JSON or GeoJSON, or a file for each raster.',
  });
}

function header(fields: readonly FlatGeobufColumn[], zones: WrittenZones, type: number): Uint8Array {
  const builder = new Builder(1024);
  const columns = fields.map(({ name, type: own }) => {
    const text = builder.createString(name);
    builder.startObject(11);
    builder.addFieldOffset(0, text, 0);
    builder.addFieldInt8(1, own, 0);
    return builder.endObject();
  });
  const all = offsets(builder, columns);
  const { x, y } = zones.polygons;
  const system = zones.crs === undefined ? 0 : crsOf(builder, zones.crs, zones);
  const envelope = x.length === 0 ? 0 : envelopeOf(builder, x, y);
  builder.startObject(14);
  if (envelope !== 0) builder.addFieldOffset(1, envelope, 0);
  builder.addFieldInt8(2, type, 0);
  builder.addFieldOffset(7, all, 0);
  builder.addFieldInt16(9, 0, 16);
  if (system !== 0) builder.addFieldOffset(10, system, 0);
  return finished(builder);
}

/**
 * The bounds of all zones. As they are f64, the header is aligned to 8 bytes, and so are the features behind it, which the
 * reader of npm takes for granted.
 */
function envelopeOf(builder: Builder, x: Float64Array, y: Float64Array): Offset {
  builder.startVector(8, 4, 8);
  for (const bound of [largestOf(y), largestOf(x), smallestOf(y), smallestOf(x)]) builder.addFloat64(bound);
  return builder.endVector();
}

function crsOf(builder: Builder, crs: string, zones: WrittenZones): Offset {
  const found = codeOfCrs(crs);
  const wkt = found === undefined ? wktOfCrs(zones) : undefined;
  const text = builder.createString(found?.authority ?? crs);
  const definition = wkt === undefined ? 0 : builder.createString(wkt);
  builder.startObject(6);
  builder.addFieldOffset(found === undefined ? 2 : 0, text, 0);
  if (found !== undefined) builder.addFieldInt32(1, found.code, 0);
  if (definition !== 0) builder.addFieldOffset(4, definition, 0);
  return builder.endObject();
}

function geometryOf(
  builder: Builder,
  parts: readonly WrittenPart[],
  type: number,
  x: Float64Array,
  y: Float64Array,
): Offset {
  const polygons = parts.map((part) => polygonOf(builder, part, x, y));
  if (type === POLYGON) return polygons[0]!;
  const all = offsets(builder, polygons);
  builder.startObject(8);
  builder.addFieldInt8(6, type, 0);
  builder.addFieldOffset(7, all, 0);
  return builder.endObject();
}

function polygonOf(builder: Builder, part: WrittenPart, x: Float64Array, y: Float64Array): Offset {
  const ends: number[] = [];
  let vertices = 0;
  for (const { start, end } of part) {
    vertices += end - start + 1;
    ends.push(vertices);
  }
  // Vectors are written from their end.
  builder.startVector(8, 2 * vertices, 8);
  for (const ring of part.toReversed()) {
    for (const v of [...closedRing(ring)].reverse()) {
      builder.addFloat64(y[v]!);
      builder.addFloat64(x[v]!);
    }
  }
  const xy = builder.endVector();
  builder.startVector(4, ends.length, 4);
  for (const end of ends.reverse()) builder.addInt32(end);
  const all = builder.endVector();
  builder.startObject(8);
  builder.addFieldOffset(0, all, 0);
  builder.addFieldOffset(1, xy, 0);
  builder.addFieldInt8(6, POLYGON, 0);
  return builder.endObject();
}

function offsets(builder: Builder, of: readonly Offset[]): Offset {
  builder.startVector(4, of.length, 4);
  for (const offset of of.toReversed()) builder.addOffset(offset);
  return builder.endVector();
}

function finished(builder: Builder): Uint8Array {
  builder.finishSizePrefixed(builder.endObject());
  return builder.asUint8Array();
}

/** The bytes of a cell: the number of its column, and its value. A null takes none. */
function cellOf(field: TableField, column: HostColumn): (row: number, at: number) => Uint8Array[] {
  const isNull = nullsOf(column);
  const fixed = FIXED[column.type];
  if (fixed === undefined || column.type === 'string') {
    const text = cellText(field, column);
    return (row, at) => {
      if (isNull(row)) return [];
      const bytes = new TextEncoder().encode(text(row));
      const head = new DataView(new ArrayBuffer(6));
      head.setUint16(0, at, true);
      head.setUint32(2, bytes.length, true);
      return [new Uint8Array(head.buffer), bytes];
    };
  }
  const [, bytes, write] = fixed;
  return (row, at) => {
    if (isNull(row)) return [];
    const cell = new DataView(new ArrayBuffer(2 + bytes));
    cell.setUint16(0, at, true);
    write(cell, 2, column.values[row] as never);
    return [new Uint8Array(cell.buffer)];
  };
}
