import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect } from 'vitest';
import {
  chromeTrace,
  drawDot,
  type ErrorPolicy,
  type GraphRun,
  graph,
  inProcessQueue,
  type NodeContext,
  type RemoteJob,
  type RemoteOutcome,
  recordTrace,
  type WorkQueue,
} from '../../graph/index.ts';
import { ArgumentError, GraphError } from '../../primitives/checks/errors.ts';
import type { Column } from '../../primitives/columns/column.ts';
import type { Context } from '../../primitives/context/context.ts';
import { caseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';
import { openReference } from '../support/reference-context.ts';
import { delayAt, delays, range, sorted, turns } from './graph-harness.ts';

/** An item that fails in its first `failures` attempts and takes some turns of the event loop. */
interface Task {
  readonly value: number;
  readonly failures: number;
  readonly turns: number;
}

async function work({ value, failures, turns: count }: Task, { attempt, index, mark }: NodeContext<unknown>) {
  await turns(count);
  mark('worked', { value });
  if (attempt <= failures) throw new ArgumentError('test/bad', 'Bad.', { expected: 'good', got: value });
  return { index, cells: Float64Array.of(value, -0, Number.NaN), big: BigInt(value), nothing: undefined };
}
const module = {
  work,
  double: (x: number) => x * 2,
  sum: async (column: Column<'f32'>, { ctx }: NodeContext<Context>) => {
    const cells = await ctx.read(column);
    ctx.dispose(column);
    return { total: ctx.column(Float32Array.of(cells.reduce((a, b) => a + b, 0))) };
  },
  text: () => {
    throw 'text';
  },
  forever: (_: number, { signal }: NodeContext<unknown>) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  big: (bytes: Uint8Array) => bytes.length,
};
const modules = { own: async () => module };

/** A queue that counts the jobs of another, and may fail them. */
function watched(lanes: number, fail: (job: RemoteJob, count: number) => unknown = () => undefined) {
  const queue = inProcessQueue({ modules, lanes });
  const seen = {
    jobs: 0,
    running: 0,
    most: 0,
    bytes: [] as number[],
    ids: new Set<string>(),
    closed: 0,
    opened: [] as unknown[],
  };
  const own: WorkQueue = {
    name: 'watched',
    close: () => queue.close(),
    openRun: async (options) => {
      seen.opened.push(options);
      const run = await queue.openRun(options);
      return {
        id: run.id,
        workers: () => run.workers(),
        close: async () => {
          seen.closed++;
          await run.close();
        },
        submit: async (job, signal): Promise<RemoteOutcome> => {
          seen.ids.add(job.id);
          seen.bytes.push(job.payload.length);
          seen.most = Math.max(seen.most, ++seen.running);
          try {
            const error = fail(job, ++seen.jobs);
            if (error !== undefined) throw error;
            return await run.submit(job, signal);
          } finally {
            seen.running--;
          }
        },
      };
    },
  };
  return { queue: own, seen };
}

/** What a run gave, as far as it does not depend on time. */
async function endOf(run: GraphRun<unknown[]>) {
  const skipped: unknown[] = [];
  run.errors$.subscribe(({ index, attempts, outcome, cause }) =>
    skipped.push({ index, attempts, outcome, cause: told(cause) }),
  );
  const result = await run.result.then(
    (values) => ({ values }),
    (error: GraphError) => ({ code: error.code, message: error.message, cause: told(error.cause) }),
  );
  return { result, skipped };
}
const told = (cause: unknown): unknown =>
  cause instanceof ArgumentError
    ? { code: cause.code, got: cause.got, message: cause.message, name: cause.name }
    : cause;

describe('a remote stage', () => {
  const policies = fc.constantFrom<ErrorPolicy>('stop', 'skip', { retry: 1 }, { retry: 2, orElse: 'skip' });
  test.prop(
    {
      tasks: fc.array(fc.record({ failures: fc.constantFrom(0, 0, 0, 1, 2, 9), value: fc.nat({ max: 99 }) }), {
        maxLength: 30,
      }),
      table: delays,
      lanes: fc.integer({ min: 1, max: 3 }),
      queueLanes: fc.integer({ min: 1, max: 3 }),
      ordered: fc.boolean(),
      onError: policies,
    },
    { numRuns: caseCount(300) },
  )(
    'gives the same answers as the stage in this process',
    async ({ tasks, table, lanes, queueLanes, ordered, onError }) => {
      const items: Task[] = tasks.map((task, i) => ({ ...task, turns: delayAt(table, i) }));
      const { queue, seen } = watched(queueLanes);
      // Which error stops a run of several lanes depends on time, and so do the results then.
      const stops = onError === 'stop' || (typeof onError === 'object' && onError.orElse === undefined);
      const options = { lanes: stops ? 1 : lanes, ordered, onError, progress: () => 1 };
      const run = (remote?: { queue: WorkQueue; module: string }) => {
        const definition = graph('both', (g) =>
          g.collect('all', g.stage('work', g.source('items', items), work, { ...options, remote })),
        );
        return endOf(definition.run() as GraphRun<unknown[]>);
      };
      const [here, there] = [await run(), await run({ queue, module: 'own' })];
      const byIndex = ({ result, skipped }: typeof here) => ({
        result:
          'values' in result && !ordered
            ? (result.values as { index: number }[]).toSorted((a, b) => a.index - b.index)
            : result,
        skipped: (skipped as { index: number }[]).toSorted((a, b) => a.index - b.index),
      });
      // A remote lane is a job of several items, which may end before a stopped run is over.
      if ('code' in here.result) expect(there.result).toEqual(here.result);
      else expect(byIndex(there)).toStrictEqual(byIndex(here));
      expect(seen.most).toBeLessThanOrEqual(options.lanes);
      expect(seen.closed).toBe(seen.jobs === 0 ? 0 : 1);
      expect(seen.ids.size).toBe(seen.jobs);
    },
  );

  test('groups small items, and keeps them the unit of errors and progress', async () => {
    const { queue, seen } = watched(2);
    const definition = graph('small', (g) => {
      const remote = { queue, module: 'own', name: 'double' };
      return g.collect(
        'all',
        g.stage('double', g.source('n', range(1500)), module.double, {
          lanes: 2,
          ordered: true,
          remote,
          progress: () => 1,
        }),
      );
    });
    const run = definition.run();
    let done = 0;
    run.progress$.subscribe((report) => (done = report.done));
    expect(await run.result).toEqual(range(1500).map((x) => x * 2));
    expect(done).toBe(1500);
    expect(seen.jobs).toBeLessThan(200);
    expect(run.counters().find(({ name }) => name === 'double')).toMatchObject({ in: 1500, out: 1500 });
  });

  test('keeps large items in jobs of their own', async () => {
    const { queue, seen } = watched(2);
    const items = range(6).map(() => new Uint8Array(600_000));
    const definition = graph('large', (g) =>
      g.collect(
        'all',
        g.stage('big', g.source('n', items), module.big, { lanes: 2, remote: { queue, module: 'own' } }),
      ),
    );
    expect(await definition.run().result).toEqual(items.map(({ length }) => length));
    expect(Math.max(...seen.bytes)).toBeLessThan(2 ** 20);
  });

  test('names the item that no worker can do, and not the items in the same job', async () => {
    const POISON = 123_456_789;
    const holds = (payload: Uint8Array): boolean =>
      Buffer.from(payload).includes(Buffer.from(new Float64Array([POISON]).buffer));
    const fail = ({ payload }: RemoteJob): unknown =>
      holds(payload) ? new GraphError('graph/remote-deaths', 'Every worker died.') : undefined;
    const { queue, seen } = watched(1, fail);
    const items = range(400).map((i) => (i === 300 ? POISON : i));
    const definition = graph('poison', (g) =>
      g.collect(
        'all',
        g.stage('double', g.source('n', items), module.double, { onError: 'skip', remote: { queue, module: 'own' } }),
      ),
    );
    const run = definition.run();
    const failed: unknown[] = [];
    run.errors$.subscribe(({ index, cause }) => failed.push([index, (cause as GraphError).code]));
    expect(sorted(await run.result)).toEqual(
      range(400)
        .filter((i) => i !== 300)
        .map((x) => x * 2),
    );
    expect(failed).toEqual([[300, 'graph/remote-deaths']]);
    expect(seen.jobs).toBeLessThan(400);
  });

  test('opens the queue again when a retry finds it open', async () => {
    const { queue } = watched(1);
    let tries = 0;
    const late: WorkQueue = {
      ...queue,
      openRun: () => (++tries < 3 ? Promise.reject(new Error('away')) : queue.openRun()),
    };
    const definition = graph('late', (g) =>
      g.collect(
        'all',
        g.stage('double', g.source('n', [1]), module.double, {
          onError: { retry: 2 },
          remote: { queue: late, module: 'own' },
        }),
      ),
    );
    expect(await definition.run().result).toEqual([2]);
  });

  test('ends at once on an abort, closes its run, and frees every item', async () => {
    const { queue, seen } = watched(2);
    let freed = 0;
    const definition = graph('abort', (g) =>
      g.collect(
        'all',
        g.stage('forever', g.source('n', range(9), { discard: () => void freed++ }), module.forever, {
          lanes: 3,
          remote: { queue, module: 'own' },
        }),
      ),
    );
    const run = definition.run();
    await turns(20);
    const before = seen.running;
    run.abort(new Error('enough'));
    await expect(run.result).rejects.toThrow('enough');
    expect([before, seen.running, seen.closed]).toEqual([3, 0, 1]);
    expect(freed).toBeGreaterThanOrEqual(3);
  });

  test('sends columns there and back, and frees both copies', async () => {
    const [here, there] = [openReference(), openReference()];
    const queue = inProcessQueue({ modules, context: there });
    const definition = graph('columns', (g) => {
      const read = g.source('read', [here.column(Float32Array.of(1, 2)), here.column(Float32Array.of(4))], {
        discard: (column) => here.dispose(column),
      });
      const sums = g.stage('sum', read, module.sum, { remote: { queue, module: 'own' }, ordered: true });
      return g.collect(
        'totals',
        g.stage('fetch', sums, async ({ total }, { ctx }) => {
          const [sum] = await ctx.read(total);
          ctx.dispose(total);
          return sum;
        }),
      );
    });
    expect(await definition.run(here).result).toEqual([3, 4]);
    expect([here, there].map(({ backend }) => backend.counters.liveBuffers)).toEqual([0, 0]);
  });

  test('refuses what cannot travel, where the stage is, and passes on what was thrown', async () => {
    const { queue, seen } = watched(1);
    const run = (item: unknown, name: string) =>
      graph('odd', (g) =>
        g.collect(
          'all',
          g.stage('odd', g.source('n', [item]), module.text, { remote: { queue, module: 'own', name } }),
        ),
      ).run().result;
    const error = (await run({ at: () => 1 }, 'text').catch((cause) => cause)) as GraphError;
    expect(error).toMatchObject({ code: 'graph/item-failed', place: { node: 'odd/odd', record: 0 } });
    expect(error.cause).toMatchObject({ code: 'graph/remote-value' });
    expect(error.message).toContain('item.at');
    expect(seen.jobs).toBe(0);
    await expect(run(1, 'text')).rejects.toMatchObject({ cause: 'text' });
    await expect(run(1, 'missing')).rejects.toMatchObject({ cause: { code: 'graph/remote-function' } });
  });

  test('damaged answers are errors of their items', async () => {
    const { queue } = watched(1);
    const broken: WorkQueue = {
      ...queue,
      openRun: async () => {
        const run = await queue.openRun();
        const submit = async (job: RemoteJob, signal: AbortSignal) => {
          const outcome = await run.submit(job, signal);
          return { ...outcome, payload: outcome.payload.slice(0, -3) };
        };
        return { id: run.id, submit, workers: () => run.workers(), close: () => run.close() };
      },
    };
    const definition = graph('cut', (g) =>
      g.collect(
        'all',
        g.stage('double', g.source('n', [1]), module.double, { remote: { queue: broken, module: 'own' } }),
      ),
    );
    await expect(definition.run().result).rejects.toMatchObject({ cause: { code: 'graph/remote-bytes' } });
  });

  test.each([
    ['graph/remote-migrate', { elsewhere: module.double }, 'own', 'double'],
    ['graph/remote-migrate', { onError: 'migrate' as const }, 'own', 'double'],
    ['graph/bad-remote', {}, '../own', 'double'],
    ['graph/bad-remote', {}, 'own', ''],
  ])('refuses with %s the options %o of %s, %s', (code, options, id, name) => {
    const queue = inProcessQueue({ modules });
    const define = () =>
      graph('g', (g) =>
        g.sink(
          'end',
          g.stage('s', g.source('n', [1]), module.double, { ...options, remote: { queue, module: id, name } }),
          () => {},
        ),
      );
    expect(define).toThrow(expect.objectContaining({ code, place: { node: 'g/s' } }));
  });

  test('is drawn with its queue, and traced with its workers', async () => {
    const { queue } = watched(1);
    const recorder = recordTrace();
    const definition = graph('traced', (g) =>
      g.collect(
        'all',
        g.stage('work', g.source('n', [{ value: 1, failures: 0, turns: 1 }]), work, {
          remote: { queue, module: 'own' },
        }),
      ),
    );
    const run = definition.run(undefined, { observer: recorder });
    await run.result;
    const trace = recorder.trace(run);
    expect(drawDot(definition.shape)).toContain('CPU of workers (watched)');
    const span = trace.spans.find(({ node }) => node === 'work')!;
    expect(span).toMatchObject({ worker: 'in process', outcome: 'done' });
    expect(trace.marks).toMatchObject([{ node: 'work', name: 'worked', detail: { value: 1 } }]);
    expect(trace.marks[0]!.time).toBeGreaterThanOrEqual(span.start);
    const events: { ph: string; name: string; pid: number; args: { name?: string } }[] = JSON.parse(
      chromeTrace(trace),
    ).traceEvents;
    const { pid } = events.find(({ ph, name }) => ph === 'X' && name === 'work')!;
    expect(events.find((event) => event.pid === pid && event.name === 'process_name')?.args.name).toBe('in process');
  });
});

describe('the queue in this process', () => {
  test('takes no work after it is closed, and ends the work it has', async () => {
    const queue = inProcessQueue({ modules });
    const run = await queue.openRun();
    expect(await run.workers()).toEqual({ workers: 1 });
    const { payload } = await firstJob();
    const job = { id: 'j1', function: { module: 'own', name: 'forever' }, payload };
    const signal = new AbortController().signal;
    const waiting = [run.submit(job, signal), run.submit({ ...job, id: 'j2' }, signal)];
    const ended = Promise.allSettled(waiting);
    await queue.close();
    for (const each of await ended) expect(each).toMatchObject({ reason: { code: 'graph/remote-closed' } });
    await expect(run.submit(job, signal)).rejects.toMatchObject({ code: 'graph/remote-closed' });
    await expect(queue.openRun()).rejects.toMatchObject({ code: 'graph/remote-closed' });
  });

  /** The first job of a stage with one item. */
  async function firstJob(): Promise<RemoteJob> {
    let first: RemoteJob | undefined;
    const { queue } = watched(1, (job) => {
      first ??= job;
      return undefined;
    });
    const remote = { queue, module: 'own' };
    await graph('one', (g) => g.collect('all', g.stage('d', g.source('n', [1]), module.double, { remote }))).run()
      .result;
    return first!;
  }
});

test('a run on a queue may take its time to open and to close', async () => {
  const { queue } = watched(1);
  const slow: WorkQueue = {
    ...queue,
    openRun: async () => {
      await delay(20);
      const run = await queue.openRun();
      const close = async (): Promise<void> => {
        await delay(20);
        await run.close();
      };
      return { id: run.id, workers: () => run.workers(), submit: (job, signal) => run.submit(job, signal), close };
    },
  };
  const doubled = graph('slow', (g) => {
    const remote = { queue: slow, module: 'own' };
    return g.collect('all', g.stage('double', g.source('items', [1, 2]), module.double, { remote }));
  });
  expect(await doubled.run().result).toEqual([2, 4]);
});

describe('jobs with names', () => {
  const run = async (queue: WorkQueue, id: (item: number) => string) =>
    graph('named', (g) => {
      const remote = { queue, module: 'own', run: { id: 'again', title: 'doubles' }, id };
      return g.collect('all', g.stage('double', g.source('items', range(40)), module.double, { lanes: 3, remote }));
    }).run().result;

  test('travel alone, and the run has the id and title that were given', async () => {
    const { queue, seen } = watched(2);
    expect(sorted(await run(queue, (item) => `part-${item}`))).toEqual(range(40).map((i) => 2 * i));
    expect(seen.jobs).toBe(40);
    expect(seen.ids).toEqual(new Set(range(40).map((i) => `part-${i}`)));
    expect(seen.opened).toEqual([{ id: 'again', title: 'doubles' }]);
  });

  test.each(['', 'a:b', 'a b', '..', '-a', 7 as unknown as string])('are refused for %j', async (name) => {
    const { queue } = watched(1);
    await expect(run(queue, () => name)).rejects.toMatchObject({ cause: { code: 'graph/bad-remote' } });
  });
});
