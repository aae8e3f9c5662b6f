import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { inProcessQueue, type WorkQueue } from '../../../graph/index.ts';
import { writeItem } from '../../../graph/remote/job-wire.ts';
import { packed } from '../../../graph/remote/wire.ts';
import { onQueue, type Random, someChores } from '../../queues/chores.ts';
import { began, describeFaults, type FaultPlace, LOCK, until } from '../../queues/faults.ts';
import * as functions from '../../queues/queue-functions.ts';

describeFaults('faults of workers', { usual: 2, concurrent: true }, (fault) => {
  fault('killed at any time', async (place, random) => {
    const workers = [await place.worker({ lanes: 2 }), await place.worker({ lanes: 2 })];
    const queue = await place.queue();
    const run = place.do(queue, someChores(random, 40));
    await until(() => began(...workers) > 0, 'a job began');
    for (let kill = 0; kill < 2; kill++) {
      await delay(random.between(0, 400));
      workers[kill]!.process.kill('SIGKILL');
      await place.worker({ lanes: 2 });
    }
    await run;
    await queue.close();
  });

  fault('stopped for longer than the lock, while another does its jobs', async (place, random) => {
    const stopped = await place.worker({ lanes: 2 });
    const queue = await place.queue();
    const run = place.do(queue, someChores(random, 12, 400));
    await until(() => began(stopped) > 0, 'a job began');
    await delay(random.between(0, 300));
    stopped.process.kill('SIGSTOP');
    const other = await place.worker({ lanes: 2 });
    await until(() => began(other) > 0, 'another began a job');
    await delay(2 * LOCK + random.between(0, 1000));
    stopped.process.kill('SIGCONT');
    await run;
    await queue.close();
  });

  fault('stopped for longer than the lock, with nobody else there', async (place, random) => {
    const stopped = await place.worker({ lanes: 3 });
    const queue = await place.queue();
    // Functions that do not heed their signal are still at work when their jobs come again.
    const run = place.do(queue, someChores(random, 9, 800));
    await until(() => began(stopped) > 1, 'a job began');
    stopped.process.kill('SIGSTOP');
    await delay(2 * LOCK + random.between(0, 500));
    stopped.process.kill('SIGCONT');
    await run;
    await queue.close();
    stopped.process.kill('SIGTERM');
    expect(await stopped.ended).toBe(0);
  });

  fault('asked to end, finish what they do', async (place, random) => {
    const first = await place.worker({ lanes: 2 });
    const queue = await place.queue();
    const items = [1, 2, 3, 4].map((value) => ({ value, milliseconds: 700 }));
    const run = onQueue(queue, functions.wait, items);
    await until(() => began(first) === 2, 'two jobs began');
    await delay(random.between(0, 500));
    first.process.kill('SIGTERM');
    expect(await first.ended).toBe(0);
    expect(first.news.filter(({ kind }) => kind === 'ended')).toHaveLength(began(first));
    await place.worker({ lanes: 2 });
    expect(await run).toEqual([1, 4, 9, 16]);
    await queue.close();
  });

  fault('asked to end, give back what takes too long, and that is no death', async (place, random) => {
    const queue = await place.queue();
    const item = { file: place.scratch('hung'), times: 4 };
    const run = onQueue(queue, functions.hang, [item]);
    for (let time = 0; time < item.times; time++) {
      const worker = await place.worker({ grace: random.between(1, 300) });
      await until(() => began(worker) > 0, 'the job began');
      worker.process.kill('SIGTERM');
      expect(await worker.ended).toBe(0);
    }
    await place.worker();
    expect(await run).toEqual(['done']);
    await queue.close();
  });

  /** Workers that are started anew each time that the deadly job ends one. `times` is how often another job does. */
  const killedAgainAndAgain = async (
    place: FaultPlace,
    random: Random,
    lanes: number,
    times: number,
  ): Promise<void> => {
    const queue = await place.queue();
    const chores = someChores(random, 10);
    const deadly = onQueue(queue, functions.die, [{ file: place.scratch('deadly'), times: 99 }]);
    const bearable = onQueue(queue, functions.die, [{ file: place.scratch('bearable'), times }]);
    const run = place.do(queue, chores);
    let isOver = false;
    const ends = Promise.allSettled([deadly, bearable, run]).then(() => {
      isOver = true;
    });
    const staff = async (): Promise<void> => {
      while (!isOver) await Promise.race([(await place.worker({ lanes })).ended, ends]);
    };
    await Promise.all([staff(), staff()]);
    await expect(deadly).rejects.toMatchObject({ cause: { code: 'graph/remote-deaths' } });
    expect(await bearable).toEqual(['alive']);
    await run;
    await queue.close();
  };

  fault('killed by one job each time: the job is named, and one that kills two ends right', (place, random) =>
    killedAgainAndAgain(place, random, 1, 2),
  );

  // Deaths beside a deadly job count, too, but for the third.
  fault('killed by one job each time: the jobs beside it end right', (place, random) =>
    killedAgainAndAgain(place, random, 2, 0),
  );

  fault('with clocks that are an hour off, give times of the clock of the parent', async (place, random) => {
    const hours = [1, -1, 2][random.between(0, 3)]!;
    const NODE_OPTIONS = `--import=${new URL('../../queues/shifted-clock.mjs', import.meta.url)}`;
    await place.worker({}, { NODE_OPTIONS, QUADRILLE_TEST_CLOCK: `${hours * 3_600_000}` });
    const queue = await place.queue();
    const run = await queue.openRun();
    const [facts, item] = await writeItem({ value: 3, milliseconds: 200 }, { index: 0, lane: 0, attempt: 1 });
    const payload = await packed([facts, item]);
    const before = Date.now();
    const job = { id: 'job', function: { module: 'own', name: 'wait' }, payload };
    const { started, ended } = await run.submit(job, new AbortController().signal);
    const after = Date.now();
    // The clocks are compared by messages, which take some time.
    expect(started).toBeGreaterThan(before - 2000);
    expect(ended).toBeLessThan(after + 2000);
    expect(ended - started).toBeGreaterThan(100);
    await run.close();
    await queue.close();
  });

  fault('with several lanes keep all their locks', async (place) => {
    const workers = [await place.worker({ lanes: 3 }), await place.worker({ lanes: 3 })];
    const queue = await place.queue();
    const items = [1, 2, 3, 4, 5, 6].map((value) => ({ value, milliseconds: 3 * LOCK }));
    expect(await onQueue(queue, functions.wait, items)).toEqual([1, 4, 9, 16, 25, 36]);
    expect(began(...workers)).toBe(6);
    await queue.close();
  });

  fault('whose functions throw anything give what one process gives', async (place) => {
    const [worker, queue] = [await place.worker(), await place.queue()];
    const alone = inProcessQueue({ modules: { own: async () => functions } });
    const items = ['nothing', 'text', 'number', 'nothing, later'] as const;
    const thrownOn = (where: WorkQueue) =>
      Promise.all(items.map((what) => onQueue(where, functions.blurt, [what]).catch((error: unknown) => error)));
    const [there, here] = [await thrownOn(queue), await thrownOn(alone)];
    expect(there.map((error) => (error as Error).cause)).toEqual(here.map((error) => (error as Error).cause));
    // Small items share jobs.
    const many = Array.from({ length: 300 }, (_, i) => i);
    const skips = { onError: 'skip' } as const;
    expect(await onQueue(queue, functions.failOdd, many, skips)).toEqual(many.filter((i) => i % 2 === 0));
    expect(began(worker)).toBeLessThan(150);
    await queue.close();
  });

  fault('hear within a quarter of the lock that a job was taken back', async (place) => {
    const lock = 8 * LOCK;
    const folder = { lock, queue: `${place.settings.queue}-slow` };
    const [worker, queue] = [await place.worker(folder), await place.queue(folder)];
    const stop = new AbortController();
    const run = onQueue(queue, functions.forever, [1], { signal: stop.signal });
    await until(() => began(worker) === 1, 'the job began');
    const before = performance.now();
    stop.abort(new Error('enough'));
    await expect(run).rejects.toThrow('enough');
    await until(() => worker.news.some(({ kind }) => kind === 'lost'), 'the job was lost');
    // The machine may be busy, so there is half a lock.
    expect(performance.now() - before).toBeLessThan(lock / 2);
    await queue.close();
  });
});
