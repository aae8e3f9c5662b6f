import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect } from 'vitest';
import { finished } from '../../../formats/bytes/steps.ts';
import { packageGeometry } from '../../../formats/polygons/geopackage-geometry.ts';
import { emptyLayer } from '../../../formats/polygons/layer-columns.ts';
import { readAll } from '../../../formats/polygons/read-layer.ts';
import { readZones } from '../../../formats/polygons/read-zones.ts';
import { readWkb } from '../../../formats/polygons/wkb.ts';
import type { ReadZones, ZoneOptions } from '../../../formats/polygons/zones.ts';
import { QuadrilleError } from '../../../primitives/checks/errors.ts';
import { caseCount } from '../../cases.ts';
import { ringsOf } from '../../fixtures/random-zones.ts';
import { fc, test } from '../../law-test.ts';
import { HAS_SQLITE, packageBytes, wkbBytes, wkbOf } from '../../support/binary-layers-support.ts';
import { memoryInput, readBytes } from '../../support/polygon-layers-support.ts';
import { valueAt } from '../outputs/arbitrary-zonal-histogram.ts';

const fixture = (name: string) => join(import.meta.dirname, '..', '..', 'fixtures', 'polygon-layers', name);
const folder = mkdtempSync(join(tmpdir(), 'geopackage-'));
afterAll(() => rmSync(folder, { recursive: true }));
const ring = [[0, 0], [9, 0], [9, 4.5], [0, 0]] as const; // biome-ignore format: four positions
const open = [[0, 0], [9, 0], [9, 4.5]]; // biome-ignore format: three positions

const NEEDS = { code: 'format/needs-newer-node', got: process.version };

/** Checks what a file is read as where Node has SQLite, and elsewhere the error that says so. */
async function expectRead(
  reading: Promise<ReadZones>,
  check: (read: ReadZones) => void | Promise<void>,
): Promise<void> {
  if (HAS_SQLITE) return check(await reading);
  await expectNeeds(reading);
}
async function expectNeeds(reading: Promise<ReadZones>): Promise<void> {
  await expect(reading).rejects.toMatchObject(NEEDS);
  await expect(reading).rejects.toMatchObject({ remedy: expect.stringMatching(/Node 24.*ogr2ogr/) });
}
async function expectRefused(reading: Promise<ReadZones>, error: object): Promise<void> {
  await expect(reading).rejects.toMatchObject(HAS_SQLITE ? error : NEEDS);
}
const layer = (name: string | undefined, options: ZoneOptions = {}) =>
  readZones(fixture('layers.gpkg'), { ...(name !== undefined && { layer: name }), ...options });
const told = ({ zones, notes }: ReadZones) => [zones.names, zones.crs, notes.map(({ code }) => code)];

describe('GeoPackage', () => {
  test('equals what GDAL wrote of the same data as FlatGeobuf, from a file and from bytes', async () => {
    const temporaries = () => readdirSync(tmpdir()).filter((name) => name.startsWith('quadrille-geopackage-'));
    const before = temporaries();
    const options = { id: 'code', attributes: 'all' } as const;
    const other = await readZones(fixture('shapes-plain.fgb'), options);
    // FlatGeobuf has no feature without geometry, which is the third one here.
    await expectRead(readZones(fixture('shapes.gpkg'), options), ({ zones, attributes, notes }) => {
      expect(zones.names).toEqual([...other.zones.names.slice(0, 2), 'C3', ...other.zones.names.slice(2)]);
      expect(ringsOf(zones.polygons).filter((rings) => rings.length > 0)).toEqual(ringsOf(other.zones.polygons));
      expect([zones.crs, notes.map(({ code }) => code)]).toEqual(['EPSG:4326', ['zones/no-geometry']]);
      for (const { name, column } of other.attributes!) {
        const own = attributes!.find((attribute) => attribute.name === name)!.column;
        expect([own.type, [0, 1, 3].map((row) => valueAt(own, row))]).toEqual([
          column.type,
          [0, 1, 2].map((row) => valueAt(column, row)),
        ]);
      }
    });
    await expectRead(readBytes(await readFile(fixture('shapes.gpkg'))), ({ zones }) =>
      expect(zones.names).toEqual(['1', '2', '3', '4']),
    );
    expect(temporaries()).toEqual(before);
  });

  // Rows 1, 3 and 5 of formats: srs_id 0, an index that lacks a feature, an extent that is out of date.
  test('has an unknown system for srs_id 0; neither index nor extent are trusted', async () => {
    await expectRead(layer('metres'), (read) =>
      expect(told(read)).toEqual([['1', '2', '3'], undefined, ['zones/crs-unknown']]),
    );
    await expectRead(layer('shapes'), (read) => {
      expect(told(read)).toEqual([['1', '2', '3', '4'], 'EPSG:4326', ['zones/no-geometry']]);
      expect(ringsOf(read.zones.polygons)[3]![0]![0]).toEqual([15, 47]);
    });
  });

  // Row 8 and 9.
  test('has all kinds of geometries: Z and M, collections, empty ones; arcs are refused by the name of the feature', async () => {
    await expectRefused(layer('mixed'), {
      code: 'format/curved-geometry',
      message: expect.stringContaining('feature 7 ("8")'),
    });
    await expectRead(layer('mixed', { onBadRecord: 'skip' }), (read) => {
      expect(told(read)).toEqual([
        ['2', '3', '4', '6', '7', '9'],
        'EPSG:5070',
        ['polygons/other-geometry', 'zones/no-geometry', 'polygons/bad-records'],
      ]);
      expect(read.notes[0]!.count).toBe(3);
      expect(ringsOf(read.zones.polygons)).toEqual([[open], [open], [open], [], [], [open]]);
    });
  });

  // Row 6.
  test('may be a view, whose polygons are named by their row, with a note; one that may not end is refused', async () => {
    await expectRead(layer('chosen'), (read) => {
      expect(told(read)).toEqual([['0', '1', '2'], 'EPSG:4326', ['polygons/named-by-row', 'zones/no-geometry']]);
    });
    await expectRead(layer('chosen', { id: 'number' }), ({ zones }) => expect(zones.names).toEqual(['2', '3', '4']));
    await expectRefused(layer('endless'), { code: 'format/unbounded-view' });
  });

  test('has attributes of all types, with all digits, and bytes are left out', async () => {
    await expectRead(layer('types', { attributes: 'all' }), ({ attributes, zones, notes }) => {
      expect([zones.names, notes.map(({ code }) => code)]).toEqual([
        ['5', '9007199254740993'],
        ['zones/unread-attributes'],
      ]);
      expect(
        Object.fromEntries(attributes!.map(({ name, column }) => [name, [valueAt(column, 0), valueAt(column, 1)]])),
      ).toEqual({
        truth: [false, true],
        long: [-1n, 9007199254740993n],
        half: [undefined, 0.5],
        day: [undefined, '2026-11-30'],
        time: [undefined, '2026-11-30T17:50:00.000Z'],
        text: [undefined, ''],
      });
    });
    await expectRefused(layer('types', { id: 'none' }), { code: 'format/missing-property' });
    await expectRefused(layer('types', { id: 'bytes' }), { code: 'format/bad-name' });
  });

  test('has layers, of which one is to be named', async () => {
    await expectRefused(layer(undefined), { code: 'usage/layer-required' });
    await expectRefused(layer('none'), { code: 'usage/unknown-layer' });
    await expect(layer('shapes', { geometryColumn: 'geom' })).rejects.toMatchObject({ code: 'usage/no-columns' });
  });

  // Row 4.
  test('with changes in a log beside it is refused, and nothing is written beside a file', async () => {
    const path = join(folder, 'a b#1?.gpkg');
    copyFileSync(fixture('shapes.gpkg'), path);
    writeFileSync(`${path}-wal`, '');
    await expectRead(readZones(path), ({ zones }) => expect(zones.names.length).toBe(4));
    writeFileSync(`${path}-wal`, 'changes');
    await expectRefused(readZones(path), { code: 'format/unmerged-log', remedy: expect.stringContaining('QGIS') });
    rmSync(`${path}-wal`);
    // A file that was written with a log, which has been merged.
    const bytes = readFileSync(path);
    bytes.set([2, 2], 18);
    writeFileSync(path, bytes);
    await expectRead(readZones(path), ({ zones }) => expect(zones.names.length).toBe(4));
    expect(readdirSync(folder)).toEqual(['a b#1?.gpkg']);
  });

  test('is held within the memory that is given', async () => {
    const bytes = await readFile(fixture('shapes.gpkg'));
    const within = (memoryBytes: number) => finished(readAll({ ...memoryInput(bytes), memoryBytes }, {}));
    await expectRead(within(40_000), ({ zones }) => expect(zones.names.length).toBe(4));
    await expectRefused(within(20_000), { code: 'memory/limit' });
    const path = fixture('shapes.gpkg');
    await expectRefused(readZones(path, { memoryBytes: 1000 }), {
      code: 'memory/limit',
      message: expect.stringContaining('a row of'),
    });
  });

  test('is not any other database', async () => {
    const bytes = await readFile(fixture('shapes.gpkg'));
    for (const length of [100, 600, 5000])
      await expectRefused(readBytes(bytes.subarray(0, length)), { code: 'format/malformed-geopackage' });
    const renamed = Buffer.from(bytes.toString('latin1').replaceAll('gpkg_contents', 'gpkg_contentz'), 'latin1');
    await expectRefused(readBytes(renamed), { code: 'format/not-geopackage' });
  });

  test('prints no warning of Node', () => {
    const program = `import { readZones } from ${JSON.stringify(join(import.meta.dirname, '..', '..', '..', 'formats', 'index.ts'))};
      readZones(${JSON.stringify(fixture('shapes.gpkg'))}).then(({ zones }) => console.log(zones.names.join()), ({ code }) => console.log(code));`;
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ['--import', 'tsx', '--input-type=module', '--eval', program],
      { encoding: 'utf8' },
    );
    expect([stdout.trim(), stderr]).toEqual([HAS_SQLITE ? '1,2,3,4' : NEEDS.code, '']);
  });
});

describe('a geometry of GeoPackage', () => {
  const at = { file: 'layer', index: 3, id: '7' };
  const rings = (bytes: Uint8Array) => {
    const { wkb, srsId } = packageGeometry(bytes, at);
    const columns = emptyLayer();
    const found = readWkb(columns, wkb, at, () => {});
    return { srsId, found, x: [...columns.vertices.x.subarray(0, columns.vertices.length)] };
  };

  // Row 7.
  test.each([0, 1, 2, 3, 4])('may have an envelope of kind %i, in both orders of bytes', (envelope) => {
    for (const little of [true, false]) {
      const bytes = packageBytes(wkbOf([[ring]]), { envelope, little, srsId: -1 });
      expect(rings(bytes)).toEqual({ srsId: -1, found: { polygons: 1, others: 0 }, x: [0, 9, 9] });
    }
  });

  // Row 9.
  test('may be an empty point, or a collection with an empty part', () => {
    const point = wkbBytes((to) => {
      to.head(1);
      to.position(Number.NaN, Number.NaN);
    });
    expect(rings(packageBytes(point, { empty: true })).found).toEqual({ polygons: 0, others: 1 });
    const part = wkbBytes((to) => {
      to.head(7, 2);
      to.head(3, 0);
      to.head(3, 1);
      to.count(4);
      for (const [x, y] of ring) to.position(x, y);
    });
    expect(rings(packageBytes(part)).x).toEqual([0, 9, 9]);
  });

  test.each([
    ['an envelope of kind 5', (bytes: Uint8Array) => bytes.fill(11, 3, 4), 'kind 5'],
    ['an extension', (bytes: Uint8Array) => bytes.fill(33, 3, 4), 'one of an extension'],
    ['other letters', (bytes: Uint8Array) => bytes.fill(0, 0, 1), 'other bytes'],
    ['a head that is cut off', (bytes: Uint8Array) => bytes.subarray(0, 7), 'other bytes'],
    ['an envelope that is cut off', (bytes: Uint8Array) => bytes.fill(9, 3, 4).subarray(0, 71), '71'],
  ] as const)('with %s is damaged', (_, change, got) => {
    const error = { code: 'format/malformed-geopackage', got, place: { file: 'layer', record: 3 } };
    expect(() => rings(change(packageBytes(wkbOf([[ring]]))))).toThrow(expect.objectContaining(error));
  });

  const change = fc.tuple(fc.nat(120), fc.nat(255), fc.nat(4));
  test.prop([fc.array(change, { minLength: 1, maxLength: 4 }), fc.nat(4)], { numRuns: caseCount(600) })(
    'is read or refused with a code after any change',
    (changes, envelope) => {
      let bytes = packageBytes(wkbOf([[ring], [ring]]), { envelope });
      for (const [place, value, cut] of changes) {
        bytes[place % bytes.length] = value;
        if (cut === 0) bytes = bytes.slice(0, Math.max(1, place));
      }
      try {
        expect(rings(bytes).x.length).toBeLessThanOrEqual(bytes.length / 16);
      } catch (error) {
        if (!(error instanceof QuadrilleError)) throw error;
        expect(error.code).toMatch(/^(format|geometry)\//);
      }
    },
  );
});
