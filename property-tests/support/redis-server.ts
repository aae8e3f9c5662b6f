import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe } from 'vitest';
import { test } from '../law-test.ts';

/** Whether the program `redis-server` is installed here. One line says so where it is not. */
export const hasRedis: boolean = spawnSync('redis-server', ['--version']).status === 0;
if (!hasRedis) console.info('Tests of queues on Redis do not run: redis-server is not installed.');

/** Declares tests that need `redis-server`. Skipped tests fail a run, so one that passes stands in for them. */
export function describeWithRedis(name: string, body: () => void): void {
  if (hasRedis) describe(name, body);
  else test(`${name} is not tested, because redis-server is not installed`, () => undefined);
}

/** Declares tests that share a Redis server, which `body` is given as a function, for it starts before the first test. */
export function describeOnRedis(
  name: string,
  { concurrent = false, settings = [] }: { readonly concurrent?: boolean; readonly settings?: readonly string[] },
  body: (redis: () => TestRedis) => void,
): void {
  describeWithRedis(name, () => {
    let server: TestRedis | undefined;
    beforeAll(async () => {
      server = await startRedis(...settings);
    });
    afterAll(() => server?.[Symbol.asyncDispose]());
    describe('', { concurrent }, () => body(() => server!));
  });
}

/** A Redis server of a test, with files and a port of its own. */
export interface TestRedis {
  readonly url: string;
  /** Ends the server as `kill -9` does. */
  kill(): Promise<void>;
  /** Stops the process, so that connections stay and nothing answers. */
  stop(): void;
  /** Lets a stopped process go on. */
  resume(): void;
  /** Starts it again, on the same port and with what it had on disk. */
  start(): Promise<void>;
  /** Ends the server and removes its files. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts a Redis server that writes every change to disk. */
export async function startRedis(...settings: readonly string[]): Promise<TestRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'redis-'));
  const port = await freePort();
  let server: ChildProcess | undefined;
  const kill = async (): Promise<void> => {
    const running = server;
    server = undefined;
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return;
    running.kill('SIGKILL');
    await once(running, 'exit');
  };
  const start = async (): Promise<void> => {
    const always = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'yes'];
    server = spawn('redis-server', [...always, ...settings], { stdio: 'ignore' });
    const late = performance.now() + 20_000;
    while (!(await answers(port, server.pid))) {
      if (server.exitCode !== null) throw new Error(`redis-server ended with ${server.exitCode}.`);
      if (performance.now() > late) throw new Error('redis-server does not answer.');
      await delay(10);
    }
  };
  try {
    await start();
  } catch (error) {
    await kill();
    throw error;
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    kill,
    start,
    stop: () => void server?.kill('SIGSTOP'),
    resume: () => void server?.kill('SIGCONT'),
    async [Symbol.asyncDispose]() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * A port that is free, below those that systems give to connections and to servers without a port of their own: a test
 * starts its server again on its port, which nobody may have taken meanwhile.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_000);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}

/** Whether the server of a process answers at a port, and not that of another test. */
async function answers(port: number, pid: number | undefined): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    socket.write('INFO server\r\n');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    // A server that is still loading its files says so. One with a password has started.
    const text = answer.toString();
    return text.startsWith('-NOAUTH') || text.includes(`process_id:${pid}\r\n`);
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
