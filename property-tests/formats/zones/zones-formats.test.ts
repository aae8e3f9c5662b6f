import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serialize } from 'flatgeobuf/lib/mjs/geojson.js';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { readZones } from '../../../formats/polygons/read-zones.ts';
import type { ZoneAttribute } from '../../../formats/polygons/zone-attributes.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { dbaseTable, shapefileOf } from '../../support/polygon-layers-support.ts';

const fixture = (name: string) => join(import.meta.dirname, '..', '..', 'fixtures', 'polygon-layers', name);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quadrille-zones-formats-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** The type and the values of attributes; null where a zone has none. */
function valuesOf(attributes: readonly ZoneAttribute[] | undefined) {
  return attributes!.map(({ name, column }) => {
    const values =
      column.type === 'string' ? [...column.codes].map((code) => column.dictionary[code]) : [...column.values];
    const has = (zone: number): boolean => ((column.validity?.[zone >> 5] ?? -1) >>> (zone & 31)) % 2 === 1;
    return [name, column.type, values.map((value, zone) => (has(zone) ? value : null))];
  });
}

/** A table in dBASE format of columns with a name, a letter for the type, and texts of equal length. */
function dbaseOf(columns: readonly (readonly [name: string, type: string, texts: readonly string[]])[]): Uint8Array {
  return dbaseTable(columns.map(([name, type, texts]) => ({ name, type, texts, width: texts[0]!.length })));
}

const RING = [[0, 0], [0, 9], [9, 0], [0, 0]]; // biome-ignore format: four positions
const SQUARES = (count: number) => Array.from({ length: count }, () => ({ name: '', parts: [[RING]] }) as never);

async function readShapefile(dbf: Uint8Array, rows: number, options = {}) {
  const file = join(folder, 'zones.shp');
  await writeFile(file, shapefileOf(SQUARES(rows)));
  await writeFile(join(folder, 'zones.dbf'), dbf);
  return readZones(file, { attributes: 'all', ...options });
}

describe('zones', () => {
  test.each(['shapes.geojson', 'shapes.geojsonseq', 'shapes.shp', 'shapes.fgb'])(
    'have the attributes and rings that GDAL wrote: %s',
    async (name) => {
      const { zones, attributes } = await readZones(fixture(name), { attributes: 'all', id: 'code' });
      const byName = [...zones.names.keys()].sort((a, b) => (zones.names[a]! < zones.names[b]! ? -1 : 1));
      const found = valuesOf(attributes).map(([column, type, values]) => [
        column,
        type,
        byName.map((zone) => values![zone as never]),
      ]);
      // GDAL leaves a feature without geometry out of FlatGeobuf with a spatial index.
      const kept = name === 'shapes.fgb' ? [0, 1, 3] : [0, 1, 2, 3];
      const expected = [
        ['code', 'string', ['A1', 'B2', 'C3', 'D4']],
        ['label', 'string', ['with a hole', 'zwei Teile, äöü', 'nothing', 'one more']],
        ['count', 'i64', [7n, -3n, 0n, 2147483647n]],
        ['area', 'f64', [1.5, null, 0, 1e-9]],
      ] as const;
      expect(found).toEqual(expected.map(([column, type, all]) => [column, type, kept.map((zone) => all[zone])]));
      const { polygons } = zones;
      const rings = byName.map((zone) => polygons.polygonRings[zone + 1]! - polygons.polygonRings[zone]!);
      expect(rings.filter((count) => count > 0)).toEqual([2, 3, 1]);
    },
  );

  test.each(['shapes.geojson', 'shapes.shp', 'shapes.fgb'])(
    'have the named attributes, in their order: %s',
    async (name) => {
      const { attributes } = await readZones(fixture(name), { attributes: ['count', 'code'] });
      expect(attributes!.map(({ name: column }) => column)).toEqual(['count', 'code']);
      await expect(readZones(fixture(name), { attributes: ['none'] })).rejects.toMatchObject({
        code: 'format/missing-property',
        remedy: 'There are "code", "label", "count", "area".',
      });
    },
  );

  test('are refused if unknown, also of a file without zones whose columns are stated', async () => {
    const unknown = {
      code: 'format/missing-property',
      message: expect.stringContaining('No zone has the attribute'),
    };
    await expect(readZones(fixture('empty.fgb'), { attributes: ['none'] })).rejects.toMatchObject(unknown);
    expect((await readZones(fixture('empty.fgb'), { attributes: 'all' })).zones.names).toEqual([]);
    await expect(
      readShapefile(dbaseTable([{ name: 'n', type: 'N', width: 3, texts: [] }]), 0, { attributes: ['m'] }),
    ).rejects.toMatchObject(unknown);
  });

  const rows = fc.integer({ min: 1, max: 6 }).chain((length) => {
    const list = <T>(value: fc.Arbitrary<T>) =>
      fc.array(fc.option(value, { freq: 4 }), { minLength: length, maxLength: length });
    return fc.record({
      whole: list(fc.integer({ min: -999, max: 9999 })),
      long: list(fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n })),
      real: list(fc.integer({ min: -4000, max: 4000 }).map((value) => value / 8)),
      truth: list(fc.boolean()),
      text: list(fc.stringMatching(/^[a-z]{1,8}$/)),
    });
  });

  test.prop([rows], { numRuns: caseCount(200) })('have equal attributes in all formats', async (table) => {
    const names = Object.keys(table) as (keyof typeof table)[];
    const count = table.whole.length;
    const json = (value: unknown): string => (typeof value === 'bigint' ? String(value) : JSON.stringify(value));
    const features = table.whole.map((_, row) => {
      const properties = names.map((name) => `"${name}":${json(table[name][row])}`).join();
      return `{"type":"Feature","properties":{${properties}},"geometry":{"type":"Polygon","coordinates":[${JSON.stringify(RING)}]}}`;
    });
    const file = join(folder, 'zones.geojson');
    await writeFile(file, `{"type":"FeatureCollection","features":[${features}]}`);
    const expected = valuesOf((await readZones(file, { attributes: 'all' })).attributes);

    const field = (name: keyof typeof table, type: string) => {
      const texts = table[name].map((value) =>
        value === null ? '' : type === 'L' ? (value ? 'T' : 'F') : String(value),
      );
      const width = Math.max(...texts.map(({ length }) => length), 1);
      return [name, type, texts.map((text) => (type === 'C' ? text.padEnd(width) : text.padStart(width)))] as const;
    };
    const dbf = dbaseOf([
      field('whole', 'N'),
      field('long', 'N'),
      field('real', 'F'),
      field('truth', 'L'),
      field('text', 'C'),
    ]);
    expect(valuesOf((await readShapefile(dbf, count)).attributes)).toEqual(expected);

    // The npm package writes a column of i64 from no value, so the long numbers are left out.
    const others = names.filter((name) => name !== 'long' && table[name].some((value) => value !== null));
    const collection = {
      type: 'FeatureCollection',
      // The columns are those of the first feature, so it has a value for each.
      features: [-1, ...table.whole.keys()].map((row) => ({
        type: 'Feature',
        properties: Object.fromEntries(
          others.map((name) => [name, row === -1 ? table[name].find((value) => value !== null) : table[name][row]]),
        ),
        geometry: { type: 'Polygon', coordinates: [RING] },
      })),
    };
    const flat = join(folder, 'zones.fgb');
    await writeFile(flat, serialize(collection as never));
    const found = valuesOf((await readZones(flat, { attributes: 'all' })).attributes);
    const kept = expected.filter(([name]) => others.includes(name as 'text'));
    expect(found.map(([name, , values]) => [name, (values as unknown[]).slice(1).map(asNumber)])).toEqual(
      kept.map(([name, , values]) => [name, (values as unknown[]).map(asNumber)]),
    );
  });

  /** A number of any type as f64: the first feature may make a column of whole numbers one of real numbers. */
  function asNumber(value: unknown): unknown {
    return typeof value === 'bigint' ? Number(value) : value;
  }

  test('of a Shapefile have dates as texts, and no values where none fit or are known', async () => {
    const dbf = dbaseOf([
      ['day', 'D', ['20261130', '        ', '00000000']],
      ['flag', 'L', ['Y', '?', 'n']],
      ['number', 'N', ['*****', '1e3  ', ' -0.0']],
      ['memo', 'M', ['0000000001', '          ', '0000000002']],
    ]);
    const { attributes, notes } = await readShapefile(dbf, 3);
    expect(valuesOf(attributes)).toEqual([
      ['day', 'string', ['2026-11-30', null, null]],
      ['flag', 'bool', [1, null, 0]],
      ['number', 'f64', [null, 1000, -0]],
    ]);
    expect(notes).toContainEqual(expect.objectContaining({ code: 'zones/unread-attributes', count: 1, zone: 'memo' }));
    await expect(readShapefile(dbf, 3, { attributes: ['memo'] })).rejects.toMatchObject({
      code: 'format/missing-property',
    });
  });

  test('of a Shapefile have no name where the value is null, end texts at a zero byte, and need no decimals of texts', async () => {
    const dbf = dbaseOf([
      ['n', 'N', ['12', '**', ' 7']],
      ['s', 'C', ['ab\0xyz', '\0xxxxx', 'é  \0x']],
      ['t', 'C', ['one', 'two', '   ']],
      ['t', 'C', ['a', 'b', 'c']],
    ]);
    // The byte behind the length of the first text is set, as by a writer that states decimals of texts, too.
    dbf[32 + 32 + 17] = 1;
    const { zones, attributes, notes } = await readShapefile(dbf, 3, { id: 'n' });
    expect(zones.names).toEqual(['12', '7']);
    expect(valuesOf(attributes)).toEqual([
      ['n', 'i64', [12n, 7n]],
      ['s', 'string', ['ab', 'é']],
      ['t', 'string', ['one', null]],
    ]);
    expect(notes.map(({ code, count }) => [code, count])).toEqual(
      expect.arrayContaining([
        ['polygons/incomplete-records', 1],
        ['zones/repeated-attributes', 1],
      ]),
    );
  });

  test('of WKT have no attributes and no property that names them', async () => {
    const file = join(folder, 'zones.wkt');
    await writeFile(file, 'POLYGON ((0 0, 9 0, 0 9, 0 0))\nPOLYGON ((1 1, 9 1, 1 9, 1 1))\n');
    expect((await readZones(file, { attributes: 'all' })).attributes).toEqual([]);
    await expect(readZones(file, { attributes: ['n'] })).rejects.toMatchObject({ code: 'format/missing-property' });
    await expect(readZones(file, { id: 'n' })).rejects.toMatchObject({ code: 'format/missing-property' });
  });
});
