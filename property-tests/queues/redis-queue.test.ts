import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { writeItem } from '../../graph/remote/job-wire.ts';
import { packed } from '../../graph/remote/wire.ts';
import { cancelRun, listRuns, redisQueue } from '../../queues/index.ts';
import { test } from '../law-test.ts';
import { describeWithRedis, startRedis } from '../support/redis-server.ts';
import { onQueue } from './chores.ts';
import * as functions from './queue-functions.ts';
import { leftInRedis, queueFolder, startWorker } from './queue-processes.ts';

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

describeWithRedis('a queue on Redis', () => {
  test('gives what one process gives, and leaves nothing', async () => {
    await using redis = await startRedis();
    using folder = queueFolder();
    const settings = { url: redis.url, folder: folder.path };
    await using first = startWorker(settings);
    await using second = startWorker({ ...settings, lanes: 3 });
    const queue = await redisQueue(settings);
    // Workers may be there before and come after the parent.
    const doubled = onQueue(queue, functions.double, range(500));
    const sizes = [0, 1, 40_000, 65_000, 65_536, 66_000, 1_000_000];
    const swollen = onQueue(queue, functions.swell, sizes);
    const thrown = onQueue(queue, functions.fail, [7]).catch((error: unknown) => error);
    expect(await doubled).toEqual(range(500).map((i) => 2 * i));
    expect(await swollen).toEqual(sizes.map(functions.swell));
    expect(await thrown).toMatchObject({ cause: { code: 'test/bad', expected: 'good', got: 7 } });
    await Promise.all([first.ready, second.ready]);
    expect((await listRuns({ url: redis.url })).workers.map(({ lanes }) => lanes).sort()).toEqual([1, 3]);
    await queue.close();
    expect([folder.left(), await leftInRedis(redis.url)]).toEqual([[], []]);
    for (const worker of [first, second]) {
      worker.process.kill('SIGTERM');
      expect(await worker.ended).toBe(0);
      expect(worker.errors).toEqual([]);
    }
    expect((await listRuns({ url: redis.url })).workers).toEqual([]);
  });

  test('extends locks however long a function keeps the event loop busy', async () => {
    await using redis = await startRedis();
    using folder = queueFolder();
    const settings = { url: redis.url, folder: folder.path, lock: 1500 };
    await using worker = startWorker(settings);
    await using other = startWorker(settings);
    await Promise.all([worker.ready, other.ready]);
    const queue = await redisQueue(settings);
    const items = [{ value: 3, milliseconds: 4000 }];
    expect(await onQueue(queue, functions.busy, items)).toEqual([9]);
    expect([...worker.news, ...other.news].filter(({ kind }) => kind === 'began')).toHaveLength(1);
    await queue.close();
  });

  test('an abort leaves no job and no file, and stops the function', async () => {
    await using redis = await startRedis();
    using folder = queueFolder();
    const settings = { url: redis.url, folder: folder.path, lock: 1000 };
    await using worker = startWorker(settings);
    await worker.ready;
    const queue = await redisQueue(settings);
    const stop = new AbortController();
    const result = onQueue(queue, functions.forever, [new Uint8Array(100_000), 1, 2], { signal: stop.signal });
    result.catch(() => undefined);
    while (!worker.news.some(({ kind }) => kind === 'began')) await new Promise((turn) => setTimeout(turn, 5));
    stop.abort(new Error('enough'));
    await expect(result).rejects.toThrow('enough');
    await queue.close();
    expect([folder.left(), await leftInRedis(redis.url)]).toEqual([[], []]);
    // The worker is free again.
    const again = await redisQueue(settings);
    expect(await onQueue(again, functions.double, [4])).toEqual([8]);
    expect(worker.news.some(({ kind }) => kind === 'lost')).toBe(true);
    await again.close();
  });

  test('tries an item that failed on other workers, if there are any', async () => {
    await using redis = await startRedis();
    using folder = queueFolder();
    using marks = queueFolder();
    const settings = { url: redis.url, folder: folder.path };
    await using first = startWorker(settings);
    await first.ready;
    const queue = await redisQueue(settings);
    const alone = onQueue(queue, functions.failHere, [join(marks.path, 'alone')], { onError: { retry: 2 } });
    await expect(alone).rejects.toMatchObject({ attempts: 3, cause: { message: 'Not here.' } });
    await using second = startWorker(settings);
    await second.ready;
    const files = range(8).map((i) => join(marks.path, `item-${i}`));
    const result = onQueue(queue, functions.failHere, files, { onError: { retry: 1 } });
    expect(await result).toEqual(files.map(() => 'done elsewhere'));
    // Without a retry: such an error is not the item's.
    const others = range(8).map((i) => join(marks.path, `other-${i}`));
    expect(await onQueue(queue, functions.unfitHere, others)).toEqual(others.map(() => 'done elsewhere'));
    await queue.close();
    expect([folder.left(), await leftInRedis(redis.url)]).toEqual([[], []]);
  });

  test('leaves jobs to the workers that have their module', async () => {
    await using redis = await startRedis();
    using folder = queueFolder();
    const settings = { url: redis.url, folder: folder.path };
    await using without = startWorker({ ...settings, lanes: 4 }, { QUADRILLE_WITHOUT_MODULES: '1' });
    await without.ready;
    const queue = await redisQueue(settings);
    await expect(onQueue(queue, functions.double, [1])).rejects.toMatchObject({
      cause: { code: 'graph/remote-module' },
    });
    await using other = startWorker(settings);
    await other.ready;
    expect(await onQueue(queue, functions.double, range(300))).toEqual(range(300).map((i) => 2 * i));
    const waits = range(12).map((value) => ({ value, milliseconds: 100 }));
    expect(await onQueue(queue, functions.wait, waits)).toEqual(waits.map(({ value }) => value * value));
    await queue.close();
    expect([folder.left(), await leftInRedis(redis.url)]).toEqual([[], []]);
  });

  test('tells when a worker has begun a job', async () => {
    await using redis = await startRedis();
    using folder = queueFolder();
    const settings = { url: redis.url, folder: folder.path };
    const queue = await redisQueue(settings);
    const run = await queue.openRun();
    let begun = 0;
    const payload = await packed(await writeItem(21, { index: 0, lane: 0, attempt: 1 }));
    const job = { id: 'j', function: { module: 'own', name: 'double' }, payload };
    const done = run.submit(job, new AbortController().signal, () => begun++);
    await delay(300);
    expect(begun).toBe(0);
    await using _worker = startWorker(settings);
    await done;
    expect(begun).toBe(1);
    await queue.close();
  });

  test('lists and cancels runs', async () => {
    await using redis = await startRedis();
    using folder = queueFolder();
    const settings = { url: redis.url, folder: folder.path };
    const queue = await redisQueue(settings);
    const result = onQueue(queue, functions.double, [1], { title: 'doubles' });
    result.catch(() => undefined);
    let runs = (await listRuns({ url: redis.url })).runs;
    while (runs.length === 0) runs = (await listRuns({ url: redis.url })).runs;
    expect(runs).toMatchObject([{ title: 'doubles', pid: process.pid, isAlive: true, done: 0 }]);
    await expect(cancelRun({ url: redis.url }, 'other')).rejects.toMatchObject({
      code: 'graph/remote-no-run',
      got: 'other',
    });
    await cancelRun({ url: redis.url }, runs[0]!.id);
    await expect(result).rejects.toMatchObject({ cause: { code: 'graph/remote-cancelled' } });
    await queue.close();
    expect([folder.left(), await leftInRedis(redis.url)]).toEqual([[], []]);
  });
});
