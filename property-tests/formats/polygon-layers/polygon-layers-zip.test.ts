import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { zipSync } from 'fflate';
import { describe, expect } from 'vitest';
import { finished } from '../../../formats/bytes/steps.ts';
import { readAll } from '../../../formats/polygons/read-layer.ts';
import { attributeReader } from '../../../formats/polygons/zone-attributes.ts';
import { ringsOf } from '../../fixtures/random-zones.ts';
import { fc, test } from '../../law-test.ts';
import {
  blockSizes,
  dbaseOf,
  features,
  memoryInput,
  openRings,
  openStreams,
  readBytes,
  shapefileOf,
  type WrittenFeature,
} from '../../support/polygon-layers-support.ts';
import { zipOf } from '../../support/zip-support.ts';

const ring = [[0, 0], [0, 9], [9, 4.5], [0, 0]] as const; // biome-ignore format: four positions
const one: readonly WrittenFeature[] = [{ name: 'a', parts: [[ring]] }];
const filesOf = (path: string, written = one): Record<string, Uint8Array> => ({
  [`${path}.shp`]: shapefileOf(written),
  [`${path}.dbf`]: dbaseOf(
    'name',
    written.map(({ name }) => name),
  ),
  [`${path}.cpg`]: new TextEncoder().encode('UTF-8'),
});
const prj = new TextEncoder().encode('GEOGCS["GCS_WGS_1984",AUTHORITY["EPSG","4326"]]');

describe('a zipped Shapefile', () => {
  const style = fc.record({
    method: fc.constantFrom(0, 8),
    long: fc.boolean(),
    comment: fc.constantFrom('', 'a note PK'),
  });
  test.prop([features, style, blockSizes])(
    'equals the Shapefile, however it is packed',
    async (written, style, sizes) => {
      const files = filesOf('zones', written);
      const plain = await readBytes(files['zones.shp']!, { id: 'name' }, sizes, {
        '.dbf': files['zones.dbf']!,
        '.cpg': files['zones.cpg']!,
      });
      const { zones } = await readBytes(zipOf(files, style), { id: 'name' }, sizes);
      expect({ ...zones, file: '' }).toEqual({ ...plain.zones, file: '' });
      expect(zones.names).toEqual(written.map(({ name }) => name));
      expect(ringsOf(zones.polygons)).toEqual(openRings(written));
      expect(openStreams.count).toBe(0);
    },
  );

  test('among very many is found by its path, in time that grows with their number', async () => {
    const none = new Uint8Array();
    const others = Array.from({ length: 60_000 }, (_, at) => [`${at}/Zones.shp`, none] as const);
    const files = { ...Object.fromEntries(others), ...filesOf('here/Zones') };
    const { zones } = await readBytes(zipOf(files, { method: 0 }), { id: 'name', layer: 'here/Zones' });
    expect(zones.names).toEqual(one.map(({ name }) => name));
  });

  test('of another writer, in a folder, has its attributes and its system; what macOS adds does not count', async () => {
    const files = {
      ...filesOf('a/b/Zones'),
      'a/b/Zones.PRJ': prj,
      'read me.txt': prj,
      '__MACOSX/a/b/._Zones.shp': prj,
    };
    const attributes = attributeReader(['name'], 'layer');
    const { zones } = await readBytes(zipSync(files, { level: 6 }), {}, undefined, {}, attributes);
    expect([zones.names, zones.crs]).toEqual([['0'], 'EPSG:4326']);
    expect(attributes.finish().attributes[0]!.column).toMatchObject({ dictionary: ['a'] });
  });

  test('of GDAL equals the files beside each other', async () => {
    const fixture = (ending: string) =>
      readFileSync(join(import.meta.dirname, '..', '..', 'fixtures', 'polygon-layers', `shapes-zm${ending}`));
    const beside = { '.dbf': fixture('.dbf'), '.prj': fixture('.prj'), '.cpg': fixture('.cpg') };
    const files = Object.fromEntries(
      Object.entries({ '.shp': fixture('.shp'), ...beside }).map(([ending, bytes]) => [`s${ending}`, bytes]),
    );
    const plain = await readBytes(fixture('.shp'), { id: 'label' }, undefined, beside);
    const { zones, notes } = await readBytes(zipOf(files), { id: 'label' });
    expect([{ ...zones, file: '' }, notes]).toEqual([{ ...plain.zones, file: '' }, plain.notes]);
  });

  test('has layers, which are named by their paths where names are not enough', async () => {
    const files = { ...filesOf('x/a'), ...filesOf('y/a', [...one, ...one]), ...filesOf('b') };
    const bytes = zipOf(files);
    await expect(readBytes(bytes)).rejects.toMatchObject({
      code: 'usage/layer-required',
      message: expect.stringContaining('3 layers: "x/a", "y/a", "b"'),
    });
    await expect(readBytes(bytes, { layer: 'a' })).rejects.toMatchObject({ code: 'usage/unknown-layer' });
    expect((await readBytes(bytes, { layer: 'b' })).zones.names).toEqual(['0']);
    expect((await readBytes(bytes, { layer: 'y/a' })).zones.names).toEqual(['0', '1']);
  });

  test.each([
    ['encryption', { flags: 1 }],
    ['LZMA', { method: 14 }],
    ['Deflate64', { method: 9 }],
    ['method 200', { method: 200 }],
  ])('with %s is refused by name', async (got, style) => {
    await expect(readBytes(zipOf(filesOf('a'), style))).rejects.toMatchObject({
      code: 'format/unsupported-zip',
      got,
      place: { file: 'layer' },
    });
  });

  test('that states other sizes or bytes is damaged', async () => {
    for (const size of [0, 1, 300, 2 ** 31, 2 ** 52])
      await expect(readBytes(zipOf(filesOf('a'), { size, long: true }))).rejects.toMatchObject({
        code: 'format/malformed-zip',
      });
    const bytes = zipOf(filesOf('a'), { method: 0 });
    bytes[150]! ^= 1;
    await expect(readBytes(bytes)).rejects.toMatchObject({ code: 'format/malformed-zip' });
  });

  test('is unpacked only if what it states fits the memory', async () => {
    const within = (bytes: Uint8Array, memoryBytes: number) =>
      finished(readAll({ ...memoryInput(bytes), memoryBytes }, {}));
    const bytes = zipOf(filesOf('a'));
    expect((await within(bytes, 10_000)).zones.names).toEqual(['0']);
    const many = zipOf(
      filesOf(
        'a',
        Array.from({ length: 40 }, () => one[0]!),
      ),
    );
    await expect(within(many, 5000)).rejects.toMatchObject({
      code: 'memory/limit',
      remedy: expect.stringContaining('unpack'),
    });
    await expect(within(zipOf(filesOf('a'), { size: 1e9 }), 1e6)).rejects.toMatchObject({ code: 'memory/limit' });
  });

  test('without a Shapefile is refused, with what is there', async () => {
    await expect(readBytes(zipOf({ 'a.geojson': prj }))).rejects.toMatchObject({
      code: 'format/no-shapefile',
      got: '"a.geojson"',
    });
    await expect(readBytes(zipOf({}))).rejects.toMatchObject({ code: 'format/no-shapefile', got: 'no files' });
    await expect(readBytes(zipOf({ 'a.shp': prj }))).rejects.toMatchObject({
      code: 'format/truncated',
      place: { file: 'layer/a.shp' },
    });
  });
});
