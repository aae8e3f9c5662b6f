import { fileURLToPath } from 'node:url';
import { describe, expect } from 'vitest';
import { readZones } from '../../../formats/polygons/read-zones.ts';
import { parseZones } from '../../../formats/polygons/zones.ts';
import { ringsOf } from '../../fixtures/random-zones.ts';
import { test } from '../../law-test.ts';

const counties = fileURLToPath(new URL('../../../examples/counties-10m.json', import.meta.url));

/**
 * A topology of a square and a triangle. The square consists of four arcs, one of which is stored backwards. The
 * triangle shares an arc with the square.
 */
const topology = {
  type: 'Topology',
  arcs: [
    [
      [0, 0],
      [4, 0],
    ],
    [
      [4, 4],
      [4, 0],
    ],
    [
      [4, 4],
      [0, 4],
    ],
    [
      [0, 4],
      [0, 0],
    ],
    [
      [4, 0],
      [8, 2],
      [4, 4],
    ],
  ],
  objects: {
    zones: {
      type: 'GeometryCollection',
      geometries: [
        { type: 'Polygon', id: 'square', arcs: [[0, -2, 2, 3]] },
        { type: 'MultiPolygon', id: 'triangle', arcs: [[[4, 1]]], properties: { name: 'T' } },
        { type: null, id: 'nothing' },
      ],
    },
  },
};
const read = (changes: object = {}, layer?: string) =>
  parseZones(JSON.stringify({ ...topology, ...changes }), { layer, file: 'zones.json' });

describe('TopoJSON', () => {
  test('joins arcs, and reverses arcs with negative numbers', () => {
    const { zones, notes } = read();
    expect(zones.names).toEqual(['square', 'triangle', 'nothing']);
    expect(ringsOf(zones.polygons)).toEqual([
      [
        [
          [0, 0],
          [4, 0],
          [4, 4],
          [0, 4],
        ],
      ],
      [
        [
          [4, 0],
          [8, 2],
          [4, 4],
        ],
      ],
      [],
    ]);
    expect(notes.map((note) => note.code)).toEqual(['zones/no-geometry']);
  });

  test('reads an object that is one polygon as one zone', () => {
    expect(read({ objects: { one: { type: 'Polygon', arcs: [[4, 1]] } } }).zones.names).toEqual(['0']);
  });

  test('requires a layer when there are several, and lists them', () => {
    const objects = { a: topology.objects.zones, b: topology.objects.zones };
    expect(() => read({ objects })).toThrow(
      expect.objectContaining({
        name: 'UsageError',
        code: 'usage/layer-required',
        message: expect.stringContaining('2 layers: "a", "b"'),
      }),
    );
    expect(read({ objects }, 'b').zones.names).toHaveLength(3);
  });

  test.each(['c', '__proto__', 'constructor', ''])('lists the layers when %j is not one', (layer) => {
    expect(() => read({}, layer)).toThrow(
      expect.objectContaining({
        name: 'UsageError',
        code: 'usage/unknown-layer',
        message: expect.stringContaining('one of "zones"'),
      }),
    );
  });

  const polygon = (arcs: unknown) => ({ objects: { a: { type: 'Polygon', arcs } } });
  const malformed: [string, object][] = [
    ['no arcs', { arcs: undefined }],
    ['no objects', { objects: undefined }],
    ['no layer', { objects: {} }],
    ['a layer that is null', { objects: { a: null } }],
    ['a layer without geometries', { objects: { a: { type: 'GeometryCollection' } } }],
    ['a member that is a number', { objects: { a: { type: 'GeometryCollection', geometries: [7] } } }],
    ['a polygon without arcs', polygon(undefined)],
    ['a ring that is a number', polygon([0])],
    ['an arc beyond the last', polygon([[0, 5]])],
    ['an arc before the first', polygon([[-6]])],
    ['an arc far beyond 32 bits', polygon([[2 ** 40]])],
    ['an arc by a fraction', polygon([[0.5]])],
    ['an arc by text', polygon([['0']])],
    ['an arc that is null', { arcs: [null], ...polygon([[0]]) }],
    ['a position of one number', { arcs: [[[0]]], ...polygon([[0]]) }],
    ['a position of text', { arcs: [[['0', '1']]], ...polygon([[0]]) }],
    ['a transform without scale', { transform: { translate: [0, 0] } }],
    ['a transform of text', { transform: { scale: ['1', '1'], translate: [0, 0] } }],
  ];
  test.each(malformed)('with %s is refused', (_, changes) => {
    expect(() => read(changes)).toThrow(
      expect.objectContaining({ name: 'FormatError', code: 'format/malformed-topojson', remedy: expect.any(String) }),
    );
  });

  test('skips and notes lines; with only lines it is refused', () => {
    const line = { type: 'LineString', arcs: [0], id: 'road' };
    const field = { type: 'Polygon', arcs: [[0]], id: 'field' };
    const { zones, notes } = read({ objects: { a: { type: 'GeometryCollection', geometries: [line, field] } } });
    expect(zones.names).toEqual(['field']);
    expect(notes).toContainEqual(expect.objectContaining({ code: 'polygons/other-geometry', count: 1, zone: 'road' }));
    expect(() => read({ objects: { a: line } })).toThrow(expect.objectContaining({ code: 'format/not-polygon' }));
    expect(() => read({ objects: { a: { type: 'Ring', arcs: [0], id: 'lake' } } })).toThrow(
      expect.objectContaining({ code: 'format/unknown-geometry', message: expect.stringContaining('"lake"') }),
    );
  });

  test('with an infinite scale is refused with the feature', () => {
    const text = JSON.stringify({ ...topology, transform: { scale: [7, 1], translate: [0, 0] } }).replace('7', '1e999');
    expect(() => parseZones(text)).toThrow(expect.objectContaining({ code: 'geometry/not-finite' }));
  });

  test('with a ring of too many vertices is refused without delay', () => {
    const arc = Array.from({ length: 10_000 }, (_, i) => [i % 90, 0]);
    const changes = { arcs: [arc], ...polygon([Array(10_000).fill(0)]) };
    expect(() => read(changes)).toThrow(expect.objectContaining({ code: 'capacity/ring-vertices' }));
  });

  test('reads rings without arcs and of empty arcs as empty', () => {
    expect(read({ arcs: [[]], ...polygon([[], [0]]) }).notes).toMatchObject([
      { code: 'zones/empty-rings', count: 2 },
      { code: 'zones/no-geometry' },
    ]);
  });
});

describe('counties-10m.json of us-atlas 3.0.1', () => {
  test('has 3,231 counties of 3,531 rings and 68,279 vertices, closing vertices included', async () => {
    const { zones, notes } = await readZones(counties, { layer: 'counties' });
    expect(zones.names).toHaveLength(3231);
    expect(zones.polygons.ringVertices).toHaveLength(3531 + 1);
    expect(zones.polygons.x.length + 3531).toBe(68_279);
    expect(zones.names.slice(0, 3)).toEqual(['04015', '22105', '16063']);
    expect(zones.crs).toBe('OGC:CRS84');
    expect(notes).toMatchObject([{ code: 'zones/zero-area-rings', zone: '02105', count: 22 }]);
  });

  test.each([
    ['states', 56, 305],
    ['nation', 1, 251],
  ])('has %s: %d zones of %d rings', async (layer, names, rings) => {
    const { zones } = await readZones(counties, { layer });
    expect(zones.names).toHaveLength(names);
    expect(zones.polygons.ringVertices).toHaveLength(rings + 1);
  });

  test('names counties by their property', async () => {
    const { zones, notes } = await readZones(counties, { layer: 'counties', id: 'name' });
    expect(zones.names[0]).toBe('Mohave');
    expect(notes.at(-1)).toMatchObject({ code: 'zones/duplicate-names', count: 444 });
  });
});
