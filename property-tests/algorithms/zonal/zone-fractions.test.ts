import { describe, expect } from 'vitest';
import { onEveryBackend } from '../../backends.ts';
import { costlyCaseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import {
  exactShares,
  ONE,
  STEPS,
  sharesOf,
  square,
  unitGrid,
  type WholeZone,
  wholeZones,
} from '../../support/shares-support.ts';

const WIDTH = 4;
const HEIGHT = 3;
const grid = unitGrid(WIDTH, HEIGHT);

/** Coordinates on borders and centres of cells, beside them, anywhere, and far away. */
const coordinate = (cells: number) =>
  fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: -2, max: 2 * cells + 2 }).map((halves) => (halves * STEPS) / 2) },
    {
      weight: 3,
      arbitrary: fc
        .tuple(fc.integer({ min: 0, max: cells }), fc.integer({ min: -2, max: 2 }))
        .map(([cell, by]) => cell * STEPS + by),
    },
    { weight: 3, arbitrary: fc.integer({ min: -STEPS, max: (cells + 1) * STEPS }) },
    { weight: 1, arbitrary: fc.integer({ min: -(2 ** 44), max: 2 ** 44 }) },
  );
const point = fc.tuple(coordinate(WIDTH), coordinate(HEIGHT));
/** Rings over few points, so that vertices are visited again and edges lie on each other. */
const rings = (count: number) =>
  fc.array(point, { minLength: 2, maxLength: 7 }).chain((points) =>
    fc.array(fc.array(fc.constantFrom(...points), { minLength: 1, maxLength: 6 }), {
      minLength: 1,
      maxLength: count,
    }),
  );
const zone: fc.Arbitrary<WholeZone> = fc.oneof(
  fc.array(rings(2), { minLength: 1, maxLength: 2 }),
  rings(4).map((all) => all.map((ring) => [ring])),
);

/** Rings around a point of the grid, mostly simple, of mostly short edges, with many vertices on borders of cells. */
const near = fc.oneof(
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 4 }).map((halves) => (halves * STEPS) / 2) },
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 2 * STEPS + 9 }) },
  { weight: 1, arbitrary: fc.integer({ min: STEPS, max: STEPS + 3 }) },
);
const roundRing = fc
  .tuple(fc.array(fc.tuple(near, near), { minLength: 3, maxLength: 9 }), fc.boolean())
  .map(([points, isReversed]) => {
    const mean = (axis: 0 | 1): number => points.reduce((sum, each) => sum + each[axis], 0) / points.length + 0.1;
    const [x, y] = [mean(0), mean(1)];
    const ring = [...points].sort((a, b) => Math.atan2(a[1] - y, a[0] - x) - Math.atan2(b[1] - y, b[0] - x));
    return isReversed ? ring.reverse() : ring;
  });

/** A rectangle of four and a half columns, of which three are a turn. */
const WIDER_THAN_A_TURN: [number, number][] = [
  [-STEPS / 2, STEPS / 4],
  [4 * STEPS, STEPS / 4],
  [4 * STEPS, 1.5 * STEPS],
  [-STEPS / 2, 1.5 * STEPS],
];

/** A coordinate times a factor. Those far away stay on the grid. */
function stretched(coordinate: number, by: number): number {
  return Math.abs(coordinate) < 2 ** 40 ? coordinate * by : coordinate;
}

/** What shares may be off by, in units of 2⁻³⁰: about one for each edge in a cell. */
const ROUNDING = 24n;

describe('shares of cells', () => {
  onEveryBackend((opened) => {
    test.prop([fc.array(zone, { minLength: 1, maxLength: 2 }), fc.constantFrom('union', 'even-odd')], {
      numRuns: costlyCaseCount(60),
    })('are those of clipping in whole numbers, rounded, and the same bytes', async (zones, fill) => {
      const { context, reference } = opened();
      const found = await sharesOf(context, wholeZones(zones), grid, { fill });
      const expected = exactShares(zones, grid, fill);
      expect([...found.keys()].sort()).toEqual([...expected.keys()].sort());
      for (const [key, share] of found) {
        const { n, d } = expected.get(key)!;
        const off = (BigInt(share) * d - (n << 30n)) / d;
        expect(off <= ROUNDING && off >= -ROUNDING, `${key}: ${share} for ${(n << 30n) / d}`).toBe(true);
      }
      expect(found).toEqual(await sharesOf(reference, wholeZones(zones), grid, { fill }));
    });

    test.prop([zone, fc.integer({ min: 0, max: 5 }), fc.constantFrom('union', 'even-odd')], {
      numRuns: costlyCaseCount(40),
    })('do not depend on the direction and the first vertex of rings, nor on their order', async (parts, by, fill) => {
      const { context } = opened();
      const turned = parts
        .map((part) => part.map((ring) => [...ring.slice(by), ...ring.slice(0, by)].reverse()).reverse())
        .reverse();
      const found = await sharesOf(context, wholeZones([parts]), grid, { fill });
      expect(await sharesOf(context, wholeZones([turned]), grid, { fill })).toEqual(found);
    });

    // The edges of rings alone may be short ones, which have another table than those of zones of several parts.
    test.prop([fc.array(roundRing, { minLength: 1, maxLength: 12 })], { numRuns: costlyCaseCount(60) })(
      'are the same bytes beside a part that is far away',
      async (all) => {
        const { context } = opened();
        const far = square(STEPS).map(([x, y]): [number, number] => [x + 1000 * STEPS, y]);
        const alone = await sharesOf(context, wholeZones(all.map((ring) => [[ring]])), grid);
        expect(await sharesOf(context, wholeZones(all.map((ring) => [[ring], [far]])), grid)).toEqual(alone);
      },
    );

    test.prop([rings(3)], { numRuns: costlyCaseCount(40) })(
      'of a zone and of what is left of the plane add up to 1',
      async (part) => {
        const plane = square(2 ** 46);
        const zones = wholeZones([[part], [[plane, ...part]]]);
        expectOnes(await sharesOf(opened().context, zones, grid));
      },
    );

    test.prop([meshes()], { numRuns: costlyCaseCount(40) })(
      'of a partition of the plane add up to 1, wherever edges are cut',
      async (zones) => expectOnes(await sharesOf(opened().context, wholeZones(zones), grid)),
    );

    // Tall rasters have several bands of rows in the table of stretches, and stretches that reach through many.
    test.prop([fc.array(zone, { minLength: 1, maxLength: 2 }), fc.nat(), fc.constantFrom(40, 320)], {
      numRuns: costlyCaseCount(40),
    })('do not depend on the window', async (zones, cut, height) => {
      const { context } = opened();
      const wide = unitGrid(70, height);
      const larger = zones.map((parts) =>
        parts.map((part) => part.map((ring) => ring.map(([x, y]) => [17 * x, stretched(y, height / 4)] as const))),
      );
      const whole = await sharesOf(context, wholeZones(larger), wide);
      const [row, column] = [1 + (cut % (height - 1)), 1 + (cut % 69)];
      const windows = [
        { row: 0, column: 0, rows: row, columns: column },
        { row: 0, column, rows: row, columns: 70 - column },
        { row, column: 0, rows: height - row, columns: column },
        { row, column, rows: height - row, columns: 70 - column },
      ];
      const found: [string, number][] = [];
      for (const window of windows) found.push(...(await sharesOf(context, wholeZones(larger), wide, { window })));
      const byKey = ([a]: [string, number], [b]: [string, number]): number => (a < b ? -1 : 1);
      expect(found.sort(byKey)).toEqual([...whole].sort(byKey));
    });

    test.prop([zone, fc.nat(279), fc.integer({ min: 1, max: 40 })], { numRuns: costlyCaseCount(60) })(
      'of rows in a tall raster are those of columns in a wide one',
      async (parts, from, count) => {
        const { context } = opened();
        const scaled = (turn: boolean): WholeZone =>
          parts.map((part) =>
            part.map((ring) =>
              ring.map(([x, y]): [number, number] => (turn ? [stretched(y, 100), x] : [x, stretched(y, 100)])),
            ),
          );
        const rows = { row: from, column: 0, rows: count, columns: WIDTH };
        const columns = { row: 0, column: from, rows: WIDTH, columns: count };
        const tall = await sharesOf(context, wholeZones([scaled(false)]), unitGrid(WIDTH, 320), { window: rows });
        const wide = await sharesOf(context, wholeZones([scaled(true)]), unitGrid(320, WIDTH), { window: columns });
        const turned = [...wide].map(([key, share]): [string, number] => {
          const [of, row, column] = key.split(':');
          return [`${of}:${column}:${row}`, share];
        });
        expect(turned.map(([key]) => key).sort()).toEqual([...tall.keys()].sort());
        for (const [key, share] of turned) expect(Math.abs(share - tall.get(key)!)).toBeLessThan(2 * Number(ROUNDING));
      },
    );

    const wide = fc.array(fc.tuple(fc.integer({ min: -STEPS, max: 5 * STEPS }), coordinate(HEIGHT)), {
      minLength: 3,
      maxLength: 5,
    });
    test.prop([fc.array(wide, { minLength: 1, maxLength: 2 }), fc.integer({ min: -2, max: 2 })], {
      numRuns: costlyCaseCount(20),
      examples: [[[WIDER_THAN_A_TURN], 1]],
    })('repeat after a turn of longitude, and copies that overlap are united', async (part, turns) => {
      // Three columns are a turn.
      const round = { ...grid, stepX: 120, geographic: true };
      const near = [part];
      const { polygons, ...zones } = wholeZones([near]);
      const x = polygons.x.map((column) => 120 * (column + 3 * turns));
      const found = await sharesOf(opened().context, { ...zones, polygons: { ...polygons, x } }, round);
      const copies = [-2, -1, 0, 1, 2].flatMap((by) =>
        near.map((part) => part.map((ring) => ring.map(([column, row]) => [column + 3 * by * STEPS, row] as const))),
      );
      const expected = exactShares([copies], grid);
      expect([...found.keys()].sort()).toEqual([...expected.keys()].sort());
      for (const [key, share] of found) {
        const { n, d } = expected.get(key)!;
        expect(Math.abs(share - Number((n << 30n) / d))).toBeLessThan(Number(ROUNDING));
      }
    });
  });
});

function expectOnes(shares: ReadonlyMap<string, number>): void {
  const sums = new Map<string, number>();
  for (const [key, share] of shares) {
    const cell = key.slice(key.indexOf(':') + 1);
    sums.set(cell, (sums.get(cell) ?? 0) + share);
  }
  expect(new Set(sums.values())).toEqual(new Set([ONE]));
  expect(sums.size).toBe(WIDTH * HEIGHT);
}

/**
 * Partitions of more than the grid into triangles, which are dealt to zones: each triangle is a part. Vertices stand
 * anywhere near those of a square mesh; one triangle in two has further vertices on its sides, which its neighbours lack.
 */
function meshes(): fc.Arbitrary<readonly WholeZone[]> {
  const [across, down] = [4, 4];
  const offsets = fc.array(fc.tuple(fc.integer({ min: -300, max: 300 }), fc.integer({ min: -300, max: 300 })), {
    minLength: (across + 1) * (down + 1),
    maxLength: (across + 1) * (down + 1),
  });
  const dealt = fc.array(fc.tuple(fc.nat({ max: 3 }), fc.boolean()), {
    minLength: 2 * across * down,
    maxLength: 2 * across * down,
  });
  return fc.tuple(offsets, dealt, fc.constantFrom(STEPS / 1024, 2 ** 9, 2)).map(([moved, triangles, unit]) => {
    // Even coordinates, so that sides have their middle on the grid.
    const at = (column: number, row: number): readonly [number, number] => {
      const [x, y] = moved[row * (across + 1) + column]!;
      const isRim = column % across === 0 || row % down === 0;
      const [dx, dy] = isRim ? [0, 0] : [2 * Math.round((x * unit) / 2), 2 * Math.round((y * unit) / 2)];
      return [(column - 0.5) * 1.5 * STEPS + dx, (row - 0.5) * 1.5 * STEPS + dy];
    };
    const zones: (readonly (readonly [number, number])[])[][][] = [[], [], [], []];
    triangles.forEach(([zone, isCut], triangle) => {
      const [column, row] = [(triangle >> 1) % across, Math.floor((triangle >> 1) / across)];
      const corners = [
        at(column, row),
        at(column + 1, row + 1),
        triangle % 2 ? at(column + 1, row) : at(column, row + 1),
      ];
      const ring = corners.flatMap((corner, i) => {
        const next = corners[(i + 1) % 3]!;
        return isCut ? [corner, [(corner[0] + next[0]) / 2, (corner[1] + next[1]) / 2] as const] : [corner];
      });
      zones[zone]!.push([ring]);
    });
    return zones;
  });
}
