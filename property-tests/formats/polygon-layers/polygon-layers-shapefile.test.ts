import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from 'shapefile';
import { afterEach, describe, expect } from 'vitest';
import { readPolygonLayer } from '../../../formats/polygons/open-polygon-layer.ts';
import { crsOfWkt } from '../../../formats/polygons/projection.ts';
import { QuadrilleError } from '../../../primitives/checks/errors.ts';
import { caseCount } from '../../cases.ts';
import { type Ring, ringsOf } from '../../fixtures/random-zones.ts';
import { fc, test } from '../../law-test.ts';
import {
  blockSizes,
  bytesOf,
  dbaseOf,
  features,
  openRings,
  openStreams,
  readBytes,
  ringsIn,
  shapefileOf,
  withGaps,
} from '../../support/polygon-layers-support.ts';

const fixture = (name: string) => join(import.meta.dirname, '..', '..', 'fixtures', 'polygon-layers', name);

/**
 * Converts rings to text and sorts the texts, because readers that nest rings differently also order them differently.
 */
const sorted = (rings: readonly Ring[]) => rings.map((ring) => JSON.stringify(ring)).sort();

// Every stream is closed, also where a file is refused.
afterEach(() => expect(openStreams.count).toBe(0));

describe('a Shapefile', () => {
  const kinds = fc.constantFrom<5 | 15 | 25>(5, 15, 25);

  test.prop([features, kinds, blockSizes])(
    'has the rings and names that were written',
    async (written, type, sizes) => {
      const beside = { '.dbf': dbaseOf('name', written.map(({ name }) => name)) }; // biome-ignore format: one column
      const { zones } = await readBytes(shapefileOf(written, type), { id: 'name' }, sizes, beside);
      expect(zones.names).toEqual(written.map(({ name }) => name));
      expect(ringsOf(zones.polygons)).toEqual(openRings(written));
    },
  );

  test.prop([features, kinds])('has the same rings as in another reader', async (written, type) => {
    const bytes = shapefileOf(written, type);
    const { zones } = await readBytes(bytes);
    const source = await open(Uint8Array.from(bytes));
    for (const rings of ringsOf(zones.polygons)) {
      const { value } = await source.read();
      expect(sorted(rings)).toEqual(sorted(ringsIn(value.geometry)));
    }
    expect((await source.read()).done).toBe(true);
  });

  test.each(['shapes.shp', 'shapes-zm.shp'])('of GDAL is read as by another reader: %s', async (name) => {
    const { zones, notes } = await readPolygonLayer(fixture(name), { id: 'label' });
    expect(notes).toMatchObject([{ code: 'zones/no-geometry', count: 1, zone: 'nothing' }]);
    expect(zones.crs).toBe(name.includes('zm') ? 'EPSG:32633' : 'EPSG:4326');
    const encoding = name.includes('zm') ? 'iso-8859-1' : 'utf-8';
    const source = await open(fixture(name), undefined, { encoding });
    for (const [index, rings] of ringsOf(zones.polygons).entries()) {
      const { value } = await source.read();
      expect(zones.names[index]).toBe(value.properties!.label);
      expect(sorted(rings)).toEqual(value.geometry === null ? [] : sorted(ringsIn(value.geometry)));
    }
  });

  // Bytes of an old record, or other bytes. Positions of records are even.
  const gap = fc.oneof(
    fc.constant(new Uint8Array()),
    fc.integer({ min: 1, max: 70 }).map((words) => new Uint8Array(2 * words)),
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Uint8Array.from([...bytes, ...bytes])),
    features.map((written) => shapefileOf(written).slice(100)),
  );
  const gapLists = fc.array(gap, { minLength: 7, maxLength: 7 });
  const read = (shp: Uint8Array, written: readonly { name: string }[], shx: Uint8Array, sizes?: readonly number[]) => {
    const dbf = dbaseOf('name', written.map(({ name }) => name)); // biome-ignore format: one line
    return readBytes(shp, { id: 'name' }, sizes, { '.dbf': dbf, '.shx': shx });
  };

  test.prop([features, kinds, gapLists, blockSizes])(
    'may have gaps between records, which its .shx states',
    async (written, type, list, sizes) => {
      const gaps = list.slice(0, written.length + 1);
      const { shp, shx } = withGaps(shapefileOf(written, type), gaps);
      const { zones, notes } = await read(shp, written, shx, sizes);
      expect(zones.names).toEqual(written.map(({ name }) => name));
      expect(ringsOf(zones.polygons)).toEqual(openRings(written));
      const noted = notes.find(({ code }) => code === 'polygons/unused-bytes');
      expect(noted?.count ?? 0).toBe(gaps.filter(({ length }) => length > 0).length);
    },
  );

  const lie = fc.oneof(
    fc.tuple(fc.constant('value'), fc.nat(), fc.oneof(fc.nat({ max: 400 }), fc.constantFrom(-1, 2 ** 31 - 1, -(2 ** 31)))),
    fc.tuple(fc.constantFrom('swap', 'drop', 'repeat', 'cut', 'head'), fc.nat(), fc.nat()),
  ); // biome-ignore format: one line
  /** The index with one lie, which may be the truth by chance. */
  const lying = (shx: Uint8Array, [kind, which, value]: readonly [string, number, number]): Uint8Array => {
    const places = Array.from({ length: shx.length / 8 - 12.5 }, (_, at) => shx.slice(100 + 8 * at, 108 + 8 * at));
    const at = which % places.length;
    if (kind === 'value') new DataView(places[at]!.buffer).setInt32(4 * (Math.abs(value) % 2), value);
    if (kind === 'swap') [places[0], places[at]] = [places[at]!, places[0]!];
    if (kind === 'drop') places.splice(at, 1);
    if (kind === 'repeat') places.splice(at, 0, places[at]!);
    const lied = Uint8Array.from(Buffer.concat([shx.subarray(0, 100), ...places]));
    new DataView(lied.buffer).setInt32(24, lied.length / 2);
    if (kind === 'head') lied[which % 28] = value;
    return kind === 'cut' ? lied.subarray(0, which % lied.length) : lied;
  };

  test.prop([features, gapLists, lie], { numRuns: caseCount(300) })(
    'is refused, or read by the places of its .shx, where the .shx lies',
    async (written, list, how) => {
      const gaps = list.slice(0, written.length + 1).map(({ length }) => new Uint8Array(length));
      const { shp, shx } = withGaps(shapefileOf(written), gaps);
      const found = await read(shp, written, lying(shx, how)).catch((error) => error);
      if (found instanceof QuadrilleError) {
        // A place inside a record may look like the header of one, whose contents are malformed.
        expect(found.code).toMatch(
          /^format\/(malformed-(index|shapefile)|truncated|unequal-counts)$|^geometry\/not-finite$/,
        );
      } else {
        const lied = lying(shx, how);
        expect(found.zones.names).toEqual(written.map(({ name }) => name));
        expect(ringsOf(found.zones.polygons)).toEqual(ringsAt(lied, shx, written));
      }
    },
  );

  /** The places in an index, as texts. */
  const placesIn = (shx: Uint8Array): string[] =>
    Array.from({ length: shx.length / 8 - 12.5 }, (_, at) =>
      Buffer.from(shx).toString('hex', 100 + 8 * at, 104 + 8 * at),
    );

  /** The rings of the records at the places of an index, of which `truth` has the records in the order of `written`. */
  const ringsAt = (shx: Uint8Array, truth: Uint8Array, written: Parameters<typeof openRings>[0]) => {
    const [rings, places] = [openRings(written), placesIn(truth)];
    return placesIn(shx).map((place) => (place === '00000000' ? [] : rings[places.indexOf(place)]));
  };

  // Checked against OGR of GDAL 3.6.2.
  test.prop([
    features,
    kinds,
    gapLists,
    fc.array(fc.nat()),
    fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }),
    fc.constantFrom(0, 0, 4, 1000),
    blockSizes,
  ])(
    'is read in the order of its .shx, in which records may be removed, and be stated longer than they are',
    async (written, type, list, picks, kept, longer, sizes) => {
      const { shp, shx } = withGaps(shapefileOf(written, type), list.slice(0, written.length + 1));
      const shuffled = Uint8Array.from(shx);
      const view = new DataView(shuffled.buffer);
      for (const at of written.keys()) view.setInt32(104 + 8 * at, view.getInt32(104 + 8 * at) + longer);
      const swap = (a: number, b: number) => {
        const place = shuffled.slice(100 + 8 * a, 108 + 8 * a);
        shuffled.copyWithin(100 + 8 * a, 100 + 8 * b, 108 + 8 * b);
        shuffled.set(place, 100 + 8 * b);
      };
      for (const [at, pick] of picks.slice(0, written.length).entries()) swap(at, pick % written.length);
      for (const at of written.keys()) if (!kept[at]) shuffled.fill(0, 100 + 8 * at, 108 + 8 * at);
      const { zones, notes } = await read(shp, written, shuffled, sizes);
      expect(zones.names).toEqual(written.map(({ name }) => name));
      expect(ringsOf(zones.polygons)).toEqual(ringsAt(shuffled, shx, written));
      const isLost = placesIn(shuffled).includes('00000000');
      const codes = notes.map(({ code }) => code);
      if (isLost) expect(codes).toEqual(expect.arrayContaining(['zones/no-geometry', 'polygons/unused-bytes']));
    },
  );

  test('of which a removed record is marked as deleted has the others', async () => {
    const { shp, shx } = withGaps(shapefileOf(three), Array(4).fill(new Uint8Array()));
    shx.fill(0, 108, 116);
    const dbf = dbaseOf('n', ['a', 'b', 'c'], [1]);
    const { zones, notes } = await readBytes(shp, { id: 'n' }, [9], { '.dbf': dbf, '.shx': shx });
    expect(zones.names).toEqual(['a', 'c']);
    expect(notes.map(({ code }) => code)).toContain('polygons/deleted-records');
  });

  test('on disk is read backward and forward', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'quadrille-shapefile-'));
    const side = (at: number): Ring => [[at, 0], [at + 1, 0], [at, 1], [at, 0]]; // biome-ignore format: four positions
    const written = Array.from({ length: 2000 }, (_, at) => ({ name: String(at), parts: [[side(at)]] }));
    // Gaps of 1 kB, so that records lie several blocks apart.
    const { shp, shx } = withGaps(
      shapefileOf(written),
      Array.from({ length: 2001 }, () => new Uint8Array(1024)),
    );
    const places = Array.from({ length: 2000 }, (_, at) => Buffer.from(shx.slice(100 + 8 * at, 108 + 8 * at)));
    const order = written.map((_, at) => at);
    for (const at of [7, 500, 503, 900]) [order[at], order[1999 - at]] = [1999 - at, at];
    await writeFile(join(folder, 'a.shp'), shp);
    await writeFile(join(folder, 'a.shx'), Buffer.concat([shx.slice(0, 100), ...order.map((at) => places[at]!)]));
    const { zones, notes } = await readPolygonLayer(join(folder, 'a.shp'));
    await rm(folder, { recursive: true });
    expect(zones.polygons.x.filter((_, v) => v % 3 === 0)).toEqual(Float64Array.from(order));
    const unused = notes.find(({ code }) => code === 'polygons/unused-bytes');
    expect(unused?.message).toContain(`${2001 * 1024} bytes in all`);
  });

  test('is refused where its .shx places records beyond the file or over each other', async () => {
    const gap = new Uint8Array(12);
    const { shp, shx } = withGaps(shapefileOf(three), [gap, gap, gap, gap]);
    const refused = async (at: number, value: number) => {
      const lied = Uint8Array.from(shx);
      new DataView(lied.buffer).setInt32(at, value);
      return (await readBytes(shp, { onBadRecord: 'skip' }, [9], { '.shx': lied }).catch((error) => error)).place;
    };
    const first = new DataView(shx.buffer).getInt32(100);
    expect(await refused(108, 2 ** 31 - 1)).toEqual({ file: 'layer.shx', record: 1 });
    expect(await refused(108, first)).toEqual({ file: 'layer.shx', record: 1 });
    expect(await refused(108, first + 10)).toEqual({ file: 'layer.shx', record: 1 });
    expect(await refused(116, first)).toEqual({ file: 'layer.shx', record: 2 });
    expect(await refused(112, 1)).toEqual({ file: 'layer.shx', record: 1 });
  });

  const square = [[[0, 0], [9, 0], [9, 9], [0, 0]]] as const; // biome-ignore format: four positions
  const three = [{ parts: [square] }, { parts: [] }, { parts: [square] }];

  test('keeps null shapes, and skips records marked as deleted', async () => {
    const read = await readBytes(shapefileOf(three), { id: 'n' }, [9], {
      '.DBF': new Uint8Array(),
      '.dbf': dbaseOf('n', ['a', 'b', 'c'], [0]),
    });
    expect(read.zones.names).toEqual(['b', 'c']);
    expect(read.notes.map(({ code, count, zone }) => [code, count, zone])).toEqual([
      ['polygons/deleted-records', 1, '0'],
      ['zones/no-geometry', 1, 'b'],
      ['zones/crs-unknown', undefined, undefined],
    ]);
  });

  test('requires attributes for names, as many as shapes', async () => {
    const shp = shapefileOf(three);
    const failure = (beside: Record<string, Uint8Array>, id?: string) =>
      readBytes(shp, { id }, undefined, beside).catch((error) => error);
    expect(await failure({}, 'n')).toMatchObject({ code: 'format/missing-file' });
    expect(await failure({ '.dbf': dbaseOf('n', ['a', 'b', 'c']) }, 'm')).toMatchObject({
      code: 'format/missing-property',
      remedy: 'There are "other", "n".',
    });
    expect(await failure({ '.dbf': dbaseOf('n', ['a', 'b']) })).toMatchObject({ code: 'format/unequal-counts' });
    expect(await failure({ '.dbf': dbaseOf('n', ['a', 'b', 'c', 'd']) })).toMatchObject({
      code: 'format/unequal-counts',
    });
    expect(await failure({ '.dbf': dbaseOf('n', ['a', 'b', 'c']).subarray(0, -9) })).toMatchObject({
      code: 'format/truncated',
    });
    const { zones, notes } = await readBytes(shp, { id: 'n' }, undefined, { '.dbf': dbaseOf('n', ['a', ' ', 'c']) });
    expect([zones.names, notes[0]]).toMatchObject([['a', 'c'], { code: 'polygons/incomplete-records', zone: '1' }]);
  });

  test('notes trailing bytes', async () => {
    const { zones, notes } = await readBytes(Uint8Array.from([...shapefileOf(three), 0, 0, 0, 1]));
    expect(zones.names.length).toBe(3);
    expect(notes).toContainEqual(expect.objectContaining({ code: 'polygons/trailing-bytes' }));
  });

  test('of points is refused', async () => {
    const bytes = shapefileOf(three);
    const view = new DataView(bytes.buffer);
    view.setInt32(32, 1, true);
    view.setInt32(108, 1, true);
    expect((await readBytes(bytes)).notes).toMatchObject([
      { code: 'polygons/other-geometry' },
      { code: 'zones/no-geometry' },
      {},
    ]);
    await expect(readBytes(Uint8Array.from(shapefileHeadOf(bytes, 1)))).rejects.toMatchObject({
      code: 'format/not-polygon',
    });
  });

  /** A Shapefile cut after its first `records` records. */
  const shapefileHeadOf = (bytes: Uint8Array, records: number): Uint8Array => {
    let end = 100;
    for (let record = 0; record < records; record++) end += 8 + 2 * new DataView(bytes.buffer).getInt32(end + 4);
    const head = bytes.slice(0, end);
    new DataView(head.buffer).setInt32(24, end / 2);
    return head;
  };

  const lies: [string, number, number, boolean, string][] = [
    ['of a length beyond the file', 24, 0x7fffffff, false, 'format/truncated'],
    ['of a length below its header', 24, 10, false, 'format/truncated'],
    ['of another version', 28, 999, true, 'format/malformed-shapefile'],
    ['of unknown shapes', 32, 99, true, 'format/malformed-shapefile'],
    ['with a record beyond the file', 104, 0x7fffffff, false, 'format/truncated'],
    ['with a record of an unknown shape', 108, 99, true, 'format/malformed-shapefile'],
    ['with more parts than bytes', 144, 0x7fffffff, true, 'format/malformed-shapefile'],
    ['with more points than bytes', 148, 0x7fffffff, true, 'format/malformed-shapefile'],
    ['with a part that starts after its end', 152, 5, true, 'format/malformed-shapefile'],
    ['with infinite coordinates', 160, 0x7ff00000, true, 'geometry/not-finite'],
  ];
  test.each(lies)('%s is refused', async (_, at, value, low, code) => {
    const bytes = shapefileOf(three);
    new DataView(bytes.buffer).setInt32(at, value, low);
    await expect(readBytes(bytes)).rejects.toMatchObject({ code, place: { file: 'layer' } });
  });

  test('has the coordinate system of its .prj', async () => {
    const wkt = (name: string, more = '') => `PROJCS["${name}",GEOGCS["GCS_WGS_1984",AUTHORITY["EPSG","4326"]]${more}]`;
    expect(crsOfWkt(wkt('WGS_1984_UTM_Zone_5S'))).toBe('EPSG:32705');
    expect(crsOfWkt(wkt('NAD_1983_UTM_Zone_15N'))).toBe('EPSG:26915');
    expect(crsOfWkt(wkt('CH1903+_LV95'))).toBe('CH1903+_LV95');
    expect(crsOfWkt(wkt('NAD_1983_UTM_Zone_60N'))).toBe('NAD_1983_UTM_Zone_60N');
    expect(crsOfWkt(wkt('x', ',AUTHORITY["EPSG","2056"]'))).toBe('EPSG:2056');
    expect(crsOfWkt('PROJCRS["x",ID["EPSG",2056]]\n')).toBe('EPSG:2056');
    expect(crsOfWkt('GEOGCS["GCS_WGS_1984",DATUM[]],VERTCS["x",AUTHORITY["EPSG","5773"]]')).toBe('EPSG:4326');
    expect(crsOfWkt('GEOGCS["GCS_North_American_1983",DATUM[]]')).toBe('EPSG:4269');
    expect(['', 'nothing', '\0\0'].map(crsOfWkt)).toEqual([undefined, undefined, undefined]);
    const prj = { '.prj': bytesOf(wkt('WGS_1984_UTM_Zone_33N')) };
    expect((await readBytes(shapefileOf(three), {}, [3], prj)).zones.crs).toBe('EPSG:32633');
  });
});
