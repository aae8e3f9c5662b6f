import { writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, vi } from 'vitest';
import { testAdapter } from '../../backends/webgpu-node/index.ts';
import { jsonLog } from '../../cli/json-log.ts';
import { runWorker, type WorkerParts } from '../../cli/worker.ts';
import { parseWorkerArguments } from '../../cli/worker-arguments.ts';
import { loadModules } from '../../cli/worker-modules.ts';
import { workerParts } from '../../cli/worker-parts.ts';
import { workerTally } from '../../cli/worker-tally.ts';
import type { NodeContext, NodeFunction, RemoteModules } from '../../graph/index.ts';
import { DeviceLostError } from '../../primitives/checks/errors.ts';
import type { ServeQueueOptions, WorkerNews } from '../../queues/index.ts';
import { caseCount, THOROUGH } from '../cases.ts';
import { fc, test } from '../law-test.ts';
import { openWorkshop, type Workshop } from '../support/cli-support.ts';

let shop: Workshop;
beforeAll(async () => {
  shop = await openWorkshop();
  await writeFile(
    shop.path('own.mjs'),
    'export const double = (x) => 2 * x;\nexport const ten = 10;\nexport default function named() {}\n',
  );
  await writeFile(shop.path('none.mjs'), 'export const ten = 10;\n');
  await writeFile(shop.path('broken.mjs'), 'export const = 10;\n');
  await writeFile(shop.path('typed.ts'), 'export const half = (x: number): number => x / 2;\n');
});
afterAll(() => shop.remove());
const PLACE = ['--queue', 'redis://:secret@127.0.0.1:1', '--queue-folder', '/run'];
const environment = { QUADRILLE_QUEUE: process.env.QUADRILLE_QUEUE, folder: process.env.QUADRILLE_QUEUE_FOLDER };
afterAll(() => {
  for (const [name, value] of [
    ['QUADRILLE_QUEUE', environment.QUADRILLE_QUEUE],
    ['QUADRILLE_QUEUE_FOLDER', environment.folder],
  ] as const) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
});

describe('the command line', () => {
  test('takes the queue from options, or from the environment', () => {
    process.env.QUADRILLE_QUEUE = 'rediss://host:6380';
    process.env.QUADRILLE_QUEUE_FOLDER = '/shared';
    expect(parseWorkerArguments([])).toMatchObject({ url: 'rediss://host:6380', folder: '/shared', queue: undefined });
    expect(parseWorkerArguments([...PLACE, '--queue-name', 'q.1'])).toMatchObject({
      ...{ url: 'redis://:secret@127.0.0.1:1', folder: '/run', queue: 'q.1', lanes: 1, gpu: undefined },
    });
    process.env.QUADRILLE_QUEUE = '';
    delete process.env.QUADRILLE_QUEUE_FOLDER;
    expect(() => parseWorkerArguments(['--queue-folder', '/run'])).toThrow(/No queue is named.*QUADRILLE_QUEUE/);
    expect(() => parseWorkerArguments(PLACE.slice(0, 2))).toThrow(/--queue-folder is missing.*QUADRILLE_QUEUE_FOLDER/);
  });

  test('takes modules by their ids, in the order given', () => {
    const { modules } = parseWorkerArguments([...PLACE, '--module', 'b-2=./x=y.mjs', '--module', 'a.1=/z.mjs']);
    expect([...modules]).toEqual([
      ['b-2', './x=y.mjs'],
      ['a.1', '/z.mjs'],
    ]);
  });

  test.each([
    ['usage/module', ['--module', 'own']],
    ['usage/module', ['--module', '=x.mjs']],
    ['usage/module', ['--module', 'own=']],
    ['usage/module', ['--module', 'a:b=x.mjs']],
    ['usage/module', ['--module', 'quadrille.zonal=x.mjs']],
    ['usage/module', ['--module', 'own=x.mjs', '--module', 'own=y.mjs']],
    ['usage/queue-name', ['--queue-name', 'a:b']],
    ['usage/queue-name', ['--queue-name', '.']],
    ['usage/not-a-count', ['--lanes', '0']],
    ['usage/gpu', ['--gpu', '-1']],
    ['usage/gpu', ['--gpu', '1.5']],
    ['usage/gpu', ['--gpu', 'first']],
    ['usage/contradiction', ['--gpu', '0', '--backend', 'workers']],
    ['usage/contradiction', ['--gpu', '0', '--adapter', 'software']],
    ['usage/contradiction', ['--gpu', '0', '--workers', '2']],
  ])('refuses with %s: %j', (code, words) => {
    expect(() => parseWorkerArguments([...PLACE, ...words])).toThrow(expect.objectContaining({ code }));
  });

  test.each(['http://:secret@host', 'host:6379', ':secret@host', 'redis-sentinel://:secret@host'])(
    'refuses %s, and does not repeat a password',
    async (url) => {
      const { exitCode, stderr } = await shop.quadrille(['worker', '--queue', url, '--queue-folder', '/run']);
      expect({ exitCode, stderr }).toEqual({
        exitCode: 2,
        stderr: expect.stringContaining('not the URL of a Redis server'),
      });
      expect(stderr).not.toContain('secret');
    },
  );
});

describe('modules', () => {
  const load = (path: string): Promise<RemoteModules> => loadModules(new Map([['own', shop.path(path)]]));

  test('give the functions that they export', async () => {
    const { own } = await load('own.mjs');
    expect(Object.keys(await own!()).sort()).toEqual(['default', 'double']);
    expect(Object.keys(await (await load('typed.ts')).own!())).toEqual(['half']);
  });

  test.each([
    ['none.mjs', /exports no function/],
    ['missing.mjs', /there is no such file/],
    ['broken.mjs', /broken\.mjs.*cannot be loaded/],
  ])('are refused where there is nothing to call: %s', async (path, message) => {
    const error = await load(path).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'usage/module', message: expect.stringMatching(message) });
  });
});

interface Told {
  readonly event: string;
  readonly kind?: string;
  readonly line?: string;
}

function listening(): { readonly log: ReturnType<typeof jsonLog>; readonly told: Told[] } {
  const told: Told[] = [];
  const log = jsonLog({ write: (line) => told.push(JSON.parse(line) as Told) }, { quiet: false });
  return { log, told };
}

/** Serves with a list of calls instead of a queue, then waits for the end. */
function partsWith(
  modules: RemoteModules,
  serve: (options: ServeQueueOptions, tell: (news: WorkerNews) => void) => Promise<void>,
): { readonly parts: WorkerParts<TestContext>; readonly context: TestContext } {
  const context: TestContext = {
    backend: { name: 'workers' },
    lost: undefined,
    isClosed: false,
    areModulesClosed: false,
    abort: () => undefined,
    async close() {
      context.isClosed = true;
    },
  };
  return {
    context,
    parts: {
      loadModules: async () => ({
        modules,
        async close() {
          context.areModulesClosed = true;
        },
      }),
      openContext: async () => ({ context, label: 'workers' }),
      async serveQueue(options) {
        expect(options.context).toBe(context);
        const tell = options.onNews!;
        tell({ kind: 'ready', name: 'w1' });
        await serve(options, tell);
        if (!options.signal.aborted)
          await new Promise((resolve) => options.signal.addEventListener('abort', resolve, { once: true }));
      },
      lossOf: async ({ lost }) => lost,
      shownUrl: () => 'redis://***',
    },
  };
}

interface TestContext {
  readonly backend: { readonly name: string };
  lost: unknown;
  isClosed: boolean;
  areModulesClosed: boolean;
  abort(): void;
  close(): Promise<void>;
}

const NEVER = new AbortController().signal;
const options = parseWorkerArguments([...PLACE, '--lanes', '2', '--backend', 'workers']);

describe('a worker', () => {
  test('serves until it is told to end, which is no error', async () => {
    const { log, told } = listening();
    const stop = new AbortController();
    const { parts, context } = partsWith({ own: async () => ({}) }, async (given, tell) => {
      expect(given).toMatchObject({ url: options.url, folder: '/run', queue: undefined, lanes: 2, label: 'workers' });
      tell({ kind: 'began', run: 'r1', job: 'j1' });
      tell({ kind: 'ended', run: 'r1', job: 'j1', milliseconds: 5 });
      tell({ kind: 'away' });
      tell({ kind: 'back' });
      tell({ kind: 'began', run: 'r2', job: 'j1' });
      tell({ kind: 'failed', run: 'r2', job: 'j1', error: new Error('no such module') });
      stop.abort(new Error('stopped'));
    });
    await runWorker(options, parts, { log, signal: stop.signal });
    expect(context).toMatchObject({ isClosed: true, areModulesClosed: true });
    const events = told
      .map(({ event, kind }) => (event === 'news' ? kind : event))
      .filter((each) => each !== 'progress');
    expect(events).toEqual([
      ...['ready', 'run began', 'away', 'back', 'run began', 'failed', 'run ended', 'run ended', 'result'],
    ]);
    expect(told.at(-1)).toMatchObject({ done: 1, failed: 1, lost: 0, runs: 2 });
    expect(JSON.stringify(told)).not.toContain('secret');
  });

  test('ends with the error of its device once that is lost, and not for other errors of functions', async () => {
    const own = {
      fail: () => {
        throw new Error('bad item');
      },
      answer: async (x: number) => x + 1,
    };
    const lost = new DeviceLostError('device/lost', 'The device is lost.');
    const { parts, context } = partsWith({ own: async () => own }, async ({ modules, signal }) => {
      const { fail, answer } = (await modules.own!()) as Record<string, NodeFunction<number, unknown, unknown>>;
      const nothing = { signal: NEVER } as NodeContext<unknown>;
      await expect(fail!(0, nothing)).rejects.toThrow('bad item');
      expect(signal.aborted).toBe(false);
      expect(await answer!(1, nothing)).toBe(2);
      context.lost = lost;
      await expect(fail!(0, { ...nothing, signal: AbortSignal.abort() })).rejects.toThrow('bad item');
      expect(signal.aborted).toBe(true);
    });
    const { log, told } = listening();
    await expect(runWorker(options, parts, { log, signal: NEVER })).rejects.toBe(lost);
    // The other one was taken back.
    expect(told.filter(({ kind }) => kind === 'item failed')).toMatchObject([
      { work: 'own.fail', message: 'bad item' },
    ]);
    expect(context).toMatchObject({ isClosed: true, areModulesClosed: true });
  });

  test('that is told to end while it opens its device ends without an error', async () => {
    const stop = new AbortController();
    const { parts } = partsWith({}, () => Promise.reject(new Error('must not be called')));
    const openContext = async (_: unknown, signal: AbortSignal): Promise<never> => {
      stop.abort(new Error('stopped'));
      throw signal.reason;
    };
    await runWorker(options, { ...parts, openContext }, { log: listening().log, signal: stop.signal });
  });

  test.runIf(testAdapter() === 'software')('on a GPU that the machine does not have is refused', async () => {
    const { exitCode, stderr } = await shop.quadrille(['worker', ...PLACE, '--gpu', '7']);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/^quadrille: .*nvidia-smi.* Leave --gpu out/);
  });

  // Opening a GPU takes seconds.
  const backends = [
    ['reference', /^reference$/],
    ['webgpu', /^(?!webgpu$).*\w/],
  ] as const;
  test.each(THOROUGH ? backends : backends.slice(0, 1))(
    'opens %s, of which lists of workers show the name',
    async (backend, name) => {
      const adapter = backend === 'webgpu' ? ['--adapter', testAdapter()] : [];
      const words = [...PLACE, '--backend', backend, ...adapter];
      const opened = await workerParts.openContext(parseWorkerArguments(words), new AbortController().signal);
      expect(opened.label).toMatch(name);
      expect(await workerParts.lossOf(opened.context)).toBeUndefined();
      await opened.context.close();
    },
  );

  test('closes its context if the queue cannot be served', async () => {
    const { parts, context } = partsWith({}, () => Promise.reject(new Error('no server')));
    const running = runWorker(options, parts, { log: listening().log, signal: new AbortController().signal });
    await expect(running).rejects.toThrow('no server');
    expect(context).toMatchObject({ isClosed: true, areModulesClosed: true });
  });
});

describe('the tally', () => {
  const job = fc.record({ run: fc.constantFrom('a', 'b', 'c'), end: fc.constantFrom('ended', 'failed', 'lost') });
  test.prop([fc.array(job, { maxLength: 20 })], { numRuns: caseCount(200) })(
    'counts every job once, and has two lines for each run',
    (jobs) => {
      const { log, told } = listening();
      const tally = workerTally(log);
      for (const [i, { run }] of jobs.entries()) tally.take({ kind: 'began', run, job: `${i}` });
      for (const [i, { run, end }] of jobs.entries()) {
        tally.take({ kind: end, run, job: `${i}`, milliseconds: 1, error: new Error('x') } as WorkerNews);
      }
      tally.end();
      const count = (kind: string): number => jobs.filter(({ end }) => end === kind).length;
      const runs = new Set(jobs.map(({ run }) => run)).size;
      expect(tally).toMatchObject({
        sums: { done: count('ended'), failed: count('failed'), lost: count('lost') },
        runs,
      });
      for (const kind of ['run began', 'run ended']) {
        expect(told.filter((each) => each.kind === kind)).toHaveLength(runs);
      }
      const done = told.map((each) => (each as { readonly done?: number }).done ?? 0).reduce((a, b) => a + b, 0);
      expect(done).toBe(count('ended'));
    },
  );

  test('ends a run that has no more jobs, and begins it again', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    try {
      const { log, told } = listening();
      const tally = workerTally(log);
      const news = (): (string | undefined)[] => told.filter(({ event }) => event === 'news').map(({ kind }) => kind);
      tally.take({ kind: 'began', run: 'a', job: '1' });
      await vi.advanceTimersByTimeAsync(60_000);
      expect(news()).toEqual(['run began']);
      tally.take({ kind: 'ended', run: 'a', job: '1', milliseconds: 60_000 });
      await vi.advanceTimersByTimeAsync(10_000);
      expect(news()).toEqual(['run began', 'run ended']);
      expect(vi.getTimerCount()).toBe(0);
      tally.take({ kind: 'began', run: 'a', job: '2' });
      tally.take({ kind: 'lost', run: 'a', job: '2' });
      tally.end();
      expect(news()).toEqual(['run began', 'run ended', 'run began', 'run ended']);
      expect(tally.runs).toBe(1);
    } finally {
      vi.useRealTimers();
    }
    await delay(0);
  });
});
