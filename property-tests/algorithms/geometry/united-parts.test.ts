import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { FillRule } from '../../../algorithms/geometry/polygons.ts';
import { buildMaqTree } from '../../../algorithms/maq-tree/index.ts';
import { type GridPolygons, gridPolygons, pairAreas, regionsOf } from '../../../algorithms/pixelbox/index.ts';
import { type Domain, decompose, placeInDomain } from '../../../algorithms/quadrants/index.ts';
import { placePoints, queryPoints } from '../../../algorithms/queries/index.ts';
import { zonalHistogram } from '../../../algorithms/zonal/index.ts';
import { type Context, open } from '../../../index.ts';
import { OutOfMemoryError } from '../../../primitives/checks/errors.ts';
import { caseCount, costlyCaseCount, someOf } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { movedParts, type Parts, partedPolygons, simplePart, wildPart } from '../../support/parted-support.ts';
import { box, type Rings, rasterOf } from '../../support/zonal-support.ts';

let reference: Context;
beforeAll(async () => {
  reference = await open({ backend: 'reference' });
});
afterAll(() => reference.close());

const FILLS: readonly FillRule[] = ['union', 'even-odd'];

/** Even-odd test in integers of a pixel's centre. A centre on an edge counts as right of the edge. */
function holdsCentre(rings: Rings, column: number, row: number): boolean {
  let inside = false;
  const [px, py] = [BigInt(2 * column + 1), BigInt(2 * row + 1)];
  for (const ring of rings) {
    for (const [i, [x1, y1]] of ring.entries()) {
      const [x0, y0] = ring.at(i - 1)!;
      const [ax, ay, bx, by] = (y0 < y1 ? [x0, y0, x1, y1] : [x1, y1, x0, y0]).map((at) => 2n * BigInt(at)) as [
        bigint,
        bigint,
        bigint,
        bigint,
      ];
      if (ay < py && py < by && (py - ay) * (bx - ax) <= (px - ax) * (by - ay)) inside = !inside;
    }
  }
  return inside;
}

const rules: Readonly<Record<FillRule, (parts: Parts, column: number, row: number) => boolean>> = {
  union: (parts, column, row) => parts.some((rings) => holdsCentre(rings, column, row)),
  'even-odd': (parts, column, row) => holdsCentre(parts.flat(), column, row),
};

/** The rings of a polygon on the grid. */
function ringsOf({ polygonRings, ringVertices, x, y }: GridPolygons, polygon: number): Rings {
  return Array.from({ length: polygonRings[polygon + 1]! - polygonRings[polygon]! }, (_, i) => {
    const ring = polygonRings[polygon]! + i;
    return Array.from({ length: ringVertices[ring + 1]! - ringVertices[ring]! }, (_, v) => {
      const at = ringVertices[ring]! + v;
      return [x[at]!, y[at]!] as const;
    });
  });
}

const parts = fc.array(fc.oneof(simplePart, wildPart), { maxLength: 5 });
const stretched = fc
  .tuple(parts, fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 3 }))
  .map(([each, wide, tall]) => movedParts(each, (x, y) => [x * wide, y * tall]));

const WIDTH = 64;
const HEIGHT = 64;
const pixels = Array.from({ length: WIDTH * HEIGHT }, (_, i) => [i % WIDTH, Math.floor(i / WIDTH)] as const);

describe('polygons on the pixel grid', () => {
  test.prop([fc.array(stretched, { maxLength: 3 })], { numRuns: caseCount(60) })(
    'contain the pixels whose centres any of their parts contains',
    (all) => {
      for (const fill of FILLS) {
        const grid = gridPolygons(partedPolygons(all), { fill });
        for (const [polygon, each] of all.entries()) {
          const rings = ringsOf(grid, polygon);
          const held = pixels.filter(([column, row]) => holdsCentre(rings, column, row));
          expect(held).toEqual(pixels.filter(([column, row]) => rules[fill](each, column, row)));
        }
      }
    },
  );

  test.prop([fc.array(stretched, { maxLength: 3 })], { numRuns: caseCount(30) })(
    'keep their rings when no parts overlap; otherwise all edges are axis-aligned',
    (all) => {
      const polygons = partedPolygons(all);
      const grid = gridPolygons(polygons);
      const plain = gridPolygons({ ...polygons, ringParts: undefined });
      for (const [polygon] of all.entries()) {
        const rings = ringsOf(grid, polygon);
        if (!grid.overlapping?.includes(polygon)) expect(rings).toEqual(ringsOf(plain, polygon));
        else {
          for (const ring of rings) {
            for (const [i, [x, y]] of ring.entries()) {
              const [fromX, fromY] = ring.at(i - 1)!;
              expect([x === fromX, y === fromY]).toEqual(i % 2 === 1 ? [false, true] : [true, false]);
            }
          }
        }
      }
    },
  );

  test.prop(
    [
      fc.array(
        fc.array(fc.tuple(fc.integer({ min: -20, max: 20 }), fc.integer({ min: -(2 ** 30), max: 2 ** 30 })), {
          minLength: 3,
          maxLength: 4,
        }),
        { minLength: 2, maxLength: 3 },
      ),
      fc.array(fc.integer({ min: -(2 ** 30), max: 2 ** 30 - 1 }), { minLength: 8, maxLength: 8 }),
    ],
    { numRuns: caseCount(60) },
  )('as tall as the grid cost time by corners, not rows, and are exact', (rings, rows) => {
    const tall = rings.map((ring) => [ring]);
    const united = ringsOf(gridPolygons(partedPolygons([tall])), 0);
    const asked = [...rows, ...rings.flat().flatMap(([, y]) => [y - 1, y])];
    for (const row of asked) {
      for (let column = -21; column < 21; column++) {
        expect(holdsCentre(united, column, row)).toBe(rules.union(tall, column, row));
      }
    }
  });

  test('whose outlines need more than memoryBytes are refused', () => {
    const steep = [[[0, 0] as const, [2 ** 29, 2 ** 30] as const, [0, 2 ** 30] as const]];
    const refuse = () => gridPolygons(partedPolygons([[steep, steep]]), { memoryBytes: 1e6, file: 'tile.wkt' });
    expect(refuse).toThrow(OutOfMemoryError);
    expect(refuse).toThrow(
      expect.objectContaining({ code: 'pixelbox/outlines', place: { file: 'tile.wkt', record: 0 } }),
    );
  });
});

describe('the same polygons in zones, point queries and comparisons', () => {
  const DOMAIN: Domain = { left: 0, bottom: 0, size: 64 };

  /**
   * Measures polygons in three ways: by the raster cells of each zone, by the pixel centres that a tree finds in each
   * polygon, and by the areas of all pairs of polygons.
   */
  async function counted(all: readonly Parts[], fill: FillRule) {
    const polygons = partedPolygons(all);
    const zones = { names: all.map((_, zone) => `${zone}`), polygons, crs: undefined };
    const numbers = Uint16Array.from(pixels.keys());
    // Places row 0 of the raster at y from 0 to 1.
    const raster = rasterOf(numbers, WIDTH, 'u16', { originY: 0, stepY: 1 });
    const { bins } = await zonalHistogram(reference, { zones, raster, binning: { kind: 'unique' }, fill });
    const byZone = all.map((_, zone) => [...bins.lower].filter((_, row) => bins.zone[row] === zone));

    const placed = placeInDomain(polygons, DOMAIN, { fill });
    const quadrants = await decompose(reference, placed, { levels: 5, keepsEdges: true });
    const tree = await buildMaqTree(reference, [quadrants]);
    const centres = { x: pixels.map(([column]) => column + 0.5), y: pixels.map(([, row]) => row + 0.5) };
    const points = placePoints(reference, centres, DOMAIN);
    const pairs = await queryPoints(reference, tree, points);
    const { point, polygon } = await reference.read({ ...pairs });
    reference.dispose(quadrants, tree, points, pairs);
    const byPoint = all.map((_, each) => [...point].filter((_, row) => polygon[row] === each).sort((a, b) => a - b));

    const regions = regionsOf(gridPolygons(polygons, { fill }));
    const two = all.flatMap((_, p) => all.map((_, q) => [p, q] as const));
    const areas = await pairAreas(reference, regions, regions, {
      p: Uint32Array.from(two, ([p]) => p),
      q: Uint32Array.from(two, ([, q]) => q),
    });
    const byArea = two.map((_, i) => [areas.p[i], areas.q[i], areas.intersection[i]].map(Number));
    return { byZone, byPoint, byArea, two };
  }

  test.prop([fc.array(stretched, { minLength: 1, maxLength: 3 })], { numRuns: costlyCaseCount(25) })(
    'contain the same pixels',
    async (all) => {
      for (const fill of someOf(FILLS, 1)) {
        const { byZone, byPoint, byArea, two } = await counted(all, fill);
        const expected = all.map((each) =>
          [...pixels.keys()].filter((i) => rules[fill](each, pixels[i]![0], pixels[i]![1])),
        );
        expect(byZone).toEqual(expected);
        expect(byPoint).toEqual(expected);
        expect(byArea).toEqual(
          two.map(([p, q]) => {
            const ofQ = new Set(expected[q]);
            return [expected[p]!.length, ofQ.size, expected[p]!.filter((pixel) => ofQ.has(pixel)).length];
          }),
        );
      }
    },
  );

  test('contain the same pixels when parts overlap, by hand', async () => {
    const both: Parts = [[box(0, 0, 20, 20)], [box(10, 0, 30, 20)]];
    const { byZone, byPoint, byArea } = await counted([both], 'union');
    expect([byZone[0]!.length, byPoint[0]!.length, byArea[0]]).toEqual([600, 600, [600, 600, 600]]);
    const cancelled = await counted([both], 'even-odd');
    expect([cancelled.byZone[0]!.length, cancelled.byArea[0]]).toEqual([400, [400, 400, 400]]);
  });
});
