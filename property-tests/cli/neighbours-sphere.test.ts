import { afterAll, beforeAll, describe, expect } from 'vitest';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import { Context } from '../../primitives/context/context.ts';
import { onEveryBackend } from '../backends.ts';
import { caseCount, costlyCaseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';
import { f64, neighboursOf, rowsOfCsv } from './neighbours-command-support.ts';

let context: Context;
beforeAll(() => {
  context = new Context(createReferenceBackend());
});
afterAll(() => context.close());

const RADIUS = 6_371_008.8;

/** The angle between two vectors, from their cross product and their inner product. */
function metresByHand([lonA, latA]: readonly number[], [lonB, latB]: readonly number[]): number {
  const vector = (lon: number, lat: number): [number, number, number] => {
    const [u, v] = [(lon * Math.PI) / 180, (lat * Math.PI) / 180];
    return [Math.cos(v) * Math.cos(u), Math.cos(v) * Math.sin(u), Math.sin(v)];
  };
  const [a, b] = [vector(lonA!, latA!), vector(lonB!, latB!)];
  const cross = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  return RADIUS * Math.atan2(Math.hypot(...cross), a[0] * b[0] + a[1] * b[1] + a[2] * b[2]);
}

const angle = (max: number) =>
  fc.oneof(
    fc.double({ min: -max, max, noNaN: true }),
    fc.constantFrom(-max, max, 0, max - 1e-9, 1e-9 - max, max / 2),
    fc.integer({ min: -9, max: 9 }).map((step) => (step * max) / 9),
  );
const places = fc.array(fc.tuple(angle(180), angle(90)), { minLength: 2, maxLength: 40 });

const onSphere = (points: readonly (readonly number[])[]) => ({
  lon: f64(...points.map(([lon]) => lon!)),
  lat: f64(...points.map(([, lat]) => lat!)),
});

async function rowsOn(on: Context, points: readonly (readonly number[])[], words: string, metric = 'sphere') {
  const { stdout } = await neighboursOf(on, { points: onSphere(points) }, [...words.split(' '), '--metric', metric]);
  return rowsOfCsv(stdout.toString());
}

onEveryBackend((opened, { name }) => {
  test('neighbours on the sphere are those of a plain scan, across the antimeridian and at the poles', async () => {
    await fc.assert(
      fc.asyncProperty(places, fc.constantFrom(1, 4), async (points, k) => {
        const rows = await rowsOn(opened().context, points, `-k ${k}`);
        for (const [query, place] of points.entries()) {
          const expected = points.map((other) => metresByHand(place, other));
          const near = expected.filter((_, id) => id !== query).sort((a, b) => a - b);
          const mine = rows.filter(([asked]) => asked === query);
          expect(mine).toHaveLength(Math.min(k, points.length - 1));
          for (const [rank, [, id, distance]] of mine.entries()) {
            expect(Math.abs(distance - expected[id]!)).toBeLessThan(1e-7);
            expect(Math.abs(distance - near[rank]!)).toBeLessThan(1e-7);
          }
        }
      }),
      { numRuns: name === 'reference' ? caseCount(100) : costlyCaseCount(name === 'workers' ? 8 : 2) },
    );
  });
});

describe('on the sphere', () => {
  test('points on both sides of the antimeridian are near', async () => {
    const points = [
      [179.9, 60],
      [-179.9, 60],
      [170, 60],
    ];
    const [[query, id, distance] = []] = await rowsOn(context, points, '-k 1');
    expect([query, id]).toEqual([0, 1]);
    expect(distance).toBeCloseTo(metresByHand(points[0]!, points[1]!), 6);
    expect(await rowsOn(context, points, `--radius ${distance}`)).toHaveLength(2);
  });

  test('all longitudes of a pole are one point, and antipodes are half a circle apart', async () => {
    const poles = [
      [0, 90],
      [123, 90],
      [-45, -90],
    ];
    const rows = await rowsOn(context, poles, '-k 2');
    expect(rows[0]).toEqual([0, 1, 0]);
    expect(rows[1]![2]).toBeCloseTo(Math.PI * RADIUS, 6);
    expect(await rowsOn(context, poles, '-k 2', 'haversine')).toEqual(rows);
  });

  test('longitudes of a pole are at the same distance from everywhere, and come in the order of their rows', async () => {
    await fc.assert(
      fc.asyncProperty(angle(180), angle(89), fc.array(angle(180), { minLength: 2 }), async (lon, lat, poles) => {
        const points = [[lon, lat], ...poles.map((longitude) => [longitude, 90])];
        const rows = (await rowsOn(context, points, `-k ${poles.length}`)).filter(([query]) => query === 0);
        expect(rows.map(([, id]) => id)).toEqual(poles.map((_, i) => i + 1));
        expect(new Set(rows.map(([, , distance]) => distance)).size).toBe(1);
      }),
      { examples: [[179.9, 60, [180, -20]]], numRuns: caseCount(100) },
    );
  });

  test('a radius finds what the list of all neighbours has up to it', async () => {
    await fc.assert(
      fc.asyncProperty(places, fc.nat(), async (points, seed) => {
        const all = await rowsOn(context, points, `-k ${points.length}`);
        const [, , radius] = all[seed % all.length]!;
        const within = await rowsOn(context, points, `--radius ${radius}`);
        expect(within).toEqual(all.filter(([, , distance]) => distance <= radius));
      }),
      { numRuns: caseCount(100) },
    );
  });

  test.each([
    [90.5, 'lat is 90.5, beyond ±90 degrees'],
    [Number.NaN, 'lat is NaN'],
  ])('a latitude of %d is refused with its place, or skipped', async (latitude, fault) => {
    const points = [
      [0, 0],
      [0, latitude],
      [1, 1],
    ];
    await expect(rowsOn(context, points, '-k 1')).rejects.toMatchObject({
      code: 'neighbours/no-place',
      message: expect.stringContaining(`points, record 1: A point has no valid coordinates: ${fault}`),
    });
    expect((await rowsOn(context, points, '-k 1 --on-bad-record skip')).map(([query, id]) => [query, id])).toEqual([
      [0, 2],
      [2, 0],
    ]);
  });

  test('columns in the wrong order or number are refused', async () => {
    const points = { ...onSphere([[1, 2]]), x: f64(1) };
    const run = (columns: string) =>
      neighboursOf(context, { points }, ['-k', '1', '--metric', 'sphere', '--columns', columns]);
    await expect(run('lat,lon')).rejects.toMatchObject({
      code: 'usage/sphere',
      message: expect.stringContaining('Use --columns lon,lat.'),
    });
    await expect(run('x')).rejects.toMatchObject({ code: 'usage/sphere' });
  });

  test.each([
    ['lon', 'lat'],
    ['lng', 'lat'],
    ['Longitude', 'Latitude'],
    ['pickup_longitude', 'pickup_latitude'],
    ['startLng', 'startLat'],
    ['lat', 'long'],
  ])('a note names the metric where %s and %s are compared as in a plane', async (first, second) => {
    const points = { [first]: f64(1, 2), [second]: f64(3, 4) };
    const words = ['-k', '1', '--columns', `${first},${second}`];
    const { told } = await neighboursOf(context, { points }, words);
    expect(told('note')).toMatchObject([
      { code: 'neighbours/degrees', message: expect.stringContaining('--metric sphere') },
    ]);
    if (second === 'long') return;
    expect((await neighboursOf(context, { points }, [...words, '--metric', 'sphere'])).told('note')).toEqual([]);
  });
});
