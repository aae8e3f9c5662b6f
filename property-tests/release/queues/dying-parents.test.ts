import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { WIRE_VERSION } from '../../../graph/remote/wire-form.ts';
import { serveQueue } from '../../../queues/index.ts';
import { onQueue, Random, someChores } from '../../queues/chores.ts';
import { began, describeFaults, until } from '../../queues/faults.ts';
import { type Chore, forever } from '../../queues/queue-functions.ts';
import { queueFolder, startCompiled, startWorker, type WorkerProcess } from '../../queues/queue-processes.ts';

const jobId = ({ value }: Chore): string => `c${value}`;

/** The jobs of which workers told something. */
const jobsThat = (what: string, workers: readonly WorkerProcess[]): readonly string[] =>
  workers.flatMap(({ news }) => news.flatMap((each) => (each.kind === what && 'job' in each ? [each.job] : [])));

describeFaults('parents', { usual: 1, concurrent: true }, (fault) => {
  fault('that are killed are followed by others, which find what was done in the meantime', async (place, random) => {
    const workers = [await place.worker({ lanes: 2 }), await place.worker({ lanes: 2 })];
    const seed = random.between(1, 1000);
    const parent = startCompiled('queue-parent', { settings: place.settings, id: 'taken', seed, count: 40 });
    await until(() => began(...workers) > 0, 'a job began');
    await delay(random.between(0, 400));
    parent.kill('SIGKILL');
    await once(parent, 'exit');
    await delay(random.between(100, 900));
    // The parent may have died when it had removed the file of a result, but not yet the job.
    const { folder, queue: name } = place.settings;
    const answered = await place.client.zrange(`bull:${name}:completed`, '0', '-1');
    const answers = await Promise.all(answered.map((key) => place.client.hget(`bull:${name}:${key}`, 'returnvalue')));
    const done = answered.filter((_, at) => {
      const { payload } = JSON.parse(answers[at]!);
      return 'inline' in payload || existsSync(join(folder, 'taken', payload.file));
    });
    const queue = await place.queue();
    await place.do(queue, someChores(new Random(seed), 40), { id: 'taken', jobId });
    const begins = jobsThat('began', workers);
    const times = done.map((key) => begins.filter((job) => job === key.split('/')[1]).length);
    expect(times).toEqual(done.map(() => 1));
    await queue.close();
  });

  fault('share a queue', async (place, random) => {
    const settings = { ...place.settings };
    const ended = once(startCompiled('queue-parent', { settings, id: 'other', seed: 7, count: 20 }), 'exit');
    const queue = await place.queue();
    const runs = [
      place.do(queue, someChores(random, 20)),
      place.do(queue, someChores(random, 20), { id: 'own', jobId }),
    ];
    await place.worker({ lanes: 2 });
    await Promise.all(runs);
    expect(await ended).toEqual([0, null]);
    await queue.close();
  });

  fault('do not take over a run that goes on', async (place) => {
    const queue = await place.queue();
    const run = await queue.openRun({ id: 'mine' });
    const other = await place.queue();
    for (const each of [queue, other])
      await expect(each.openRun({ id: 'mine' })).rejects.toMatchObject({ code: 'graph/remote-same-run' });
    await run.close();
    const again = await other.openRun({ id: 'mine' });
    await again.close();
    await Promise.all([queue.close(), other.close()]);
  });

  fault('and workers with other settings are refused', async (place) => {
    using elsewhere = queueFolder();
    const queue = await place.queue();
    const { signal } = new AbortController();
    const serve = (settings: object) =>
      serveQueue({ ...place.settings, modules: {}, signal, ...settings }).catch(({ code }) => code);
    expect(await serve({ folder: elsewhere.path })).toBe('graph/remote-folder');
    expect(await serve({ lock: 2000 })).toBe('graph/remote-lock');
    await expect(place.queue({ folder: elsewhere.path })).rejects.toMatchObject({ code: 'graph/remote-folder' });
    await expect(place.queue({ lock: 2000 })).rejects.toMatchObject({ code: 'graph/remote-lock' });
    await queue.close();
  });

  fault('and workers of another version are refused, at once or when they meet', async (place) => {
    const worker = startWorker(place.settings);
    await worker.ready;
    const queue = await place.queue();
    const run = onQueue(queue, forever, [1]);
    await until(() => began(worker) > 0, 'the job began');
    // As if the server had lost its memory, and others had come first.
    const [name, keys] = [randomUUID(), `quadrille:${place.settings.queue}`];
    await place.client.client('SETNAME', name);
    const member = { kind: 'worker', host: 'far', pid: 77, seen: Date.now() + 60_000 };
    await place.client.hset(`${keys}:members`, name, JSON.stringify(member));
    await place.client.hset(`${keys}:join`, 'version', '0.0.1');
    await expect(place.queue()).rejects.toMatchObject({
      code: 'graph/remote-version',
      message: expect.stringContaining('worker 77 on far'),
      expected: `version 0.0.1, wire form ${WIRE_VERSION}`,
    });
    await expect(run).rejects.toMatchObject({ cause: { code: 'graph/remote-version' } });
    expect(await worker.ended).toBe(1);
    expect(worker.errors.join('')).toContain('graph/remote-version');
    await queue.close();
  });
});
