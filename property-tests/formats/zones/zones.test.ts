import { readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect } from 'vitest';
import { readZones } from '../../../formats/polygons/read-zones.ts';
import { parseZones, type ZoneOptions } from '../../../formats/polygons/zones.ts';
import { QuadrilleError } from '../../../primitives/checks/errors.ts';
import { caseCount } from '../../cases.ts';
import { collection, feature, geoJsonText, type Ring, ringsOf, topoJsonText } from '../../fixtures/random-zones.ts';
import { fc, test } from '../../law-test.ts';
import { readText } from '../../support/polygon-layers-support.ts';

const box = (left: number, right: number, bottom = 0, top = 10): Ring => [
  [left, bottom],
  [right, bottom],
  [right, top],
  [left, top],
  [left, bottom],
];
const polygon = (...coordinates: Ring[]) => ({ type: 'Polygon', coordinates });
const read = (root: unknown, options: ZoneOptions = {}) => parseZones(JSON.stringify(root), options);
const notesOf = (root: unknown, options: ZoneOptions = {}) =>
  read(root, options).notes.map(({ code, count }) => [code, count]);

describe('zones', () => {
  test.prop([collection])('have the rings of their features, as written but without closing vertices', (features) => {
    const { zones } = parseZones(geoJsonText(features));
    const open = features.map((parts) => parts.flat().map((ring) => ring.slice(0, -1)));
    expect(ringsOf(zones.polygons)).toEqual(open);
    expect(zones.names).toEqual(features.map((_, index) => String(index)));
    expect(zones.crs).toBe('OGC:CRS84');
  });

  test.prop([collection])('are the same from GeoJSON and from TopoJSON', (features) => {
    expect(parseZones(topoJsonText(features))).toEqual(parseZones(geoJsonText(features)));
  });

  test('are named by id, else by index, in input order', () => {
    const features = [{ id: '04015' }, { id: 7 }, {}, { id: null }, { id: '' }].map((members) =>
      feature(polygon(box(0, 1)), members),
    );
    expect(read({ type: 'FeatureCollection', features }).zones.names).toEqual(['04015', '7', '2', '3', '']);
  });

  test('are named by a property; a missing one is an error that names the feature', () => {
    const features = [
      { name: 'A', n: 1 },
      { name: 'B', n: null },
    ].map((properties, id) => feature(polygon(box(0, 1)), { properties, id }));
    const root = { type: 'FeatureCollection', features };
    expect(read(root, { id: 'name' }).zones.names).toEqual(['A', 'B']);
    for (const id of ['constructor', '__proto__']) {
      expect(() => read(root, { id })).toThrow(
        expect.objectContaining({
          code: 'format/missing-property',
          message: expect.stringContaining(`There is no "${id}" in feature 0 ("0").`),
          remedy: 'Its properties are name, n.',
        }),
      );
    }
    const { zones, notes } = read(root, { id: 'n' });
    expect(zones.names).toEqual(['1']);
    expect(notes).toMatchObject([{ code: 'polygons/incomplete-records', count: 1, zone: '1' }]);
    expect(notes[0]!.message).toContain('zones, record 1: The "n" of feature 1 ("1") is null. Give it a value');
    expect(() => read(feature(polygon(), { properties: { x: [1] } }), { id: 'x' })).toThrow(
      expect.objectContaining({ code: 'format/bad-name' }),
    );
  });

  test('of the same name stay separate, with a note', () => {
    const features = ['a', 'b', 'a', 'a'].map((id) => feature(polygon(box(0, 1)), { id }));
    const { zones, notes } = read({ type: 'FeatureCollection', features });
    expect(zones.names).toEqual(['a', 'b', 'a', 'a']);
    expect(notes).toEqual([
      {
        code: 'zones/duplicate-names',
        message: '1 name is shared by several zones, which stay separate: "a".',
        zone: 'a',
        count: 1,
      },
    ]);
  });
});

describe('zones by line', () => {
  const path = (ending: string): string => join(tmpdir(), `quadrille-zones-${process.pid}${ending}`);
  const endings = ['.geojsonl', '.ndjson', '.jsonl', '.geojsons', '.json', '.GEOJSONL'];

  test.prop([
    collection,
    fc.constantFrom(...endings),
    fc.constantFrom('\n', '\r\n', '\n\n', '\x1e', '\n\x1e'),
    fc.boolean(),
  ])('are those of a collection', async (features, ending, between, isZipped) => {
    const records = features.map((coordinates) => JSON.stringify(feature({ type: 'MultiPolygon', coordinates })));
    const text = `${between.includes('\x1e') ? '\x1e' : ''}${records.join(between)}\n`;
    const file = path(`${ending}${isZipped ? '.gz' : ''}`);
    await writeFile(file, isZipped ? gzipSync(text) : text);
    const { zones, notes } = await readZones(file);
    await rm(file);
    const whole = parseZones(geoJsonText(features));
    expect(zones).toEqual({ ...whole.zones, file });
    expect(notes.map(({ code, count }) => [code, count])).toEqual(whole.notes.map(({ code, count }) => [code, count]));
  });

  test.each([
    [
      'a collection',
      '.geojsonl',
      JSON.stringify({ type: 'FeatureCollection', features: [feature(polygon(box(0, 1)))] }),
    ],
    ['a feature of several lines', '.ndjson', JSON.stringify(feature(polygon(box(0, 1))), null, 2)],
    ['a topology', '.jsonl', topoJsonText([[[box(0, 1)]]])],
  ])('are not taken for them if the file has %s', async (_, ending, text) => {
    await writeFile(path(ending), text);
    expect((await readZones(path(ending))).zones.names).toEqual(['0']);
    await rm(path(ending));
  });

  test('obey the options, and errors name the record', async () => {
    const lines = [
      feature(polygon(box(0, 1)), { properties: { n: 'a' } }),
      feature({ type: 'Polygon' }, { properties: { n: 'b' } }),
      null,
      feature(polygon(box(170, -170)), { properties: { n: 'c' } }),
    ];
    const file = path('.ndjson');
    await writeFile(file, lines.map((line) => JSON.stringify(line)).join('\n'));
    await expect(readZones(file)).rejects.toMatchObject({
      code: 'format/malformed-geojson',
      place: { file, record: 1 },
    });
    const { zones, notes } = await readZones(file, { onBadRecord: 'skip', id: 'n', antimeridian: 'unwrap' });
    expect([zones.names, [...zones.polygons.x].slice(4)]).toEqual([
      ['a', 'c'],
      [170, 190, 190, 170],
    ]);
    expect(notes.map(({ code }) => code).sort()).toEqual([
      'polygons/bad-records',
      'polygons/incomplete-records',
      'zones/antimeridian-unwrapped',
    ]);
    await expect(readZones(file, { memoryBytes: 2 ** 10, onBadRecord: 'skip' })).rejects.toMatchObject({
      code: 'memory/limit',
    });
    await rm(file);
  });

  test.each(['.ndjson', '.ndjson.gz', '.geojsons'])(
    'obey a memory limit by the bytes of a record, not of the file: %s',
    async (ending) => {
      const file = path(ending);
      const written = async (...pads: number[]) => {
        const lines = pads.map((pad) =>
          JSON.stringify(feature(polygon(box(0, 1)), { properties: { p: 'x'.repeat(pad) } })),
        );
        const text = lines.map((line) => `${ending === '.geojsons' ? '\u001e' : ''}${line}\n`).join('');
        await writeFile(file, ending.endsWith('.gz') ? gzipSync(text, { level: 1 }) : text);
      };
      const records = Array<number>(160).fill(8000);
      await written(...records, 100_000, ...records);
      expect((await readZones(file, { memoryBytes: 2 ** 21 })).zones.names.length).toBe(321);
      await written(...records, 180_000, ...records);
      await expect(readZones(file, { memoryBytes: 2 ** 21 })).rejects.toMatchObject({ code: 'memory/limit' });
      await rm(file);
    },
  );

  test('are not unwrapped if a later one has no latitudes', async () => {
    const file = path('.ndjson');
    const lines = [polygon(box(0, 500)), polygon(box(0, 1, 0, 900))];
    await writeFile(file, lines.map((line) => JSON.stringify(line)).join('\n'));
    const { zones, notes } = await readZones(file, { antimeridian: 'unwrap' });
    expect([zones.crs, [...zones.polygons.x].slice(0, 4)]).toEqual([undefined, [0, 500, 500, 0]]);
    expect(notes.map(({ code }) => code)).toEqual(['zones/crs-unknown']);
    await rm(file);
  });
});

describe('unusual rings are accepted and noted', () => {
  test('an open ring is closed', () => {
    const open = polygon(box(0, 1).slice(0, 4));
    expect(notesOf(open)).toEqual([['zones/unclosed-rings', 1]]);
    expect(ringsOf(read(open).zones.polygons)).toEqual(ringsOf(read(polygon(box(0, 1))).zones.polygons));
  });

  test('an empty ring is skipped', () => {
    const { zones, notes } = read(polygon([], box(0, 1), []));
    expect(notes).toMatchObject([{ code: 'zones/empty-rings', count: 2, zone: '0' }]);
    expect(ringsOf(zones.polygons)).toEqual([[box(0, 1).slice(0, 4)]]);
  });

  const flat: [string, Ring][] = [
    ['one point', [[3, 4]]],
    [
      'one point, four times',
      [
        [3, 4],
        [3, 4],
        [3, 4],
        [3, 4],
      ],
    ],
    [
      'a line there and back',
      [
        [0, 0],
        [2, 1],
        [0, 0],
      ],
    ],
    [
      'a line in thirds',
      [
        [0, 0],
        [0.1, 0.3],
        [0.2, 0.6],
        [0.3, 0.9],
        [0, 0],
      ],
    ],
    [
      'a level line',
      [
        [0, 5],
        [1, 5],
        [2, 5],
        [0, 5],
      ],
    ],
  ];
  test.each(flat)('a ring without area is kept: %s', (_, ring) => {
    const { zones, notes } = read(polygon(ring, box(0, 1)));
    expect(notes.map((note) => note.code)).toEqual(['zones/zero-area-rings']);
    expect(zones.polygons.polygonRings[1]).toBe(2);
  });

  test.each<[string, Ring]>([
    [
      'a thin ring',
      [
        [0, 0],
        [100, 50],
        [100, 50.000001],
        [0, 0],
      ],
    ],
    [
      'a bow-tie, whose halves cancel in the signed area',
      [
        [-3.225, 43.38],
        [-3.215, 43.388],
        [-3.215, 43.38],
        [-3.225, 43.388],
        [-3.225, 43.38],
      ],
    ],
  ])('a ring with area is not noted: %s', (_, ring) => {
    expect(notesOf(polygon(ring))).toEqual([]);
  });

  const small = fc.integer({ min: -3, max: 3 });
  const position = fc.tuple(small, small);

  test.prop([fc.array(position, { minLength: 1, maxLength: 5 })])(
    'a ring is noted exactly if no three of its vertices form a triangle',
    (vertices) => {
      const bent = vertices.some((a) =>
        vertices.some((b) => vertices.some((c) => (b[0] - a[0]) * (c[1] - a[1]) !== (c[0] - a[0]) * (b[1] - a[1]))),
      );
      const codes = read(polygon([...vertices, vertices[0]!])).notes.map(({ code }) => code);
      expect(codes).toEqual(bent ? [] : ['zones/zero-area-rings']);
    },
  );

  test.prop([fc.integer({ min: -400, max: 400 }), fc.array(fc.integer({ min: -9, max: 9 }), { minLength: 3 })])(
    'a ring along a line of any slope is noted',
    (slope, steps) => {
      const ring: Ring = [...steps, steps[0]!].map((step) => [step, (step * slope) / 63]);
      expect(read(polygon(ring)).notes.map(({ code }) => code)).toContain('zones/zero-area-rings');
    },
  );

  test('no features give no zones', () => {
    const none = { code: 'zones/none', message: 'There are no zones in the file.' };
    expect(read({ type: 'FeatureCollection', features: [] }).notes).toEqual([none]);
    const objects = { empty: { type: 'GeometryCollection', geometries: [] } };
    expect(read({ type: 'Topology', arcs: [], objects }).notes).toEqual([none]);
  });

  test('a feature without geometry is a zone without rings', () => {
    const features = [null, polygon(), { type: 'MultiPolygon', coordinates: [] }, polygon(box(0, 1))].map((geometry) =>
      feature(geometry),
    );
    const { zones, notes } = read({ type: 'FeatureCollection', features });
    expect([...zones.polygons.polygonRings]).toEqual([0, 0, 0, 0, 1]);
    expect(notes).toMatchObject([{ code: 'zones/no-geometry', count: 3, zone: '0' }]);
  });

  test('several of a kind make one note with the first names', () => {
    const features = Array.from({ length: 1000 }, (_, id) => feature(polygon(box(0, 1).slice(0, 4)), { id }));
    expect(read({ type: 'FeatureCollection', features }).notes).toEqual([
      {
        code: 'zones/unclosed-rings',
        message: '1000 rings were left open and were closed, in: "0", "1", "2" and others.',
        zone: '0',
        count: 1000,
      },
    ]);
  });
});

describe('a ring that jumps more than 180 degrees of longitude', () => {
  const aleutian = polygon(box(170, -170));
  const longitudes = (root: unknown, options: ZoneOptions = {}) => [...read(root, options).zones.polygons.x];

  test('is read as written, with a note', () => {
    expect(longitudes(aleutian)).toEqual([170, -170, -170, 170]);
    expect(notesOf(aleutian)).toEqual([['zones/antimeridian-jumps', 1]]);
  });

  test.each<[string, Ring]>([
    ['a box around the world', box(-180, 180, -90, 90)],
    ['a box around the world from 0 to 360', box(0, 360, -90, 90)],
    ['a box wider than the world', box(-182.2, 182.2, -90, 90)],
    [
      'a land around a pole',
      [
        [-180, -70],
        [-60, -65],
        [60, -70],
        [180, -70],
        [180, -90],
        [-180, -90],
        [-180, -70],
      ],
    ],
  ])('is not noted if it is %s, which cannot cross the antimeridian', async (_, ring) => {
    expect(notesOf(polygon(ring))).toEqual([]);
    expect((await readText(JSON.stringify(polygon(ring)))).notes).toEqual([]);
    expect(longitudes(polygon(ring))).toEqual(ring.slice(0, -1).map(([x]) => x));
  });

  test('is noted if all its jumps lead from one side of the antimeridian to the other', () => {
    const crossing: Ring = [
      [170, 0],
      [180, 0],
      [-180, 0],
      [-170, 0],
      [-170, 10],
      [-180, 10],
      [180, 10],
      [170, 10],
      [170, 0],
    ];
    expect(notesOf(polygon(crossing))).toEqual([['zones/antimeridian-jumps', 1]]);
    expect(longitudes(polygon(crossing))).toEqual(crossing.slice(0, -1).map(([x]) => x));
  });

  test('is read as crossing the antimeridian on request', () => {
    expect(longitudes(aleutian, { antimeridian: 'unwrap' })).toEqual([170, 190, 190, 170]);
    expect(longitudes(polygon(box(-170, 170)), { antimeridian: 'unwrap' })).toEqual([-170, -190, -190, -170]);
    expect(notesOf(aleutian, { antimeridian: 'unwrap' })).toEqual([['zones/antimeridian-unwrapped', 1]]);
  });

  test('shifts its holes as well', () => {
    const holed = polygon(box(170, -170), box(-175, -172, 2, 8), box(172, 175, 2, 8));
    expect(longitudes(holed, { antimeridian: 'unwrap' }).slice(4)).toEqual([185, 188, 188, 185, 172, 175, 175, 172]);
  });

  test('is read as written when it goes around a pole or the world', () => {
    const antarctic: Ring = [
      [-120, -60],
      [0, -70],
      [120, -60],
      [-120, -60],
    ];
    for (const ring of [antarctic, box(-180, 180, -90, 90)]) {
      expect(longitudes(polygon(ring), { antimeridian: 'unwrap' })).toEqual(ring.slice(0, -1).map(([x]) => x));
      expect(notesOf(polygon(ring), { antimeridian: 'unwrap' })).toEqual([['zones/antimeridian-kept', 1]]);
    }
  });

  test.prop([collection])('is the only kind of ring that unwrapping changes', (features) => {
    expect(parseZones(geoJsonText(features), { antimeridian: 'unwrap' })).toEqual(parseZones(geoJsonText(features)));
  });

  test('is not noted in a plane', () => {
    const crs = { type: 'name', properties: { name: 'EPSG:26915' } };
    const root = { ...feature(polygon(box(0, 500000, 0, 500000))), crs };
    expect(notesOf(root, { antimeridian: 'unwrap' })).toEqual([]);
    const unnamed = feature(polygon(box(0, 500000, 0, 500000)));
    expect(notesOf(unnamed, { antimeridian: 'unwrap', crs: 'EPSG:26915' })).toEqual([]);
  });

  test('is not noted when later coordinates are not latitudes', () => {
    const features = [box(0, 300), box(0, 975, 0, 610)].map((ring) => feature(polygon(ring)));
    const root = { type: 'FeatureCollection', features };
    const asWritten = read(root);
    expect(asWritten.notes.map(({ code }) => code)).toEqual(['zones/crs-unknown']);
    expect(read(root, { antimeridian: 'unwrap' })).toEqual(asWritten);
    expect(asWritten.zones.polygons.x.slice(0, 4)).toEqual(Float64Array.of(0, 300, 300, 0));
  });
});

describe('the coordinate system', () => {
  const crsOf = (crs: unknown) => read({ ...feature(polygon(box(0, 1))), crs }).zones.crs;
  const named = (name: unknown) => ({ type: 'name', properties: { name } });

  test.each([
    ['urn:ogc:def:crs:OGC:1.3:CRS84', 'OGC:CRS84'],
    ['urn:ogc:def:crs:EPSG::4326', 'EPSG:4326'],
    ['EPSG:26915', 'EPSG:26915'],
  ])('is that of an old-style crs member: %s', (name, crs) => {
    expect(crsOf(named(name))).toBe(crs);
  });

  test('is unknown, with a note, when the crs member names none', () => {
    for (const crs of [null, named(7), { type: 'link', properties: { href: 'x' } }]) {
      expect(crsOf(crs)).toBeUndefined();
      expect(notesOf({ ...feature(polygon(box(0, 1))), crs })).toEqual([['zones/crs-unknown', undefined]]);
    }
  });

  test('is that of the options, overriding the file', () => {
    for (const crs of [undefined, null, named('EPSG:4326')]) {
      const root = { ...feature(polygon(box(0, 975, 0, 610))), crs };
      const { zones, notes } = read(root, { crs: 'epsg:26915' });
      expect([zones.crs, notes]).toEqual(['EPSG:26915', []]);
    }
  });

  test('is unknown, with a note, when nothing names it and coordinates cannot be latitudes', () => {
    const root = polygon(box(0, 975, 0, 610));
    expect(read(root).zones.crs).toBeUndefined();
    expect(notesOf(root)).toContainEqual(['zones/crs-unknown', undefined]);
  });
});

describe('unreadable zones', () => {
  const refusal = (text: string, options: ZoneOptions = {}): unknown => {
    try {
      return parseZones(text, { ...options, file: 'zones.json' });
    } catch (error) {
      return error;
    }
  };

  test.prop([fc.string({ maxLength: 200 })])('are refused, for any text', (text) => {
    // A comment is a text of WKT.
    fc.pre(!/^\s*#/.test(text));
    expect(refusal(text)).toMatchObject({ name: 'FormatError', place: { file: 'zones.json' } });
  });

  test.prop([fc.json({ maxDepth: 6 })])('are refused, for any JSON', (text) => {
    fc.pre(!text.startsWith('['));
    expect(refusal(text)).toMatchObject({ name: 'FormatError', code: 'format/not-zones' });
  });

  test('arrays are read as features', () => {
    const feature = JSON.stringify({ type: 'Feature', geometry: polygon(box(0, 1)) });
    expect(parseZones(`[${feature}, null, ${feature}]`).zones.names).toEqual(['0', '2']);
    expect(refusal('[7]')).toMatchObject({ code: 'format/malformed-geojson', place: { record: 0 } });
    expect(refusal('[]7')).toMatchObject({ code: 'format/json-syntax' });
    expect(refusal('[]', { layer: 'a' })).toMatchObject({ code: 'usage/unknown-layer' });
  });

  const edits = fc.array(
    fc.tuple(
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.nat(3),
      fc.constantFrom(
        '[',
        ']',
        '{',
        '}',
        '"',
        ',',
        ':',
        '-',
        '0',
        '9',
        '1e999',
        'null',
        '[]',
        '{}',
        '"x"',
        '-1',
        'type',
      ),
    ),
    { minLength: 1, maxLength: 4 },
  );
  const damaged = (text: string, changes: readonly [number, number, string][]) =>
    changes.reduce((part, [place, cut, put]) => {
      const at = Math.floor(place * part.length);
      return part.slice(0, at) + put + part.slice(at + cut);
    }, text);

  test.prop([collection, edits, fc.boolean()], { numRuns: caseCount(500) })(
    'are refused or read when their text is damaged, never a crash',
    (features, changes, topology) => {
      const outcome = refusal(damaged(topology ? topoJsonText(features) : geoJsonText(features), changes));
      if (!('zones' in (outcome as object))) expect(outcome).toBeInstanceOf(QuadrilleError);
    },
  );

  /** Replaces one value in a parsed JSON text, at any depth. */
  const replaceOne = (root: unknown, pick: number, value: unknown): unknown => {
    const places: [Record<string, unknown>, string][] = [];
    const pending: unknown[] = [root];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      if (typeof next !== 'object' || next === null) continue;
      for (const key of Object.keys(next)) {
        places.push([next as Record<string, unknown>, key]);
        pending.push((next as Record<string, unknown>)[key]);
      }
    }
    const [owner, key] = places[pick % places.length]!;
    owner[key] = value;
    return root;
  };

  test.prop([collection, fc.nat(), fc.jsonValue({ maxDepth: 2 }), fc.boolean()], { numRuns: caseCount(500) })(
    'are refused or read when a value is replaced, never a crash',
    (features, pick, value, topology) => {
      const root: unknown = JSON.parse(topology ? topoJsonText(features) : geoJsonText(features));
      const outcome = refusal(JSON.stringify(replaceOne(root, pick, value)));
      if (!('zones' in (outcome as object))) expect(outcome).toBeInstanceOf(QuadrilleError);
    },
  );

  test('report line and column of a JSON syntax error', () => {
    expect(refusal('{\n "type": "Feature",\n "geometry": NaN }')).toMatchObject({
      code: 'format/json-syntax',
      message: expect.stringContaining('zones.json:3:14: The text is not valid JSON: NaN and Infinity'),
    });
  });

  test('report a file that is missing, not text or without zones', async () => {
    const file = join(tmpdir(), `quadrille-zones-${process.pid}.json`);
    await expect(readZones(file)).rejects.toMatchObject({ code: 'format/missing-file', place: { file } });
    await expect(readZones(tmpdir())).rejects.toMatchObject({ code: 'format/not-a-file' });
    await writeFile(file, Uint8Array.of(0x7b, 0xff, 0x7d));
    await expect(readZones(file)).rejects.toMatchObject({ code: 'format/not-utf8', place: { file } });
    await writeFile(file, `\uFEFF${JSON.stringify(polygon(box(0, 1)))}`);
    expect((await readZones(file)).zones.names).toEqual(['0']);
    await rm(file);
  });

  test('leave no file open', async () => {
    const openFiles = async () => (process.platform === 'linux' ? (await readdir('/proc/self/fd')).length : 0);
    const before = await openFiles();
    const own = new URL(import.meta.url).pathname;
    await expect(readZones(own)).rejects.toMatchObject({ code: 'format/unknown-layer' });
    expect(await openFiles()).toBe(before);
  });
});
