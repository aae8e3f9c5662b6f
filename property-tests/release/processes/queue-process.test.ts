import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect } from 'vitest';
import { graph, type WorkQueue } from '../../../graph/index.ts';
import { redisQueue } from '../../../queues/index.ts';
import { test } from '../../law-test.ts';
import { builtCommand } from '../../support/built-package.ts';
import { openWorkshop, type Workshop } from '../../support/cli-support.ts';
import { describeWithRedis, hasRedis, startRedis, type TestRedis } from '../../support/redis-server.ts';

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
  /** Resolves when the log has `count` lines of this kind, by default one. */
  until(kind: string, count?: number): Promise<void>;
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
  const until = (kind: string, count = 1): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (told.filter((each) => each.kind === kind).length >= count) resolve();
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

/** What the bundled command prints. */
async function listed(): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    BIN,
    'queue',
    'list',
    '--json',
    '--queue',
    server.url,
  ]);
  return stdout;
}

describeWithRedis('a worker process', () => {
  test('is listed, survives a run that is cancelled, and finishes its job at SIGTERM', async () => {
    const worker = startWorker('--backend', 'reference', '--lanes', '2');
    await worker.until('ready');
    const queue = await openQueue();
    const cancelled = startRun(queue, [60_000, 60_000, 60_000]);
    await worker.until('run began');
    const { runs, workers } = JSON.parse(await listed());
    expect(runs).toEqual([expect.objectContaining({ title: 'waiting for nothing', pid: process.pid, isAlive: true })]);
    expect(workers).toEqual([expect.objectContaining({ pid: worker.child.pid, lanes: 2, label: 'reference' })]);
    const { exitCode, stderr } = await shop.quadrille(['queue', 'cancel', runs[0].id, '--queue', server.url]);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 0,
      stderr: expect.stringContaining(`Run ${runs[0].id} is cancelled`),
    });
    expect(await cancelled).toMatchObject({ cause: expect.objectContaining({ code: 'graph/remote-cancelled' }) });

    const last = startRun(queue, [500]);
    await worker.until('run began', 2);
    worker.child.kill('SIGTERM');
    expect(await worker.ended).toBe(0);
    expect(await last).toEqual([500]);
    await queue.close();
    expect(worker.told.at(-1)).toMatchObject({ event: 'result', failed: 0, lost: 2, runs: 2 });
  });
});
