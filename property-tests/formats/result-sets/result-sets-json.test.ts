import { describe, expect } from 'vitest';
import { elementsOf, membersOf } from '../../../formats/result-sets/json-spans.ts';
import type { PolygonTile } from '../../../formats/result-sets/result-set.ts';
import { fc, test } from '../../law-test.ts';
import { features, featuresOf, flatGeobufOf } from '../../support/polygon-layers-support.ts';
import { noted, polygons, read, type Vertex, type WrittenPolygon, written } from '../../support/result-sets-support.ts';

const closed = (ring: readonly Vertex[]) => [...ring, ring[0]!];
// Replaces −0 by 0, as JSON.stringify does.
const positiveZero = (list: readonly WrittenPolygon[]): WrittenPolygon[] =>
  list.map(({ id, rings }) => ({ id, rings: rings.map((ring) => ring.map(([x, y]): Vertex => [x + 0, y + 0])) }));

const square = [[0, 0], [1, 0], [1, 1], [0, 0]]; // biome-ignore format: four positions
const feature = (geometry: unknown, more: object = {}) => ({ type: 'Feature', geometry, ...more });
const polygon = { type: 'Polygon', coordinates: [square] };

/** A topology with an arc for every ring. */
function topologyOf(all: readonly { readonly [member: string]: unknown }[]): string {
  const arcs: unknown[] = [];
  const arcsOf = (polygon: readonly unknown[]) => polygon.map((ring) => [arcs.push(ring) - 1]);
  const geometries = all.map(({ id, properties, geometry }) => {
    const { type, coordinates } = geometry as { type: string; coordinates: unknown[][] };
    const own = type === 'Polygon' ? arcsOf(coordinates) : coordinates.map(arcsOf);
    return { type, id, properties, arcs: own };
  });
  return JSON.stringify({ type: 'Topology', arcs, objects: { all: { type: 'GeometryCollection', geometries } } });
}

describe('layers of a tile', () => {
  test.prop([features])('have the same polygons in every format', (list) => {
    const all = featuresOf(list).map((each, id) => ({ ...each, id: `f${id}` }));
    const collection = JSON.stringify({ type: 'FeatureCollection', features: all });
    const named = { idColumn: 'name' };
    const expected = read('geojson', collection, named);
    expect(read('geojson-lines', all.map((each) => JSON.stringify(each)).join('\n'), named)).toEqual(expected);
    expect(read('flatgeobuf', flatGeobufOf(list), named)).toEqual(expected);
    const topology = topologyOf(all);
    expect(read('topojson', topology, named)).toEqual(expected);
    expect(read('topojson', topology)).toEqual(read('geojson', collection));
  });
});

describe('GeoJSON of a tile', () => {
  test.prop([
    polygons.map(positiveZero),
    fc.constantFrom('Polygon', 'MultiPolygon', 'GeometryCollection'),
    fc.boolean(),
  ])('is read as written, as a feature collection or an array of features', (list, type, bare) => {
    const features = list.map(({ id, rings }) => {
      const parts = rings.map((ring) => [closed(ring)]);
      if (type === 'Polygon') return feature({ type, coordinates: parts.flat() }, { id });
      if (type === 'MultiPolygon') return feature({ type, coordinates: parts }, { properties: { id } });
      return feature({ type, geometries: parts.map((coordinates) => ({ type: 'Polygon', coordinates })) }, { id });
    });
    const tile = read('geojson', JSON.stringify(bare ? features : { type: 'FeatureCollection', features }));
    expect(written(tile)).toEqual(list);
  });

  test('is named by id, by a property, or by position', () => {
    const features = [
      feature(polygon, { id: 'PathDetectionObject', properties: { name: 'n' } }),
      feature(polygon, { id: 'PathAnnotationObject', properties: { id: 'inner', name: 'n' } }),
      feature(polygon, { id: 7, properties: { name: 'n' } }),
    ];
    expect(written(read('geojson', JSON.stringify(features))).map(({ id }) => id)).toEqual(['0', 'inner', '7']);
    const named = read('geojson', JSON.stringify(features), { idColumn: 'name' });
    expect(written(named).map(({ id }) => id)).toEqual(['n', 'n', 'n']);
    expect(noted(named)).toEqual({ 'polygons/duplicate-ids': 2 });
    expect(() => read('geojson', JSON.stringify(features), { idColumn: 'x' })).toThrow(
      expect.objectContaining({ code: 'format/missing-property', place: { file: 'tile', record: 0 } }),
    );
  });

  const incomplete = fc.constantFrom(
    null,
    { type: 'Feature', properties: { name: 'x' } },
    feature(polygon, { properties: { name: null } }),
  );
  test.prop([fc.array(fc.oneof(incomplete, fc.constant('complete' as const))), fc.boolean()])(
    'is read without its incomplete features, which are noted',
    (list, bare) => {
      const features = list.map((kind, index) =>
        kind === 'complete' ? feature(polygon, { properties: { name: `n${index}` } }) : kind,
      );
      const tile = read('geojson', JSON.stringify(bare ? features : { type: 'FeatureCollection', features }), {
        idColumn: 'name',
      });
      const left = list.flatMap((kind, index) => (kind === 'complete' ? [] : [index]));
      expect(written(tile).map(({ id }) => id)).toEqual(
        list.flatMap((kind, index) => (kind === 'complete' ? [`n${index}`] : [])),
      );
      const noted = tile.notes.find(({ code }) => code === 'polygons/incomplete-records');
      expect([noted?.count ?? 0, noted?.zone]).toEqual([left.length, left.length === 0 ? undefined : String(left[0])]);
    },
  );

  test('says what its first incomplete feature lacks', () => {
    const text = JSON.stringify([feature(polygon), { type: 'Feature' }, null, feature(polygon)]);
    const tile = read('geojson', text);
    expect(written(tile).map(({ id }) => id)).toEqual(['0', '3']);
    expect(tile.notes).toEqual([
      {
        code: 'polygons/incomplete-records',
        message:
          '2 records are null or lack their geometry or their name, and were left out: "1", "2". ' +
          'tile, record 1: There is no "geometry" in feature 1.',
        zone: '1',
        count: 2,
      },
    ]);
  });

  test('may have no polygons', () => {
    const tile = read('geojson', JSON.stringify([feature({ type: 'Point', coordinates: [0, 0] })]));
    expect([written(tile), noted(tile)]).toEqual([[], { 'polygons/other-geometry': 1 }]);
  });

  test('skips and notes geometries that are not polygons, and notes oddities', () => {
    const point = { type: 'Point', coordinates: [0, 0] };
    const features = [
      feature(point),
      feature(polygon),
      feature({ type: 'GeometryCollection', geometries: [point, polygon] }),
      feature(null),
      feature({ type: 'Polygon', coordinates: [square.slice(0, 3), [[0, 0]]] }),
    ];
    const tile = read('geojson', JSON.stringify({ type: 'FeatureCollection', features }));
    expect(written(tile).map(({ id, rings }) => [id, rings.length])).toEqual([
      ['1', 1],
      ['2', 1],
      ['4', 1],
    ]);
    expect(noted(tile)).toEqual({
      'polygons/other-geometry': 2,
      'polygons/empty-geometry': 1,
      'polygons/unclosed-rings': 1,
      'polygons/short-rings': 1,
    });
  });

  test.each([
    ['{"type": "Feature", "geometry": 3}', 'format/unknown-geometry', 0],
    ['[{"type": "Polygon"}]', 'format/malformed-geojson', 0],
    ['{"type": "Topology"}', 'format/not-zones', undefined],
    ['7', 'format/not-zones', undefined],
    [
      JSON.stringify([feature(polygon), feature({ type: 'Polygon', coordinates: [[[0, '1']]] })]),
      'geometry/not-finite',
      1,
    ],
    [JSON.stringify([feature({ type: 'Polygon', coordinates: [7] })]), 'geometry/not-finite', 0],
  ])('%j is an error', (text, code, record) => {
    expect(() => read('geojson', text)).toThrow(
      expect.objectContaining({
        code,
        place: expect.toSatisfy((place) => place.file === 'tile' && place.record === record),
      }),
    );
  });

  test('that is not JSON is an error with line and column', () => {
    expect(() => read('geojson', '[\n{"type" "Feature"}]')).toThrow(
      expect.objectContaining({ code: 'format/json-syntax', place: { file: 'tile', line: 2, column: 9, record: 0 } }),
    );
    expect(() => read('geojson', Uint8Array.of(0x22, 0xff, 0x22))).toThrow(
      expect.objectContaining({ code: 'format/not-utf8' }),
    );
  });
});

describe('COCO polygons', () => {
  test.prop([polygons.map(positiveZero)])('are read as written', (list) => {
    const annotations = list.map(({ id, rings }) => ({ id, segmentation: rings.map((ring) => ring.flat()) }));
    expect(written(read('coco', JSON.stringify({ annotations })))).toEqual(list);
    expect(written(read('coco', JSON.stringify(annotations)))).toEqual(list);
  });

  test('of crowds and without polygons are noted', () => {
    const tile = read(
      'coco',
      JSON.stringify([{ bbox: [0, 0, 1, 1] }, { segmentation: [[0, 0, 1, 0, 1, 1]], iscrowd: 1 }]),
    );
    expect(written(tile).map(({ id }) => id)).toEqual(['1']);
    expect(noted(tile)).toEqual({ 'polygons/other-geometry': 1, 'polygons/crowd': 1 });
  });
});

describe('parts of polygons', () => {
  const ring = [
    [0, 0],
    [4, 0],
    [4, 3],
  ];
  const [open, closed] = [ring, [...ring, ring[0]!]];
  const text = (rings: number) => `(${Array.from({ length: rings }, () => '(0 0, 4 0, 4 3, 0 0)').join(', ')})`;
  const oneIn = (of: readonly number[]) => (of.length === 1 ? 'Polygon' : 'MultiPolygon');

  // Generates, for each part of each polygon, its number of rings.
  test.prop([fc.array(fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 4 }), { maxLength: 5 })])(
    'are recorded for every ring, in all formats that have parts',
    (polygons) => {
      const expected = polygons.flatMap((parts) => parts.flatMap((rings, part) => new Array<number>(rings).fill(part)));
      const partsOf = (tile: PolygonTile): number[] | undefined => {
        const { ringParts } = tile.polygons;
        return ringParts && [...ringParts];
      };
      const expectedParts = polygons.some(({ length }) => length > 1) ? expected : undefined;
      const coordinates = polygons.map((parts) => parts.map((rings) => new Array(rings).fill(closed)));
      const features = polygons.map((parts, i) => ({
        type: 'Feature',
        geometry: { type: oneIn(parts), coordinates: parts.length === 1 ? coordinates[i]![0] : coordinates[i] },
      }));
      expect(partsOf(read('geojson', JSON.stringify(features)))).toEqual(expectedParts);
      const collected = coordinates.map((parts) => ({
        type: 'Feature',
        geometry: {
          type: 'GeometryCollection',
          geometries: parts.map((rings) => ({ type: 'Polygon', coordinates: rings })),
        },
      }));
      expect(partsOf(read('geojson', JSON.stringify(collected)))).toEqual(expectedParts);
      const lines = polygons.map((parts) => `MULTIPOLYGON (${parts.map(text).join(', ')})`);
      expect(partsOf(read('wkt', lines.join('\n')))).toEqual(expectedParts);
      expect(partsOf(read('csv', `wkt\n${lines.map((line) => `"${line}"`).join('\n')}\n`))).toEqual(expectedParts);
      // In COCO files, every ring is a part of its own.
      const segmentations = polygons.map((parts) => ({ segmentation: parts.map(() => open.flat()) }));
      const ofRings = polygons.flatMap((parts) => [...parts.keys()]);
      expect(partsOf(read('coco', JSON.stringify(segmentations)))).toEqual(expectedParts && ofRings);
    },
  );

  test('without rings are dropped', () => {
    const short = '((0 0, 1 1, 0 0))';
    const lines = [`MULTIPOLYGON (${text(1)}, ${short})`, `MULTIPOLYGON (${short}, ${text(2)}, ${short}, ${text(1)})`];
    expect([...read('wkt', `${lines.join('\n')}\n${lines[1]}`).polygons.ringParts!]).toEqual([0, 0, 0, 1, 0, 0, 1]);
    expect(read('wkt', lines[0]!).polygons.ringParts).toBeUndefined();
    const others = [
      { segmentation: [open.flat(), [0, 0, 1, 1], open.flat()] },
      { segmentation: { size: [2, 2], counts: [0, 1, 2, 1] } },
    ];
    expect([...read('coco', JSON.stringify(others)).polygons.ringParts!]).toEqual([0, 1, 0, 0]);
  });
});

describe('JSON spans', () => {
  test.prop([fc.array(fc.jsonValue()), fc.constantFrom(undefined, 1, '\t')])(
    'of an array are those of its elements',
    (list, indent) => {
      const bytes = new TextEncoder().encode(JSON.stringify(list, null, indent));
      const texts = [...elementsOf(bytes, 0)].map(({ start, end }) =>
        new TextDecoder().decode(bytes.subarray(start, end)),
      );
      expect(texts.map((text) => JSON.parse(text))).toEqual(list.map((value) => JSON.parse(JSON.stringify(value))));
    },
  );

  test.prop([fc.dictionary(fc.stringMatching(/^[a-z ]*$/), fc.jsonValue())])(
    'of an object are those of its members',
    (object) => {
      const text = JSON.stringify(object);
      const bytes = new TextEncoder().encode(text);
      const entries = [...membersOf(bytes, 0)].map(({ key, start, end }) => [
        key,
        JSON.parse(new TextDecoder().decode(bytes.subarray(start, end))),
      ]);
      expect(entries).toEqual(Object.entries(JSON.parse(text)));
    },
  );

  test.prop([fc.uint8Array()])('terminate for any bytes', (bytes) => {
    for (const spans of [elementsOf(bytes, 0), membersOf(bytes, 0)]) {
      for (const { start, end } of spans) expect(end).toBeGreaterThanOrEqual(start);
    }
  });
});
