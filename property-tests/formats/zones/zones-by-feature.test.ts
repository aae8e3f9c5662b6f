import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test as plainTest } from 'vitest';
import { finished } from '../../../formats/bytes/steps.ts';
import { fileInput } from '../../../formats/polygons/file-input.ts';
import { formatOf } from '../../../formats/polygons/layer-format.ts';
import { readWhole } from '../../../formats/polygons/layer-input.ts';
import { readZones } from '../../../formats/polygons/read-zones.ts';
import { parseZones, type ReadZones, type ZoneOptions } from '../../../formats/polygons/zones.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { plainZones } from '../../support/plain-zones.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quadrille-by-feature-'));
});
afterAll(() => rm(folder, { recursive: true }));

const NO_JSON = { code: 'format/json-syntax' };

/** Zones, or the code and the record of the error. */
async function outcome(read: () => ReadZones | Promise<ReadZones>): Promise<object> {
  try {
    const { notes, ...zones } = await read();
    // The first error of records that are left out is told in other words.
    return { ...zones, notes: notes.map((note) => (note.code === 'polygons/bad-records' ? note.count : note)) };
  } catch (error) {
    if (error instanceof SyntaxError) return NO_JSON;
    const { code, place } = error as { code: string; place?: { record?: number } };
    // Coordinates in too few or too many brackets are told at another depth.
    const isBadRecord = code === 'format/malformed-geojson' || code === 'geometry/not-finite';
    return { code: isBadRecord ? 'a bad record' : code, record: place?.record };
  }
}

/**
 * Compares features that are read from a file, and from a text in memory, with those of a text that is parsed as a
 * whole. Returns whether there was no error.
 */
async function compare(bytes: Uint8Array | string, options: ZoneOptions, name = 'zones.json'): Promise<boolean> {
  const file = join(folder, name);
  await writeFile(file, bytes);
  const input = await fileInput(file);
  const format = await finished(formatOf(input));
  if (format.name === 'geojson-lines') return false;
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(await finished(readWhole(input, 2 ** 30)));
  const plain = await outcome(() => plainZones(text, options, file));
  const found = await outcome(() => readZones(file, options));
  // A stream may find another fault before one of the whole text.
  if ('code' in plain && (plain as { record?: number }).record === undefined)
    expect(found).toMatchObject({ code: expect.stringMatching(/^(format|geometry|usage|a bad record)/) });
  else expect(found).toEqual(plain);
  const isText = !('code' in found && found.code === 'format/not-utf8');
  if (isText) expect(await outcome(() => parseZones(text, { ...options, file }))).toEqual(found);
  return 'zones' in found;
}

const space = fc.constantFrom('', '', '', ' ', '\n', '\t ', '\r\n');
const comma = fc.tuple(space, space).map(([before, after]) => `${before},${after}`);
const list = (items: fc.Arbitrary<string>, maxLength: number, minLength = 0): fc.Arbitrary<string> =>
  fc
    .tuple(fc.array(items, { minLength, maxLength }), comma, space)
    .map(([all, between, blank]) => `[${blank}${all.join(between)}${blank}]`);
const object = (members: fc.Arbitrary<readonly (readonly [key: string, value: string])[]>): fc.Arbitrary<string> =>
  fc.tuple(members, space, fc.boolean(), fc.infiniteStream(fc.nat())).map(([all, blank, shuffles, order]) => {
    const sorted = shuffles ? all.map((each) => [order.next().value as number, each] as const) : undefined;
    const own = sorted?.sort(([a], [b]) => a - b).map(([, each]) => each) ?? all;
    return `{${blank}${own.map(([key, value]) => `${blank}"${key}"${blank}:${blank}${value}`).join(`${blank},`)}${blank}}`;
  });

const number = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: -90, max: 90 }).map(String) },
  { weight: 4, arbitrary: fc.double({ min: -180, max: 180, noNaN: true }).map((value) => JSON.stringify(value)) },
  fc.constantFrom(
    '-0',
    '1e2',
    '1E+1',
    '2.50',
    '170',
    '-179.5',
    '500000.25',
    '12345678901234567890',
    '0.1234567890123456789',
  ),
);
const oddNumber = fc.oneof(
  { weight: 60, arbitrary: number },
  fc.constantFrom('null', '"1"', '1e999', '01', '1.', '[]', '{}', 'true'),
);
const position = list(oddNumber, 3, 2);
const ring = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.array(position, { minLength: 2, maxLength: 5 }), comma).map(closed) },
  list(position, 4),
);
function closed([positions, between]: [string[], string]): string {
  return `[${[...positions, positions[0]].join(between)}]`;
}
const polygon = list(ring, 3);
const type = (name: string) => ['type', `"${name}"`] as const;
const plainGeometry = fc.oneof(
  { weight: 6, arbitrary: object(polygon.map((rings) => [type('Polygon'), ['coordinates', rings]] as const)) },
  {
    weight: 3,
    arbitrary: object(list(polygon, 3).map((all) => [type('MultiPolygon'), ['coordinates', all]] as const)),
  },
  object(position.map((point) => [type('Point'), ['coordinates', point]] as const)),
  object(polygon.map((rings) => [type('MultiLineString'), ['coordinates', rings]] as const)),
  object(polygon.map((rings) => [type('MultiPolygon'), ['coordinates', rings]] as const)),
  object(polygon.map((rings) => [type('Polygon'), ['coordinates', rings], ['coordinates', rings]] as const)),
  object(polygon.map((rings) => [type('Polygon'), ['c\\u006fordinates', rings]] as const)),
  fc.constantFrom('null', '{"type":"Circle"}', '{"type":"Polygon"}', '[]', '{"type":"Polygon","coordinates":[0]}'),
);
const geometry = fc.oneof(
  { weight: 6, arbitrary: plainGeometry },
  object(list(plainGeometry, 3).map((all) => [type('GeometryCollection'), ['geometries', all]] as const)),
);
const value = fc.oneof(
  fc.constantFrom(
    '1',
    '"a"',
    '"ä\\"\\\\"',
    'null',
    'true',
    '9007199254740993',
    '[1,{"b":[]}]',
    '{"coordinates":[[[1,2]]]}',
    '"b"',
  ),
  polygon.map((rings) => `{"coordinates":${rings}}`),
);
const properties = fc.oneof(
  {
    weight: 6,
    arbitrary: object(
      fc.tuple(value, value).map(
        ([id, a]) =>
          [
            ['id', id],
            ['a', a],
          ] as const,
      ),
    ),
  },
  fc.constantFrom('null', '{}', '"text"'),
);
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(arbitrary, { maxLength: 1 });
const member = (key: string, values: fc.Arbitrary<string>) => values.map((text) => [key, text] as const);
const feature = fc.oneof(
  {
    weight: 12,
    arbitrary: object(
      fc
        .tuple(
          maybe(member('id', value)),
          fc.tuple(fc.constantFrom('properties', 'properties', 'p\\u0072operties'), properties),
          member('geometry', geometry),
          maybe(member('bbox', polygon)),
        )
        .map(([id, own, shape, more]) => [type('Feature'), ...id, own, shape, ...more] as const),
    ),
  },
  fc.constantFrom('null', '{"type":"Feature"}', '[]', '7', '{"type":"Feature","properties":{"id":5},"geometry":null}'),
);
const crs = fc
  .constantFrom('EPSG:4326', 'urn:ogc:def:crs:EPSG::32631', 'urn:ogc:def:crs:OGC:1.3:CRS84', '')
  .map((name) => `{"type":"name","properties":{"name":"${name}"}}`);
const collection = object(
  fc
    .tuple(
      member('features', list(feature, 4)),
      maybe(member('crs', crs)),
      maybe(member('name', value)),
      maybe(member('crs', crs)),
    )
    .map(
      ([features, first, name, second]) => [type('FeatureCollection'), ...first, features, ...name, ...second] as const,
    ),
);
const text = fc
  .tuple(
    fc.constantFrom('', '', '', '\uFEFF', '\n '),
    fc.oneof({ weight: 8, arbitrary: collection }, feature, geometry),
    space,
  )
  .map((parts) => parts.join(''));

/** Some bytes that are removed at a place, and a text that is put there. */
const change = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  removed: fc.integer({ min: 0, max: 3 }),
  put: fc.constantFrom(
    ...[
      '',
      '',
      ',',
      '[',
      ']',
      '{',
      '}',
      '"',
      '\\',
      '0',
      '-',
      'e',
      ' ',
      '\0',
      '\uFEFF',
      'é',
      'null',
      ':',
      '"features":[]',
    ],
    ...['"coordinates":', '"properties":', '\\u0063', '[[[', ']]]'],
  ),
});
function changed(
  whole: string,
  changes: readonly { readonly at: number; readonly removed: number; readonly put: string }[],
) {
  let bytes = Buffer.from(whole);
  for (const { at, removed, put } of changes) {
    const place = Math.floor(at * bytes.length);
    bytes = Buffer.concat([bytes.subarray(0, place), Buffer.from(put), bytes.subarray(place + removed)]);
  }
  return bytes;
}

const options: fc.Arbitrary<ZoneOptions> = fc.record({
  id: fc.constantFrom(undefined, undefined, 'id', 'missing'),
  crs: fc.constantFrom(undefined, undefined, undefined, 'EPSG:25832', 'OGC:CRS84'),
  layer: fc.constantFrom(undefined, undefined, undefined, undefined, 'a'),
  antimeridian: fc.constantFrom(undefined, undefined, undefined, 'unwrap' as const),
  onBadRecord: fc.constantFrom(undefined, 'skip' as const),
  attributes: fc.constantFrom(undefined, 'all' as const, ['a']),
});

test.prop([text, options], { numRuns: caseCount(2000) })(
  'GeoJSON gives the same zones, notes and errors feature by feature as when it is parsed as a whole',
  async (whole, how) => {
    await compare(whole, how);
  },
);

test.prop([text, fc.array(change, { minLength: 1, maxLength: 3 }), options], { numRuns: caseCount(2000) })(
  'so does damaged GeoJSON',
  async (whole, changes, how) => {
    await compare(changed(whole, changes), how);
  },
);

/** Features with outlines of `vertices` vertices each. */
function outlines(features: number, vertices: number): string {
  const outline = (at: number): string => {
    const angle = (turn: number): number => (2 * Math.PI * (turn % vertices)) / vertices;
    const vertex = (turn: number): string => `[${at + Math.cos(angle(turn))},${Math.sin(angle(turn))}]`;
    return Array.from({ length: vertices + 1 }, (_, turn) => vertex(turn)).join();
  };
  const all = Array.from(
    { length: features },
    (_, at) =>
      `{"type":"Feature","id":${at},"properties":{"name":"n${at % 2}"},"geometry":{"type":"Polygon","coordinates":[[${outline(at % 90)}]]}}`,
  );
  return `{"type":"FeatureCollection","features":[${all.join(',\n')}]}`;
}

plainTest('features are read one by one, of plain and gzipped files, also ones larger than a block', async () => {
  const few = outlines(300, 60);
  expect(await compare(few, {})).toBe(true);
  expect(await compare(few, { id: 'name', attributes: 'all' })).toBe(true);
  expect(await compare(new Uint8Array(gzipSync(few)), {}, 'few.json.gz')).toBe(true);
  const huge = outlines(2, 50_000);
  expect(huge.length).toBeGreaterThan(2 ** 20);
  expect(await compare(huge, {})).toBe(true);
});

const across = (...holes: string[]): string =>
  `{"type":"Feature","geometry":{"type":"Polygon","coordinates":[${['[[170,0],[-170,0],[-170,9],[170,9],[170,0]]', ...holes]}]}}`;

plainTest('a system that is stated after the features, or again, is that of all of them', async () => {
  const [plane, sphere] = ['urn:ogc:def:crs:EPSG::32631', 'OGC:CRS84'].map(
    (name) => `"crs":{"type":"name","properties":{"name":"${name}"}}`,
  ) as [string, string];
  const collectionOf = (...members: string[]): string => `{"type":"FeatureCollection",${members}}`;
  const features = `"features":[${across()}]`;
  expect(await compare(collectionOf(plane, features), {})).toBe(true);
  expect(await compare(collectionOf(features, sphere), {})).toBe(true);
  expect(await compare(collectionOf(features, plane), {})).toBe(true);
  for (const antimeridian of ['as-written', 'unwrap'] as const) {
    expect(await compare(collectionOf(plane, features, sphere), { antimeridian })).toBe(true);
    expect(await compare(collectionOf(sphere, features, plane), { antimeridian })).toBe(true);
  }
});

plainTest('holes follow outer rings across the antimeridian', async () => {
  const hole = '[[-178,2],[-176,2],[-176,4],[-178,4],[-178,2]]';
  const unwrap = { antimeridian: 'unwrap' } as const;
  expect(await compare(`{"type":"FeatureCollection","features":[${across(hole)}]}`, unwrap)).toBe(true);
});

plainTest('a collection needs the memory of its zones, not that of its text', async () => {
  const file = join(folder, 'large.json');
  await writeFile(file, outlines(4000, 60));
  const memoryBytes = 2 ** 23;
  expect((await readZones(file, { memoryBytes })).zones.names).toHaveLength(4000);
});
