import { describe, expect } from 'vitest';
import { comeRound, turnedInto, WORLD } from '../../../algorithms/quadrants/index.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { type Rings, zonesOf } from '../../support/zonal-support.ts';

/** Whether a point is inside by the even-odd rule. No edge may touch the point. */
function holds(rings: Rings, px: number, py: number): boolean {
  const crossed = rings.flatMap((ring) =>
    ring.filter(([x1, y1], i) => {
      const [x0, y0] = ring[(i + ring.length - 1) % ring.length]!;
      return y0 < py !== y1 < py && x0 + ((py - y0) / (y1 - y0)) * (x1 - x0) < px;
    }),
  );
  return crossed.length % 2 === 1;
}

const vertex = fc.tuple(fc.integer({ min: -500, max: 500 }), fc.integer({ min: -90, max: 90 }));
const polygons = fc.array(fc.array(fc.array(vertex, { minLength: 3, maxLength: 6 }), { maxLength: 3 }), {
  maxLength: 3,
});
/** A point whose coordinates differ from those of all vertices and cuts. */
const point = fc
  .tuple(fc.integer({ min: -180, max: 179 }), fc.integer({ min: -90, max: 89 }))
  .map(([x, y]) => [x + 0.371, y + 0.413] as const);

describe('polygons on a periodic axis', () => {
  test.prop([polygons, fc.array(point, { minLength: 20, maxLength: 40 }), fc.constantFrom(-180, 0, -30)], {
    numRuns: caseCount(300),
  })('contain the same points at any turn', (all, points, left) => {
    const { polygonRings, ringVertices, x, y } = comeRound(zonesOf(all).polygons, { left, bottom: -180, size: 360 });
    expect(polygonRings).toHaveLength(all.length + 1);
    expect(x.every((each) => each >= left && each <= left + 360)).toBe(true);
    for (const [polygon, rings] of all.entries()) {
      const found: Rings = Array.from({ length: polygonRings[polygon + 1]! - polygonRings[polygon]! }, (_, at) => {
        const ring = polygonRings[polygon]! + at;
        const [from, to] = [ringVertices[ring]!, ringVertices[ring + 1]!];
        return Array.from({ length: to - from }, (_, v) => [x[from + v]!, y[from + v]!] as const);
      });
      for (const [lon, lat] of points) {
        const inDomain = turnedInto(lon, { left });
        const times = [-2, -1, 0, 1, 2].filter((turn) => holds(rings, inDomain + 360 * turn, lat)).length;
        expect(holds(found, inDomain, lat)).toBe(times % 2 === 1);
      }
    }
  });

  test('stay unchanged inside the domain, and move as a whole when one shift fits them', () => {
    const inside = zonesOf([
      [
        [
          [10, 0],
          [20, 0],
          [20, 9],
        ],
      ],
    ]).polygons;
    expect(comeRound(inside, WORLD)).toBe(inside);
    const far = zonesOf([
      [
        [
          [-175, 60],
          [-165, 60],
          [-165, 69],
        ],
      ],
    ]).polygons;
    expect([...comeRound(far, { left: 170, bottom: 40, size: 40 }).x]).toEqual([185, 195, 195]);
    const wide = zonesOf([
      [
        [
          [-175, 60],
          [-65, 60],
          [-65, 69],
        ],
      ],
    ]).polygons;
    expect([...comeRound(wide, { left: 170, bottom: 40, size: 40 }).x]).toEqual([-175, -65, -65]);
  });

  test('keep the part number of each ring', () => {
    const { polygons: all } = zonesOf([
      [
        [
          [170, 0],
          [190, 0],
          [190, 9],
        ],
        [
          [0, 0],
          [1, 0],
          [1, 1],
        ],
      ],
    ]);
    const parted = { ...all, ringParts: Uint32Array.of(0, 1) };
    expect([...comeRound(parted, WORLD).ringParts!]).toEqual([0, 0, 1]);
  });
});
