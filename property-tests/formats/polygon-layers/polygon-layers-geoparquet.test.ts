import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ColumnSource } from 'hyparquet-writer';
import { describe, expect } from 'vitest';
import { finished } from '../../../formats/bytes/steps.ts';
import type { PolygonLayerOptions } from '../../../formats/polygons/polygon-layer.ts';
import { readAll } from '../../../formats/polygons/read-layer.ts';
import { readZones } from '../../../formats/polygons/read-zones.ts';
import { attributeReader } from '../../../formats/polygons/zone-attributes.ts';
import { parseZones } from '../../../formats/polygons/zones.ts';
import type { QuadrilleError } from '../../../primitives/checks/errors.ts';
import { ringsOf } from '../../fixtures/random-zones.ts';
import { fc, test } from '../../law-test.ts';
import {
  type GeoParquetStyle,
  geoParquetOf,
  geoParquetOfFeatures,
  wkbBytes,
  wkbOf,
  wkbStyles,
} from '../../support/binary-layers-support.ts';
import {
  blockSizes,
  features,
  memoryInput,
  openRings,
  openStreams,
  readBytes,
} from '../../support/polygon-layers-support.ts';
import { valueAt } from '../outputs/arbitrary-zonal-histogram.ts';

const fixture = (name: string) => join(import.meta.dirname, '..', '..', 'fixtures', 'polygon-layers', name);
const ring = [[0, 0], [9, 0], [9, 4.5], [0, 0]] as const; // biome-ignore format: four positions
const square = wkbOf([[ring]]);
const far = wkbOf([[ring.map(([x, y]) => [x + 500_000, y + 10] as const)]]);

/** The system and the codes of the notes of a file with one polygon. */
async function told(style: GeoParquetStyle, geometry = square, options: PolygonLayerOptions = {}) {
  const { zones, notes } = await readBytes(geoParquetOf([geometry], style), options);
  return [zones.crs, notes.map(({ code }) => code)];
}
const refused = (style: GeoParquetStyle, geometry = square, options: PolygonLayerOptions = {}) =>
  readBytes(geoParquetOf([geometry], style), options).then(
    () => expect.fail('The file was read.'),
    (error: QuadrilleError) => error,
  );
const crs = (code: number) => ({
  $schema: 'https://proj.org',
  type: 'ProjectedCRS',
  name: 'x',
  id: { authority: 'EPSG', code },
});

describe('GeoParquet', () => {
  const codec = fc.constantFrom('UNCOMPRESSED' as const, 'SNAPPY' as const);
  test.prop([features, wkbStyles, fc.integer({ min: 1, max: 4 }), codec, blockSizes])(
    'has the rings and names that were written, in row groups of any size',
    async (written, style, rowGroupSize, codec, sizes) => {
      const names: ColumnSource = { name: 'name', data: written.map(({ name }) => name), type: 'STRING' };
      const geometries = written.map(({ parts }) => wkbOf(parts, style));
      const bytes = geoParquetOf(geometries, { columns: [names], rowGroupSize, codec });
      const { zones } = await readBytes(bytes, { id: 'name' }, sizes);
      expect(zones.names).toEqual(written.map(({ name }) => name));
      expect(ringsOf(zones.polygons)).toEqual(openRings(written));
      expect((await readBytes(bytes, {}, sizes)).zones.names).toEqual(written.map((_, at) => String(at)));
      expect(openStreams.count).toBe(0);
    },
  );

  // The row of formats with number 11, and the default of the specification.
  test('has the coordinate system that it states; none is longitudes and latitudes, null is unknown', async () => {
    expect(await told({})).toEqual(['OGC:CRS84', []]);
    expect(await told({ column: { crs: null } })).toEqual([undefined, ['zones/crs-unknown']]);
    expect(await told({ column: { crs: crs(26915) } })).toEqual(['EPSG:26915', []]);
    expect(await told({ column: { crs: crs(26915) } }, square, { crs: 'EPSG:3857' })).toEqual(['EPSG:3857', []]);
    const compound = { type: 'CompoundCRS', name: 'x + height', components: [crs(5555), crs(5773)] };
    expect(await told({ column: { crs: compound } })).toEqual(['EPSG:5555', []]);
    expect(await told({ column: { crs: { type: 'BoundCRS', source_crs: crs(31467) } } })).toEqual(['EPSG:31467', []]);
    expect(await told({ column: { crs: { name: 'NAD83 / UTM zone 15N' } } })).toEqual(['EPSG:26915', []]);
    expect(await told({ column: { crs: 'PROJCS["a",AUTHORITY["EPSG","32633"]]' } })).toEqual(['EPSG:32633', []]);
    expect(await told({ column: { crs: 7 } })).toEqual([undefined, ['zones/crs-unknown']]);
  });

  test('that leaves the system out is of none, if its coordinates or its bounds are no degrees', async () => {
    expect(await told({}, wkbOf([[ring.map(([x, y]) => [x, y + 500] as const)]]))).toEqual([
      undefined,
      ['zones/crs-unknown'],
    ]);
    expect(await told({ column: { bbox: [500_000, 10, 500_009, 14.5] } }, far)).toEqual([
      undefined,
      ['zones/crs-unknown'],
    ]);
    // Bounds of three and four dimensions have x and y first, and in the middle.
    const bounds = [1, 2, -5000, 9, 3, 4, 8000, 9];
    expect(await told({ column: { bbox: bounds, crs: crs(4326) } })).toEqual(['EPSG:4326', []]);
    expect(await told({ column: { bbox: [...bounds.slice(0, 4), 400, ...bounds.slice(5)], crs: crs(4326) } })).toEqual([
      'EPSG:4326',
      ['polygons/bounds-beyond-degrees'],
    ]);
    // A box over the antimeridian has its left side beyond the right one. All rows are read.
    expect(await told({ column: { bbox: [170, -5, -170, 5] } })).toEqual(['OGC:CRS84', []]);
  });

  // Row 12.
  test('without metadata of geometries is refused, unless a column is named', async () => {
    const error = await refused({ geo: null });
    expect(error).toMatchObject({ code: 'format/missing-geometry', place: { file: 'layer' } });
    expect(error.message).toContain('no metadata of geometries');
    expect(error.remedy).toContain('--geometry-column (geometryColumn): "geometry"');
    expect(await told({ geo: null }, square, { geometryColumn: 'geometry' })).toEqual([
      undefined,
      ['zones/crs-unknown'],
    ]);
    expect(await refused({}, square, { geometryColumn: 'other' })).toMatchObject({ code: 'format/missing-geometry' });
    const { zones, notes } = await readBytes(geoParquetOf([], { geo: null }));
    expect([zones.names, notes.map(({ code }) => code)]).toEqual([[], ['zones/none', 'zones/crs-unknown']]);
    expect((await readBytes(geoParquetOf([]))).notes.map(({ code }) => code)).toEqual(['zones/none']);
    const nulls = await readBytes(geoParquetOf([null, null]));
    expect([nulls.zones.names, nulls.notes.map(({ code }) => code)]).toEqual([['0', '1'], ['zones/no-geometry']]);
  });

  // Row 13.
  test('is told by its content: the version does not count, a logical type stands for metadata, other encodings are refused', async () => {
    expect(await told({ geo: { version: '2.0.0' } })).toEqual(['OGC:CRS84', []]);
    expect(await told({ geo: { version: '9' }, column: { crs: crs(5070) } })).toEqual(['EPSG:5070', []]);
    for (const encoding of ['polygon', 'WKT', 'point', undefined, 3]) {
      const error = await refused({ column: { encoding } });
      expect(error).toMatchObject({ code: 'format/unsupported-encoding', expected: 'the encoding WKB' });
      expect(error.got).toBe(typeof encoding === 'string' ? `"${encoding}"` : 'none');
    }
    for (const geo of [{ primary_column: 7 }, { columns: [] }, { columns: { geometry: 3 } }])
      expect(await refused({ geo })).toMatchObject({ code: 'format/malformed-geoparquet' });
    expect(await refused({ geo: null, metadata: { geo: '{' } })).toMatchObject({ code: 'format/malformed-geoparquet' });
  });

  test.each(['duckdb-none.parquet', 'duckdb-v2.parquet'])('of DuckDB is read: %s', async (name) => {
    const { zones, notes } = await readZones(fixture(name), { id: 'name' });
    const isFar = name === 'duckdb-v2.parquet';
    expect(ringsOf(zones.polygons)[0]).toEqual([
      isFar ? [[500_000, 10], [500_009, 10], [500_009, 14]] : [[0, 0], [9, 0], [9, 4.5]], // biome-ignore format: three positions
    ]);
    expect([zones.names, zones.crs, notes.map(({ code }) => code)]).toEqual(
      isFar ? [['a'], undefined, ['zones/crs-unknown']] : [['a'], 'OGC:CRS84', []],
    );
  });

  test('of DuckDB that says nothing of its geometries is refused, unless it is empty', async () => {
    for (const name of ['duckdb-measured.parquet', 'duckdb-nulls.parquet'])
      await expect(readZones(fixture(name))).rejects.toMatchObject({ code: 'format/missing-geometry' });
    await expect(readZones(fixture('duckdb-measured.parquet'), { geometryColumn: 'geom' })).rejects.toMatchObject({
      code: 'format/not-polygon',
    });
    expect((await readZones(fixture('duckdb-empty.parquet'))).zones.names).toEqual([]);
  });

  // Row 14.
  test('has the primary column, whatever the order, or the named one, and notes the others', async () => {
    const columns = ['first', 'second', 'third'];
    const sources = columns.map(
      (name, at): ColumnSource => ({
        name,
        data: [wkbOf([[ring.map(([x, y]) => [x + at, y] as const)]])],
        type: 'BYTE_ARRAY',
      }),
    );
    const of = Object.fromEntries(
      columns.toReversed().map((name, at) => [name, { encoding: 'WKB', crs: crs(26901 + at) }]),
    );
    const bytes = geoParquetOf([], { name: 'first', columns: sources, geo: { primary_column: 'second', columns: of } });
    const attributes = attributeReader('all', 'layer');
    const { zones, notes } = await readBytes(bytes, {}, undefined, {}, attributes);
    expect([zones.polygons.x[0], zones.crs]).toEqual([1, 'EPSG:26902']);
    expect(notes.map(({ message }) => message)).toEqual([
      '2 other columns have geometries and were not read: "third", "first".',
    ]);
    expect(attributes.finish().attributes).toEqual([]);
    const third = await readBytes(bytes, { geometryColumn: 'third' });
    expect([third.zones.polygons.x[0], third.zones.crs]).toEqual([2, 'EPSG:26901']);
  });

  // Row 15.
  test('with spherical edges is read as planar, with a note', async () => {
    expect(await told({ column: { edges: 'planar', orientation: 'counterclockwise', epoch: 2020.5 } })).toEqual([
      'OGC:CRS84',
      [],
    ]);
    expect(await told({ column: { edges: 'spherical' } })).toEqual(['OGC:CRS84', ['polygons/spherical-edges']]);
  });

  test('with the logical type alone has the system of the type', async () => {
    const of = (crs?: string, metadata: Record<string, string> = {}, type: 'GEOMETRY' | 'GEOGRAPHY' = 'GEOMETRY') =>
      told({ geo: null, logical: { type, ...(crs !== undefined && { crs }) }, metadata });
    expect(await of()).toEqual(['OGC:CRS84', []]);
    expect(await of(undefined, {}, 'GEOGRAPHY')).toEqual(['OGC:CRS84', ['polygons/spherical-edges']]);
    expect(await of('EPSG:5070')).toEqual(['EPSG:5070', []]);
    expect(await of('srid:5070')).toEqual(['EPSG:5070', []]);
    expect(await of('srid:0')).toEqual([undefined, ['zones/crs-unknown']]);
    expect(await of(JSON.stringify(crs(5070)))).toEqual(['EPSG:5070', []]);
    expect(await of('projjson:mine', { mine: JSON.stringify(crs(5070)) })).toEqual(['EPSG:5070', []]);
    expect(await of('projjson:mine')).toEqual([undefined, ['zones/crs-unknown']]);
  });

  // Row 16.
  test('states a coordinate system in its geometries only if it is that of the column', async () => {
    const at = (srid: number) => wkbOf([[ring]], { flags: true, srid });
    expect(await told({}, at(4326))).toEqual(['OGC:CRS84', []]);
    expect(await told({}, at(0))).toEqual(['OGC:CRS84', []]);
    expect(await told({ column: { crs: crs(26915) } }, at(26915))).toEqual(['EPSG:26915', []]);
    expect(await told({ column: { crs: null } }, at(3857))).toEqual(['EPSG:3857', []]);
    for (const [column, srid] of [[{}, 3857], [{ crs: crs(26915) }, 4326]] as const) // biome-ignore format: two cases
      expect(await refused({ column }, at(srid))).toMatchObject({ code: 'format/mixed-crs', place: { record: 0 } });
    expect(await told({}, at(3857), { crs: 'EPSG:26915' })).toEqual(['EPSG:26915', []]);
    const two = geoParquetOf([at(3857), at(4326)], { column: { crs: null } });
    await expect(readBytes(two)).rejects.toMatchObject({ code: 'format/mixed-crs', place: { record: 1 } });
  });

  test('with a damaged row is refused, or read without it, and names the row', async () => {
    const bytes = geoParquetOf([square, square.subarray(1), Uint8Array.of(...square, 0), new Uint8Array(0), square], {
      rowGroupSize: 2,
    });
    await expect(readBytes(bytes)).rejects.toMatchObject({
      code: 'format/malformed-wkb',
      place: { file: 'layer', record: 1 },
    });
    const { zones, notes } = await readBytes(bytes, { onBadRecord: 'skip' });
    expect([zones.names, notes.map(({ code, count }) => [code, count])]).toEqual([
      ['0', '4'],
      [['polygons/bad-records', 3]],
    ]);
  });

  test('leaves out points and lines, with a note', async () => {
    const point = wkbBytes((to) => {
      to.head(1);
      to.position(1, 2);
    });
    const { zones, notes } = await readBytes(geoParquetOf([point, square, null]));
    expect([zones.names, notes.map(({ code }) => code)]).toEqual([
      ['1', '2'],
      ['polygons/other-geometry', 'zones/no-geometry'],
    ]);
    await expect(readBytes(geoParquetOf([point]))).rejects.toMatchObject({ code: 'format/not-polygon' });
  });

  test('that geopandas wrote equals what GDAL wrote of the same data as FlatGeobuf', async () => {
    const options = { id: 'code', attributes: 'all' } as const;
    const { zones, attributes } = await readZones(fixture('shapes.parquet'), options);
    const other = await readZones(fixture('shapes.fgb'), options);
    expect({ ...zones, file: '', crsText: '' }).toEqual({ ...other.zones, crsText: '', crs: 'EPSG:4326', file: '' });
    expect(attributes).toEqual(other.attributes);
  });

  test('is not read where nothing can wait', () => {
    expect(() => parseZones('PAR1')).toThrow(expect.objectContaining({ code: 'format/needs-file' }));
  });
});

describe('columns of GeoParquet', () => {
  const two = [square, square];
  const valuesOf = async (source: Omit<ColumnSource, 'name'>, rows: number) => {
    const attributes = attributeReader('all', 'layer');
    const bytes = geoParquetOf(
      Array.from({ length: rows }, () => square),
      { columns: [{ ...source, name: 'a' }] },
    );
    const { notes } = await readBytes(bytes, {}, undefined, {}, attributes);
    const found = attributes.finish();
    const column = found.attributes[0]?.column;
    const values = column && Array.from({ length: rows }, (_, row) => valueAt(column, row) ?? null);
    return { type: column?.type, values, notes: [...notes, ...found.notes].map(({ code }) => code) };
  };

  test.prop([
    fc.array(fc.option(fc.oneof(fc.string(), fc.constant('')), { nil: null }), { minLength: 1, maxLength: 9 }),
  ])('tell a null text from an empty one', async (data) => {
    const { values } = await valuesOf({ data, type: 'STRING' }, data.length);
    expect(values).toEqual(data);
  });

  test.prop([
    fc.array(fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), { nil: null }), { minLength: 1 }),
  ])('have whole numbers with all digits', async (data) => {
    const { values } = await valuesOf({ data, type: 'INT64' }, data.length);
    expect(values?.map((value) => (value === null ? null : BigInt(value as string)))).toEqual(data);
  });

  test('have the types of other formats: dates and times are texts', async () => {
    const day = new Date('2026-11-30T17:50:01.250Z');
    const cases: readonly (readonly [Omit<ColumnSource, 'name'>, unknown, string?])[] = [
      [{ data: [true, false], type: 'BOOLEAN' }, [true, false]],
      [{ data: [1, -2], type: 'INT32' }, [1n, -2n]],
      [{ data: [1.5, -0.1], type: 'DOUBLE' }, [1.5, -0.1]],
      [{ data: [day, null], type: 'TIMESTAMP' }, ['2026-11-30T17:50:01.25Z', null]],
    ];
    for (const [source, values] of cases) expect((await valuesOf(source, 2)).values).toEqual(values);
  });

  test('of lists are not read, with a note, and no name', async () => {
    expect((await valuesOf({ data: [{ a: 1 }, { a: 2 }], type: 'JSON' }, 2)).values).toEqual(['{"a":1}', '{"a":2}']);
    const bytes = geoParquetOf(two, {
      columns: [{ name: 'a', data: [Uint8Array.of(255), Uint8Array.of(0)], type: 'BYTE_ARRAY' }],
    });
    const attributes = attributeReader('all', 'layer');
    const { notes } = await readBytes(bytes, {}, undefined, {}, attributes);
    expect([notes.map(({ code }) => code), attributes.finish().attributes]).toEqual([['zones/unread-attributes'], []]);
    await expect(readBytes(bytes, { id: 'a' })).rejects.toMatchObject({ code: 'format/bad-name' });
    await expect(readBytes(bytes, { id: 'b' })).rejects.toMatchObject({
      code: 'format/missing-property',
      place: { record: 0 },
    });
  });

  test('name polygons, and leave out those of which the name is null', async () => {
    const bytes = geoParquetOfFeatures(
      [
        { name: 'a', parts: [[ring]] },
        { name: 'b', parts: [[ring]] },
      ],
      {
        columns: [{ name: 'n', data: [null, 2n ** 62n], type: 'INT64' }],
      },
    );
    const { zones, notes } = await readBytes(bytes, { id: 'n' });
    expect([zones.names, notes.map(({ code }) => code)]).toEqual([
      ['4611686018427387904'],
      ['polygons/incomplete-records'],
    ]);
  });

  test('are held within the memory that is given', async () => {
    const rows = Array.from({ length: 2000 }, () => square);
    const bytes = geoParquetOf(rows, { codec: 'SNAPPY' });
    expect((await readBytes(bytes)).zones.names.length).toBe(2000);
    const input = await readBytes(bytes, { memoryBytes: 100_000 }).catch((error) => error);
    expect(input).toMatchObject({ code: 'memory/limit' });
    // Only one row group is held at a time.
    const point = (_: unknown, at: number) =>
      wkbBytes((to) => {
        to.head(1);
        to.position(at, 2);
      });
    const points = [...Array.from({ length: 9000 }, point), square];
    const groups = geoParquetOf(points, { rowGroupSize: 500 });
    const within = (bytes: Uint8Array) => finished(readAll({ ...memoryInput(bytes), memoryBytes: 60_000 }, {}));
    expect((await within(groups)).zones.names).toEqual(['9000']);
    const one = geoParquetOf(points, { rowGroupSize: 10_000 });
    await expect(within(one)).rejects.toMatchObject({ code: 'memory/limit' });
  });
});

test('the header of a file is not trusted', async () => {
  const bytes = await readFile(fixture('duckdb-none.parquet'));
  for (let length = 0; length < bytes.length; length += 7)
    await expect(readBytes(bytes.subarray(0, length), { format: 'geoparquet' })).rejects.toMatchObject({
      code: expect.stringMatching(/^format\//),
    });
});
