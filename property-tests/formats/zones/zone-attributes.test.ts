import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { AnyHistogram } from '../../../algorithms/zonal/types.ts';
import { readZones } from '../../../formats/polygons/read-zones.ts';
import type { ZoneAttribute } from '../../../formats/polygons/zone-attributes.ts';
import { parseZones } from '../../../formats/polygons/zones.ts';
import { statisticsCsv, zonalCsv } from '../../../formats/results/zonal-csv.ts';
import { statisticsJson, zonalJson } from '../../../formats/results/zonal-json.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { parseCsv } from '../../support/parse-csv.ts';
import { awkwardName, valueAt, withAttributes, zonalHistogram } from '../outputs/arbitrary-zonal-histogram.ts';

const folder = mkdtempSync(join(tmpdir(), 'zone-attributes-'));

/** A value of an attribute as it stands in a file; undefined if the zone lacks it. */
type Value = string | undefined;

const numbers = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value));
const integers = fc.maxSafeInteger().map(String);
const longs = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);
const texts = fc
  .oneof(awkwardName, fc.constantFrom('', 'null', '007', '1e3', ' a '))
  .map((text) => JSON.stringify(text));
const bools = fc.constantFrom('true', 'false');
const nested = fc
  .oneof(fc.array(fc.oneof(fc.nat(9), fc.string())), fc.dictionary(fc.string(), fc.nat(9)))
  .map((value) => JSON.stringify(value));
const anything = fc.oneof(numbers, integers, longs, texts, bools, nested);
const values = fc.constantFrom(numbers, integers, longs, texts, bools, nested, anything);
const names = fc.uniqueArray(
  fc.oneof(awkwardName, fc.constantFrom('__proto__', 'constructor', 'count', '2', '10', 'name')),
  {
    minLength: 1,
    maxLength: 5,
  },
);

/** Attributes by name, each with a value for each zone. */
const tables = fc.tuple(names, fc.integer({ min: 1, max: 40 })).chain(([all, zones]) =>
  fc.tuple(
    ...all.map((name) =>
      values.chain((value) =>
        fc
          .array(fc.option(fc.option(value, { nil: 'null' }), { nil: undefined }), {
            minLength: zones,
            maxLength: zones,
          })
          .map((column): readonly [string, readonly Value[]] => [name, column]),
      ),
    ),
  ),
);
type Table = readonly (readonly [string, readonly Value[]])[];

/** Features with these attributes, the second of which is no polygon and the third broken. */
function featuresOf(table: Table, withOthers: boolean): string[] {
  const feature = (members: string, geometry: string): string =>
    `{"type":"Feature","properties":{${members}},"geometry":${geometry}}`;
  const features = table[0]![1].map((_, zone) =>
    feature(
      table
        .flatMap(([name, column]) => (column[zone] === undefined ? [] : `${JSON.stringify(name)}:${column[zone]}`))
        .join(),
      '{"type":"Polygon","coordinates":[[[0,0],[1,0],[0,1],[0,0]]]}',
    ),
  );
  if (!withOthers) return features;
  const all = table.map(([name]) => `${JSON.stringify(name)}:{"of":"another"}`).join();
  const others = [
    feature(all, '{"type":"Point","coordinates":[0,0]}'),
    feature(all, '{"type":"Polygon","coordinates":[[["x",0],[1,0],[0,1]]]}'),
  ];
  return [features[0]!, ...others, ...features.slice(1)];
}

/** What a column must hold, by its definition, from the texts of the values. */
function expectedOf(column: readonly Value[]): readonly unknown[] {
  const found = column.map((text) => (text === undefined || text === 'null' ? undefined : text));
  const isWhole = (text: string): boolean => /^-?\d+$/.test(text) && text !== '-0';
  const isSafe = (text: string): boolean => isWhole(text) && Number.isSafeInteger(Number(text));
  const is = (test: (text: string) => boolean): boolean => found.every((text) => text === undefined || test(text));
  const isNumber = (text: string): boolean => /^[-\d]/.test(text);
  const plain = (text: string): unknown => (isWhole(text) && !isSafe(text) ? text : JSON.parse(text));
  const given = found.map((text) => (text === undefined ? undefined : plain(text)));
  const isOf = (type: string): boolean => given.every((value) => value === undefined || typeof value === type);
  if (isOf('boolean') || isOf('string')) return given;
  if (is(isWhole)) return found.map((text) => (text === undefined ? undefined : BigInt(text)));
  if (is(isNumber) && isOf('number')) return given;
  return given.map((value) => {
    if (value === undefined || typeof value === 'string') return value;
    return Object.is(value, -0) ? '-0' : typeof value === 'object' ? JSON.stringify(value) : String(value);
  });
}

test.prop([tables, fc.boolean()], { numRuns: caseCount(300) })(
  'attributes are read from every format as they stand in the file, and those of features that are left out are not',
  async (table, withOthers) => {
    const features = featuresOf(table, withOthers);
    const skip = { onBadRecord: 'skip' } as const;
    const collection = `{"type":"FeatureCollection","features":[${features.join()}]}`;
    const all = parseZones(collection, { ...skip, attributes: 'all' });
    const lines = join(folder, 'zones.geojsonl');
    writeFileSync(lines, `${features.join('\n')}\n`);
    expect((await readZones(lines, { ...skip, attributes: 'all' })).attributes).toEqual(all.attributes);
    const has = table.filter(([, column]) => column.some((value) => value !== undefined));
    expect(all.attributes!.map(({ name }) => name).sort()).toEqual(has.map(([name]) => name).sort());
    const named = has.map(([name]) => name).reverse();
    const some = parseZones(collection, { ...skip, attributes: named }).attributes!;
    expect(some.map(({ name }) => name)).toEqual(named);
    for (const { name, column } of [...all.attributes!, ...some]) {
      const expected = expectedOf(table.find(([own]) => own === name)![1]);
      expect(expected.map((_, zone) => valueAt(column, zone))).toEqual(expected);
    }
    const lacking = table.find(([, column]) => column.every((value) => value === undefined));
    if (lacking === undefined) return;
    expect(() => parseZones(collection, { ...skip, attributes: [lacking[0]] })).toThrow(
      expect.objectContaining({ code: 'format/missing-property' }),
    );
  },
);

test('attributes of a topology are those of its geometries', () => {
  const geometry = (properties: object): object => ({ type: 'Polygon', arcs: [[0]], properties });
  const text = JSON.stringify({
    type: 'Topology',
    arcs: [
      [
        [0, 0],
        [1, 0],
        [0, 1],
        [0, 0],
      ],
    ],
    objects: { only: { type: 'GeometryCollection', geometries: [geometry({ a: 1 }), geometry({ b: 'x' })] } },
  });
  const { attributes } = parseZones(text, { attributes: ['b', 'a'] });
  expect(attributes!.map(({ name, column }) => [name, valueAt(column, 0), valueAt(column, 1)])).toEqual([
    ['b', undefined, 'x'],
    ['a', 1n, undefined],
  ]);
});

test('values of several kinds, lists and objects are noted, and attributes beyond the memory refused', () => {
  const zones = (properties: readonly string[]): string =>
    `{"type":"FeatureCollection","features":[${properties.map((own) => `{"type":"Feature","properties":${own},"geometry":null}`).join()}]}`;
  const { notes } = parseZones(zones(['{"a":1,"b":[1],"c":2}', '{"a":"x","c":2.5}']), { attributes: 'all' });
  expect(notes).toContainEqual(expect.objectContaining({ code: 'zones/attributes-as-text', count: 2 }));
  expect(notes.map(({ message }) => message).join()).toContain('given as text: "a", "b".');
  const many = zones(Array.from({ length: 2000 }, (_, zone) => `{"a${zone}":1}`));
  expect(() => parseZones(many, { attributes: 'all', memoryBytes: 4e7 })).toThrow(
    expect.objectContaining({ code: 'memory/limit' }),
  );
  const deep = zones([`{"a":${'['.repeat(20000)}${']'.repeat(20000)}}`]);
  expect(() => parseZones(deep, { attributes: ['a'] })).toThrow(
    expect.objectContaining({ code: 'format/bad-property' }),
  );
});

test.prop([withAttributes], { numRuns: caseCount(200) })(
  'CSV and JSON give the attributes of each zone back, and all else as without them',
  ({ histogram, attributes }) => {
    const names = attributes.map(({ name }) => name);
    const valuesOf = (zone: number): unknown[] => attributes.map(({ column }) => valueAt(column, zone));
    const field = (value: unknown): string =>
      value === undefined ? '' : Object.is(value, -0) ? '-0.0' : String(value);
    const zones = { zone: histogram.bins.zone };
    for (const [write, zoneOfRow] of [[statisticsCsv, (row: number) => row] as const, [zonalCsv, undefined] as const]) {
      const [header, ...rows] = parseCsv([...write(histogram, { attributes, raster: 'r' })].join(''));
      const [plainHeader, ...plain] = parseCsv([...write(histogram, { raster: 'r' })].join(''));
      const without = (row: readonly string[]): string[] => row.filter((_, at) => at < 2 || at >= 2 + names.length);
      expect([header!.slice(2, 2 + names.length), without(header!)]).toEqual([names, plainHeader]);
      expect(rows.map(without)).toEqual(plain);
      for (const [row, all] of rows.entries()) {
        const zone =
          zoneOfRow?.(row) ?? histogram.names.findIndex((name, at) => name === all[1] && [...zones.zone].includes(at));
        if (histogram.names.filter((name) => name === all[1]).length > 1 && zoneOfRow === undefined) continue;
        const own = zone === -1 ? histogram.names.indexOf(all[1]!) : zone;
        expect(all.slice(2, 2 + names.length)).toEqual(valuesOf(own).map(field));
      }
    }
    const jsonOf = (value: unknown): unknown => {
      if (value === undefined) return null;
      if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
      return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
    };
    const json = statisticsJson(attributes);
    const list = JSON.parse([...json.rows([histogram]), ...json.end()].join('')) as Record<string, unknown>[];
    expect(list.map((zone) => names.map((name) => zone[name]))).toEqual(
      list.map((_, zone) => valuesOf(zone).map(jsonOf)),
    );
    const run = { zones: 'z', raster: 'r', backend: 'b', notes: [], attributes };
    const whole = JSON.parse([...zonalJson(histogram, run)].join('')) as { zones: { attributes: object }[] };
    expect(whole.zones.map((zone) => Object.values(zone.attributes))).toEqual(
      whole.zones.map((_, zone) => valuesOf(zone).map(jsonOf)),
    );
  },
);

test('an empty text is told from no text in CSV', () => {
  const geometry = '{"type":"Polygon","coordinates":[[[0,0],[1,0],[0,1],[0,0]]]}';
  const features = ['{"a":""}', '{"a":null}', '{}'].map(
    (own) => `{"type":"Feature","properties":${own},"geometry":${geometry}}`,
  );
  const text = `{"type":"FeatureCollection","features":[${features.join()}]}`;
  const { zones, attributes } = parseZones(text, { attributes: ['a'] });
  const counts = new BigUint64Array(3);
  const none = {
    zone: new Uint32Array(),
    lower: new Float64Array(),
    upper: new Float64Array(),
    count: new BigUint64Array(),
  };
  const histogram: AnyHistogram = {
    ...{ names: zones.names, binning: { kind: 'none' }, sample: 'u8', bins: none, gridStep: [1, 1], notes: [] },
    ...{ cells: counts, nodata: counts, below: counts, above: counts, statistics: { cells: counts } },
  };
  expect([...statisticsCsv(histogram, { attributes })].join('')).toBe('zone,a,cells\n0,"",0\n1,,0\n2,,0\n');
});

test.prop([zonalHistogram], { numRuns: 20 })('attributes that are no column of the table are refused', (histogram) => {
  const zones = histogram.names.length;
  const column = { type: 'f64', values: new Float64Array(zones) } as const;
  const refused = expect.objectContaining({ code: 'zonal/attributes' });
  const write = (attributes: readonly ZoneAttribute[]): string =>
    [...statisticsCsv(histogram, { attributes })].join('');
  expect(() => write([{ name: 'mean', column }])).toThrow(refused);
  expect(() =>
    write([
      { name: 'a', column },
      { name: 'a', column },
    ]),
  ).toThrow(refused);
  expect(() => write([{ name: 'a', column: { type: 'f64', values: new Float64Array(zones + 1) } }])).toThrow(refused);
  expect(() => [...zonalCsv(histogram, { attributes: [{ name: 'lower', column }] })]).toThrow(refused);
});
