import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { graph, type WorkQueue } from '../../graph/index.ts';
import { redisQueue } from '../../queues/index.ts';
import { test } from '../law-test.ts';
import { builtCommand } from '../support/built-package.ts';
import { collection, openWorkshop, rectangle, type Workshop, zone } from '../support/cli-support.ts';
import { hasRedis, startRedis, type TestRedis } from '../support/redis-server.ts';

const BIN = await builtCommand();
const MODULE = `
import { setTimeout as delay } from 'node:timers/promises';
// Keeps the process alive.
setInterval(() => undefined, 1000);
export const wait = (milliseconds, { signal }) => delay(milliseconds, milliseconds, { signal });
`;

let shop: Workshop;
let server: TestRedis;
const running = new Set<ChildProcess>();

beforeEach(async () => {
  if (!hasRedis) return;
  shop = await openWorkshop();
  await shop.write('own.mjs', MODULE);
  await mkdir(shop.path('run'));
  server = await startRedis();
});
afterEach(async () => {
  if (!hasRedis) return;
  for (const child of running) child.kill('SIGKILL');
  await server[Symbol.asyncDispose]();
  await shop.remove();
});

interface RunningWorker {
  readonly child: ChildProcess;
  /** The lines of its log. */
  readonly told: { readonly event: string; readonly kind?: string }[];
  /** Resolves when the log has a line of this kind. */
  until(kind: string): Promise<void>;
  readonly ended: Promise<number | null>;
}

function startWorker(...words: readonly string[]): RunningWorker {
  const child = spawn(process.execPath, [BIN, 'worker', '--module', 'own=own.mjs', '--json-log', ...words], {
    cwd: shop.folder,
    env: { ...process.env, QUADRILLE_QUEUE: server.url, QUADRILLE_QUEUE_FOLDER: shop.path('run') },
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  running.add(child);
  const told: { event: string; kind?: string }[] = [];
  const wakes = new Set<() => void>();
  createInterface(child.stderr!).on('line', (line) => {
    told.push(JSON.parse(line));
    for (const wake of wakes) wake();
  });
  const ended = once(child, 'exit').then(([code]) => {
    running.delete(child);
    return code as number | null;
  });
  const until = (kind: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (told.some((each) => each.kind === kind)) resolve();
      };
      wakes.add(look);
      look();
      void ended.then(() => reject(new Error(`The worker has ended: ${JSON.stringify(told)}`)));
    });
  return { child, told, until, ended };
}

const openQueue = (): Promise<WorkQueue> => redisQueue({ url: server.url, folder: shop.path('run') });

/** Starts a run that waits in a worker for each of these times. Resolves to what it got, or to its error. */
function startRun(queue: WorkQueue, milliseconds: readonly number[]): Promise<unknown> {
  const definition = graph('waiting', (g) =>
    g.collect(
      'all',
      g.stage('wait', g.source('times', milliseconds), async (x: number) => x, {
        lanes: 4,
        ordered: true,
        remote: { queue, module: 'own', name: 'wait', run: { title: 'waiting for nothing' } },
      }),
    ),
  );
  return definition.run().result.catch((error: unknown) => error);
}

const quadrille = async (...words: readonly string[]): Promise<string> => {
  const { stdout } = await promisify(execFile)(process.execPath, [BIN, ...words, '--queue', server.url]);
  return stdout;
};

describe.runIf(hasRedis)('a worker process', () => {
  test('finishes its job at SIGTERM, and another one does the others', async () => {
    const worker = startWorker('--backend', 'reference');
    await worker.until('ready');
    const queue = await openQueue();
    const result = startRun(queue, [500, 1]);
    await worker.until('run began');
    worker.child.kill('SIGTERM');
    expect(await worker.ended).toBe(0);
    expect(worker.told.at(-1)).toMatchObject({ event: 'result', done: 1, failed: 0, lost: 0, runs: 1 });
    const next = startWorker('--backend', 'reference');
    expect(await result).toEqual([500, 1]);
    await queue.close();
    next.child.kill('SIGINT');
    expect(await next.ended).toBe(0);
  });

  test('is listed, and goes on after a run that was cancelled', async () => {
    const worker = startWorker('--backend', 'reference', '--lanes', '2');
    await worker.until('ready');
    const queue = await openQueue();
    const result = startRun(queue, [60_000, 60_000, 60_000]);
    await worker.until('run began');
    const { runs, workers } = JSON.parse(await quadrille('queue', 'list', '--json'));
    expect(runs).toEqual([expect.objectContaining({ title: 'waiting for nothing', pid: process.pid, isAlive: true })]);
    expect(workers).toEqual([expect.objectContaining({ pid: worker.child.pid, lanes: 2, label: 'reference' })]);
    await quadrille('queue', 'cancel', runs[0].id, '--quiet');
    expect(await result).toMatchObject({ cause: expect.objectContaining({ code: 'graph/remote-cancelled' }) });
    expect(await startRun(queue, [1])).toEqual([1]);
    await queue.close();
    await shop.write('zones.json', collection(zone('a', rectangle(0, 0, 2, 2)), zone('b', rectangle(1.5, 1, 4, 3))));
    await shop.writeRaster('raster.tif');
    const zonal = [
      'zonal',
      '--zones',
      shop.path('zones.json'),
      '--raster',
      shop.path('raster.tif'),
      '--unique',
      '--quiet',
    ];
    const { stdout } = await shop.quadrille([...zonal, '--backend', 'reference']);
    expect(await quadrille(...zonal, '--queue-folder', shop.path('run'))).toBe(stdout);
    expect(stdout).toContain('\nb,');
    expect(worker.told.filter(({ kind }) => kind === 'run began')).toHaveLength(3);
    worker.child.kill('SIGTERM');
    expect(await worker.ended).toBe(0);
  });
});
