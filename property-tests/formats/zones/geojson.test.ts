import { describe, expect } from 'vitest';
import { parseZones } from '../../../formats/polygons/zones.ts';
import { feature, type Parts, parts, ringsOf } from '../../fixtures/random-zones.ts';
import { fc, test } from '../../law-test.ts';

const read = (root: unknown) => parseZones(JSON.stringify(root), { file: 'zones.json' });
const square = [
  [
    [0, 0],
    [1, 0],
    [1, 1],
    [0, 1],
    [0, 0],
  ],
];
const polygon = { type: 'Polygon', coordinates: square };
const multi = (coordinates: Parts) => ({ type: 'MultiPolygon', coordinates });

describe('GeoJSON', () => {
  test.prop([parts])('is one zone when it is a feature or a bare geometry', (coordinates) => {
    const alone = read(multi(coordinates));
    expect(read(feature(multi(coordinates)))).toEqual(alone);
    expect(read({ type: 'FeatureCollection', features: [feature(multi(coordinates))] })).toEqual(alone);
    expect(alone.zones.names).toEqual(['0']);
  });

  test.prop([parts])('treats a collection of polygons, nested or not, like a multipolygon', (coordinates) => {
    const polygons = coordinates.map((rings) => ({ type: 'Polygon', coordinates: rings }));
    const collection = (geometries: object[]) => ({ type: 'GeometryCollection', geometries });
    const expected = ringsOf(read(multi(coordinates)).zones.polygons);
    expect(ringsOf(read(collection(polygons)).zones.polygons)).toEqual(expected);
    expect(ringsOf(read(collection(polygons.map((one) => collection([one])))).zones.polygons)).toEqual(expected);
  });

  test('can have elevations, which are ignored', () => {
    const raised = { type: 'Polygon', coordinates: [square[0]!.map(([x, y]) => [x, y, 99])] };
    expect(read(raised)).toEqual(read(polygon));
  });

  test('can be an empty collection', () => {
    expect(read({ type: 'FeatureCollection', features: [] })).toMatchObject({
      zones: { names: [] },
      notes: [{ code: 'zones/none' }],
    });
  });

  test('can nest collections deeper than the call stack', () => {
    const depth = 100_000;
    const text = `${'{"type":"GeometryCollection","geometries":['.repeat(depth)}${JSON.stringify(polygon)}${']}'.repeat(depth)}`;
    expect(parseZones(text).zones.polygons.x).toHaveLength(4);
  });

  test('can hold a multipolygon of more parts than a call has arguments', () => {
    const { zones } = read(
      multi(
        Array(200_000).fill([
          [
            [0, 0],
            [1, 0],
            [0, 1],
            [0, 0],
          ],
        ]),
      ),
    );
    expect(zones.polygons.polygonRings[1]).toBe(200_000);
  });

  const point = { type: 'Point', coordinates: [0, 0] };
  const line = { type: 'MultiLineString', coordinates: square };
  test('can have points and lines among its zones, which are skipped and noted', () => {
    const features = [
      feature(point),
      feature(polygon, { id: 'field' }),
      feature({ type: 'GeometryCollection', geometries: [line, polygon, point] }, { id: 'park' }),
      feature({ type: 'GeometryCollection', geometries: [line, point] }, { id: 'roads' }),
      feature(polygon),
    ];
    const { zones, notes } = read({ type: 'FeatureCollection', features });
    expect(zones.names).toEqual(['field', 'park', '4']);
    expect([...zones.polygons.polygonRings]).toEqual([0, 1, 2, 3]);
    expect(notes).toContainEqual(
      expect.objectContaining({ code: 'polygons/other-geometry', count: 3, zone: '0', message: expect.any(String) }),
    );
  });

  test('of only points and lines is refused', () => {
    expect(() => read({ type: 'FeatureCollection', features: [feature(point), feature(line)] })).toThrow(
      expect.objectContaining({ code: 'format/not-polygon', got: '2 geometries of other kinds' }),
    );
  });

  const unknown: [string, unknown][] = [
    ['Circle', { type: 'Circle' }],
    ['toString', { type: 'toString' }],
    ['Feature', { type: 'Feature' }],
    ['without a type', {}],
    ['without a type', 'Polygon'],
    ['without a type', [polygon]],
  ];
  test.each(unknown)('with an unknown geometry type is refused with the feature: %s', (name, geometry) => {
    const features = [feature(polygon), feature(geometry, { id: 'lake' })];
    expect(() => read({ type: 'FeatureCollection', features })).toThrow(
      expect.objectContaining({
        name: 'FormatError',
        code: 'format/unknown-geometry',
        message: expect.stringMatching(new RegExp(`feature 1 \\("lake"\\).*${name}`)),
        place: { file: 'zones.json', record: 1 },
      }),
    );
  });

  const malformed: [string, unknown][] = [
    ['no features', { type: 'FeatureCollection' }],
    ['a feature that is a geometry', { type: 'FeatureCollection', features: [polygon] }],
    ['a feature that is a number', { type: 'FeatureCollection', features: [7] }],
    ['a polygon without coordinates', { type: 'Polygon' }],
    ['a multipolygon of numbers', { type: 'MultiPolygon', coordinates: [1] }],
    ['a collection without geometries', { type: 'GeometryCollection' }],
  ];
  test.each(malformed)('with %s is refused', (_, root) => {
    expect(() => read(root)).toThrow(expect.objectContaining({ code: 'format/malformed-geojson' }));
  });

  const coordinates: [string, string][] = [
    ['infinite', '1e999'],
    ['infinite', '-1e999'],
    ['text', '"1"'],
    ['null', 'null'],
    ['an array', '[1]'],
  ];
  test.each(coordinates)('with a coordinate that is %s is refused with the feature', (_, value) => {
    const good = JSON.stringify(feature(polygon));
    const text = `{"type":"FeatureCollection","features":[${good},${good.replace('[1,1]', `[1,${value}]`)}]}`;
    expect(() => parseZones(text)).toThrow(
      expect.objectContaining({
        name: 'GeometryError',
        code: 'geometry/not-finite',
        place: { file: 'zones', record: 1 },
      }),
    );
  });

  test.prop([fc.constantFrom(7, 'x', null, {}, [[]], [7], [null], [['x']], [[[1]]])])(
    'with invalid rings is refused or has empty rings',
    (rings) => {
      let codes: string[];
      try {
        codes = read({ type: 'Polygon', coordinates: rings }).notes.map((note) => note.code);
      } catch (error) {
        codes = [(error as { code: string }).code];
      }
      expect(['geometry/not-finite', 'format/malformed-geojson', 'zones/empty-rings']).toContain(codes[0]);
    },
  );
});
