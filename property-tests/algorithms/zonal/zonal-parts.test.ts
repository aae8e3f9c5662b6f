import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { Zones } from '../../../algorithms/geometry/polygons.ts';
import type { RasterSource } from '../../../algorithms/geometry/raster.ts';
import { type Binning, type ZonalHistogram, zonalHistogram } from '../../../algorithms/zonal/index.ts';
import { Geos } from '../../../bench/peers/geos-areas.ts';
import { parseZones } from '../../../formats/polygons/zones.ts';
import { Context, open } from '../../../index.ts';
import { dealtWorkers, onEveryBackend } from '../../backends.ts';
import { caseCount, costlyCaseCount, THOROUGH } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { openWorkshop } from '../../support/cli-support.ts';
import { movedParts, type Parts, partedPolygons, simplePart, wildPart } from '../../support/parted-support.ts';
import { openTestBackend } from '../../support/webgpu-support.ts';
import { box, cellsOf, plain, type Rings, rasterOf } from '../../support/zonal-support.ts';

let reference: Context;
let webgpu: Context;

beforeAll(async () => {
  reference = await open({ backend: 'reference' });
  webgpu = new Context(await openTestBackend());
});
afterAll(async () => {
  await Promise.all([reference, webgpu].map((context) => context?.close()));
});

const unique: Binning = { kind: 'unique' };

const zonesWith = (all: readonly Parts[]): Zones => ({
  names: all.map((_, zone) => `${zone}`),
  polygons: partedPolygons(all),
  crs: undefined,
});

/** Even-odd test of a point. Points on left and bottom edges are inside. */
function holds(rings: Rings, px: number, py: number): boolean {
  const crossed = rings.flatMap((ring) =>
    ring.filter(([x1, y1], i) => {
      const [x0, y0] = ring[(i + ring.length - 1) % ring.length]!;
      const [ax, ay, bx, by] = y0 < y1 ? [x0, y0, x1, y1] : [x1, y1, x0, y0];
      return ay <= py && py < by && (py - ay) * (bx - ax) <= (px - ax) * (by - ay);
    }),
  );
  return crossed.length % 2 === 1;
}

/** The numbers of all cells whose centre satisfies `rule`. A row of the raster has a height of one unit. */
function cellsWhere({ width, height }: RasterSource, rule: (x: number, y: number) => boolean): number[] {
  const all = Array.from({ length: width * height }, (_, i) => i);
  return all.filter((i) => rule((i % width) + 0.5, height - Math.floor(i / width) - 0.5));
}

/** For each zone, the values of the cells inside. All cells have different values, so the values identify the cells. */
function valuesOf({ bins, names }: ZonalHistogram): number[][] {
  return names.map((_, zone) => [...bins.lower].filter((_, row) => bins.zone[row] === zone));
}

/** A raster in which the value of every cell is the cell's number. */
const numbered = (width: number, height: number, grid: Partial<RasterSource> = {}): RasterSource =>
  rasterOf(
    Uint16Array.from({ length: width * height }, (_, i) => i),
    width,
    'u16',
    grid,
  );

/** Zones of several parts in the middle of a raster of 100 × 80 cells, across the borders of tiles. */
const zoneOfParts = fc
  .tuple(
    fc.array(fc.oneof(simplePart, wildPart), { maxLength: 5 }),
    fc.integer({ min: 1, max: 9 }),
    fc.integer({ min: -9, max: 60 }),
  )
  .map(([parts, scale, by]) => movedParts(parts, (x, y) => [x * scale + by + 0.25, y * scale + by / 2]));

describe('a zone of several parts', () => {
  test.prop(
    [fc.array(zoneOfParts, { minLength: 1, maxLength: 4 }), fc.constantFrom(32, 64), fc.constantFrom(2 ** 30, 60_000)],
    {
      numRuns: caseCount(25),
    },
  )('is the union of its parts, each by even-odd, for any windows', async (all, tile, memoryBytes) => {
    const raster = numbered(100, 80);
    const job = { zones: zonesWith(all), raster, binning: unique, tile, memoryBytes, statistics: false };
    const united = await zonalHistogram(reference, job).catch((error: Error) => error);
    if (united instanceof Error) {
      // With the memory limit of 60,000 bytes, the unique values of a single tile may not fit.
      expect([memoryBytes, (united as { code?: string }).code]).toEqual([
        60_000,
        expect.stringMatching(/^zonal\/.*memory-bytes$/),
      ]);
      return;
    }
    expect(valuesOf(united)).toEqual(
      all.map((parts) => cellsWhere(raster, (x, y) => parts.some((rings) => holds(rings, x, y)))),
    );
    const cancelled = await zonalHistogram(reference, { ...job, fill: 'even-odd' });
    expect(valuesOf(cancelled)).toEqual(all.map((parts) => cellsWhere(raster, (x, y) => holds(parts.flat(), x, y))));
  });

  onEveryBackend(
    (opened) =>
      test.prop([fc.array(zoneOfParts, { minLength: 1, maxLength: 4 })], { numRuns: costlyCaseCount(15) })(
        'has the same bytes',
        async (all) => {
          const job = { zones: zonesWith(all), raster: numbered(100, 80), binning: unique, tile: 32 };
          expect(plain(await zonalHistogram(opened().context, job))).toBe(plain(await zonalHistogram(reference, job)));
        },
      ),
    dealtWorkers(),
  );

  test('has the same bytes on WebGPU', async () => {
    const all = fc.sample(zoneOfParts, { numRuns: 12, seed: 7 });
    const binning: Binning = { kind: 'even', low: 0, high: 8000, width: 1000 };
    const job = { zones: zonesWith(all), raster: numbered(100, 80), binning, tile: 32 };
    expect(plain(await zonalHistogram(webgpu, job))).toBe(plain(await zonalHistogram(reference, job)));
  });

  const hole: Rings = [box(10, 10, 60, 60), box(20, 20, 50, 50)];
  const turnedBox = (left: number, bottom: number, right: number, top: number): Rings[number] =>
    [...box(left, bottom, right, top)].reverse();
  test.each<[string, Parts, number, number]>([
    ['nested', [[box(10, 10, 60, 60)], [box(20, 20, 50, 50)]], 2500, 1600],
    ['parts that overlap', [[box(10, 10, 60, 60)], [box(30, 30, 70, 70)]], 3200, 2300],
    ['parts that overlap, with opposite directions', [[box(10, 10, 60, 60)], [turnedBox(30, 30, 70, 70)]], 3200, 2300],
    ['parts that touch', [[box(10, 10, 40, 60)], [box(40, 10, 60, 60)]], 2500, 2500],
    ['a part inside the hole of the other', [hole, [box(30, 30, 40, 40)]], 1700, 1700],
    ['a part that covers the hole of the other', [hole, [box(15, 15, 55, 55)]], 2500, 1800],
    ['a part that fills the hole of the other', [hole, [box(20, 20, 50, 50)]], 2500, 2500],
    ['identical parts', [[box(10, 10, 60, 60)], [box(10, 10, 60, 60)]], 2500, 0],
    [
      'a third part over the overlap of two',
      [[box(10, 10, 40, 40)], [box(20, 20, 50, 50)], [box(20, 20, 40, 40)]],
      1400,
      1400,
    ],
    [
      'a third part that overlaps two',
      [[box(10, 10, 40, 40)], [box(20, 20, 50, 50)], [box(25, 25, 35, 35)]],
      1400,
      1100,
    ],
  ])('%s', async (_, parts, united, cancelled) => {
    const job = { zones: zonesWith([parts]), raster: numbered(100, 80), binning: unique, tile: 32 };
    expect(cellsOf(await zonalHistogram(reference, job))).toEqual([united]);
    expect(cellsOf(await zonalHistogram(reference, { ...job, fill: 'even-odd' }))).toEqual([cancelled]);
  });

  test.prop(
    [fc.array(simplePart, { minLength: 2, maxLength: 4 }), fc.array(fc.integer({ min: 0, max: 1 }), { minLength: 4 })],
    {
      numRuns: caseCount(15),
    },
  )('on a geographic raster is united across turns of longitude', async (parts, turns) => {
    const degrees = movedParts(parts, (x, y) => [160 + 8 * x + 0.5, 8 * y - 20.5]);
    const turned = degrees.map((rings, part) => movedParts([rings], (x, y) => [x + 360 * turns[part]!, y])[0]!);
    const raster = numbered(90, 45, { originX: -180, originY: 90, stepX: 4, stepY: -4, geographic: true });
    const count = async (all: Parts) =>
      valuesOf(
        await zonalHistogram(reference, { zones: zonesWith([all]), raster, binning: unique, statistics: false }),
      );
    expect(await count(turned)).toEqual(await count(degrees));
    const inAny = cellsWhere(raster, (column, row) =>
      degrees.some((rings) => [-180, 180].some((west) => holds(rings, 4 * column + west, 4 * row - 90))),
    );
    expect(await count(degrees)).toEqual([inAny]);
  });
});

describe('a zone compared with GEOS', () => {
  test('has the area of the union of its parts', async () => {
    const geos = await Geos.open();
    // Parts are enlarged ten times. So the number of cells equals the area of rectilinear parts, and approximates the
    // area of all other parts well.
    const pairs = fc
      .sample(fc.tuple(simplePart, simplePart), { numRuns: THOROUGH ? 200 : 60, seed: 3 })
      .map((pair) => movedParts(pair, (x, y) => [x * 10, y * 10]));
    const binning: Binning = { kind: 'even', low: 0, high: 2 ** 16, width: 2 ** 16 };
    const job = { zones: zonesWith(pairs), raster: numbered(190, 190), binning, statistics: false };
    const cells = cellsOf(await zonalHistogram(reference, job));
    for (const [zone, pair] of pairs.entries()) {
      const polygons = partedPolygons([[pair[0]!], [pair[1]!]]);
      const { union } = geos.areas(polygons, 0, polygons, 1);
      if (isRectilinear(pair)) expect(cells[zone]).toBeCloseTo(union, 6);
      else expect(Math.abs(cells[zone]! - union)).toBeLessThan(lengthOf(pair));
    }
  });
});

function lengthOf(parts: Parts): number {
  const edges = parts
    .flat()
    .flatMap((ring) => ring.map((to, i) => [ring[(i + ring.length - 1) % ring.length]!, to] as const));
  return edges.reduce((sum, [[x0, y0], [x1, y1]]) => {
    return sum + Math.abs(x1 - x0) + Math.abs(y1 - y0);
  }, 1);
}

function isRectilinear(parts: Parts): boolean {
  return parts.flat().every((ring) =>
    ring.every(([x, y], i) => {
      const [x0, y0] = ring[(i + ring.length - 1) % ring.length]!;
      return x === x0 || y === y0;
    }),
  );
}

describe('parts of zones', () => {
  const square = (left: number, bottom: number, side: number) => [
    [left, bottom],
    [left + side, bottom],
    [left + side, bottom + side],
    [left, bottom + side],
    [left, bottom],
  ];
  const two = { type: 'MultiPolygon', coordinates: [[square(0, 0, 2), square(0.5, 0.5, 1)], [square(1, 1, 2)]] };
  const collection = {
    type: 'GeometryCollection',
    geometries: [
      { type: 'Polygon', coordinates: [square(0, 0, 2), square(0.5, 0.5, 1)] },
      { type: 'Polygon', coordinates: [square(1, 1, 2)] },
    ],
  };

  test.each([two, collection])('are the polygons of a geometry', (geometry) => {
    expect([...parseZones(JSON.stringify(geometry)).zones.polygons.ringParts!]).toEqual([0, 0, 1]);
  });

  test('that overlap are noted, and --fill chooses the fill rule', async () => {
    const shop = await openWorkshop();
    try {
      await shop.writeRaster('raster.tif');
      await shop.write('zones.json', two);
      const words = ['zonal', '--zones', '@zones.json', '--raster', '@raster.tif', '--edges', '0,100'];
      const united = await shop.quadrille([...words, '--plot', '@united.svg']);
      expect(united.stdout).toBe('zone,lower,upper,count\n0,0,100,6\n');
      expect(united.stderr).toContain(
        'note: 1 zone has parts that overlap; what several of them cover is inside and counts once: "0".\n',
      );
      const cancelled = await shop.quadrille([...words, '--plot', '@cancelled.svg', '--fill', 'even-odd']);
      expect(cancelled.stdout).toBe('zone,lower,upper,count\n0,0,100,5\n');
      expect(cancelled.stderr).toContain(
        'note: 1 zone has parts that overlap; by the even-odd rule what two of them cover is outside: "0".\n',
      );
      // Each part of a zone is drawn as a separate path. In a single path, the even-odd rule would make a hole where
      // two parts overlap.
      const pathsIn = async (name: string) => [
        ...(await readFile(shop.path(name), 'utf8')).matchAll(/<path fill="[^"]*" d="M/g),
      ];
      expect(await pathsIn('united.svg')).toHaveLength(2);
      expect(await pathsIn('cancelled.svg')).toHaveLength(1);
    } finally {
      await shop.remove();
    }
  });
});
