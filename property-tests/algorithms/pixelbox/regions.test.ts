import { describe, expect } from 'vitest';
import { GRID_LIMIT } from '../../../algorithms/pixelbox/grid-polygons.ts';
import { type Regions, regionsOf } from '../../../algorithms/pixelbox/regions.ts';
import { appendRuns, columnInRow, emptyRuns, maxRuns, type Runs } from '../../../algorithms/pixelbox/runs.ts';
import { signedArea, signedCorners } from '../../../algorithms/pixelbox/signed-corners.ts';
import { gridPolygons } from '../../../algorithms/pixelbox/snap-to-pixels.ts';
import { GeometryError } from '../../../primitives/checks/errors.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { columnsOfRings, type Ring } from '../../support/ring-columns.ts';

const SIDE = 12;
const coordinate = fc.integer({ min: -SIDE, max: SIDE });
const ring = fc.array(fc.tuple(coordinate, coordinate), { maxLength: 7 });
const polygon = fc.array(ring, { maxLength: 3 });

/** Even-odd test of a pixel's centre by a ray to the left, in doubled coordinates. Points on left edges are inside. */
function isInside(rings: readonly Ring[], i: number, j: number): boolean {
  const [cx, cy] = [2 * i + 1, 2 * j + 1];
  let inside = false;
  for (const each of rings) {
    for (const [k, [x1, y1]] of each.entries()) {
      const [x0, y0] = each.at(k - 1)!;
      if (2 * y0 < cy === 2 * y1 < cy) continue;
      const across = (cx - 2 * x0) * (y1 - y0) - (x1 - x0) * (cy - 2 * y0);
      if (y1 > y0 ? across >= 0 : across <= 0) inside = !inside;
    }
  }
  return inside;
}

const runsOf = (regions: Regions, region: number): Runs => {
  const runs = emptyRuns(0);
  appendRuns(runs, regions, region);
  return runs;
};

/** Whether one of a region's runs of pixels covers a pixel. */
function isCovered({ from, to, row, length }: Runs, i: number, j: number): boolean {
  let count = 0;
  for (let run = 0; run < length; run++) if (row[run]! <= j && from[run]! <= i !== to[run]! <= i) count++;
  return count % 2 === 1;
}

const pixels = Array.from({ length: (2 * SIDE + 2) ** 2 }, (_, n): [number, number] => [
  (n % (2 * SIDE + 2)) - SIDE - 1,
  Math.floor(n / (2 * SIDE + 2)) - SIDE - 1,
]);

describe('the runs of a region', () => {
  test.prop({ polygons: fc.array(polygon, { minLength: 1, maxLength: 4 }) })(
    'cover exactly the pixels whose centres are inside, and lie in its box',
    ({ polygons }) => {
      const regions = regionsOf(columnsOfRings(polygons));
      for (const [region, rings] of polygons.entries()) {
        const runs = runsOf(regions, region);
        for (const [i, j] of pixels) expect(isCovered(runs, i, j)).toBe(isInside(rings, i, j));
        for (let run = 0; run < runs.length; run++) {
          expect(runs.from[run]).not.toBe(runs.to[run]);
          for (const column of [runs.from[run]!, runs.to[run]!]) {
            expect(column).toBeGreaterThanOrEqual(regions.left[region]!);
            expect(column).toBeLessThanOrEqual(regions.right[region]!);
          }
          expect(runs.row[run]).toBeGreaterThanOrEqual(regions.top[region]!);
          expect(runs.row[run]).toBeLessThanOrEqual(regions.bottom[region]!);
        }
        expect(runs.length).toBeLessThanOrEqual(maxRuns(regions, region));
      }
    },
  );

  test.prop({ rings: polygon })('have signed ends that sum to the indicator function of the region', ({ rings }) => {
    const regions = regionsOf(columnsOfRings([rings]));
    const signed = signedCorners(regions, () => true);
    let area = 0n;
    for (const [i, j] of pixels) {
      let sum = 0;
      for (let c = 0; c < signed.x.length; c++) if (signed.x[c]! <= i && signed.y[c]! <= j) sum += signed.sign[c]!;
      expect(sum).toBe(isInside(rings, i, j) ? 1 : 0);
      area += BigInt(sum);
    }
    expect(signedArea(signed, 0)).toBe(area);
  });

  test.prop({ rings: fc.array(ring, { minLength: 1, maxLength: 2 }), turn: fc.nat() })(
    'do not depend on where a ring begins or on its direction',
    ({ rings, turn }) => {
      const turned = rings.map((each) => [
        ...each.slice(turn % (each.length + 1)),
        ...each.slice(0, turn % (each.length + 1)),
      ]);
      const [a, b] = [rings, turned.map((each) => each.toReversed())].map((each) =>
        runsOf(regionsOf(columnsOfRings([each])), 0),
      ) as [Runs, Runs];
      for (const [i, j] of pixels) expect(isCovered(a, i, j)).toBe(isCovered(b, i, j));
    },
  );
});

const far = fc.oneof(coordinate, fc.constantFrom(-GRID_LIMIT, 1 - GRID_LIMIT, GRID_LIMIT - 1, GRID_LIMIT));
/** Rings whose edges are alternately horizontal and vertical. */
const alternatingRing = fc.tuple(fc.array(fc.tuple(far, far), { minLength: 1, maxLength: 5 }), fc.boolean()).map(
  ([corners, levelFirst]): Ring =>
    corners.flatMap(([x, y], i): [number, number][] => {
      const [nextX, nextY] = corners[(i + 1) % corners.length]!;
      return levelFirst
        ? [
            [x, y],
            [nextX, y],
          ]
        : [
            [x, y],
            [x, nextY],
          ];
    }),
);
const anyRing = fc.array(fc.tuple(far, far), { maxLength: 7 });

describe('regions', () => {
  test.prop([fc.array(fc.array(fc.oneof(alternatingRing, anyRing), { maxLength: 3 }), { maxLength: 4 })], {
    numRuns: caseCount(1000),
  })('have the boxes of their vertices, up to the limits of the grid', (polygons) => {
    const { left, top, right, bottom } = regionsOf(columnsOfRings(polygons));
    for (const [i, rings] of polygons.entries()) {
      const vertices = rings.flat();
      const min = (axis: 0 | 1): number => Math.min(...vertices.map((vertex) => vertex[axis]));
      const max = (axis: 0 | 1): number => Math.max(...vertices.map((vertex) => vertex[axis]));
      const box = vertices.length === 0 ? [0, 0, 0, 0] : [min(0), min(1), max(0), max(1)];
      expect([left[i], top[i], right[i], bottom[i]]).toEqual(box);
    }
  });
});

test.prop({
  x0: fc.integer({ min: -GRID_LIMIT, max: GRID_LIMIT }),
  y0: fc.integer({ min: -GRID_LIMIT, max: GRID_LIMIT }),
  x1: fc.integer({ min: -GRID_LIMIT, max: GRID_LIMIT }),
  y1: fc.integer({ min: -GRID_LIMIT, max: GRID_LIMIT }),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
})('a sloped edge crosses a row at the first column whose centre is not left of it', ({ x0, y0, x1, y1, at }) => {
  fc.pre(y0 !== y1);
  const [low, high] = [Math.min(y0, y1), Math.max(y0, y1)];
  const row = Math.min(high - 1, low + Math.floor(at * (high - low)));
  const column = columnInRow(x0, y0, x1, y1, row);
  const [run, rise] = y0 < y1 ? [x1 - x0, y1 - y0] : [x0 - x1, y0 - y1];
  const isPast = (c: number): boolean =>
    BigInt(2 * (c - x0) + 1) * BigInt(rise) >= BigInt(2 * (row - y0) + 1) * BigInt(run);
  expect(isPast(column)).toBe(true);
  expect(isPast(column - 1)).toBe(false);
});

test.prop({
  width: fc.integer({ min: 1, max: 6 }),
  height: fc.integer({ min: 1, max: 3000 }),
  left: fc.constantFrom(0, -GRID_LIMIT, GRID_LIMIT - 6),
  top: fc.constantFrom(0, -GRID_LIMIT, GRID_LIMIT - 3000),
  up: fc.boolean(),
})('a steep edge has the same runs as a row-by-row search', ({ width, height, left, top, up }) => {
  const [from, to] = up ? [top + height, top] : [top, top + height];
  const ring = [
    [left, from],
    [left + width, to],
    [left, to],
  ] as const;
  const runs = runsOf(regionsOf(columnsOfRings([[ring]])), 0);
  const rows = Array.from({ length: height }, (_, row) => top + row);
  for (const row of rows) {
    const edge = columnInRow(left, from, left + width, to, row);
    for (let column = left; column < left + width; column++) {
      expect(isCovered(runs, column, row)).toBe(column < edge);
    }
  }
  expect(runs.length).toBeLessThanOrEqual(width + 2);
});

test('an edge across the whole grid costs no time by its rows', () => {
  const ring = [
    [0, -GRID_LIMIT],
    [4, GRID_LIMIT],
    [0, GRID_LIMIT],
  ] as const;
  expect(
    signedArea(
      signedCorners(regionsOf(columnsOfRings([[ring]])), () => true),
      0,
    ),
  ).toBe(2n ** 32n);
});

test('more stair steps than can be sorted are refused', () => {
  const side = 2 ** 25;
  const ring = [
    [0, 0],
    [side, side],
    [0, side],
  ] as const;
  expect(() => signedCorners(regionsOf(columnsOfRings([[ring]])), () => true)).toThrow(
    expect.objectContaining({ code: 'pixelbox/runs', place: { record: 0 } }),
  );
});

describe('polygons on the grid', () => {
  const polygonsOf = (x: number[], y: number[]) => ({
    polygonRings: Uint32Array.of(0, 1),
    ringVertices: Uint32Array.of(0, x.length),
    x: Float64Array.from(x),
    y: Float64Array.from(y),
  });

  test.prop({ pixelSize: fc.constantFrom(0.25, 1, 4), values: fc.array(fc.integer({ min: -99, max: 99 })) })(
    'are not moved when all vertices are on it',
    ({ pixelSize, values }) => {
      const scaled = values.map((value) => value * pixelSize);
      const grid = gridPolygons(polygonsOf(scaled, scaled), { pixelSize });
      expect([...grid.x]).toEqual(values);
      expect(grid.moved).toBe(0);
    },
  );

  test.prop({ bad: fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, GRID_LIMIT + 1, -(2 ** 31), -1e300) })(
    'that do not fit are refused with the number of the polygon',
    ({ bad }) => {
      const refused = expect.objectContaining({ code: 'geometry/beyond-grid', place: { file: 'tile.txt', record: 0 } });
      expect(() => gridPolygons(polygonsOf([0, bad], [0, 0]), { file: 'tile.txt' })).toThrow(refused);
      expect(() => gridPolygons(polygonsOf([0, 0], [0, bad]), { file: 'tile.txt' })).toThrow(GeometryError);
    },
  );

  test('need a valid pixel size', () => {
    for (const pixelSize of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => gridPolygons(polygonsOf([], []), { pixelSize })).toThrow(
        expect.objectContaining({ code: 'pixelbox/pixel-size' }),
      );
    }
  });
});
