import { once } from 'node:events';
import { readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { onQueue, type Random, someChores } from '../../queues/chores.ts';
import { began, describeFaults, until } from '../../queues/faults.ts';
import * as functions from '../../queues/queue-functions.ts';
import { startCompiled } from '../../queues/queue-processes.ts';

/** Chores of which each needs files of its own both ways: two are too large for one job. */
const largeChores = (random: Random, count: number) =>
  someChores(random, count, 60).map((each) => ({ ...each, data: new Uint8Array(600_000).fill(1), length: 600_000 }));

/** Damages the files of runs as they appear, until it is stopped. Returns how many it damaged. */
function damageFiles(folder: string, random: Random, times: number): () => number {
  const damaged = new Map<string, number>();
  const timer = setInterval(() => {
    for (const name of readdirSync(folder, { recursive: true }) as string[]) {
      const [, job] = /[/\\]([\w-]+)\.(?:items|results)\.[0-9a-f]{64}$/.exec(name) ?? [];
      if (job === undefined || (damaged.get(job) ?? 0) >= times || random.between(0, 3) === 0) continue;
      damaged.set(job, (damaged.get(job) ?? 0) + 1);
      const path = join(folder, name);
      try {
        [() => truncateSync(path, 100), () => rmSync(path), () => writeFileSync(path, 'other')][
          random.between(0, 3)
        ]!();
      } catch {
        // It is gone already.
      }
    }
  }, 1);
  return () => {
    clearInterval(timer);
    return damaged.size;
  };
}

describeFaults('files between processes', { usual: 1, concurrent: true }, (fault) => {
  fault('that are damaged are made again', async (place, random) => {
    for (let i = 0; i < 2; i++) await place.worker();
    const queue = await place.queue();
    const stop = damageFiles(place.settings.folder, random, 1);
    await place.do(queue, largeChores(random, 30));
    expect(stop()).toBeGreaterThan(10);
    await queue.close();
  });

  fault('that are always damaged end the run, and are named', async (place, random) => {
    await place.worker();
    const queue = await place.queue();
    const run = onQueue(queue, functions.chore, largeChores(random, 2));
    const stop = damageFiles(place.settings.folder, random, Number.POSITIVE_INFINITY);
    const error = await run.catch((thrown: unknown) => thrown);
    stop();
    expect(error).toMatchObject({
      cause: { code: 'graph/remote-file', place: { file: expect.stringContaining(place.settings.folder) } },
    });
    await queue.close();
  });

  fault('on a full disk wait until there is room', async (place, random) => {
    const full = await place.worker({}, {}, 60);
    const queue = await place.queue();
    const run = place.do(queue, largeChores(random, 4));
    await until(() => full.news.filter(({ kind }) => kind === 'ended').length > 4, 'jobs were done again');
    await place.worker();
    full.process.kill('SIGTERM');
    expect(await full.ended).toBe(0);
    await run;
    await queue.close();
  });

  fault('on a disk that stays full end the run', async (place, random) => {
    const full = await place.worker({}, {}, 60);
    const queue = await place.queue({ patience: 1500 });
    const run = onQueue(queue, functions.chore, largeChores(random, 2));
    // The parent cannot write either.
    const settings = { ...place.settings, patience: 1500 };
    const parent = startCompiled('queue-parent', { settings, id: 'full', seed: 1, count: 20 }, {}, 60);
    const exit = once(parent, 'exit');
    const [code] = await once(parent.stdout, 'data');
    await expect(run).rejects.toMatchObject({ cause: { code: 'graph/remote-disk' } });
    expect(String(code)).toBe('graph/remote-disk');
    await exit;
    await queue.close();
    expect(began(full)).toBeGreaterThan(2);
  });
});
