import { describe, expect } from 'vitest';
import type { PolygonLayerOptions } from '../../../formats/polygons/polygon-layer.ts';
import { openLayer } from '../../../formats/polygons/read-layer.ts';
import { parseZones, type ReadZones } from '../../../formats/polygons/zones.ts';
import { QuadrilleError } from '../../../primitives/checks/errors.ts';
import { caseCount } from '../../cases.ts';
import { ringsOf } from '../../fixtures/random-zones.ts';
import { fc, test } from '../../law-test.ts';
import {
  type BlockSizes,
  blockSizes,
  bytesOf,
  features,
  featuresOf,
  memoryInput,
  openRings,
  readBytes,
  readText,
} from '../../support/polygon-layers-support.ts';

/** The zones and notes of a result, without the wording of the notes. */
const answer = ({ zones, notes }: ReadZones) => ({
  zones: { ...zones, file: undefined },
  notes: notes.map(({ code, count, zone }) => [code, count, zone]).sort(),
});
const outcome = async (read: () => ReadZones | Promise<ReadZones>) => {
  try {
    return answer(await read());
  } catch (error) {
    if (error instanceof QuadrilleError) return error.code;
    throw error;
  }
};
const failure = async (text: string, options: PolygonLayerOptions = {}, sizes?: BlockSizes) =>
  readText(text, options, sizes).then(
    () => undefined,
    (error) => error,
  );

const polygon = { type: 'Polygon', coordinates: [[[0, 0], [4, 0], [0, 4], [0, 0]]] }; // biome-ignore format: four positions
const feature = (geometry: unknown, members: object = {}) => ({
  type: 'Feature',
  properties: {},
  geometry,
  ...members,
});
const collection = (list: readonly unknown[], members: object = {}) =>
  JSON.stringify({ type: 'FeatureCollection', ...members, features: list });

describe('streamed GeoJSON', () => {
  const members = fc.constantFrom(
    {},
    { id: 'x' },
    { bbox: [1, 2, 3, 4] },
    { properties: { coordinates: [[[1, 2]]], name: 'n' } },
    { coordinates: [[[9, 9], [8, 8]]] }, // biome-ignore format: two positions
    { properties: { a: '\\"coordinates":[[[' } },
    { title: 'back\\slash' },
    { id: 7, other: { properties: { coordinates: [[[[1, 2]]]] } } },
  );
  const odd = fc.constantFrom(
    null,
    polygon,
    { type: 'Polygon', coordinates: [] },
    { type: 'Polygon', coordinates: [[]] },
    { type: 'Polygon', coordinates: [[[0, 0, 7], [4, 0, 7], [0, 4, 7]]] }, // biome-ignore format: three positions
    { type: 'Polygon', coordinates: [[[170, 0], [-170, 0], [-170, 4], [170, 0]]] }, // biome-ignore format: four positions
    { type: 'Polygon', coordinates: [[[1, 1], [2, 2], [1, 1]], [[3, 3]]] }, // biome-ignore format: two rings
    { type: 'MultiPolygon', coordinates: [polygon.coordinates, []] },
    { type: 'GeometryCollection', geometries: [] },
    { type: 'GeometryCollection', geometries: [polygon, { type: 'GeometryCollection', geometries: [polygon] }] },
    { type: 'GeometryCollection', bbox: [], geometries: [{ ...polygon, properties: { coordinates: [1] } }] },
  );
  const list = fc.array(
    fc.tuple(odd, members).map(([geometry, more]) => feature(geometry, more)),
    { maxLength: 6 },
  );
  const root = fc.constantFrom(
    {},
    { crs: { type: 'name', properties: { name: 'EPSG:4326' } } },
    { crs: { type: 'name', properties: { name: 'urn:ogc:def:crs:EPSG::3857' } } },
    { crs: null },
    { name: 'layer', bbox: [0, 0, 1, 1] },
  );
  const texts = fc
    .tuple(list, root, fc.boolean(), fc.nat({ max: 2 }), fc.constantFrom('', '\uFEFF'), fc.constantFrom('', '\r\n \t'))
    .map(([list, more, before, indent, mark, behind]) => {
      const type = 'FeatureCollection';
      const value = before ? { type, ...more, features: list } : { features: list, ...more, type };
      return mark + JSON.stringify(value, null, indent).replaceAll('\n', '\r\n') + behind;
    });
  const options = fc.constantFrom({}, { crs: 'EPSG:26915' }, { id: 'name' });

  test.prop([texts, options, blockSizes], { numRuns: caseCount(1000) })(
    'of features is read as by parseZones, for blocks of any size',
    async (text, options, sizes) => {
      const expected = await outcome(() => parseZones(text.replace('\uFEFF', ''), options));
      expect(await outcome(() => readText(text, options, sizes))).toEqual(expected);
    },
  );

  test.prop([
    fc.oneof(
      odd,
      fc.tuple(odd, members).map(([geometry, more]) => feature(geometry, more)),
    ),
    blockSizes,
  ])('of one feature or geometry is read as by parseZones', async (value, sizes) => {
    fc.pre(value !== null);
    const text = JSON.stringify(value);
    expect(await outcome(() => readText(text, {}, sizes))).toEqual(answer(parseZones(text)));
  });

  test.prop([features, blockSizes, fc.boolean()])('has the rings that were written', async (written, sizes, split) => {
    const text = split
      ? collection(featuresOf(written))
      : JSON.stringify({ features: featuresOf(written), type: 'FeatureCollection' });
    const { zones } = await readText(text, { id: 'name' }, sizes);
    expect(zones.names).toEqual(written.map(({ name }) => name));
    expect(ringsOf(zones.polygons)).toEqual(openRings(written));
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
        '\\',
        '\u0000',
        'x',
        ' ',
      ),
    ),
    { minLength: 1, maxLength: 3 },
  );
  test.prop([texts, edits, blockSizes], { numRuns: caseCount(1500) })(
    'that is damaged is refused, or read as by parseZones',
    async (text, changes, sizes) => {
      const damaged = changes.reduce(
        (part, [place, cut, put]) => {
          const at = Math.floor(place * part.length);
          return part.slice(0, at) + put + part.slice(at + cut);
        },
        text.replace('\uFEFF', ''),
      );
      const [ours, theirs] = [
        await outcome(() => readText(damaged, { format: 'geojson' }, sizes)),
        await outcome(() => parseZones(damaged)),
      ];
      if (typeof ours === 'string' || typeof theirs === 'string') {
        // Both readers refuse text that is not JSON. Each reader may also refuse other texts: the streaming reader, for
        // example, refuses a second member "features".
        if (theirs === 'format/json-syntax') expect(typeof ours).toBe('string');
      } else expect(ours).toEqual(theirs);
    },
  );

  test('reports line, column and record of a JSON syntax error', async () => {
    const text = collection([feature(polygon), 'X', feature(polygon)]).replace('"X"', '\n{"a":\n 01}');
    for (const sizes of [[1], [7], [65_536]]) {
      const error = await failure(text, {}, sizes);
      expect(error).toMatchObject({
        code: 'format/json-syntax',
        place: { file: 'layer', line: 3, column: 3, record: 1 },
      });
      expect(error.message).toContain("expected ',' or '}'");
    }
    const cut = text.slice(0, 60);
    expect(await failure(cut)).toMatchObject({ code: 'format/json-syntax', place: { line: 1, column: 61, record: 0 } });
    expect(await failure(`${collection([])}]`)).toMatchObject({ code: 'format/json-syntax', place: { column: 43 } });
    const open = collection([feature(null)]).slice(0, -2);
    expect(await failure(open)).toMatchObject({ code: 'format/json-syntax', place: { column: open.length + 1 } });
  });

  test('that is not UTF-8 is refused, with the record', async () => {
    const bytes = Buffer.from(collection([feature(polygon, { properties: { name: 'é' } })]));
    bytes[bytes.indexOf(0xa9)] = 0x41;
    await expect(readBytes(bytes)).rejects.toMatchObject({ code: 'format/not-utf8', place: { record: 0 } });
  });

  test('is refused for another layer name and other kinds of JSON', async () => {
    expect(await failure(collection([], { name: 'a' }), { layer: 'b' })).toMatchObject({ code: 'usage/unknown-layer' });
    expect(await failure(collection([], { name: 'a' }), { layer: 'a' })).toBeUndefined();
    expect(await failure('{"type":"Polygons","features":[]}')).toMatchObject({ code: 'format/not-zones' });
    expect(await failure('{"type":"FeatureCollection"}')).toMatchObject({ code: 'format/malformed-geojson' });
    expect(await failure('{"type":"FeatureCollection","features":{}}')).toMatchObject({
      code: 'format/malformed-geojson',
    });
    expect(await failure('7')).toMatchObject({ code: 'format/unknown-layer' });
    expect(await failure('[7]')).toMatchObject({ code: 'format/malformed-geojson', place: { record: 0 } });
    expect(await failure('[]')).toBeUndefined();
    expect(await failure('')).toMatchObject({ code: 'format/unknown-layer', got: 'an empty file' });
  });

  /** A text of which some letters of names of members are escaped, as JSON allows. */
  const escaped = (text: string, picks: readonly number[]): string => {
    let next = 0;
    return text.replaceAll(/"(\w+)"(?=\s*:)/g, (key, name: string) => {
      const at = picks[next++ % picks.length]!;
      const code = name.charCodeAt(at).toString(16).padStart(4, '0');
      return at < name.length ? `"${name.slice(0, at)}\\u${code}${name.slice(at + 1)}"` : key;
    });
  };
  const topology = JSON.stringify({
    type: 'Topology',
    arcs: [[[0, 0], [4, 0], [0, 4], [0, 0]]], // biome-ignore format: four positions
    objects: { a: { type: 'Polygon', arcs: [[0]] } },
  });
  const whole = fc.oneof(
    { weight: 4, arbitrary: texts },
    list.map((all) => `${all.map((each) => JSON.stringify(each)).join('\n')}\n`).filter((text) => text.length > 1),
    fc.constantFrom(JSON.stringify(polygon), JSON.stringify(feature(polygon)), topology),
  );
  const everyFirst = [0];
  test.prop([whole, fc.array(fc.nat(14), { minLength: 1, maxLength: 9 }), options, blockSizes], {
    numRuns: caseCount(500),
    examples: [
      [collection([feature(polygon)]), everyFirst, {}, [7]],
      [JSON.stringify(feature(polygon, { properties: { coordinates: polygon.coordinates } })), everyFirst, {}, [7]],
      [topology, everyFirst, {}, [7]],
      [`${JSON.stringify(feature(polygon))}\n${JSON.stringify(polygon)}`, everyFirst, {}, [7]],
    ],
  })('is the same whatever letters of names are escaped', async (text, picks, options, sizes) => {
    const expected = await outcome(() => readText(text, options, sizes));
    expect(await outcome(() => readText(escaped(text, picks), options, sizes))).toEqual(expected);
  });

  test('accepts escaped letters in names', async () => {
    const text = collection([feature(polygon)]);
    const escaped = text.replace('coordinates', 'c\\u006fordinates').replace('geometry', 'ge\\u006fmetry');
    expect(answer(await readText(escaped))).toEqual(answer(await readText(text)));
    // A bad array is an error even if its key is escaped, unless a later member with the same key replaces it.
    const other = '{"type":"Polygon","c\\u006fordinates":[0]}';
    const both = collection([feature({ type: 'GeometryCollection', geometries: [polygon, 'OTHER'] })]);
    expect(await failure(both.replace('"OTHER"', other))).toMatchObject({ code: 'geometry/not-finite' });
    const twice = text.replace('"coordinates":', '"c\\u006fordinates":[0],"coordinates":');
    expect(answer(await readText(twice))).toEqual(answer(await readText(text)));
  });
});

describe('GeoJSON with one feature per line', () => {
  const separators = fc.constantFrom('\n', '\r\n', '\n\n', ' \n\t\r\n');
  const lines = fc.tuple(
    features,
    fc.constantFrom('', '\x1e'),
    separators,
    fc.boolean(),
    fc.constantFrom('', '\uFEFF'),
  );

  test.prop([lines, blockSizes], { numRuns: caseCount(200) })(
    'is read like a collection of the features',
    async ([written, mark, newline, ends, bom], sizes) => {
      const list = featuresOf(written);
      const text = bom + list.map((value) => mark + JSON.stringify(value)).join(newline) + (ends ? newline : '');
      const expected = answer(await readText(collection(list)));
      expect(answer(await readText(text, { format: 'geojson-lines' }, sizes))).toEqual(expected);
      // A single feature without a line break may also be read as plain GeoJSON, with the same result.
      expect(answer(await readText(text, {}, sizes))).toEqual(expected);
    },
  );

  test('is distinguished from a feature of several lines', async () => {
    const formatOf = async (text: string, file = 'layer') =>
      (await openLayer(memoryInput(bytesOf(text), [50], {}, file), {})).format;
    const one = JSON.stringify(feature(polygon));
    expect(await formatOf(`${one}\n`)).toBe('geojson');
    expect(await formatOf(`${one}\n${one}`)).toBe('geojson-lines');
    expect(await formatOf(JSON.stringify(feature(polygon), null, 1))).toBe('geojson');
    expect(await formatOf(`${one}\n`, 'a.NDJSON')).toBe('geojson-lines');
    expect(await formatOf(`\x1e${one}\n`)).toBe('geojson-lines');
    expect(await formatOf(`\x1e${JSON.stringify(feature(polygon), null, 2)}\n\x1e${one}`)).toBe('geojson-lines');
  });

  test('can hold geometries, and multi-line texts between record separators', async () => {
    const pretty = JSON.stringify(feature(polygon, { id: 'p' }), null, 2);
    const { zones } = await readText(`\x1e${pretty}\n\x1e${JSON.stringify(polygon)}\n\x1e`, {}, [3]);
    expect([zones.names, ringsOf(zones.polygons).length]).toEqual([['p', '1'], 2]);
  });

  test('skips an invalid line on request', async () => {
    const good = (id: string) => JSON.stringify(feature(polygon, { id }));
    const text = [
      good('a'),
      '{"type":"Feature","geom',
      '',
      'null',
      collection([]),
      good('b').replace('4', '"4"'),
      good('c'),
    ];
    const read = (more: PolygonLayerOptions = {}) =>
      readText(text.join('\n'), { format: 'geojson-lines', ...more }, [11]);
    await expect(read()).rejects.toMatchObject({
      code: 'format/json-syntax',
      place: { line: 2, column: 19, record: 1 },
    });
    const { zones, notes } = await read({ onBadRecord: 'skip' });
    expect(zones.names).toEqual(['a', 'c']);
    expect(notes).toMatchObject([
      { code: 'polygons/bad-records', count: 3, zone: '1' },
      { code: 'polygons/incomplete-records', count: 1, zone: '2' },
    ]);
    expect(notes[0]!.message).toContain('3 records could not be read and were left out: "1", "3", "4". layer:2:19');
    await expect(
      readText(`${good('a')} ${good('b')}\n${good('c')}`, { format: 'geojson-lines' }),
    ).rejects.toMatchObject({
      code: 'format/json-syntax',
      message: expect.stringContaining('expected nothing after the value'),
    });
  });
});

describe('skipped records', () => {
  const point = { type: 'Point', coordinates: [1, 2] };
  const line = { type: 'LineString', coordinates: [[1, 2], [3, 4]] }; // biome-ignore format: two positions
  const nested = { type: 'MultiLineString', coordinates: [[[1, 2], [3, 4]]] }; // biome-ignore format: two positions
  const mixed = { type: 'GeometryCollection', geometries: [point, polygon, nested] };

  test('are points and lines, with a note, alone and in collections', async () => {
    const list = [point, polygon, mixed, line, null, { type: 'GeometryCollection', geometries: [line, point] }, nested];
    const text = collection(list.map((geometry, id) => feature(geometry, { id: `f${id}` })));
    const { zones, notes } = await readText(text);
    expect(zones.names).toEqual(['f1', 'f2', 'f4']);
    expect([...zones.polygons.polygonRings]).toEqual([0, 1, 2, 2]);
    expect(notes).toMatchObject([
      {
        code: 'polygons/other-geometry',
        count: 5,
        zone: 'f0',
        message: expect.stringContaining('5 records have geometry other than polygons, which was left out'),
      },
      { code: 'zones/no-geometry', count: 1, zone: 'f4' },
    ]);
  });

  test('cannot be the whole layer', async () => {
    const text = collection([point, line, null].map((geometry) => feature(geometry)));
    expect(await failure(text)).toMatchObject({ code: 'format/not-polygon', got: '2 geometries of other kinds' });
    expect(await failure(collection([feature(point)]))).toMatchObject({ got: '1 geometry of another kind' });
    const only = await readText(collection([feature(null)]));
    expect(only.notes).toMatchObject([{ code: 'zones/no-geometry', count: 1 }]);
    expect((await readText(collection([]))).notes).toMatchObject([{ code: 'zones/none' }]);
  });

  test('are unreadable features, on request', async () => {
    const bad: unknown[] = [
      feature({ type: 'Polygon', coordinates: [[[0, 0], [null, 0], [0, 4]]] }), // biome-ignore format: three positions
      feature({ type: 'Polygon', coordinates: [polygon.coordinates] }),
      feature({ type: 'MultiPolygon', coordinates: polygon.coordinates }),
      feature({ type: 'Polygon' }),
      feature({ type: 'Circle' }),
      feature(7),
      7,
      [feature(polygon)],
    ];
    const text = collection([feature(polygon), ...bad, feature(polygon)]);
    expect(await failure(text)).toMatchObject({ code: 'geometry/not-finite', place: { file: 'layer', record: 1 } });
    const { zones, notes } = await readText(text, { onBadRecord: 'skip' });
    expect(zones.names).toEqual(['0', '9']);
    expect(notes).toMatchObject([{ code: 'polygons/bad-records', count: 8, zone: '1' }]);
    for (const one of bad) {
      const error = await failure(collection([feature(polygon), one]));
      expect([error instanceof QuadrilleError, error.place.record]).toEqual([true, 1]);
    }
  });
});
