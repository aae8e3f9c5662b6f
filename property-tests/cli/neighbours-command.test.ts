import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildPointTree, type Metric, withinRadius } from '../../algorithms/neighbours/index.ts';
import { nameOfMetric } from '../../algorithms/neighbours/metrics.ts';
import type { HostTable } from '../../algorithms/tables/host-table.ts';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import { Interrupted } from '../../cli/interrupt.ts';
import { openTable } from '../../formats/index.ts';
import { OutOfMemoryError } from '../../primitives/checks/errors.ts';
import { Context } from '../../primitives/context/context.ts';
import { onEveryBackend } from '../backends.ts';
import { caseCount, costlyCaseCount } from '../cases.ts';
import type { HostPoints } from '../support/neighbours-by-hand.ts';
import { fileOf } from '../support/table-files-support.ts';
import {
  answerByHand,
  columnsOf,
  columnWords,
  f64,
  isRight,
  neighboursOf,
  rowsOfCsv,
  square,
  strings,
} from './neighbours-command-support.ts';

/**
 * Coordinates of points: scattered, in one place, on a line, on a small lattice, with distant outliers, or not finite.
 */
const clouds: readonly ((u: number, i: number, d: number) => number)[] = [
  (u) => u,
  () => 7,
  (u, _, d) => (d === 0 ? u : 0.5),
  (u) => Math.floor(u * 3) - 1,
  (u, i) => (i % 17 === 5 ? (u - 0.5) * 1e30 : 1000 + u),
  (u, i) => (i % 5 === 0 ? [Number.NaN, Number.POSITIVE_INFINITY, -0][i % 3]! : u - 0.5),
];

function cloud(kind: number, count: number, dimensions: number, seed: number): HostPoints {
  let state = seed >>> 0;
  const elements = Float32Array.from({ length: count * dimensions }, (_, i) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return clouds[kind]!(state / 2 ** 32, Math.floor(i / dimensions), i % dimensions);
  });
  return { elements, dimensions };
}

const aCloud = fc.record({
  kind: fc.nat(clouds.length - 1),
  count: fc.oneof(fc.integer({ min: 0, max: 12 }), fc.constantFrom(1, 8, 9, 65, 130)),
  others: fc.nat(9),
  dimensions: fc.integer({ min: 1, max: 5 }),
  seed: fc.nat(2 ** 20),
});
const metric = fc.constantFrom<Metric[]>('l1', 'l2', 'max', { lp: 3 }, { lp: 16 }, 'cosine', 'inner');
const batches = fc.record({
  rows: fc.constantFrom(undefined, 1, 7, 64),
  queries: fc.constantFrom(undefined, 1, 5, 64),
});
const asked = fc.oneof(
  fc.record({ k: fc.constantFrom(1, 2, 8, 15, 16, 40, 200) }),
  fc.record({ radius: fc.constantFrom(0, 0.25, 1, 3.5, 1e12) }),
);

/** A random search, with the arguments and tables that a run of the command needs for it. */
const given = fc.record({ cloud: aCloud, isJoin: fc.boolean(), withSelf: fc.boolean(), metric, asked }).map((each) => {
  const { kind, count, others, dimensions, seed } = each.cloud;
  const points = cloud(kind, count, dimensions, seed);
  const queries = each.isJoin ? undefined : cloud(kind, others, dimensions, seed + 1);
  const withSelf = each.isJoin && each.withSelf;
  const tables = { points: columnsOf(points), ...(queries === undefined ? {} : { queries: columnsOf(queries) }) };
  const words = [
    ...columnWords(dimensions),
    ...('k' in each.asked ? ['-k', String(each.asked.k)] : ['--radius', String(each.asked.radius)]),
    ...['--metric', nameOfMetric(each.metric), '--on-bad-record', 'skip'],
    ...(queries === undefined ? [] : ['--queries', 'queries']),
    ...(withSelf ? ['--with-self'] : []),
  ];
  return { tables, words, question: { points, queries, withSelf, metric: each.metric, asked: each.asked } };
});

onEveryBackend((opened, { name }) => {
  const numRuns = name === 'reference' ? caseCount(60) : costlyCaseCount(name === 'workers' ? 25 : 8);

  test('rows equal a plain evaluation, for any batches of points and queries', async () => {
    await fc.assert(
      fc.asyncProperty(given, batches, async ({ tables, words, question }, batches) => {
        const { stdout } = await neighboursOf(opened().context, tables, words, batches);
        const rows = rowsOfCsv(stdout.toString());
        expect(rows.map(([query, id]) => [query, id])).toEqual(answerByHand(question));
        expect(rows.filter((row) => !isRight(question, row))).toEqual([]);
      }),
      { numRuns },
    );
  });
});

let context: Context;
beforeAll(() => {
  context = new Context(createReferenceBackend());
});
afterAll(() => context.close());

const csvOf = async (points: HostTable, words: string, queries: HostTable = {}): Promise<string> =>
  (await neighboursOf(context, { points, queries }, words.split(' '))).stdout.toString();

describe('the bytes of an output', () => {
  // The reader of Arrow files returns a batch for each record batch, here two.
  test.each([
    ['csv', 60],
    ['json', 60],
    ['arrow', 270],
  ] as const)('do not depend on batches: %s', async (format, count) => {
    const points = columnsOf(cloud(0, count, 2, 5));
    const words = ['--radius', '9', '--out', '-', '--format', format];
    const whole = await neighboursOf(context, { points }, words);
    const parts = await neighboursOf(context, { points }, words, { rows: 7, queries: 19 });
    expect(parts.stdout.equals(whole.stdout)).toBe(true);
    expect(JSON.stringify(parts.told('result'))).toContain(`"rows":${count * (count - 1)}`);
  });

  test('hold the same rows in all formats', async () => {
    const csv = await csvOf(square, '-k 2 --id name');
    expect(csv).toBe(
      'query,rank,id,distance\na,1,c,1.4142135623730951\na,2,b,5\nb,1,d,2.23606797749979\nb,2,c,3.605551275463989\n' +
        'c,1,a,1.4142135623730951\nc,2,b,3.605551275463989\nd,1,b,2.23606797749979\nd,2,c,5.656854249492381\n',
    );
    const json = JSON.parse(await csvOf(square, '-k 2 --id name --format json')) as Record<string, unknown>[];
    expect(json.map((row) => Object.values(row).join(','))).toEqual(csv.trimEnd().split('\n').slice(1));
    const arrow = await neighboursOf(context, { points: square }, ['-k', '2', '--id', 'name', '--format', 'arrow']);
    const table = await openTable(await fileOf(arrow.stdout, '.arrow'));
    expect(table.fields.map(({ name, type }) => [name, type])).toEqual([
      ['query', 'string'],
      ['rank', 'u32'],
      ['id', 'string'],
      ['distance', 'f64'],
    ]);
    await table.close();
  });
});

describe('results larger than memory', () => {
  const host = cloud(0, 100, 2, 9);
  const points = columnsOf(host);
  const words = ['--radius', '9'];

  test('are computed in parts, with the same bytes', async () => {
    const narrow = new Context(createReferenceBackend({ limits: { memoryBytes: 150_000 } }));
    const tree = buildPointTree(narrow, { elements: narrow.column(host.elements), dimensions: 2 });
    await expect(withinRadius(narrow, tree, 'points', { radius: 9, sorted: true })).rejects.toThrow(OutOfMemoryError);
    const parts = await neighboursOf(narrow, { points }, words);
    await narrow.close();
    expect(parts.stdout.equals((await neighboursOf(context, { points }, words)).stdout)).toBe(true);
    expect(rowsOfCsv(parts.stdout.toString())).toHaveLength(100 * 99);
  });

  test('for a single query are an error', async () => {
    const narrow = new Context(createReferenceBackend({ limits: { memoryBytes: 4000 } }));
    await expect(neighboursOf(narrow, { points }, words)).rejects.toMatchObject({ code: 'memory/limit' });
    await narrow.close();
  });
});

describe('coordinates of more digits than f32 holds', () => {
  test('give the same neighbours as coordinates near 0', async () => {
    const place = fc.array(fc.integer({ min: -(2 ** 18), max: 2 ** 18 }), { minLength: 2, maxLength: 24 });
    await fc.assert(
      fc.asyncProperty(place, fc.constantFrom('l1', 'l2', 'max'), async (steps, metric) => {
        const [near, far] = [(step: number) => step / 1024, (step: number) => 2 ** 30 + 1 / 1024 + step / 1024];
        const [x, y] = [steps, steps.map((step, i) => (i % 3) * step)];
        const answers = [near, far].map((of) =>
          csvOf({ x: f64(...x.map(of)), y: f64(...y.map(of)) }, `-k 3 --metric ${metric}`),
        );
        expect(await answers[1]).toBe(await answers[0]);
      }),
      { numRuns: costlyCaseCount(30) },
    );
  });
});

describe('columns', () => {
  const numbers = { lon: f64(0, 3), lat: f64(0, 4), height: f64(9, 9) };
  test.each<readonly [string, HostTable, string]>([
    ['lon and lat, which are degrees', numbers, '-k 1'],
    ['names in upper or lower case', { X: numbers.lon, Y: numbers.lat }, '-k 1'],
    ['those given by --columns', { 'a,b': numbers.lon, c: numbers.lat }, '-k 1 --columns "a,b",c'],
    ['those given by --columns, in another order', numbers, '-k 1 --columns lat,lon'],
    [
      'integers and decimals',
      {
        x: { type: 'i64', values: BigInt64Array.of(0n, 3n) },
        y: { type: 'decimal', scale: 2, values: BigInt64Array.of(0n, 400n) },
      },
      '-k 1',
    ],
  ])('are %s', async (_, points, words) => {
    expect(await csvOf(points, words)).toBe('query,rank,id,distance\n0,1,1,5\n1,1,0,5\n');
  });

  test('can include z, and can differ for queries', async () => {
    expect(await csvOf({ ...square, z: f64(0, 0, 9, 0) }, '-k 1')).toContain('0,1,1,5\n');
    const queries = { lon: f64(4), lat: f64(4), no: strings('seven') };
    expect(await csvOf(square, '-k 1 --id name --queries queries --query-columns lon,lat --query-id no', queries)).toBe(
      'query,rank,id,distance\nseven,1,b,1\n',
    );
  });

  test.each<readonly [string, HostTable, string, string, RegExp]>([
    [
      'no usual names of coordinates',
      { pickup_longitude: f64(1), pickup_latitude: f64(2), fare: f64(3), zone: strings('a') },
      '-k 1',
      'usage/no-coordinates',
      /pickup_longitude, pickup_latitude, fare\. Did you mean --columns pickup_longitude,pickup_latitude\?/,
    ],
    ['a missing column', square, '-k 1 --columns x,yy', 'usage/unknown-column', /"yy"/],
    ['strings', square, '-k 1 --columns x,name', 'usage/not-numbers', /"name".*x, y, got string/],
    ['a repeated column', square, '-k 1 --columns x,x', 'usage/repeated-column', /"x" twice/],
    ['a missing name column of points', square, '-k 1 --id nam', 'usage/unknown-column', /Did you mean name\?/],
    ['missing columns of queries', square, '-k 1 --queries queries', 'usage/unknown-column', /There is no column "x"/],
    [
      'fewer columns of queries',
      square,
      '-k 1 --queries queries --query-columns lon',
      'usage/dimensions',
      /--query-columns/,
    ],
  ])('%s: an error', async (_, points, words, code, message) => {
    const failed = csvOf(points, words, { lon: f64(4), lat: f64(4) });
    await expect(failed).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });
});

describe('rows without valid coordinates', () => {
  const validity = Uint32Array.of(0b101);
  const bad = {
    null: { x: { type: 'f64', values: Float64Array.of(0, 1, 2), validity }, y: f64(0, 0, 0) },
    NaN: { x: f64(0, Number.NaN, 2), y: f64(0, 0, 0) },
    '-Infinity': { x: f64(0, Number.NEGATIVE_INFINITY, 2), y: f64(0, 0, 0) },
    '1e+302, beyond ±1.1e+301': { x: f64(0, 1e302, 2), y: f64(0, 0, 0) },
  } satisfies Record<string, HostTable>;

  test.each(Object.entries(bad))('such as %s stop the run, or are skipped and reported', async (what, points) => {
    await expect(csvOf(points, '-k 1')).rejects.toMatchObject({
      code: 'neighbours/no-place',
      message: `points, record 1: A point has no valid coordinates: x is ${what}. Correct the row, or skip such rows with --on-bad-record skip.`,
    });
    const { stdout, told } = await neighboursOf(context, { points, queries: points }, [
      '-k',
      '1',
      '--on-bad-record',
      'skip',
    ]);
    expect(stdout.toString()).toBe('query,rank,id,distance\n0,1,2,2\n2,1,0,2\n');
    expect(told('note')[0]).toMatchObject({ code: 'neighbours/no-place', count: 1 });
    const of = await neighboursOf(
      context,
      { points: square, queries: points },
      '-k 1 --queries queries --on-bad-record skip --json'.split(' '),
    );
    expect(JSON.parse(of.stdout.toString())).toMatchObject({
      ...{ queries: 2, totalQueries: 2, partial: false, leftOut: { points: 0, queries: 1 } },
    });
  });
});

describe('few points', () => {
  const none = { x: f64(), y: f64() };
  test.each<readonly [string, HostTable, string, HostTable, string]>([
    ['none', none, '-k 3', {}, ''],
    ['no points, within a radius', none, '--radius 3', {}, ''],
    ['no points, with queries', none, '-k 3 --queries queries', square, ''],
    ['no queries', square, '-k 3 --queries queries', none, ''],
    ['one point, which is not its own neighbour', { x: f64(2), y: f64(3) }, '-k 3', {}, ''],
    ['one point, with itself', { x: f64(2), y: f64(3) }, '-k 3 --with-self', {}, '0,1,0,0\n'],
    ['one point within a radius of 0', { x: f64(2), y: f64(3) }, '--radius 0 --with-self', {}, '0,0,0\n'],
  ])('%s', async (_, points, words, queries, rows) => {
    const header = words.startsWith('-k') ? 'query,rank,id,distance\n' : 'query,id,distance\n';
    expect(await csvOf(points, words, queries)).toBe(header + rows);
  });
});

describe('figures', () => {
  test('hold all distances in bins', async () => {
    await fc.assert(
      fc.asyncProperty(
        aCloud,
        fc.constantFrom('l2', 'inner'),
        fc.constantFrom(1, 9),
        async (given, metric, queries) => {
          const points = cloud(given.kind, given.count, 2, given.seed);
          const words = ['-k', '4', '--metric', metric, '--on-bad-record', 'skip'];
          const tables = { points: columnsOf(points) };
          const rows = rowsOfCsv((await neighboursOf(context, tables, words)).stdout.toString());
          const { stdout } = await neighboursOf(context, tables, [...words, '--json'], { queries });
          const { distances } = JSON.parse(stdout.toString());
          const finite = rows.map(([, , distance]) => distance).filter(Number.isFinite);
          const { start, width, counts } = distances.histogram as { start: number; width: number; counts: number[] };
          const expected = counts.map(
            (_, bin) => finite.filter((distance) => Math.floor(distance / width) - start / width === bin).length,
          );
          expect(counts).toEqual(expected);
          expect(counts.length).toBeLessThanOrEqual(64);
          expect(counts.reduce((sum, count) => sum + count, 0)).toBe(finite.length);
          expect(distances).toMatchObject({
            count: finite.length,
            infinite: rows.length - finite.length,
            max: finite.length === 0 ? null : Math.max(...finite),
            min: finite.length === 0 ? null : Math.min(...finite),
          });
        },
      ),
      { numRuns: costlyCaseCount(40) },
    );
  });

  test('are plotted', async () => {
    const svg = await csvOf(square, '-k 2 --metric inner --plot -');
    expect(svg).toContain('8 distances of 4 queries');
    expect(svg).toContain('distance (inner)');
    expect(await csvOf({ x: f64(), y: f64() }, '-k 2 --plot -')).toContain('0 distances of 0 queries');
  });
});

describe('an interrupted run', () => {
  const points = columnsOf(cloud(0, 40, 2, 3));

  test('keeps the results of finished queries, and reports that', async () => {
    const controller = new AbortController();
    const onSearch = (batch: number): void => {
      if (batch === 3) controller.abort(new Interrupted('SIGINT'));
    };
    const out = await fileOf('', '.json');
    const words = ['-k', '2', '--out', out];
    const failed = neighboursOf(context, { points }, words, { queries: 5, onSearch }, controller.signal);
    const { message } = await failed.then(
      () => expect.unreachable(),
      (error: Error) => error,
    );
    const [, done] = /^Stopped by SIGINT; the neighbours of the first (\d+) of 40 queries are kept in /.exec(message)!;
    expect(Number(done)).toBeGreaterThan(0);
    expect(Number(done)).toBeLessThanOrEqual(15);
    const kept = JSON.parse(await readFile(out, 'utf8')) as object[];
    const all = JSON.parse(
      (await neighboursOf(context, { points }, ['-k', '2', '--format', 'json'])).stdout.toString(),
    );
    expect(kept).toEqual(all.slice(0, 2 * Number(done)));
  });

  test('before the first result writes nothing', async () => {
    const reason = new Interrupted('SIGINT');
    const out = await fileOf('before', '.csv');
    const failed = neighboursOf(context, { points }, ['-k', '2', '--out', out], {}, AbortSignal.abort(reason));
    await expect(failed).rejects.toBe(reason);
    expect(await readFile(out, 'utf8')).toBe('before');
  });
});
