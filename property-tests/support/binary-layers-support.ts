import fc from 'fast-check';
import { type ColumnSource, parquetWriteBuffer, schemaFromColumnData } from 'hyparquet-writer';
import type { Parts } from '../fixtures/random-zones.ts';
import type { WrittenFeature } from './polygon-layers-support.ts';

/** How a geometry is written in well-known binary. */
export interface WkbStyle {
  /** Orders of bytes, of which each part takes the next one; after the last, the first again. Default: little-endian. */
  readonly little?: readonly boolean[];
  readonly z?: boolean;
  readonly m?: boolean;
  /** Whether dimensions are flags, as PostGIS writes them, and not thousands. */
  readonly flags?: boolean;
  readonly srid?: number;
}

/** A style of any kind; systems of coordinates are left out. */
export const wkbStyles: fc.Arbitrary<WkbStyle> = fc.record({
  little: fc.array(fc.boolean(), { minLength: 1, maxLength: 3 }),
  z: fc.boolean(),
  m: fc.boolean(),
  flags: fc.boolean(),
});

/** A writer of the bytes of geometries. */
interface WkbWriter {
  /** Begins a geometry, with the count of what it has, unless it is undefined. */
  head(type: number, count?: number): void;
  count(count: number): void;
  position(x: number, y: number): void;
  raw(...bytes: readonly number[]): void;
}

/** Bytes of a geometry that `write` writes, in a style. */
export function wkbBytes(write: (to: WkbWriter) => void, style: WkbStyle = {}): Uint8Array {
  const { little = [true], z = false, m = false, flags = false, srid } = style;
  const bytes: number[] = [];
  let [heads, order] = [0, true];
  const put = (size: number, set: (view: DataView) => void): void => {
    const view = new DataView(new ArrayBuffer(size));
    set(view);
    for (const byte of new Uint8Array(view.buffer)) bytes.push(byte);
  };
  const count = (value: number): void => put(4, (view) => view.setUint32(0, value, order));
  write({
    head(type, of) {
      order = little[heads % little.length]!;
      bytes.push(Number(order));
      const hasSrid = srid !== undefined && heads++ === 0;
      if (srid === undefined) heads++;
      const marks = flags ? (z ? 0x80000000 : 0) + (m ? 0x40000000 : 0) : 1000 * (Number(z) + 2 * Number(m));
      count(type + marks + (hasSrid ? 0x20000000 : 0));
      if (hasSrid) count(srid);
      if (of !== undefined) count(of);
    },
    count,
    position(x, y) {
      for (const value of [x, y, ...(z ? [7] : []), ...(m ? [Number.NaN] : [])])
        put(8, (view) => view.setFloat64(0, value, order));
    },
    raw: (...more) => {
      bytes.push(...more);
    },
  });
  return Uint8Array.from(bytes);
}

/** A Polygon, or a MultiPolygon of several parts, in well-known binary. */
export function wkbOf(parts: Parts, style: WkbStyle = {}): Uint8Array {
  return wkbBytes((to) => {
    if (parts.length !== 1) to.head(6, parts.length);
    for (const rings of parts) {
      to.head(3, rings.length);
      for (const ring of rings) {
        to.count(ring.length);
        for (const [x, y] of ring) to.position(x, y);
      }
    }
  }, style);
}

const SQUARE = { type: 'Polygon', coordinates: [[[0, 0], [9, 0], [9, 9], [0, 9], [0, 0]]] }; // biome-ignore format: five positions

/** Metadata and columns of a test file, besides its geometries. */
export interface GeoParquetStyle {
  /** Members of the metadata of the column; of the whole metadata under `geo`. null leaves all metadata out. */
  readonly column?: Readonly<Record<string, unknown>> | undefined;
  readonly geo?: Readonly<Record<string, unknown>> | null | undefined;
  readonly columns?: readonly ColumnSource[] | undefined;
  readonly name?: string | undefined;
  readonly codec?: 'UNCOMPRESSED' | 'SNAPPY' | undefined;
  readonly rowGroupSize?: number | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Parquet's logical type of the column, all rows of which have one square: the writer takes no WKB for it. */
  readonly logical?: { readonly type: 'GEOMETRY' | 'GEOGRAPHY'; readonly crs?: string } | undefined;
}

/** A GeoParquet file of geometries in well-known binary, null where a row has none. */
export function geoParquetOf(geometries: readonly (Uint8Array | null)[], style: GeoParquetStyle = {}): Uint8Array {
  const {
    column = {},
    geo,
    columns = [],
    name = 'geometry',
    codec = 'UNCOMPRESSED',
    rowGroupSize,
    metadata = {},
    logical,
  } = style;
  const told = {
    version: '1.1.0',
    primary_column: name,
    columns: { [name]: { encoding: 'WKB', geometry_types: [], ...column } },
    ...geo,
  };
  const pairs = Object.entries({ ...(geo === null ? {} : { geo: JSON.stringify(told) }), ...metadata });
  const data = logical === undefined ? [...geometries] : geometries.map(() => SQUARE);
  const own: ColumnSource = { name, data, type: 'BYTE_ARRAY' };
  const has = columns.some((other) => other.name === name);
  const columnData = has ? [...columns] : [...columns, own];
  const schema = schemaFromColumnData({ columnData });
  const marked = schema.map((element) =>
    element.name === name && logical ? { ...element, logical_type: logical } : element,
  );
  return new Uint8Array(
    parquetWriteBuffer({
      columnData: columnData.map(({ type: _, ...rest }) => rest),
      schema: marked,
      codec,
      statistics: false,
      kvMetadata: pairs.map(([key, value]) => ({ key, value })),
      ...(rowGroupSize === undefined ? {} : { rowGroupSize }),
    }),
  );
}

/** A GeoParquet file with a column `name`, and the features that were written. */
export function geoParquetOfFeatures(written: readonly WrittenFeature[], style: GeoParquetStyle = {}): Uint8Array {
  const names: ColumnSource = { name: 'name', data: written.map(({ name }) => name), type: 'STRING' };
  return geoParquetOf(
    written.map(({ parts }) => wkbOf(parts)),
    { columns: [names], ...style },
  );
}

/** Whether this version of Node has SQLite, which reads GeoPackage: from 22.13 on. */
export const HAS_SQLITE: boolean = (([major = 0, minor = 0]) => major > 22 || (major === 22 && minor >= 13))(
  process.versions.node.split('.').map(Number),
);

/** A geometry of GeoPackage: well-known binary behind a head, whose envelope has zeros. */
export function packageBytes(
  wkb: Uint8Array,
  {
    envelope = 0,
    little = true,
    srsId = 4326,
    empty = false,
  }: { envelope?: number; little?: boolean; srsId?: number; empty?: boolean } = {},
): Uint8Array {
  const start = 8 + [0, 32, 48, 48, 64][envelope]!;
  const bytes = new Uint8Array(start + wkb.length);
  bytes.set([0x47, 0x50, 0, 2 * envelope + Number(little) + (empty ? 16 : 0)]);
  new DataView(bytes.buffer).setInt32(4, srsId, little);
  bytes.set(wkb, start);
  return bytes;
}
