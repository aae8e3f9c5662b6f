import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { FlowProducer, Queue, QueueEvents, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { graph } from '../../graph/index.ts';
import { redisQueue } from '../../queues/index.ts';
import { tableLines } from '../shared/markdown-table.ts';
import { machine, median } from '../shared/measuring.ts';
import { programOptions } from '../shared/program-options.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';
import * as functions from './functions.ts';
import { startRedis } from './redis-server.ts';
import type { WorkerSetup } from './worker.ts';

/**
 * Remote stages beside BullMQ alone, on the same server with the same settings and as many workers, in rounds that take
 * turns: what a queue costs beside the work, what two killed workers cost, one item there and back, items of 1 MB, and
 * the memory of the server. Workers are started before the clock.
 *
 * node --import tsx bench/queues/queues.ts [--rounds 5] [--only overhead,partitions,waits,latency,large]
 *   [--appendfsync always]
 */
const options = programOptions({ rounds: 5, only: 'overhead,partitions,waits,latency,large', appendfsync: 'always' });
/** Lock of all processes, in milliseconds. That of the overhead is the default: no worker dies there. */
const LOCK = 2000;
const DEFAULT_LOCK = 10_000;
const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

await using scratch = await temporaryFolder('bench-queues-');
const folder = scratch.path;
const durable = ['--appendonly', 'yes', '--appendfsync', options.appendfsync];
const { server, url } = await startRedis(folder, durable);
const redis = new Redis(url, { maxRetriesPerRequest: null });
redis.on('error', () => undefined);
await redis.ping();
const rows: string[][] = [['what', 'remote stage', 'beside it', 'ratio', 'ratios of the rounds']];
/** Each program measures a remote stage, and what it is compared with, once. */
const programs: Readonly<Record<string, () => Promise<void>>> = { overhead, partitions, waits, latency, large };
try {
  for (const name of options.only.split(',')) await programs[name]!();
} finally {
  redis.disconnect();
  server.kill('SIGKILL');
  await once(server, 'exit');
}
console.log(
  `${machine()}, Redis with appendonly yes, appendfsync ${options.appendfsync}, lock ${LOCK} ms, for the overhead ${DEFAULT_LOCK} ms\n`,
);
console.log(tableLines(rows).join('\n'));

/** Processor time of all processes for 500 partitions of about 100 ms on two workers, and without a queue. */
async function overhead(): Promise<void> {
  const [count, milliseconds] = [500, 100];
  const remote = async (): Promise<number> => {
    const workers = await startWorkers('remote', 2, 1, DEFAULT_LOCK);
    // Packages are loaded, and code is compiled, before the clock.
    await onQueue(
      functions.work,
      range(8).map((value) => ({ value, milliseconds: 10 })),
      { lanes: 4, lock: DEFAULT_LOCK },
    );
    const before = (await processorTime(workers)) + ownTime();
    const items = range(count).map((value) => ({ value, milliseconds }));
    await onQueue(functions.work, items, { lanes: 4, lock: DEFAULT_LOCK });
    const took = (await processorTime(workers)) + ownTime() - before;
    await endAll(workers);
    return took;
  };
  const alone = async (): Promise<number> => {
    const workers = await startWorkers('alone', 2, 1);
    await Promise.all(workers.map((worker) => worker.ask('work 4 10')));
    const before = await processorTime(workers, false);
    await Promise.all(workers.map((worker) => worker.ask(`work ${count / 2} ${milliseconds}`)));
    const took = (await processorTime(workers, false)) - before;
    await endAll(workers);
    return took;
  };
  await compare('processor time of 500 partitions of 100 ms, two workers, s; without a queue', remote, alone, 1000);
}

/** Waits on four workers with four at once, of which some are killed after a second; `hear` hears of the peak of memory. */
function waiting(kind: 'remote' | 'bullmq', count: number, milliseconds: number, kills: number, hear?: number[]) {
  const items = range(count).map((value) => ({ value, milliseconds }));
  const work = () => (kind === 'remote' ? onQueue(functions.wait, items, { lanes: 16 }) : flow(items));
  return async (): Promise<number> => {
    const { took, result, peak } = await withKills(kind, kills, work);
    hear?.push(peak);
    check(result, count);
    return took;
  };
}

/** 10,000 partitions of 1 ms on four workers with four at once. Two are killed; of those of BullMQ, none. */
async function partitions(): Promise<void> {
  const peaks: [number[], number[]] = [[], []];
  const remote = waiting('remote', 10_000, 1, 2, peaks[0]);
  const bare = waiting('bullmq', 10_000, 1, 0, peaks[1]);
  await compare(
    '10,000 partitions of 1 ms, two of four workers killed after 1 s, s; a flow without kills',
    remote,
    bare,
    1000,
  );
  const [ours, theirs] = peaks.map((each) => median(each) / 2 ** 20);
  rows.push([
    'peak memory of Redis less empty, MiB',
    ours!.toFixed(1),
    theirs!.toFixed(1),
    (ours! / theirs!).toFixed(2),
    '',
  ]);
}

/** 36 waits of 400 ms on four workers with four at once. Two are killed after 1 s, on both sides. */
async function waits(): Promise<void> {
  for (const [kills, title] of [
    [2, 'a flow with the same kills'],
    [0, 'a flow without kills'],
  ] as const) {
    const [remote, bare] = [waiting('remote', 36, 400, 2), waiting('bullmq', 36, 400, kills)];
    await compare(`36 waits of 400 ms, two of four workers killed after 1 s, s; ${title}`, remote, bare, 1000);
  }
}

/** One item after the other, there and back. */
async function latency(): Promise<void> {
  const count = 1000;
  const remote = async (): Promise<number> => {
    const workers = await startWorkers('remote', 1, 1);
    const times: number[] = [];
    let began = 0;
    let returned = (): void => undefined;
    async function* items(): AsyncGenerator<number> {
      for (const i of range(count)) {
        const back = new Promise<void>((resolve) => {
          returned = resolve;
        });
        began = performance.now();
        yield i;
        await back;
      }
    }
    const queue = await redisQueue({ url, folder, lock: LOCK });
    const definition = graph('latency', (g) => {
      const back = g.stage('same', g.source('items', items()), functions.same<number>, {
        remote: { queue, module: 'own' },
      });
      const time = (): void => {
        times.push(performance.now() - began);
        returned();
      };
      return g.collect('times', g.stage('time', back, time));
    });
    await definition.run().result;
    await queue.close();
    await endAll(workers);
    return median(times);
  };
  const bare = async (): Promise<number> => {
    const workers = await startWorkers('bullmq', 1, 1);
    const connection = new Redis(url, { maxRetriesPerRequest: null });
    const queue = new Queue('bullmq', { connection });
    const events = new QueueEvents('bullmq', { connection });
    await events.waitUntilReady();
    const times: number[] = [];
    for (const i of range(count)) {
      const began = performance.now();
      const job = await queue.add('same', i);
      await job.waitUntilFinished(events);
      times.push(performance.now() - began);
    }
    await queue.obliterate({ force: true });
    await Promise.all([events.close(), queue.close()]);
    connection.disconnect();
    await endAll(workers);
    return median(times);
  };
  await compare('an item there and back, median of 1,000, ms; add and waitUntilFinished', remote, bare, 1);
}

/** 1,000 items of 1 MB there and back, beside writing, syncing, reading and hashing the same files. */
async function large(): Promise<void> {
  const count = 1000;
  const made = (i: number): Uint8Array => new Uint8Array(1e6).fill(i);
  const remote = async (): Promise<number> => {
    const workers = await startWorkers('remote', 2, 2);
    const began = performance.now();
    async function* items(): AsyncGenerator<Uint8Array> {
      for (const i of range(count)) yield made(i);
    }
    const queue = await redisQueue({ url, folder, lock: LOCK });
    let bytes = 0;
    const definition = graph('large', (g) => {
      const back = g.stage('same', g.source('items', items()), functions.same<Uint8Array>, {
        ...{ lanes: 6, remote: { queue, module: 'own' } },
      });
      return g.collect(
        'bytes',
        g.stage('count', back, (each) => {
          bytes += each.length;
        }),
      );
    });
    await definition.run().result;
    const took = performance.now() - began;
    await queue.close();
    await endAll(workers);
    check([bytes], 1, count * 1e6);
    return took;
  };
  const plain = async (): Promise<number> => {
    const began = performance.now();
    // There and back: each item is two files.
    for (const i of range(2 * count)) {
      const path = join(folder, `plain-${i}`);
      const handle = await open(path, 'w');
      await handle.writeFile(made(i));
      await handle.sync();
      await handle.close();
      createHash('sha256')
        .update(await readFile(path))
        .digest();
      await rm(path);
    }
    return performance.now() - began;
  };
  await compare('1,000 items of 1 MB in and out, s; write, sync, read and hash 2,000 files', remote, plain, 1000);
}

/** Measures both in rounds that take turns, and adds a row. */
async function compare(
  what: string,
  ours: () => Promise<number>,
  theirs: () => Promise<number>,
  unit: number,
): Promise<void> {
  const pairs: [number, number][] = [];
  for (let round = 0; round < options.rounds; round++) pairs.push([await ours(), await theirs()]);
  const [a, b] = [median(pairs.map(([first]) => first)), median(pairs.map(([, second]) => second))];
  const ratios = pairs.map(([first, second]) => (first / second).toFixed(2)).sort();
  const figure = (value: number): string => (value / unit).toFixed(2);
  rows.push([what, figure(a), figure(b), (a / b).toFixed(2), ratios.join(' ')]);
  console.error(rows.at(-1)!.join(' | '));
}

function check(result: readonly unknown[], count: number, sum?: number): void {
  if (result.length !== count || (sum !== undefined && result[0] !== sum)) throw new Error(`Got ${result.length}.`);
}

/** Runs a function of functions.ts for each item as a remote stage. */
async function onQueue<A, B>(
  fn: (item: A) => B,
  items: readonly A[],
  { lanes, lock = LOCK }: { lanes: number; lock?: number },
): Promise<unknown[]> {
  const queue = await redisQueue({ url, folder, lock });
  const definition = graph('remote', (g) =>
    g.collect('all', g.stage('work', g.source('items', items), fn, { lanes, remote: { queue, module: 'own' } })),
  );
  const result = await definition.run().result;
  await queue.close();
  return result as unknown[];
}

/** A flow of BullMQ: a job whose children do the work. */
async function flow(items: readonly unknown[]): Promise<unknown[]> {
  const connection = new Redis(url, { maxRetriesPerRequest: null });
  const producer = new FlowProducer({ connection });
  let end = (_: unknown[]): void => undefined;
  const ended = new Promise<unknown[]>((resolve) => {
    end = resolve;
  });
  const parent = new Worker('parent', async (job) => end(Object.values(await job.getChildrenValues())), { connection });
  const children = items.map((data) => ({ name: 'wait', queueName: 'bullmq', data }));
  await producer.add({ name: 'all', queueName: 'parent', children });
  const result = await ended;
  await Promise.all([producer.close(), parent.close()]);
  connection.disconnect();
  return result;
}

/** Runs `work` on four workers with four jobs at once, of which some are killed after a second. */
async function withKills(kind: WorkerSetup['kind'], kills: number, work: () => Promise<unknown[]>) {
  await redis.flushall();
  const workers = await startWorkers(kind, 4, 4);
  const empty = await usedMemory();
  let peak = 0;
  const sampling = setInterval(() => void usedMemory().then((used) => (peak = Math.max(peak, used - empty))), 50);
  const killing = setTimeout(() => {
    for (const { child } of workers.slice(0, kills)) child.kill('SIGKILL');
  }, 1000);
  const began = performance.now();
  const result = await work();
  const took = performance.now() - began;
  clearInterval(sampling);
  clearTimeout(killing);
  await endAll(workers);
  return { took, result, peak };
}

async function usedMemory(): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await redis.info('memory'))![1]);
}

interface BenchWorker {
  readonly child: ChildProcess;
  /** Writes a line, and resolves to the next line of the worker. */
  ask(line: string): Promise<string>;
}

async function startWorkers(
  kind: WorkerSetup['kind'],
  count: number,
  lanes: number,
  lock = LOCK,
): Promise<BenchWorker[]> {
  const setup: WorkerSetup = { kind, url, folder, lock, lanes };
  const file = fileURLToPath(new URL('./worker.ts', import.meta.url));
  const workers = range(count).map(() => {
    const child = spawn(process.execPath, ['--import', 'tsx', file, JSON.stringify(setup)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const lines = createInterface(child.stdout!)[Symbol.asyncIterator]();
    const next = async (): Promise<string> => (await lines.next()).value as string;
    const ask = (line: string): Promise<string> => {
      child.stdin!.write(`${line}\n`);
      return next();
    };
    return { child, ask, ready: next() };
  });
  await Promise.all(workers.map(({ ready }) => ready));
  return workers;
}

async function endAll(workers: readonly BenchWorker[]): Promise<void> {
  for (const { child } of workers) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  // Those that were killed are members for a while.
  await delay(100);
  await redis.flushall();
}

/** Processor time of workers and, with a queue, of the server, in milliseconds. */
async function processorTime(workers: readonly BenchWorker[], isWithServer = true): Promise<number> {
  const told = await Promise.all(workers.map((worker) => worker.ask('cpu')));
  const own = told.reduce((sum, line) => sum + Number(line.split(' ')[1]), 0);
  if (!isWithServer) return own;
  const info = await redis.info('cpu');
  const part = (name: string): number => Number(new RegExp(`${name}:([\\d.]+)`).exec(info)![1]) * 1000;
  return own + part('used_cpu_user') + part('used_cpu_sys');
}

function ownTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
