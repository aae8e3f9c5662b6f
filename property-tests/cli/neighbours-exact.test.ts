import { afterAll, beforeAll, describe, expect } from 'vitest';
import { type Metric, nameOfMetric, recordOf } from '../../algorithms/neighbours/metrics.ts';
import type { HostTable } from '../../algorithms/tables/host-table.ts';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import { Context } from '../../primitives/context/context.ts';
import { onEveryBackend } from '../backends.ts';
import { caseCount, costlyCaseCount, someOf } from '../cases.ts';
import { fc, test } from '../law-test.ts';
import { exactOrder, isWithinUlp, type Place } from '../support/exact-neighbours.ts';
import { powerMetrics } from '../support/metrics.ts';
import { columnWords, f64, neighboursOf, type Row, rowsOfCsv } from './neighbours-command-support.ts';

let context: Context;
beforeAll(() => {
  context = new Context(createReferenceBackend());
});
afterAll(() => context.close());

const i64 = (...values: bigint[]): HostTable[string] => ({ type: 'i64', values: BigInt64Array.from(values) });

/** Columns of points. An axis with a bigint is a column of i64. */
function tableOf(points: readonly Place[], dimensions: number): HostTable {
  const names = ['x', 'y', 'z', 'u', 'v'].slice(0, dimensions);
  return Object.fromEntries(
    names.map((name, d) => {
      const axis = points.map((point) => point[d]!);
      return [name, typeof axis[0] === 'bigint' ? i64(...(axis as bigint[])) : f64(...(axis as number[]))];
    }),
  );
}

async function csvOf(on: Context, table: HostTable, words: readonly string[], queries = 0): Promise<string> {
  const batches = queries === 0 ? {} : { queries };
  return (await neighboursOf(on, { points: table }, words, batches)).stdout.toString();
}

const rowsOn = async (table: HostTable, words: string): Promise<Row[]> =>
  rowsOfCsv(await csvOf(context, table, words.split(' ')));

const FAR = fc.constantFrom(0, 1e9, -123456.789, 1e-300, 1e300, 2 ** 53);
const STEP = fc.constantFrom(1, 0.1, 1e-12, 1e-300, 1e-160, 1e150, 1e300, 2 ** -20);
const SMALL = fc.integer({ min: -6, max: 6 });

/** Coordinates on a lattice far from 0, or numbers of all magnitudes. */
const coordinate = fc.oneof(
  { weight: 4, arbitrary: fc.record({ far: FAR, step: STEP }) },
  { weight: 1, arbitrary: fc.constant({ far: 2 ** 53, step: 2 }) },
  { weight: 1, arbitrary: fc.constant(undefined) },
);
const size = fc.integer({ min: -300, max: 300 });
const anyNumber = fc.tuple(SMALL, size).map(([digit, exponent]) => (digit + 0.1) * 10 ** exponent);

const cloud = fc
  .tuple(fc.constantFrom(1, 2, 3, 5), coordinate, fc.integer({ min: 1, max: 40 }))
  .chain(([dimensions, on, count]) => {
    const axis: fc.Arbitrary<number | bigint> =
      on === undefined ? anyNumber : SMALL.map((step) => on.far + step * on.step);
    return fc.record({
      dimensions: fc.constant(dimensions),
      points: fc.array(fc.array(axis, { minLength: dimensions, maxLength: dimensions }), {
        minLength: count,
        maxLength: count,
      }),
    });
  });

const stamps = fc
  .array(fc.bigInt({ min: 0n, max: 300n }), { minLength: 2, maxLength: 40 })
  .map((steps) => ({ dimensions: 1, points: steps.map((step) => [1_600_000_000_000_000_000n + step]) }));

const table = fc.oneof({ weight: 5, arbitrary: cloud }, { weight: 1, arbitrary: stamps });
const bounded = fc.constantFrom<Metric[]>(...powerMetrics);
const metric = fc.oneof({ weight: 5, arbitrary: bounded }, fc.constantFrom<Metric[]>('cosine', 'inner'));

function nearestByHand(points: readonly Place[], metric: Metric, k: number): [number, number][] {
  return points.flatMap((query, i) =>
    exactOrder(metric, points, query)
      .filter((id) => id !== i)
      .slice(0, k)
      .map((id): [number, number] => [i, id]),
  );
}

const pairsOf = (rows: readonly Row[]): number[][] => rows.map(([query, id]) => [query, id]);

onEveryBackend((opened, { name }) => {
  test('neighbours have the order and the distances of real arithmetic, at all scales', async () => {
    await fc.assert(
      fc.asyncProperty(table, metric, fc.constantFrom(1, 3, 12), async ({ dimensions, points }, metric, k) => {
        const words = [...columnWords(dimensions), '-k', String(k), '--metric', nameOfMetric(metric)];
        const csv = await csvOf(opened().context, tableOf(points, dimensions), words, 7);
        const rows = rowsOfCsv(csv);
        expect(pairsOf(rows)).toEqual(nearestByHand(points, metric, k));
        if (recordOf(metric).power === undefined) return;
        for (const [query, id, distance] of rows) {
          expect([query, id, isWithinUlp(metric, points[query]!, points[id]!, distance)]).toEqual([query, id, true]);
        }
      }),
      { numRuns: name === 'reference' ? caseCount(160) : costlyCaseCount(name === 'workers' ? 40 : 20) },
    );
  });
});

test('decimals are the nearest f64, whatever digits they have', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.bigInt(1n - 2n ** 63n, 2n ** 63n - 1n),
      fc.integer({ min: 1, max: 38 }),
      async (units, scale) => {
        const table: HostTable = { x: { type: 'decimal', scale, values: BigInt64Array.of(0n, units) } };
        const [[, , distance] = []] = await rowsOn(table, '-k 1 --columns x');
        expect(distance).toBe(Math.abs(Number(`${units}e-${scale}`)));
      },
    ),
    { examples: [[9007199254740993n, 2]], numRuns: caseCount(100) },
  );
});

describe('a radius', () => {
  test('finds the neighbours, in order, whose distances by -k are at most the radius', async () => {
    await fc.assert(
      fc.asyncProperty(table, bounded, fc.nat(), async ({ dimensions, points }, metric, seed) => {
        const words = [...columnWords(dimensions), '--metric', nameOfMetric(metric)];
        const table = tableOf(points, dimensions);
        const near = rowsOfCsv(await csvOf(context, table, [...words, '-k', String(points.length)]));
        if (near.length === 0) return;
        const [, , radius] = near[seed % near.length]!;
        const rows = rowsOfCsv(await csvOf(context, table, [...words, '--radius', String(radius)]));
        expect(rows).toEqual(near.filter(([, , distance]) => distance <= radius));
      }),
      { numRuns: caseCount(100) },
    );
  });

  test.each([
    ['l8', 0, 11],
    ['l8', 22, 31],
    ['l6', 0, 31],
    ['l7', 0, 31],
    ['l3', 0, 0.17],
    ['l3', 0, 0.3],
    ['l3', 0, 0.33],
    ['l3', 0.17, 0.3],
    ['l1', -0.4, 0.2],
    ['l64', -0.4, 0.2],
  ])('by %s of the distance of %d and %d finds both', async (metric, a, b) => {
    const table = { x: f64(a, b) };
    const [[, , distance] = []] = await rowsOn(table, `-k 1 --columns x --metric ${metric}`);
    expect(distance).toBeCloseTo(b - a, 12);
    expect(await rowsOn(table, `--radius ${distance} --columns x --metric ${metric}`)).toEqual([
      [0, 1, distance],
      [1, 0, distance],
    ]);
  });
});

describe('the nearest', () => {
  test.each<readonly [string, HostTable, string, string]>([
    ['by a high power', { x: f64(0, 6, 5) }, '-k 1 --columns x --metric l64', '0,1,2,5\n'],
    ['by a high power of a small number', { x: f64(0, 0.15, 0.1) }, '-k 1 --columns x --metric l64', '0,1,2,0.1\n'],
    [
      'of points whose powers are subnormal',
      { x: f64(0, 0.24, 0.22) },
      '-k 1 --columns x --metric l64',
      '0,1,2,0.22\n',
    ],
    ['of points whose squares are subnormal', { x: f64(0, 3e-20, 2e-20) }, '-k 1 --columns x', '0,1,2,2e-20\n'],
    [
      'of integers beyond 2^53',
      { ns: i64(1600000000000000000n, 1600000000000000100n, 1600000000000000130n) },
      '-k 1 --columns ns',
      '0,1,1,100\n1,1,2,30\n2,1,1,30\n',
    ],
    [
      'by angles that f64 does not tell apart',
      { x: f64(2 ** 53, 2 ** 53 - 2, 2 ** 53 + 2), y: f64(2 ** 53, 2 ** 53 + 2, 2 ** 53 + 6) },
      '-k 2 --metric cosine',
      '0,1,2,2.4651903288156597e-32\n0,2,1,2.465190328815662e-32\n',
    ],
    [
      'by angles of multiples of a vector',
      { x: f64(3, 3e-170, 3 * 2 ** 600, 4), y: f64(1, 1e-170, 2 ** 600, 1) },
      '-k 2 --metric cosine',
      '0,1,2,0\n',
    ],
  ])('%s', async (_, table, words, rows) => {
    expect(await csvOf(context, table, words.split(' '))).toContain(`query,rank,id,distance\n${rows}`);
  });

  test('of centimetres far from the origin', async () => {
    const x = [100000, 100000.02, 100000.05, 900000, 900000.02, 900000.05];
    const rows = await rowsOn({ x: f64(...x), y: f64(...x.map((each) => (each < 5e5 ? 1e5 : 9e5))) }, '-k 2');
    expect(pairsOf(rows).slice(0, 6)).toEqual([
      [0, 1],
      [0, 2],
      [1, 0],
      [1, 2],
      [2, 1],
      [2, 0],
    ]);
    expect(rows.map(([, , distance]) => Number(distance.toFixed(6))).slice(0, 6)).toEqual([
      0.02, 0.05, 0.02, 0.03, 0.03, 0.05,
    ]);
  });

  test('of towns of points a millionth of a degree apart are those of f64', async () => {
    const fraction = (i: number): number => (Math.imul(i, 2654435761) >>> 0) / 2 ** 32;
    const points = Array.from({ length: 1200 }, (_, i) => {
      const town = i % 20;
      const [x, y] = [360 * fraction(town) - 180, 170 * fraction(town + 99) - 85];
      return [x + 1e-5 * fraction(2 * i + 1), y + 1e-5 * fraction(2 * i + 2)] as const;
    });
    const table = { x: f64(...points.map(([x]) => x)), y: f64(...points.map(([, y]) => y)) };
    const rows = await rowsOn(table, '-k 1');
    const town = (i: number) => [...points.keys()].filter((j) => j % 20 === i % 20);
    const wrong = rows.slice(0, 100).filter(([query, id]) => {
      const order = exactOrder(
        'l2',
        town(query).map((j) => points[j]!),
        points[query]!,
      );
      return town(query)[order[1]!] !== id;
    });
    expect(rows).toHaveLength(1200);
    expect(wrong).toEqual([]);
  });

  test('of 100,000 points within one step of f32, far from all others, are found', async () => {
    // A radius that f32 cannot tell from 0. The first points move the median away from the others.
    const x = Float64Array.from({ length: 200_001 }, (_, i) =>
      i % 2 === 0 ? i : 1e6 + 2 ** -33 * ((i * 7919) % 200_003),
    );
    const queries = { x: { type: 'f64', values: x.filter((_, i) => i % 2000 === 1) } } as const;
    const points = { x: { type: 'f64', values: x } } as const;
    const ordered = [...x.keys()].filter((i) => i % 2 === 1).sort((a, b) => x[a]! - x[b]!);
    const placeOf = new Map(ordered.map((id, i) => [id, i]));
    for (const asked of someOf(['-k 2', '--radius 2e-10'], 1)) {
      const words = `--columns x --queries queries ${asked}`.split(' ');
      const { stdout } = await neighboursOf(context, { points, queries }, words);
      const rows = rowsOfCsv(stdout.toString());
      expect(rows.length).toBeGreaterThanOrEqual(200);
      const places = rows.map(([query, id]) => Math.abs(placeOf.get(id)! - placeOf.get(1 + 2000 * query)!));
      expect(Math.max(...places)).toBeLessThanOrEqual(1);
    }
  });

  test('of 1,000 points in one place are those with the smallest numbers', async () => {
    const values = new Float64Array(1000).fill(0.1);
    const rows = await rowsOn({ x: { type: 'f64', values }, y: { type: 'f64', values } }, '-k 2');
    expect(rows.slice(0, 4)).toEqual([
      [0, 1, 0],
      [0, 2, 0],
      [1, 0, 0],
      [1, 2, 0],
    ]);
    expect(rows.slice(-2)).toEqual([
      [999, 0, 0],
      [999, 1, 0],
    ]);
  });
});
