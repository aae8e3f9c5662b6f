import { afterAll, beforeAll, describe, expect } from 'vitest';
import { normalizeCrs, sameCrs } from '../../formats/crs.ts';
import { statedCrs } from '../../formats/polygons/feature.ts';
import type { PolygonLayerOptions } from '../../formats/polygons/polygon-layer.ts';
import { parseZones } from '../../formats/polygons/zones.ts';
import { fc, test } from '../law-test.ts';
import { collection, openWorkshop, rectangle, type Workshop, zone } from '../support/cli-support.ts';
import { blockSizes, readText } from '../support/polygon-layers-support.ts';

const square = { type: 'Polygon', coordinates: [rectangle(0, 0, 2, 2)] };
/** Features of each kind: whole, incomplete, and malformed. */
const KINDS = {
  whole: (n: number) => ({ type: 'Feature', properties: { n }, geometry: square }),
  null: () => null,
  'without geometry': (n: number) => ({ type: 'Feature', properties: { n } }),
  'without a name': () => ({ type: 'Feature', properties: { n: null }, geometry: square }),
  'with a hole in a coordinate': (n: number) => ({
    type: 'Feature',
    properties: { n },
    geometry: { type: 'Polygon', coordinates: [rectangle(0, 0, 1, 1), [[0, null]]] },
  }),
  'that is no feature': () => ({ type: 'Polygon' }),
};
const kinds = Object.keys(KINDS) as (keyof typeof KINDS)[];
const isIncomplete = (kind: keyof typeof KINDS) => kinds.indexOf(kind) > 0 && kinds.indexOf(kind) < 4;
const counts = (notes: readonly { readonly code: string; readonly count?: number }[]) =>
  Object.fromEntries(notes.map(({ code, count }) => [code, count]));

describe('records that are left out', () => {
  test.prop([fc.array(fc.constantFrom(...kinds), { maxLength: 8 }), blockSizes, fc.boolean()])(
    'are those that are incomplete, and on request those that are wrong, by all readers alike',
    async (list, sizes, byLine) => {
      const features = list.map((kind, n) => KINDS[kind](n));
      const text = JSON.stringify({ type: 'FeatureCollection', features });
      const lines = features.map((feature) => JSON.stringify(feature)).join('\n');
      const readLayer = (options: PolygonLayerOptions) =>
        byLine ? readText(lines, { ...options, format: 'geojson-lines' }, sizes) : readText(text, options, sizes);
      const isWhole = (kind: keyof typeof KINDS) => kind === 'whole' || (byLine && kind === 'that is no feature');
      fc.pre(!byLine || (!list.includes('that is no feature') && lines !== ''));
      const bad = list.filter((kind) => !isWhole(kind) && !isIncomplete(kind)).length;
      const incomplete = list.filter(isIncomplete).length;
      const names = list.flatMap((kind, n) => (isWhole(kind) ? [String(n)] : []));
      const expected = {
        ...(incomplete > 0 && { 'polygons/incomplete-records': incomplete }),
        ...(bad > 0 && { 'polygons/bad-records': bad }),
        ...(names.length === 0 && { 'zones/none': undefined }),
      };
      for (const read of [readLayer, async (options: PolygonLayerOptions) => parseZones(text, options as object)]) {
        const { zones, notes } = await read({ id: 'n', onBadRecord: 'skip' });
        expect([zones.names, counts(notes)]).toEqual([names, expected]);
        expect(zones.polygons.x).toHaveLength(4 * names.length);
        if (bad === 0) expect((await read({ id: 'n' })).zones.names).toEqual(names);
        else
          await expect((async () => read({ id: 'n' }))()).rejects.toMatchObject({
            name: expect.stringMatching(/^(Format|Geometry)Error$/),
          });
      }
    },
  );

  test('are null geometries of TopoJSON', async () => {
    const text = JSON.stringify({
      type: 'Topology',
      arcs: [square.coordinates[0]],
      objects: { a: { type: 'GeometryCollection', geometries: [null, { type: 'Polygon', arcs: [[0]], id: 'p' }] } },
    });
    for (const { zones, notes } of [parseZones(text), await readText(text)]) {
      expect([zones.names, counts(notes)]).toEqual([['p'], { 'polygons/incomplete-records': 1 }]);
    }
  });
});

describe('systems that JSON states', () => {
  test.each([
    'WGS 84',
    'WGS84',
    'wgs_1984',
    'GCS_WGS_1984',
    'WGS_1984_3D',
    'WGS 84 (CRS84)',
    'CRS84',
    'EPSG:4326',
    'epsg 4326',
    '4326',
    4326,
    'urn:ogc:def:crs:OGC:1.3:CRS84',
    'urn:ogc:def:crs:OGC::CRS84',
    'urn:ogc:def:crs:EPSG::4326',
    'urn:ogc:def:crs:EPSG:4326',
    'http://www.opengis.net/def/crs/OGC/1.3/CRS84',
    'https://www.opengis.net/def/crs/EPSG/0/4326',
    'http://www.opengis.net/gml/srs/epsg.xml#4326',
    'https://spatialreference.org/ref/epsg/4326/',
    'https://epsg.io/4326',
    '+proj=longlat +datum=WGS84 +no_defs',
    '+proj=longlat +ellps=WGS84 +pm=greenwich +axis=enu',
    '+init=epsg:4326',
  ])('are longitudes and latitudes: %j', (name) => {
    const forms = [
      name,
      { type: 'name', properties: { name } },
      { name },
      ...(/^\d+$/.test(String(name))
        ? [
            { type: 'EPSG', properties: { code: name } },
            { id: { authority: 'EPSG', code: name }, type: 'GeographicCRS' },
          ]
        : []),
      ...(/^http|^\+init/.test(String(name)) ? [{ type: 'link', properties: { href: name, type: 'proj4' } }] : []),
    ];
    for (const crs of forms) expect(sameCrs(statedCrs({ crs }) ?? undefined, 'OGC:CRS84')).toBe(true);
  });

  test('are other systems by their names, or not known', () => {
    expect(
      [
        'NAD83 / UTM zone 15N',
        'WGS 84 / Pseudo-Mercator',
        'ETRS89 / UTM zone 32N',
        'NAD83 / UTM zone 60N',
        'WGS 72',
        'wgs 84 / UTM zone 33N (ftUS)',
        '+proj=longlat +pm=paris +datum=WGS84',
        '+proj=longlat +datum=WGS84 +axis=neu',
      ].map(normalizeCrs),
    ).toEqual([
      'EPSG:26915',
      'EPSG:3857',
      'EPSG:25832',
      'NAD83 / UTM zone 60N',
      'WGS 72',
      'wgs 84 / UTM zone 33N (ftUS)',
      '+proj=longlat +pm=paris +datum=WGS84',
      '+proj=longlat +datum=WGS84 +axis=neu',
    ]);
    expect(
      [null, 7, '', {}, { properties: null }, { type: 'link', properties: { href: 'crs.wkt' } }].map((crs) =>
        statedCrs({ crs }),
      ),
    ).toEqual(Array(6).fill(null));
  });
});

describe('in the command', () => {
  let shop: Workshop;
  beforeAll(async () => {
    shop = await openWorkshop();
  });
  afterAll(() => shop.remove());
  const quadrille = (...words: readonly string[]) => shop.quadrille([...words, '--backend', 'reference']);

  test('zonal reads zones with "crs": "WGS 84", and leaves out records that are wrong on request', async () => {
    const [good, bad] = [zone('a', rectangle(0, 0, 2, 2)), { type: 'Feature', geometry: { type: 'Nothing' } }];
    await shop.write('zones.json', { ...collection(good, bad), crs: 'WGS 84' });
    await shop.writeRaster('raster.tif');
    const words = ['zonal', '--zones', '@zones.json', '--raster', '@raster.tif', '--stats', '-'];
    expect(await quadrille(...words)).toMatchObject({ exitCode: 2, stdout: '' });
    const skipped = await quadrille(...words, '--on-bad-record', 'skip');
    expect(skipped).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('\na,4,0,') });
    expect(skipped.stderr).toContain('1 record could not be read and was left out: "1".');
  });

  test('index takes the system behind the polygons, when building as when asking', async () => {
    const crs = { type: 'name', properties: { name: 'urn:ogc:def:crs:EPSG::25832' } };
    const metres = (name: string) => collection(zone(name, rectangle(500_000, 5_500_000, 500_100, 5_500_100)));
    await shop.write('behind.json', { ...metres('b'), crs });
    await shop.write('before.json', { crs, ...metres('a') });
    await shop.write('degrees.json', collection(zone('c', rectangle(0, 0, 9, 9))));
    const build = (...words: readonly string[]) => quadrille('index', 'build', ...words, '--levels', '4');
    expect(await build('@behind.json', '@before.json', '-o', '@tree.maq')).toMatchObject({ exitCode: 0 });
    expect(await build('@degrees.json', '-o', '@degrees.maq')).toMatchObject({ exitCode: 0 });
    for (const file of ['@behind.json', '@before.json']) {
      const { exitCode, stdout } = await quadrille('index', 'query', '@tree.maq', '--polygons', file);
      expect([exitCode, stdout.trim().split('\n').length]).toEqual([0, 3]);
      for (const more of [[], ['--on-bad-record', 'skip']]) {
        const other = await quadrille('index', 'query', '@degrees.maq', '--polygons', file, ...more);
        expect(other.stderr).toMatch(/degrees\.maq is in OGC:CRS84, but .* is in EPSG:25832/);
        expect(other.exitCode).toBe(2);
      }
    }
    const other = await quadrille('index', 'query', '@tree.maq', '--polygons', '@degrees.json');
    expect(other).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(/EPSG:25832, but .* is in OGC:CRS84/) });
  });
});
