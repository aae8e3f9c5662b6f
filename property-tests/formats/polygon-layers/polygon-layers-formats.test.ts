import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { deserialize, serialize } from 'flatgeobuf/lib/mjs/geojson.js';
import { describe, expect } from 'vitest';
import type { HostColumn } from '../../../algorithms/tables/host-table.ts';
import { openPolygonLayer, readPolygonLayer } from '../../../formats/polygons/open-polygon-layer.ts';
import { POLYGON_FORMATS } from '../../../formats/polygons/polygon-formats.ts';
import { POLYGON_LAYER_FORMATS } from '../../../formats/polygons/polygon-layer.ts';
import { readZones } from '../../../formats/polygons/read-zones.ts';
import { attributeReader } from '../../../formats/polygons/zone-attributes.ts';
import { parseZones, type ZoneOptions } from '../../../formats/polygons/zones.ts';
import { type Ring, ringsOf, topoJsonText, collection as wholeDegrees } from '../../fixtures/random-zones.ts';
import { fc, test } from '../../law-test.ts';
import {
  blockSizes,
  bytesOf,
  csvOf,
  features,
  featuresOf,
  flatGeobufOf,
  gaps,
  openRings,
  readBytes,
  readText,
  ringsIn,
  shapefileOf,
  spacedOut,
  type WrittenFeature,
  wktOf,
} from '../../support/polygon-layers-support.ts';

const fixture = (name: string) => join(import.meta.dirname, '..', '..', 'fixtures', 'polygon-layers', name);

test('all formats have a name that options take, and a record', () => {
  const names = POLYGON_FORMATS.map(({ name }) => name);
  expect(names.toSorted()).toEqual([...POLYGON_LAYER_FORMATS].sort());
});

describe('FlatGeobuf', () => {
  test.prop([features, blockSizes])('has the rings and names that were written', async (written, sizes) => {
    const { zones } = await readBytes(flatGeobufOf(written), { id: 'name' }, sizes);
    expect(zones.names).toEqual(written.map(({ name }) => name));
    expect(ringsOf(zones.polygons)).toEqual(openRings(written));
  });

  test('has the coordinate system that its header names', async () => {
    const written = [{ name: 'a', parts: [[[[0, 0], [9, 0], [0, 9], [0, 0]]]] }] as const; // biome-ignore format: four positions
    expect((await readBytes(flatGeobufOf(written, 26915))).zones.crs).toBe('EPSG:26915');
    const { zones, notes } = await readBytes(flatGeobufOf(written));
    expect([zones.crs, notes.map(({ code }) => code)]).toEqual([undefined, ['zones/crs-unknown']]);
    expect((await readBytes(flatGeobufOf(written, 26915), { crs: 'EPSG:3857' })).zones.crs).toBe('EPSG:3857');
  });

  const properties = fc.record({
    text: fc.string(),
    number: fc.double({ noNaN: true }),
    truth: fc.boolean(),
    parsed: fc.constant({ a: [1] }),
  });
  test.prop([fc.array(properties, { minLength: 1, maxLength: 3 }), fc.constantFrom('text', 'number', 'truth')])(
    'names by a column of any type',
    async (list, column) => {
      const geometry = { type: 'Polygon', coordinates: [[[0, 0], [9, 0], [0, 9], [0, 0]]] }; // biome-ignore format: four positions
      const bytes = serialize({
        type: 'FeatureCollection',
        features: list.map((properties) => ({ type: 'Feature', properties, geometry })),
      } as never);
      const { zones } = await readBytes(bytes, { id: column });
      expect(zones.names).toEqual(list.map((properties) => String(properties[column as 'text'])));
      await expect(readBytes(bytes, { id: 'none' })).rejects.toMatchObject({
        code: 'format/missing-property',
        remedy: 'There are "text", "number", "truth", "parsed".',
      });
    },
  );

  const others = fc.array(fc.constantFrom('Point', 'Polygon', 'Mixed', 'LineString', 'MultiPolygon'), { minLength: 1 });
  test.prop([others])('skips points and lines, with a note', async (kinds) => {
    const ring = [[0, 0], [9, 0], [0, 9], [0, 0]]; // biome-ignore format: four positions
    const geometries: Record<string, { type: string; [member: string]: unknown }> = {
      Point: { type: 'Point', coordinates: [1, 2] },
      LineString: { type: 'LineString', coordinates: ring },
      Polygon: { type: 'Polygon', coordinates: [ring] },
      MultiPolygon: { type: 'MultiPolygon', coordinates: [[ring], [ring]] },
    };
    const mixed = {
      type: 'GeometryCollection',
      geometries: [geometries.Point, geometries.MultiPolygon, geometries.Polygon],
    };
    const list = [...kinds, 'Mixed'].map((kind) => ({
      type: 'Feature',
      properties: {},
      geometry: geometries[kind] ?? mixed,
    }));
    const read = await readBytes(serialize({ type: 'FeatureCollection', features: list } as never));
    const kept = [...kinds, 'Mixed'].flatMap((kind, index) => (/Polygon|Mixed/.test(kind) ? [String(index)] : []));
    expect(read.zones.names).toEqual(kept);
    const count = kinds.filter((kind) => !kind.endsWith('Polygon')).length + 1;
    expect(read.notes).toContainEqual(expect.objectContaining({ code: 'polygons/other-geometry', count }));
  });

  test.each(['shapes.fgb', 'shapes-plain.fgb', 'shapes-xyzm.fgb'])(
    'of GDAL is read as by another reader: %s',
    async (name) => {
      const { zones } = await readPolygonLayer(fixture(name), { id: 'label' });
      const theirs: [string, Ring[]][] = [];
      for await (const { properties, geometry } of deserialize(new Uint8Array(await readFile(fixture(name))))) {
        theirs.push([properties!.label, ringsIn(geometry)]);
      }
      expect(ringsOf(zones.polygons).map((rings, index) => [zones.names[index], rings])).toEqual(theirs);
      expect(zones.crs).toBe(name.includes('xyzm') ? 'EPSG:32633' : 'EPSG:4326');
    },
  );

  test('of GDAL has surfaces of polygons, and no arcs', async () => {
    await expect(readZones(fixture('curved.fgb'))).rejects.toMatchObject({
      code: 'format/curved-geometry',
      got: 'a CURVEPOLYGON, with arcs',
      place: { record: 2 },
    });
    const { zones } = await readZones(fixture('curved.fgb'), { onBadRecord: 'skip' });
    expect([zones.names, ringsOf(zones.polygons).map((rings) => rings.length)]).toEqual([
      ['0', '1'],
      [2, 1],
    ]);
  });

  test('of GDAL can be empty, and can be named by a number', async () => {
    const { zones, notes } = await readPolygonLayer(fixture('empty.fgb'));
    expect([zones.names, notes.map(({ code }) => code)]).toEqual([[], ['zones/none']]);
    const { zones: numbered } = await readPolygonLayer(fixture('shapes-plain.fgb'), { id: 'count' });
    expect(numbered.names).toEqual(['7', '-3', '2147483647']);
    const { zones: some, notes: left } = await readPolygonLayer(fixture('shapes-plain.fgb'), { id: 'area' });
    expect([some.names.length, left]).toMatchObject([
      2,
      [{ code: 'polygons/incomplete-records', count: 1, zone: '1' }],
    ]);
  });
});

describe('well-known text', () => {
  test.prop([features, blockSizes, fc.constantFrom('\n', '\r\n', ';\n', '\n\n#x\n'), fc.boolean()])(
    'has the rings that were written',
    async (written, sizes, newline, ends) => {
      const text = wktOf(written).replaceAll('\n', newline);
      const { zones } = await readText(ends ? text : text.trimEnd(), { format: 'wkt' }, sizes);
      expect(zones.names).toEqual(written.map((_, index) => String(index)));
      expect(ringsOf(zones.polygons)).toEqual(openRings(written));
    },
  );

  const geometriesOf = (written: readonly WrittenFeature[], kind: string): string[] =>
    wktOf(written)
      .trimEnd()
      .split('\n')
      .map((text) => (kind === '' ? text : `${kind} (${text}, POLYGON Z EMPTY)`));
  const kinds = fc.constantFrom('', 'GEOMETRYCOLLECTION', 'SRID=4326;GEOMETRYCOLLECTION Z');

  test.prop([features, gaps, kinds, fc.constantFrom('\n', ';\n', '\n\n# (x\n'), blockSizes])(
    'may have any white space within a geometry',
    async (written, gaps, kind, newline, sizes) => {
      const text = geometriesOf(written, kind).map((geometry) => spacedOut(geometry, gaps)).join(newline); // biome-ignore format: one line
      const { zones } = await readText(text, { format: 'wkt' }, sizes);
      expect(zones.names).toEqual(written.map((_, index) => String(index)));
      expect(ringsOf(zones.polygons)).toEqual(openRings(written));
    },
  );

  test.prop([features, gaps, fc.nat(), fc.nat(), blockSizes])(
    'names the line of an error, and goes on after a geometry that is cut off',
    async (written, gaps, which, where, sizes) => {
      const texts = geometriesOf(written, '').map((geometry) => spacedOut(geometry, gaps));
      const bad = which % texts.length;
      const open = texts[bad]!.indexOf('(') + 1;
      const head = texts.slice(0, bad).map((text) => `${text}\n`).join(''); // biome-ignore format: one line
      const cut = `${texts[bad]!.slice(0, open + (where % (texts[bad]!.length - open)))} ?`;
      const text = [...texts.slice(0, bad), cut, ...texts.slice(bad + 1)].join('\n');
      const lines = (before: string): number => before.split(/\r\n|[\r\n]/).length;
      await expect(readText(text, { format: 'wkt' }, sizes)).rejects.toMatchObject({
        place: { record: bad, line: lines(head + cut) },
      });
      const { zones, notes } = await readText(text, { format: 'wkt', onBadRecord: 'skip' }, sizes);
      expect(zones.names).toEqual(written.map((_, index) => String(index)).filter((name) => name !== String(bad)));
      expect(ringsOf(zones.polygons)).toEqual(openRings(written.filter((_, index) => index !== bad)));
      expect(notes).toContainEqual(expect.objectContaining({ code: 'polygons/bad-records', count: 1 }));
    },
  );

  test('is refused where a collection over several lines never closes', async () => {
    const text = `GEOMETRYCOLLECTION(\n${square},\n${square}\n`;
    expect((await readText(`${square}\n${text.trimEnd()})`)).zones.names).toEqual(['0', '1']);
    await expect(readText(`${text},`, { onBadRecord: 'skip' })).rejects.toMatchObject({
      code: 'format/malformed-text',
      place: { line: 4, record: 0 },
    });
    const { zones } = await readText(`${text}${square}`, { onBadRecord: 'skip' });
    expect(zones.names).toEqual(['1']);
  });

  const square = 'POLYGON((0 0,9 0,9 9,0 0))';

  test('has the same notes as other formats', async () => {
    const lines = [
      square,
      'POINT(1 2)',
      'POLYGON EMPTY',
      'polygon z ((0 0 1, 9 0 1, 0 9 1))',
      'POLYGON((0 0,1 1,0 0))',
    ];
    const { zones, notes } = await readText(['#', ...lines, `GEOMETRYCOLLECTION(${square},POINT(1 1))`].join('\n'));
    expect(zones.names).toEqual(['0', '2', '3', '4', '5']);
    expect(notes.map(({ code, count, zone }) => [code, count, zone])).toEqual([
      ['polygons/other-geometry', 2, '1'],
      ['zones/no-geometry', 2, '2'],
      ['zones/unclosed-rings', 1, '3'],
      ['polygons/short-rings', 1, '4'],
      ['zones/crs-unknown', undefined, undefined],
    ]);
  });

  test('has the coordinate system of its geometries, which must be unique', async () => {
    const read = (...srids: string[]) => readText(srids.map((srid) => srid + square).join('\n'));
    expect((await read('SRID=26915;', 'srid=26915;', '')).zones.crs).toBe('EPSG:26915');
    expect((await read('SRID=0;', '')).zones.crs).toBeUndefined();
    await expect(read('SRID=26915;', 'SRID=4326;')).rejects.toMatchObject({
      code: 'format/mixed-crs',
      place: { record: 1 },
    });
    const jump = 'SRID=4326;POLYGON((170 0,-170 0,-170 9,170 0))';
    expect((await readText(jump)).notes).toMatchObject([{ code: 'zones/antimeridian-jumps' }]);
  });

  test('reports line, column and record of an error, or skips the record', async () => {
    const text = `#\n${square}\n\nPOLYGON((0 0,9 x\n${square} ${square}\nPOLYGON((0 0,1e999 1,2 2,0 0))\n${square}`;
    await expect(readText(text, {}, [7])).rejects.toMatchObject({
      code: 'geometry/not-finite',
      place: { file: 'layer', line: 4, column: 16, record: 1 },
    });
    const { zones, notes } = await readText(text, { onBadRecord: 'skip' });
    expect([zones.names, notes[0]]).toMatchObject([['0', '4'], { code: 'polygons/bad-records', count: 3, zone: '1' }]);
  });
});

describe('CSV with a column of well-known text', () => {
  const read = (text: string, options: ZoneOptions = {}) => parseZones(text, { ...options, file: 'zones.csv' });

  test.prop([features, blockSizes, fc.constantFrom(',', ';', '\t'), fc.constantFrom('\n', '\r\n', '\r', '\n\n')])(
    'has the rings, names and attributes that were written',
    async (written, sizes, delimiter, newline) => {
      const text = csvOf(written, delimiter, newline);
      const { zones } = await readBytes(bytesOf(text), { id: 'name', format: 'csv' }, sizes);
      expect(zones.names).toEqual(written.map(({ name }) => name));
      expect(ringsOf(zones.polygons)).toEqual(openRings(written));
      const { attributes } = read(text, { id: 'name', attributes: ['number'] });
      expect(attributes![0]!.column).toMatchObject({
        type: 'i64',
        values: BigInt64Array.from(written, (_, at) => BigInt(at)),
      });
    },
  );

  test('keeps numbers that f64 or a number would not, and tells an empty text from none', () => {
    const text =
      'id,code,big,note,wkt\na,01,617700169958293503,"","POLYGON ((0 0, 1 0, 0 1, 0 0))"\nb,2,3,,POLYGON EMPTY\n';
    const { zones, attributes } = read(text, { attributes: 'all' });
    expect(zones.names).toEqual(['a', 'b']);
    expect(attributes!.map(({ name, column }) => [name, column.type, rowsOfColumn(column)])).toEqual([
      ['id', 'string', ['a', 'b']],
      ['code', 'string', ['01', '2']],
      ['big', 'i64', [617700169958293503n, 3n]],
      ['note', 'string', ['', null]],
    ]);
  });

  const square = (at: number): string => `POLYGON ((${at} 0, ${at + 1} 0, ${at} 1, ${at} 0))`;
  const namesOf = (text: string, options?: ZoneOptions) => read(text, options).zones.names;

  test('keeps attributes with their zones where a record cannot be read', async () => {
    const [before, after] = [`id,wkt,a\nA,"${square(0)}",one\nB,"${square(1)}",`, `\nC,"${square(2)}",three\n`];
    const bytes = Uint8Array.from([...bytesOf(before), 0xff, ...bytesOf(after)]);
    const attributes = attributeReader(['a'], 'layer');
    const { zones } = await readBytes(bytes, { onBadRecord: 'skip', format: 'csv' }, undefined, undefined, attributes);
    expect(zones.names).toEqual(['A', 'C']);
    expect(rowsOfColumn(attributes.finish().attributes[0]!.column)).toEqual(['one', 'three']);
  });

  test.prop([blockSizes, fc.integer({ min: 3, max: 5000 })])(
    'finds the geometry in the first record, however long that and the blocks are',
    async (sizes, vertices) => {
      const ring = Array.from({ length: vertices }, (_, at) => `${at} ${at % 7}`);
      const text = `nr,boundary\n7,"POLYGON ((${[...ring, ring[0]].join()}))"\n8,"${square(0)}"\n`;
      const { zones } = await readBytes(bytesOf(text), { format: 'csv' }, sizes);
      expect([zones.names, [...zones.polygons.polygonRings]]).toEqual([
        ['0', '1'],
        [0, 1, 2],
      ]);
    },
  );

  test('states the system of its geometries, as well-known text does', () => {
    const across = 'POLYGON ((179 0, -179 0, -179 1, 179 0))';
    const unwrap = { antimeridian: 'unwrap' } as const;
    const { zones } = read(`id,wkt\nA,"SRID=4326;${across}"\n`, unwrap);
    expect([zones.crs, [...zones.polygons.x]]).toEqual(['EPSG:4326', [179, 181, 181]]);
    expect(() => read(`id,wkt\nA,"SRID=32631;${across}"\nB,"SRID=4326;${across}"\n`)).toThrow(
      expect.objectContaining({ code: 'format/mixed-crs' }),
    );
  });

  test('notes columns of equal names', () => {
    const { attributes, notes } = read(`id,wkt,a,a\n1,"${square(0)}",x,y\n`, { attributes: ['a'] });
    expect(rowsOfColumn(attributes![0]!.column)).toEqual(['x']);
    expect(notes.map(({ code }) => code)).toContain('zones/repeated-attributes');
  });

  test.each([
    [`polygon_id,wkt\nA,"${square(0)}"\n`, ['A']],
    [`polygon,id\n"${square(0)}",A\n`, ['A']],
    [`point_id,wkt\nA,"${square(0)}"\n`, ['0']],
    [`${square(0)}\tA\n`, ['A']],
    [`${square(0)};A\n`, ['A']],
    [`id,center,outline\nA,POINT (1 1),"${square(0)}"\n`, ['A']],
    [`id,shape,boundary\nA,round,"${square(0)}"\n`, ['A']],
  ])('is told from well-known text, and its geometry from other columns: %j', (text, names) => {
    expect(namesOf(text)).toEqual(names);
  });

  test('tells record and line of an error, and leaves out bad records on request', async () => {
    const text = 'wkt,id\n"POLYGON ((0 0, 1 0, 0 1, 0 0))",a\n\n"POLYGON ((0 0,\n1 x))",b\nPOINT (0 0),c\n1,2,3\n';
    expect(() => read(text)).toThrow(
      expect.objectContaining({
        code: 'geometry/not-finite',
        place: { file: 'zones.csv', line: 5, column: 3, record: 1 },
      }),
    );
    const { zones, notes } = read(text, { onBadRecord: 'skip' });
    expect(zones.names).toEqual(['a']);
    expect(notes.map(({ code, count }) => [code, count])).toEqual([
      ['polygons/bad-records', 2],
      ['polygons/other-geometry', 1],
      ['zones/crs-unknown', undefined],
    ]);
    expect(() => read('id,x\n1,2\n')).toThrow(expect.objectContaining({ code: 'format/no-column' }));
    expect(read('id,wkt\n').zones.names).toEqual([]);
  });
});

/** The values of a column; null where it has none. */
function rowsOfColumn(column: HostColumn): unknown[] {
  const { validity } = column;
  const values =
    column.type === 'string' ? Array.from(column.codes, (code) => column.dictionary[code]) : [...column.values];
  return values.map((value, row) => (validity === undefined || (validity[row >> 5]! >> (row & 31)) & 1 ? value : null));
}

describe('TopoJSON', () => {
  test.prop([wholeDegrees, blockSizes])('has the rings that were written', async (written, sizes) => {
    const { zones, notes } = await readText(topoJsonText(written), {}, sizes);
    expect(ringsOf(zones.polygons)).toEqual(written.map((parts) => parts.flat().map((ring) => ring.slice(0, -1))));
    expect(zones.crs).toBe('OGC:CRS84');
    expect(notes.every(({ code }) => code === 'zones/zero-area-rings')).toBe(true);
  });

  test.each([
    ['counties-10m.json', 'counties', undefined],
    ['counties-10m.json', 'states', 'name'],
    ['counties-albers-10m.json', 'counties', undefined],
  ])('of the United States is read as by readZones: %s, %s', async (name, layer, id) => {
    const file = join(import.meta.dirname, '..', '..', '..', 'node_modules', 'us-atlas', name);
    const [ours, theirs] = [await readPolygonLayer(file, { layer, id }), await readZones(file, { layer, id })];
    expect(ours.zones).toEqual(theirs.zones);
    const brief = (notes: typeof ours.notes) => notes.map(({ code, count, zone }) => [code, count, zone]);
    expect(brief(ours.notes)).toEqual(brief(theirs.notes));
  });

  const arcs = [[[0, 0], [9, 0], [0, 9], [0, 0]]]; // biome-ignore format: four positions
  const topology = (geometries: unknown) =>
    JSON.stringify({ type: 'Topology', arcs, objects: { layer: { type: 'GeometryCollection', geometries } } });
  const polygon = { type: 'Polygon', arcs: [[0]] };

  test('skips points and lines, and unreadable members on request', async () => {
    const point = { type: 'Point', coordinates: [0, 0] };
    const collection = { type: 'GeometryCollection', id: 'mixed', geometries: [point, polygon, point] };
    const list = [
      point,
      polygon,
      collection,
      { type: null },
      { ...polygon, arcs: [[7]] },
      5,
      { type: 'Circle' },
      polygon,
    ];
    await expect(readText(topology(list))).rejects.toMatchObject({
      code: 'format/malformed-topojson',
      place: { record: 4 },
    });
    const { zones, notes } = await readText(topology(list), { onBadRecord: 'skip' });
    expect(zones.names).toEqual(['1', 'mixed', '3', '7']);
    expect([...zones.polygons.polygonRings]).toEqual([0, 1, 2, 2, 3]);
    expect(notes.map(({ code, count, zone }) => [code, count, zone])).toEqual([
      ['polygons/other-geometry', 2, '0'],
      ['zones/no-geometry', 1, '3'],
      ['polygons/bad-records', 3, '4'],
    ]);
    await expect(readText(topology([point]))).rejects.toMatchObject({ code: 'format/not-polygon' });
    await expect(readText(topology({}))).rejects.toMatchObject({ code: 'format/malformed-topojson' });
    await expect(readText(topology([]), { layer: 'x' })).rejects.toMatchObject({ code: 'usage/unknown-layer' });
  });
});

describe('the format', () => {
  const names = ['shapes.geojson', 'shapes.geojsonseq', 'shapes.fgb', 'shapes.shp', 'shapes.parquet'];
  test.each(names)('of a GDAL file is detected, with its size: %s', async (name) => {
    const layer = await openPolygonLayer(fixture(name));
    const formats = {
      ...{ geojson: 'geojson', geojsonseq: 'geojson-lines', fgb: 'flatgeobuf', shp: 'shapefile' },
      parquet: 'geoparquet',
    };
    expect(layer.format).toBe(formats[name.split('.')[1] as keyof typeof formats]);
    expect(layer.size).toBe((await readFile(fixture(name))).length);
    expect(layer.crs).toBe(name.includes('geojson') ? 'OGC:CRS84' : 'EPSG:4326');
    let bytesRead = 0;
    for await (const batch of layer.batches()) bytesRead = batch.bytesRead;
    expect(bytesRead).toBe(layer.size);
  });

  test('that is not supported is refused, with a remedy', async () => {
    const remedy = async (text: string) =>
      (await readBytes(Buffer.from(text, 'latin1')).catch((error) => error)).remedy;
    expect(await remedy('hello')).toContain('Convert');
    await expect(openPolygonLayer(fixture('shapes.dbf'))).rejects.toMatchObject({
      code: 'format/unknown-layer',
      remedy: 'Name the file that ends in .shp.',
    });
    await expect(openPolygonLayer(fixture('none.shp'))).rejects.toMatchObject({ code: 'format/missing-file' });
    await expect(openPolygonLayer(fixture(''))).rejects.toMatchObject({
      code: 'format/not-a-file',
      message: expect.stringContaining('This is a directory. Name a file inside it.'),
    });
    await expect(readPolygonLayer(fixture('shapes.fgb'), { layer: 'x' })).rejects.toMatchObject({
      code: 'usage/unknown-layer',
    });
  });

  test.prop([features])('does not change the polygons', async (written) => {
    const text = JSON.stringify({ type: 'FeatureCollection', features: featuresOf(written) });
    const expected = openRings(written);
    for (const bytes of [bytesOf(text), flatGeobufOf(written), shapefileOf(written), bytesOf(wktOf(written))]) {
      expect(ringsOf((await readBytes(bytes)).zones.polygons)).toEqual(expected);
    }
  });
});
