// Processes for tests of queues.
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { Redis } from 'ioredis';
import type { QueueSettings, WorkerNews } from '../../queues/index.ts';

/** A worker in a process of its own. It knows the functions of queue-functions.ts as the module `own`. */
export interface WorkerProcess {
  readonly process: ChildProcess;
  readonly news: readonly WorkerNews[];
  /** What it wrote to stderr. */
  readonly errors: readonly string[];
  /** Resolves when it takes jobs. Rejects if it ends before. */
  readonly ready: Promise<void>;
  /** Resolves to the exit code or the signal that ended it. */
  readonly ended: Promise<number | string>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts a worker process. `settings` are options of `serveQueue`. */
export function startWorker(
  settings: QueueSettings & { readonly lanes?: number; readonly grace?: number },
  env: Readonly<Record<string, string>> = {},
  /** Most KiB that a file of the process may have. */
  limit?: number,
): WorkerProcess {
  const child = startCompiled('queue-worker', settings, env, limit);
  const news: WorkerNews[] = [];
  const errors: string[] = [];
  child.stderr.on('data', (text) => errors.push(String(text)));
  const ended = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string);
  const ready = new Promise<void>((resolve, reject) => {
    createInterface(child.stdout).on('line', (line) => {
      news.push(JSON.parse(line) as WorkerNews);
      if (news.at(-1)!.kind === 'ready') resolve();
    });
    void ended.then(() => reject(new Error(`The worker has ended: ${errors.join('')}`)));
  });
  ready.catch(() => undefined);
  return {
    process: child,
    ...{ news, errors, ready, ended },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await ended;
    },
  };
}

/** Starts a program of this folder. A limited process cannot write larger files, as if the disk were full. */
export function startCompiled(
  name: string,
  options: object,
  env: Readonly<Record<string, string>> = {},
  limit?: number,
): ChildProcessByStdio<null, Readable, Readable> {
  const file = join(process.env.QUADRILLE_COMPILED_WORKERS!, `property-tests-queues-${name}.js`);
  const command = [process.execPath, file, JSON.stringify(options)];
  const [program, ...args] =
    limit === undefined ? command : ['bash', '-c', `ulimit -f ${limit}; exec "$@"`, '', ...command];
  return spawn(program!, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
}

/** A folder of a queue, which is removed at the end. */
export function queueFolder(): { readonly path: string; left(): string[]; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(tmpdir(), 'queue-'));
  return {
    path,
    /** Files that runs left there. */
    left: () => readdirSync(path).filter((name) => name !== '.quadrille-queue'),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** What runs left in Redis: jobs of BullMQ, and records of runs. */
export async function leftInRedis(url: string, queue = 'quadrille'): Promise<string[]> {
  const redis = new Redis(url);
  try {
    const jobs = (await redis.keys(`bull:${queue}:*/*`)).map((key) => key.slice(`bull:${queue}:`.length));
    return [...jobs, ...(await redis.hkeys(`quadrille:${queue}:runs`))];
  } finally {
    redis.disconnect();
  }
}
