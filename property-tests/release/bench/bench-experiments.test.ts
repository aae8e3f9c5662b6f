import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { builtInExperiments } from '../../../bench/experiments/index.ts';
import { permutation } from '../../../bench/experiments/inputs.ts';
import { backendCandidate } from '../../../bench/harness/backend-candidate.ts';
import type { Candidate } from '../../../bench/harness/candidate.ts';
import { columnsOfResult, type Experiment, type HostColumn, typesOf } from '../../../bench/harness/experiment.ts';
import { differenceOf, makeJob } from '../../../bench/harness/job.ts';
import { measure, type Omission } from '../../../bench/harness/measure.ts';
import { ratioPlot } from '../../../bench/harness/plots.ts';
import type { Row } from '../../../bench/harness/row.ts';
import { byCase, resultsCsv, tableCells, timesOurs } from '../../../bench/harness/tables.ts';
import { parseSizes } from '../../../cli/bench-arguments.ts';
import { loadExperiments } from '../../../cli/bench-experiments.ts';
import type { Column } from '../../../primitives/columns/column.ts';
import { Context } from '../../../primitives/context/context.ts';
import { bool, fn, map, u32 } from '../../../primitives/index.ts';
import { onEveryBackend } from '../../backends.ts';
import { caseCount, someOf } from '../../cases.ts';

const cases = builtInExperiments.flatMap((experiment) =>
  typesOf(experiment).map((type) => [`${experiment.name} ${type}`, experiment, type] as const),
);

onEveryBackend((opened) => {
  test.each(cases)('%s returns the expected results, and leaks nothing', async (_, experiment, type) => {
    const { backend } = opened().context;
    const candidate = backendCandidate(backend.name, opened().context, '');
    for (const n of someOf([1, 17, 1500], 1)) {
      const job = makeJob(experiment, { n, type });
      const { liveBuffers } = backend.counters;
      const prepared = (await candidate.prepare(job))!;
      const answer = (await prepared.answer()) as readonly HostColumn[];
      expect([n, differenceOf(answer, await job.expected(), 0)]).toEqual([n, undefined]);
      const { time, latency = time } = await prepared.round(2);
      expect(time).toBeGreaterThanOrEqual(0);
      expect(latency).toBeGreaterThan(0);
      await prepared.close();
      expect([n, backend.counters.liveBuffers]).toEqual([n, liveBuffers]);
    }
  });
});

/** The typed arrays in a value. */
function arraysIn(value: unknown): Uint8Array[] {
  if (ArrayBuffer.isView(value)) return [value as Uint8Array];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(arraysIn) : [];
}

describe('plain JavaScript', () => {
  test.each(cases)(
    'equals the reference backend for %s, and keeps its inputs unchanged',
    async (_, experiment, type) => {
      for (const n of someOf([1, 16, 2049], 2)) {
        const bare: Experiment = { ...experiment, reference: () => undefined };
        const job = makeJob(bare, { n, type });
        const before = arraysIn(job.inputs).map((array) => array.slice());
        const found = columnsOfResult(experiment.plain!(job.inputs, job));
        const tolerance = experiment.tolerance?.(job) ?? 0;
        expect([n, differenceOf(found, await job.expected(), tolerance)]).toEqual([n, undefined]);
        expect(arraysIn(job.inputs)).toEqual(before);
      }
    },
  );
});

describe('inputs', () => {
  test('permutation(n) is a permutation for every n', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 5000 }), (n) => {
        expect([...permutation(n)].sort((a, b) => a - b)).toEqual(Array.from({ length: n }, (_, i) => i));
      }),
      { numRuns: caseCount(30) },
    );
  });
});

describe('a run', () => {
  /**
   * A fake candidate that reports a time of n · `time` for its nth round. `order` records the name of a candidate at
   * each of its rounds, and when it is closed.
   */
  function pretender(
    name: string,
    order: string[],
    change: Partial<{ wrong: boolean; failsIn: number; hardware: 'cpu' | 'gpu'; time: number }> = {},
  ): Candidate {
    let round = 0;
    return {
      name,
      kind: 'peer',
      hardware: change.hardware ?? 'cpu',
      description: '',
      prepare: async (job) => ({
        answer: async () => (change.wrong === true ? 7 : job.expectedSum()),
        async round() {
          order.push(name);
          round++;
          if (round === change.failsIn) throw new Error('gone');
          return { time: (change.time ?? 1e7) * round, clock: 'host' };
        },
        close: async () => void order.push(`${name} closed`),
      }),
      close: async () => undefined,
    };
  }

  async function run(candidates: readonly Candidate[], rounds: number, signal = new AbortController().signal) {
    const rows: Row[] = [];
    const omissions: Omission[] = [];
    let advanced = 0;
    const [experiment] = builtInExperiments;
    await measure({ experiments: [experiment!], types: ['u32'], sizes: [8], rounds }, candidates, {
      signal,
      advance: (count) => (advanced += count),
      rows: (found) => rows.push(...found),
      omitted: (omission) => omissions.push(omission),
    });
    return { rows, omissions, advanced };
  }

  test('alternates between candidates, and reports the median, minimum and maximum of their rounds', async () => {
    const order: string[] = [];
    const { rows, advanced } = await run([pretender('a', order), pretender('b', order)], 5);
    const warmUps = 3;
    // On the CPU, an untimed call precedes each timed one.
    expect(order.slice(2 * warmUps, -2).join('')).toBe('aabb'.repeat(5));
    expect(order.slice(-2)).toEqual(['a closed', 'b closed']);
    expect(rows.map(({ candidate, time, rounds }) => [candidate, time, rounds])).toEqual(
      ['a', 'b'].map((name) => [name, { median: 9e7, min: 5e7, max: 13e7 }, 5]),
    );
    expect(advanced).toBe(10);
  });

  test('times every call on GPUs and of slow candidates, without an untimed one', async () => {
    const order: string[] = [];
    const { rows } = await run(
      [pretender('gpu', order, { hardware: 'gpu' }), pretender('slow', order, { time: 6e7 })],
      3,
    );
    expect(order.slice(6, -2)).toEqual(['gpu', 'slow', 'gpu', 'slow', 'gpu', 'slow']);
    expect(rows.map(({ time }) => time.median)).toEqual([5e7, 3e8]);
  });

  test('omits candidates that are wrong or fail, counts their rounds, and closes all', async () => {
    const order: string[] = [];
    const { rows, omissions, advanced } = await run(
      [
        pretender('wrong', order, { wrong: true }),
        pretender('early', order, { failsIn: 1 }),
        pretender('late', order, { failsIn: 5 }),
        pretender('good', order),
      ],
      4,
    );
    expect(rows.map(({ candidate }) => candidate)).toEqual(['good']);
    expect(omissions.map(({ candidate, wrong }) => [candidate, wrong])).toEqual([
      ['wrong', true],
      ['early', false],
      ['late', false],
    ]);
    expect(order.filter((word) => word.endsWith('closed')).sort()).toEqual([
      'early closed',
      'good closed',
      'late closed',
      'wrong closed',
    ]);
    expect(advanced).toBe(16);
  });

  test('that is stopped keeps its finished rounds', async () => {
    const controller = new AbortController();
    const order: string[] = [];
    const stopping: Candidate = {
      ...pretender('a', order),
      prepare: async (job) => {
        const prepared = (await pretender('a', order).prepare(job))!;
        let rounds = 0;
        return {
          ...prepared,
          round(calls) {
            if (++rounds === 7) controller.abort();
            return prepared.round(calls);
          },
        };
      },
    };
    const { rows } = await run([stopping, pretender('b', order)], 100, controller.signal);
    expect(rows.map(({ candidate, rounds }) => [candidate, rounds])).toEqual([
      ['a', 2],
      ['b', 1],
    ]);
    expect((await run([pretender('c', order)], 3, controller.signal)).rows).toEqual([]);
  });

  test('compares rows of one case with the fastest backend', async () => {
    const row = (candidate: string, kind: Row['kind'], median: number): Row => ({
      experiment: 'a,"b"',
      type: 'u32',
      n: 8,
      candidate,
      kind,
      hardware: 'cpu',
      time: { median, min: median, max: median },
      latency: undefined,
      clock: 'host',
      rounds: 1,
      calls: 1,
      bytes: undefined,
      checked: true,
    });
    const rows = [row('slow', 'backend', 6), row('fast', 'backend', 2), row('peer', 'peer', 3)];
    const [only] = byCase(rows);
    expect(only!.rows.map((one) => timesOurs(one, only!.rows))).toEqual([3, 1, 1.5]);
    expect(timesOurs(rows[2]!, [rows[2]!])).toBeUndefined();
    // The slow backend is never as fast as the fast one; the peer is, in some rounds.
    const spread = (one: Row, min: number, max: number): Row => ({ ...one, time: { ...one.time, min, max } });
    const noisy = [spread(rows[0]!, 5, 7), spread(rows[1]!, 2, 4), spread(rows[2]!, 3, 5)];
    expect(tableCells(noisy).map((cells) => cells.at(-1))).toEqual(['time ÷ ours', '3.00', '1.00', '≈ 1.50']);
    const lines = (svg: string): string[] => svg.match(/≈ [\d.]+/g) ?? [];
    expect(lines(await ratioPlot(noisy))).toEqual(['≈ 0.5', '≈ 1.5']);
    expect(lines(await ratioPlot(rows))).toEqual([]);
    expect(resultsCsv({ rows }).split('\n')[1]).toMatch(/^"a,""b""",u32,8,slow,backend,host,1,1,6,6,6,,,,,,true$/);
  });
});

describe('differences', () => {
  test('are reported bit by bit, or beyond a tolerance', () => {
    const nan = Float32Array.of(Number.NaN);
    expect(differenceOf([nan], [nan], 0)).toBeUndefined();
    expect(differenceOf([nan], [nan], 1)).toBe('NaN instead of NaN in row 0');
    expect(differenceOf([Float32Array.of(-0)], [Float32Array.of(0)], 0)).toBe('0 instead of 0 in row 0');
    expect(differenceOf([Float32Array.of(1.01)], [Float32Array.of(1)], 0.1)).toBeUndefined();
    expect(differenceOf([Uint32Array.of(1)], [Uint32Array.of(1, 2)], 0)).toBe('1 rows instead of 2');
    expect(differenceOf([], [nan], 0)).toBe('0 columns instead of 1');
  });
});

describe('sizes', () => {
  test('are numbers, powers and ranges, in ascending order without duplicates', () => {
    const range = fc.record({
      from: fc.integer({ min: 0, max: 31 }),
      more: fc.nat(31),
      step: fc.integer({ min: 1, max: 5 }),
    });
    fc.assert(
      fc.property(range, fc.integer({ min: 1, max: 2 ** 32 - 1 }), ({ from, more, step }, alone) => {
        const to = Math.min(31, from + more);
        const powers = Array.from({ length: 32 }, (_, k) => k).filter(
          (k) => k >= from && k <= to && (k - from) % step === 0,
        );
        const expected = new Set([...powers.map((k) => 2 ** k), alone]);
        const text = `2^${from}..2^${to}${step === 1 ? '' : `:${step}`},${alone}`;
        expect(parseSizes(text, '--sizes')).toEqual([...expected].sort((a, b) => a - b));
      }),
    );
  });
});

test('a view that an experiment returns, bools too, is stored and timed as work', async () => {
  const atLeast50 = fn({ x: u32 }, bool, ({ x }) => x.ge(50));
  const experiment: Experiment = {
    name: 'flags',
    inputs: ({ n }) => ({ x: Uint32Array.from({ length: n }, (_, i) => i % 100) }),
    run: ({ x }) => map(atLeast50, { x: x as Column<'u32'> }),
  };
  await using context = new Context(createReferenceBackend());
  const job = makeJob(experiment, { n: 1001, type: 'u32' });
  const prepared = (await backendCandidate('reference', context, '').prepare(job))!;
  expect(differenceOf((await prepared.answer()) as never, await job.expected(), 0)).toBeUndefined();
  const { dispatches } = context.backend.counters;
  await prepared.round(3);
  expect(context.backend.counters.dispatches).toBe(dispatches + 3);
});

test('the experiment in the guide is the one in examples/', async () => {
  const root = join(import.meta.dirname, '..', '..', '..');
  const source = readFileSync(join(root, 'examples', 'bench-dot-product.mjs'), 'utf8');
  const shown = source.slice(source.indexOf('export default'));
  expect(readFileSync(join(root, 'docs', 'guide', 'benchmarks.md'), 'utf8')).toContain(shown);
  const [experiment] = await loadExperiments(join(root, 'examples', 'bench-dot-product.mjs'));
  await using context = new Context(createReferenceBackend());
  const prepared = (await backendCandidate('reference', context, '').prepare(
    makeJob(experiment!, { n: 3, type: 'u32' }),
  ))!;
  expect(await prepared.answer()).toEqual([Uint32Array.of(5)]);
});
