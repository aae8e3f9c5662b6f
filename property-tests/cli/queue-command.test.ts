import { Writable } from 'node:stream';
import { describe, expect } from 'vitest';
import { exitCodeOf } from '../../cli/failure.ts';
import { type QueueParts, runQueueCancel, runQueueList, runQueueStatus } from '../../cli/queue.ts';
import {
  parseQueueCancelArguments,
  parseQueueListArguments,
  parseQueueStatusArguments,
} from '../../cli/queue-arguments.ts';
import { shownUrl } from '../../queues/connection.ts';
import type { QueueStatus } from '../../queues/index.ts';
import { test } from '../law-test.ts';
import { openWorkshop } from '../support/cli-support.ts';
import { quietLog } from './cli-index-support.ts';

const PLACE = ['--queue', 'redis://:secret@host:6379'];
const full: QueueStatus = {
  runs: [
    ...[
      { id: 'r1', title: 'zonal counties.geojson', host: 'a', pid: 12, started: 0, jobs: 1200, done: 7, failed: 0 },
      { id: 'r2', title: '', host: 'b', pid: 9, started: 86_400_000, jobs: 3, done: 1, failed: 1 },
    ].map((run, i) => ({ ...run, folder: '/shared', isAlive: i === 0 })),
  ],
  workers: [
    {
      name: 'w1',
      host: 'a',
      pid: 44,
      version: '0.1.0',
      started: 1500,
      lanes: 2,
      done: 8,
      label: 'NVIDIA H200 (GPU 1)',
    },
    { name: 'w2', host: 'b', pid: 45, version: '0.1.0', started: 2500, lanes: 1, done: 0 },
  ],
};

/** Runs a subcommand on a queue with this status. Returns what it printed, said and asked for. */
async function ask(
  run: (parts: QueueParts, surroundings: Parameters<typeof runQueueList>[2]) => Promise<void>,
  status: QueueStatus = full,
): Promise<{ readonly stdout: string; readonly lines: readonly string[]; readonly cancelled: readonly unknown[] }> {
  let stdout = '';
  const lines: string[] = [];
  const cancelled: unknown[] = [];
  const parts: QueueParts = {
    listRuns: async () => status,
    cancelRun: async (place, id) => void cancelled.push([place, id]),
    shownUrl,
  };
  const stream = new Writable({
    decodeStrings: false,
    write(chunk, _, done) {
      stdout += chunk;
      done();
    },
  });
  const log = {
    ...quietLog(),
    summary: (summary: { readonly lines: readonly string[] }) => lines.push(...summary.lines),
  };
  const signal = new AbortController().signal;
  await run(parts, { log, stdout: stream, signal, beforeExit: () => undefined });
  return { stdout, lines, cancelled };
}

const list = (...words: string[]) => parseQueueListArguments([...PLACE, ...words]);

describe('quadrille queue list', () => {
  test('prints runs and workers as tables', async () => {
    const { stdout, lines } = await ask((...rest) => runQueueList(list(), ...rest));
    expect(stdout.split('\n')).toEqual([
      'run  title                   program          started               jobs   done  failed',
      'r1   zonal counties.geojson  a (12)           1970-01-01T00:00:00Z  1,200  7     0',
      'r2   –                       b (9), orphaned  1970-01-02T00:00:00Z  3      1     1',
      '',
      'worker  on                   process  version  started               jobs at a time  done',
      'w1      NVIDIA H200 (GPU 1)  a (44)   0.1.0    1970-01-01T00:00:01Z  2               8',
      'w2      –                    b (45)   0.1.0    1970-01-01T00:00:02Z  1               0',
      '',
    ]);
    expect(lines).toEqual(['2 runs and 2 workers on the queue quadrille on redis://:***@host:6379.']);
  });

  test('prints all of it as JSON', async () => {
    const { stdout } = await ask((...rest) => runQueueList(list('--json'), ...rest));
    const told = JSON.parse(stdout) as QueueStatus;
    const ms = (all: readonly { readonly started: unknown }[]) => all.map(({ started }) => Date.parse(`${started}`));
    expect(told.runs.map((run, i) => ({ ...run, started: full.runs[i]!.started }))).toEqual(full.runs);
    expect([ms(told.runs), ms(told.workers)]).toEqual([
      [0, 86_400_000],
      [1000, 2000],
    ]);
  });

  test('prints nothing of an empty queue, and says that it is empty', async () => {
    const { stdout, lines } = await ask((...rest) => runQueueList(list('--queue-name', 'other'), ...rest), {
      runs: [],
      workers: [],
    });
    expect(stdout).toBe('');
    expect(lines).toEqual(['0 runs and 0 workers on the queue other on redis://:***@host:6379.']);
  });
});

describe('quadrille queue status', () => {
  const status = (...words: string[]) => parseQueueStatusArguments([...words, ...PLACE]);

  test('says how far a run is', async () => {
    const { stdout } = await ask((...rest) => runQueueStatus(status('r2'), ...rest));
    expect(stdout.split('\n')).toEqual([
      'run      r2',
      'program  b (9), orphaned',
      'started  1970-01-02T00:00:00Z',
      'jobs     3 so far: 1 done, 1 failed, 1 left',
      'workers  2 on this queue',
      '',
    ]);
    const { stdout: json } = await ask((...rest) => runQueueStatus(status('r1', '--json'), ...rest));
    expect(JSON.parse(json)).toMatchObject({ id: 'r1', jobs: 1200, done: 7, isAlive: true, workers: 2 });
  });

  test.each([
    ['r3', full, 'The queue has no run r3. Did you mean r1?'],
    ['strange-name', full, 'The queue has no run strange-name. It has r1, r2.'],
    ['r1', { runs: [], workers: [] }, 'The queue has no run r1. It has none: a run leaves the queue when it ends.'],
  ])('refuses a run that the queue does not have: %s', async (id, known, message) => {
    const error = await ask((...rest) => runQueueStatus(status(id), ...rest), known).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'queue/no-run', message });
    expect(exitCodeOf(error)).toBe(2);
  });
});

describe('quadrille queue cancel', () => {
  const cancel = (...words: string[]) => parseQueueCancelArguments([...words, ...PLACE]);

  test('ends a run, and says what becomes of it', async () => {
    const alive = await ask((...rest) => runQueueCancel(cancel('r1'), ...rest));
    expect(alive.cancelled).toEqual([[{ url: PLACE[1], queue: undefined, folder: undefined }, 'r1']]);
    expect([alive.stdout, ...alive.lines]).toEqual([
      '',
      'Run r1 is cancelled: its program on a (process 12) ends with an error.',
    ]);
    const orphaned = await ask((...rest) => runQueueCancel(cancel('r2', '--queue-folder', '/run'), ...rest));
    expect(orphaned.cancelled).toEqual([[{ url: PLACE[1], queue: undefined, folder: '/run' }, 'r2']]);
    expect(orphaned.lines).toEqual(['Run r2 is cancelled: what it left is removed, also in /run.']);
    const { lines, stdout } = await ask((...rest) => runQueueCancel(cancel('r2', '--json'), ...rest));
    expect(lines[0]).toContain('also in /shared');
    expect(JSON.parse(stdout)).toMatchObject({ id: 'r2', cancelled: true });
  });

  test('of an unknown run cancels nothing', async () => {
    await expect(ask((...rest) => runQueueCancel(cancel('r'), ...rest))).rejects.toMatchObject({
      code: 'queue/no-run',
    });
  });
});

test.each([
  [[], 'usage/missing-word'],
  [['r1', 'r2'], 'usage/stray-word'],
  [['r1', '--queue-folder', '/run'], 'usage/unknown-option'],
])('quadrille queue status %j is refused', (words, code) => {
  expect(() => parseQueueStatusArguments([...words, ...PLACE])).toThrow(expect.objectContaining({ code }));
});

test.each([
  [['worker'], ['--queue-folder', '--module', '--gpu', '--lanes', '--memory', 'SIGTERM', 'QUADRILLE_QUEUE']],
  [['queue'], ['queue list', 'queue status RUN', 'queue cancel RUN']],
  [
    ['queue', 'list'],
    ['--json', '--queue-name', 'orphaned'],
  ],
  [
    ['queue', 'status'],
    ['--json', 'RUN'],
  ],
  [
    ['queue', 'cancel'],
    ['--queue-folder', 'RUN'],
  ],
  [[], ['quadrille worker', 'quadrille queue']],
])('the help of quadrille %j names its options', async (words, names) => {
  const shop = await openWorkshop();
  const { exitCode, stdout, stderr } = await shop.quadrille([...words, '--help']);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  for (const name of names) expect(stdout).toContain(name);
  expect(Math.max(...stdout.split('\n').map(({ length }) => length))).toBeLessThan(132);
  await shop.remove();
});
