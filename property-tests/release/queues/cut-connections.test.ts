import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { onQueue, someChores } from '../../queues/chores.ts';
import { began, describeFaults, LOCK, until } from '../../queues/faults.ts';
import * as functions from '../../queues/queue-functions.ts';
import { startProxy } from '../../queues/redis-proxy.ts';

describeFaults('a connection', { usual: 1, concurrent: true }, (fault) => {
  for (const how of ['cut', 'freeze'] as const) {
    fault(`of a worker, by a network that does not answer (${how})`, async (place, random) => {
      await using proxy = await startProxy(place.settings.url);
      const far = await place.worker({ url: proxy.url, lanes: 2 });
      const queue = await place.queue();
      const run = place.do(queue, someChores(random, 30));
      await until(() => began(far) > 0, 'a job began');
      await delay(random.between(0, 300));
      proxy[how]();
      if (random.between(0, 2) === 0) await place.worker();
      await delay(2 * LOCK + random.between(0, 1000));
      proxy.restore();
      await run;
      await queue.close();
    });

    fault(`of the parent, by a network that does not answer (${how})`, async (place, random) => {
      await using proxy = await startProxy(place.settings.url);
      const worker = await place.worker({ lanes: 2 });
      const queue = await place.queue({ url: proxy.url });
      const run = place.do(queue, someChores(random, 30));
      await until(() => began(worker) > 0, 'a job began');
      await delay(random.between(0, 300));
      proxy[how]();
      await delay(2 * LOCK + random.between(0, 1000));
      proxy.restore();
      await run;
      await queue.close();
    });
  }

  fault('that is cut again and again kills no job', async (place) => {
    await using proxy = await startProxy(place.settings.url);
    const far = await place.worker({ url: proxy.url });
    const queue = await place.queue();
    const run = onQueue(queue, functions.wait, [{ value: 3, milliseconds: 1500 }]);
    for (let cut = 1; cut <= 4; cut++) {
      await until(() => began(far) >= cut, 'the job began again');
      // Long enough for the parent to see that the worker is gone.
      proxy.cut();
      await until(() => far.news.filter(({ kind }) => kind === 'away').length >= cut, 'the worker saw it');
      await delay(1500);
      proxy.restore();
    }
    expect(await run).toEqual([9]);
    await queue.close();
  });
});
