import { mkdirSync, rmdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { onQueue, someChores } from '../../queues/chores.ts';
import { began, describeFaults, until } from '../../queues/faults.ts';
import * as functions from '../../queues/queue-functions.ts';

/** Lets clients say where the server writes its files. */
const PROTECTED = ['--enable-protected-configs', 'yes'];

describeFaults('a Redis server that keeps what it has on disk', { usual: 1, settings: PROTECTED }, (fault) => {
  fault('dies and starts again', async (place, random) => {
    const workers = [await place.worker({ lanes: 2 }), await place.worker({ lanes: 2 })];
    const queue = await place.queue();
    const run = place.do(queue, someChores(random, 40));
    await until(() => began(...workers) > 0, 'a job began');
    await delay(random.between(0, 500));
    await place.redis.kill();
    await delay(random.between(0, 1500));
    await place.redis.start();
    await run;
    await queue.close();
  });

  fault('has no memory left, for a while', async (place, random) => {
    const { client } = place;
    await place.worker({ lanes: 2 });
    const queue = await place.queue();
    const run = place.do(queue, someChores(random, 60));
    await delay(random.between(0, 400));
    await client.config('SET', 'maxmemory', '1');
    await delay(random.between(500, 2500));
    await client.config('SET', 'maxmemory', '0');
    await run;
    await queue.close();
  });

  fault('cannot save what it has, for a while', async (place, random) => {
    const { client } = place;
    await place.worker({ lanes: 2 });
    const queue = await place.queue();
    const run = place.do(queue, someChores(random, 60));
    const [, before] = (await client.config('GET', 'dir')) as string[];
    const gone = place.scratch('gone');
    mkdirSync(gone);
    await client.config('SET', 'dir', gone, 'save', '3600 1');
    rmdirSync(gone);
    await client.bgsave();
    await until(async () => (await client.info('persistence')).includes('rdb_last_bgsave_status:err'), 'saving failed');
    await expect(client.set('any', '1')).rejects.toThrow('MISCONF');
    await delay(random.between(500, 2500));
    await client.config('SET', 'dir', before!, 'save', '');
    await run;
    await queue.close();
  });

  fault('has no memory left, for longer than patience lasts', async (place, random) => {
    const { client } = place;
    await place.worker();
    const queue = await place.queue({ patience: 1500 });
    const run = onQueue(queue, functions.chore, someChores(random, 60, 400));
    await delay(random.between(0, 400));
    await client.config('SET', 'maxmemory', '1');
    await expect(run).rejects.toMatchObject({ cause: { code: 'graph/remote-memory' } });
    await expect(place.queue()).rejects.toMatchObject({ code: 'graph/remote-memory' });
    await client.config('SET', 'maxmemory', '0');
    await queue.close();
  });

  fault('stays away', async (place, random) => {
    // One worker has nothing to do, the other has a job that it cannot finish.
    const idle = await place.worker({ queue: `${place.settings.queue}-idle` });
    const busy = await place.worker({ grace: 1000 });
    const queue = await place.queue({ patience: 1500 });
    const runs = [onQueue(queue, functions.forever, [1]), onQueue(queue, functions.forever, [2])];
    const patient = await place.queue();
    const patientRun = onQueue(patient, functions.forever, [1]);
    await until(() => began(busy) > 0, 'a job began');
    await delay(random.between(0, 200));
    // What has died answers nothing; what hangs keeps its connections.
    const hangs = random.between(0, 2) === 0;
    if (hangs) place.redis.stop();
    else await place.redis.kill();
    for (const run of runs) await expect(run).rejects.toMatchObject({ cause: { code: 'graph/remote-lost' } });
    const before = performance.now();
    for (const worker of [idle, busy]) worker.process.kill('SIGTERM');
    await Promise.all([queue.close(), patient.close(), idle.ended, busy.ended]);
    await expect(patientRun).rejects.toMatchObject({ cause: { code: 'graph/remote-closed' } });
    expect(performance.now() - before).toBeLessThan(15_000);
    expect([await idle.ended, await busy.ended]).toEqual([0, 0]);
    if (hangs) place.redis.resume();
    else await place.redis.start();
    // Nobody could tell the server, so what it had on disk is there.
    const { client } = place;
    await client.flushall();
  });
});

const nothingKept = { usual: 1, settings: ['--appendonly', 'no'] };
describeFaults('a Redis server that keeps nothing', nothingKept, (fault) => {
  fault('dies and starts again', async (place, random) => {
    const workers = [await place.worker({ lanes: 2 }), await place.worker({ lanes: 2 })];
    const queue = await place.queue();
    const run = place.do(queue, someChores(random, 60));
    await until(() => began(...workers) > 0, 'a job began');
    await delay(random.between(0, 500));
    await place.redis.kill();
    await delay(random.between(0, 1500));
    await place.redis.start();
    await run;
    await queue.close();
  });
});
