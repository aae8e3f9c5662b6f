import { afterEach, beforeEach, describe, expect, vi } from 'vitest';
import { WatchedRun } from '../../cli/zonal-workers.ts';
import type { RemoteJob, RemoteOutcome, RemoteRun, WorkerCount } from '../../graph/index.ts';
import { writeNews } from '../../graph/remote/job-wire.ts';
import { packed } from '../../graph/remote/wire.ts';
import { writeValue } from '../../graph/remote/wire-writer.ts';
import { caseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';

beforeEach(
  () =>
    void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout', 'performance'] }),
);
afterEach(() => void vi.useRealTimers());

const job = (id: string): RemoteJob => ({
  id,
  function: { module: 'm', name: 'f' },
  payload: new Uint8Array(),
});
const payloadOf = async (failed: boolean): Promise<Uint8Array> =>
  packed([await writeNews({ start: 0, end: 1, failed, marks: [] }), await writeValue(undefined, 'result')]);
const [done, failed] = [await payloadOf(false), await payloadOf(true)];
const outcome = (worker: string, started: number, ended: number, payload = done): RemoteOutcome => ({
  ...{ payload, worker, started, ended },
});

/** A run of which the test says what its workers do. Jobs that are taken back reject. */
function handRun(workers: { count: number }) {
  const open = new Map<string, (outcome: RemoteOutcome) => void>();
  const begun = new Map<string, (() => void) | undefined>();
  const run: RemoteRun = {
    id: 'r',
    submit: ({ id }, signal, onBegan) =>
      new Promise((resolve, reject) => {
        open.set(id, resolve);
        begun.set(id, onBegan);
        signal.addEventListener('abort', () => reject(signal.reason));
      }),
    workers: async () => ({ workers: workers.count }),
    close: async () => undefined,
  };
  return { run, open, begin: (id: string) => begun.get(id)!() };
}

const NEVER = new AbortController().signal;
const QUIET = { onNoWorkers: () => undefined, onAway: () => undefined, onBack: () => undefined };

describe('a watched run', () => {
  test('tells once that there are no workers for five seconds, and again after some came and went', async () => {
    const workers = { count: 0 };
    let told = 0;
    const { run } = handRun(workers);
    const watched = new WatchedRun(run, { seconds: undefined, cellsOf: () => 1, ...QUIET, onNoWorkers: () => told++ });
    const tellingsIn = async (milliseconds: number): Promise<number> => {
      await vi.advanceTimersByTimeAsync(milliseconds);
      return told;
    };
    expect([await tellingsIn(4900), await tellingsIn(200), await tellingsIn(60_000)]).toEqual([0, 1, 1]);
    workers.count = 2;
    expect(await tellingsIn(10_000)).toBe(1);
    expect(watched.figures()).toEqual({ workers: 2 });
    workers.count = 0;
    expect([await tellingsIn(4000), await tellingsIn(2000)]).toEqual([1, 2]);
    await watched.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  test('tells that the queue does not answer for five seconds, and that it is back', async () => {
    const { run } = handRun({ count: 1 });
    let answer = (): void => undefined;
    const asked = {
      ...run,
      workers: () => new Promise<WorkerCount>((resolve) => (answer = () => resolve({ workers: 1 }))),
    };
    const told: string[] = [];
    const onAway = (): void => void told.push('away');
    const onBack = (): void => void told.push('back');
    const watched = new WatchedRun(asked, { seconds: 1, cellsOf: () => 1, ...QUIET, onAway, onBack });
    const toldAfter = async (milliseconds: number): Promise<string> => {
      await vi.advanceTimersByTimeAsync(milliseconds);
      return told.join(' ');
    };
    expect([await toldAfter(4900), await toldAfter(60_000)]).toEqual(['', 'away']);
    answer();
    expect([await toldAfter(10), await toldAfter(7000)]).toEqual(['away back', 'away back away']);
    await watched.close();
  });

  test('does not take its own being busy for silence of the queue', async () => {
    const told: string[] = [];
    const { run } = handRun({ count: 1 });
    const watched = new WatchedRun(run, { seconds: 1, cellsOf: () => 1, ...QUIET, onAway: () => told.push('away') });
    const { now } = performance;
    for (const busy of [0, 6000, 90_000]) {
      performance.now = () => now.call(performance) + busy;
      await vi.advanceTimersByTimeAsync(1000);
    }
    performance.now = now;
    expect(told).toEqual([]);
    await watched.close();
  });

  test('takes a job back that a worker has had for too long, but none that waits for a worker', async () => {
    const { run, open, begin } = handRun({ count: 1 });
    const watched = new WatchedRun(run, { seconds: 100, cellsOf: () => 1, ...QUIET });
    const ends = ['a', 'b', 'c'].map((id) =>
      watched.submit(job(id), NEVER).then(
        () => 'done',
        (error: { readonly code: string }) => error.code,
      ),
    );
    begin('a');
    begin('b');
    await vi.advanceTimersByTimeAsync(80_000);
    open.get('a')!(outcome('w', 0, 80_000));
    // The worker died, and another one began the job anew.
    begin('b');
    await vi.advanceTimersByTimeAsync(99_000);
    expect(await Promise.race([ends[1], 'open'])).toBe('open');
    await vi.advanceTimersByTimeAsync(2000);
    expect(await ends[1]).toBe('zonal/partition-timeout');
    await vi.advanceTimersByTimeAsync(500_000);
    expect(await Promise.race([ends[2], 'open'])).toBe('open');
    begin('c');
    await vi.advanceTimersByTimeAsync(101_000);
    expect(await Promise.all(ends)).toEqual(['done', 'zonal/partition-timeout', 'zonal/partition-timeout']);
    await watched.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  test('counts no partition that failed', async () => {
    const { run, open } = handRun({ count: 1 });
    const watched = new WatchedRun(run, { seconds: 100, cellsOf: () => 1000, ...QUIET });
    const end = watched.submit(job('a'), NEVER);
    open.get('a')!(outcome('w', 0, 10, failed));
    await end;
    expect([...watched.done()]).toEqual([]);
    await watched.close();
  });

  const times = fc.array(fc.tuple(fc.constantFrom('v', 'w'), fc.integer({ min: 1, max: 40_000 })), { minLength: 1 });

  test.prop([times], { numRuns: caseCount(200) })(
    'allows ten times the median, at least a minute, and knows the rate of each worker',
    async (done) => {
      const { run, open } = handRun({ count: 1 });
      const watched = new WatchedRun(run, { seconds: undefined, cellsOf: () => 1000, ...QUIET });
      expect(watched.seconds).toBe(3600);
      const clock = { v: 0, w: 0 };
      for (const [i, [worker, milliseconds]] of done.entries()) {
        const end = watched.submit(job(`${i}`), NEVER);
        const from = clock[worker as 'v' | 'w'];
        clock[worker as 'v' | 'w'] += milliseconds;
        open.get(`${i}`)!(outcome(worker, from, from + milliseconds));
        await end;
      }
      const newest = done.slice(-101).map(([, milliseconds]) => milliseconds / 1000);
      const median = newest.sort((a, b) => a - b)[newest.length >> 1]!;
      expect(watched.seconds).toBeCloseTo(Math.max(60, 10 * median), 6);
      for (const [worker, { partitions, cells, cellsPerSecond }] of watched.done()) {
        const count = done.filter(([name]) => name === worker).length;
        expect([partitions, cells]).toEqual([count, 1000 * count]);
        expect(cellsPerSecond).toBeCloseTo((1e6 * count) / clock[worker as 'v' | 'w'], 3);
      }
      await watched.close();
    },
  );
});
