import { describe, expect } from 'vitest';
import { emptyLayer, endPolygon, takePolygons } from '../../../formats/polygons/layer-columns.ts';
import { readWkb } from '../../../formats/polygons/wkb.ts';
import { QuadrilleError } from '../../../primitives/checks/errors.ts';
import { ringsOf } from '../../fixtures/random-zones.ts';
import { fc, test } from '../../law-test.ts';
import { wkbBytes, wkbOf, wkbStyles } from '../../support/binary-layers-support.ts';
import { features, openRings } from '../../support/polygon-layers-support.ts';

/** Reads a geometry, and the numbers of coordinate systems that it states. */
function read(bytes: Uint8Array, id?: string) {
  const columns = emptyLayer();
  const srids: number[] = [];
  columns.names.push('a');
  // A geometry may begin anywhere within other bytes.
  const around = new Uint8Array(bytes.length + 5).fill(9);
  around.set(bytes, 3);
  const found = readWkb(
    columns,
    new DataView(around.buffer, 3, bytes.length),
    { file: 'layer', index: 4, id },
    (srid) => srids.push(srid),
  );
  endPolygon(columns);
  const { polygons } = takePolygons(columns);
  return { found, srids, rings: ringsOf(polygons)[0]!, ringParts: [...polygons.ringParts!] };
}
const thrown = (bytes: Uint8Array, id?: string): QuadrilleError => {
  try {
    read(bytes, id);
  } catch (error) {
    return error as QuadrilleError;
  }
  throw new Error('The geometry was read.');
};

const ring = [[0, 0], [9, 0], [9, 4.5], [0, 0]] as const; // biome-ignore format: four positions

describe('well-known binary', () => {
  test.prop([features, wkbStyles])('has the rings that were written, in any style', ([feature], style) => {
    const { parts } = feature!;
    const { found, rings, ringParts, srids } = read(wkbOf(parts, style));
    expect(rings).toEqual(openRings([feature!])[0]);
    expect(ringParts).toEqual(parts.flatMap((part, at) => part.map(() => at)));
    expect([found, srids]).toEqual([{ polygons: 1, others: 0 }, []]);
  });

  test.prop([features, wkbStyles])('is refused where it is cut off, or goes on', ([feature], style) => {
    const bytes = wkbOf(feature!.parts, style);
    for (let length = 0; length < bytes.length; length += 1 + (length >> 3)) {
      expect(thrown(bytes.subarray(0, length))).toMatchObject({ code: 'format/malformed-wkb', place: { record: 4 } });
    }
    const error = thrown(Uint8Array.of(...bytes, 0));
    expect([error.code, error.got]).toEqual(['format/malformed-wkb', '1 bytes behind the geometry']);
  });

  test.prop([fc.nat(2 ** 31 - 1), features, wkbStyles])('states a coordinate system once', (srid, [feature], style) => {
    const { srids, rings } = read(wkbOf(feature!.parts, { ...style, flags: true, srid }));
    expect([srids, rings]).toEqual([[srid], openRings([feature!])[0]]);
  });

  test('has polygons in collections of collections, each in its own order of bytes', () => {
    const nested = wkbBytes(
      (to) => {
        to.head(7, 3);
        to.head(1);
        to.position(1, 2);
        to.head(7, 2);
        to.head(3, 1);
        to.count(4);
        for (const [x, y] of ring) to.position(x, y);
        to.head(2, 1);
        to.position(3, 4);
        to.head(6, 0);
      },
      { little: [true, false] },
    );
    expect(read(nested)).toMatchObject({ found: { polygons: 2, others: 2 }, rings: [[[0, 0], [9, 0], [9, 4.5]]] }); // biome-ignore format: three positions
  });

  test('may be nested deeply', () => {
    const deep = wkbBytes((to) => {
      for (let depth = 0; depth < 50_000; depth++) to.head(7, 1);
      to.head(3, 0);
    });
    expect(read(deep).found).toEqual({ polygons: 1, others: 0 });
  });

  test.each([
    [10, 'a CURVEPOLYGON, with arcs', 'CONVERT_TO_LINEAR'],
    [15, 'a POLYHEDRALSURFACE', 'MULTIPOLYGON'],
    [16, 'a TIN', 'MULTIPOLYGON'],
    [17, 'a TRIANGLE', 'MULTIPOLYGON'],
  ])('of type %i is refused by the name of the feature', (type, got, remedy) => {
    for (const outer of [[], [7], ...(type === 10 ? [[12]] : [])]) {
      const bytes = wkbBytes(
        (to) => {
          for (const of of outer) to.head(of, 1);
          to.head(type, 0);
        },
        { z: true },
      );
      const error = thrown(bytes, 'Ries');
      expect(error).toMatchObject({ code: 'format/curved-geometry', got });
      expect(error.message).toContain('feature 4 ("Ries")');
      expect(error.remedy).toContain(remedy);
    }
  });

  test('with lines, with or without arcs, has no polygons', () => {
    const bytes = wkbBytes((to) => {
      to.head(7, 3);
      to.head(8, 1);
      to.position(0, 1);
      to.head(9, 1);
      to.head(8, 1);
      to.position(0, 1);
      to.head(11, 1);
      to.head(9, 0);
    });
    expect(read(bytes).found.polygons).toBe(0);
  });

  test.each([
    [Number.NaN, Number.NaN, undefined],
    [Number.NaN, 1, 'a point at (NaN, 1)'],
    [1, Number.NaN, 'a point at (1, NaN)'],
  ])('may have an empty point, but no half of one: %s, %s', (x, y, got) => {
    const bytes = wkbBytes((to) => {
      to.head(1);
      to.position(x, y);
    });
    if (got === undefined) expect(read(bytes).found).toEqual({ polygons: 0, others: 1 });
    else expect(thrown(bytes)).toMatchObject({ code: 'format/malformed-wkb', got });
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY])('has no vertex at %s', (x) => {
    const bytes = wkbOf([[[...ring, [x, 1], [0, 0]]]]);
    expect(thrown(bytes)).toMatchObject({ code: 'geometry/not-finite', place: { record: 4 } });
  });

  // A count of rings, of vertices, of members: of things that are not there.
  test.each([3, 2, 8, 6, 7, 4])('of type %i cannot state more than its bytes hold', (type) => {
    const before = process.memoryUsage().arrayBuffers;
    const bytes = wkbBytes((to) => to.head(type, 0xffffffff));
    expect(thrown(bytes).code).toBe('format/malformed-wkb');
    const vertices = wkbBytes((to) => {
      to.head(3, 1);
      to.count(0x7fffffff);
    });
    expect(thrown(vertices).code).toBe('format/malformed-wkb');
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10e6);
  });

  test.each([
    [Uint8Array.of(2, 3, 0, 0, 0, 0, 0, 0, 0), 'the order of bytes 2'],
    [wkbBytes((to) => to.head(13, 0)), 'a geometry of type 13'],
    [wkbBytes((to) => to.head(4003, 0)), 'a geometry of type 4003'],
    [
      wkbBytes((to) => {
        to.head(6, 1);
        to.head(1);
        to.position(0, 0);
      }),
      'type 1 in a geometry of type 6',
    ],
  ])('of no known kind is damaged', (bytes, got) => {
    expect(thrown(bytes)).toMatchObject({ code: 'format/malformed-wkb', got });
  });

  test.prop([fc.uint8Array({ maxLength: 80 })])('of any bytes is read, or refused with a code', (bytes) => {
    try {
      expect(read(bytes).rings.flat().length).toBeLessThanOrEqual(bytes.length / 16);
    } catch (error) {
      if (!(error instanceof QuadrilleError)) throw error;
      expect(error.code).toMatch(/^(format|geometry)\//);
    }
  });
});
