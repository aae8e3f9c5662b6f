// A worker of the benchmark of queues: of this library, of BullMQ alone with the same settings, or without a queue. The
// parent writes `cpu` to learn the processor time so far, and `work` to have a worker without a queue do its items.
import { createInterface } from 'node:readline';
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { serveQueue } from '../../queues/index.ts';
import * as functions from './functions.ts';

export interface WorkerSetup {
  readonly kind: 'remote' | 'bullmq' | 'alone';
  readonly url: string;
  readonly folder: string;
  readonly lock: number;
  readonly lanes: number;
}

const { kind, url, folder, lock, lanes } = JSON.parse(process.argv[2]!) as WorkerSetup;
const print = (line: string): void => void process.stdout.write(`${line}\n`);
createInterface(process.stdin).on('line', (line) => {
  const [order, count, milliseconds] = line.split(' ');
  if (order === 'work') {
    for (let value = 0; value < Number(count); value++) functions.work({ value, milliseconds: Number(milliseconds) });
    print('worked');
  } else {
    const { user, system } = process.cpuUsage();
    print(`cpu ${(user + system) / 1000}`);
  }
});
if (kind === 'remote') {
  await serveQueue({
    ...{ url, folder, lock, lanes, signal: new AbortController().signal },
    modules: { own: async () => functions },
    onNews: (news) => news.kind === 'ready' && print('ready'),
  });
} else if (kind === 'bullmq') {
  const named = functions as unknown as Record<string, (item: unknown) => unknown>;
  const worker = new Worker('bullmq', async ({ name, data }) => named[name]!(data), {
    connection: new Redis(url, { maxRetriesPerRequest: null }),
    ...{ concurrency: lanes, lockDuration: lock, stalledInterval: lock / 2, maxStalledCount: 3 },
  });
  worker.on('error', () => undefined);
  await worker.waitUntilReady();
  print('ready');
} else print('ready');
