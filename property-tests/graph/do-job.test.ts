import { describe, expect } from 'vitest';
import { doJob, UnfitWorkerError } from '../../graph/remote/do-job.ts';
import { readNews, readResult, writeItem } from '../../graph/remote/job-wire.ts';
import { packed, unpacked } from '../../graph/remote/wire.ts';
import type { RemoteJob } from '../../graph/remote/work-queue.ts';
import { ArgumentError } from '../../primitives/checks/errors.ts';
import type { Column } from '../../primitives/columns/column.ts';
import type { Context } from '../../primitives/context/context.ts';
import { test } from '../law-test.ts';
import { openReference } from '../support/reference-context.ts';

const module = {
  double: (x: number) => x * 2,
  wrong: () => () => {},
  odd(x: number) {
    if (x % 2 === 0) throw new ArgumentError('test/even', 'Even.', { expected: 'odd', got: x, place: { record: x } });
    return x;
  },
  facts: (
    _: number,
    {
      index,
      lane,
      attempt,
      mark,
    }: { index: number; lane: number; attempt: number; mark: (name: string, detail?: object) => void },
  ) => {
    mark('seen', { index });
    mark('odd', { fn: () => 1 });
    return [index, lane, attempt];
  },
  ctx: (_: number, { ctx }: { ctx: unknown }) => typeof ctx,
  add: (column: Column<'u32'>, { ctx }: { ctx: Context }) => {
    const { length } = column;
    ctx.dispose(column);
    return ctx.column(Uint32Array.of(length as number));
  },
  keep: () => {
    throw new Error('kept');
  },
  unfit: () => {
    throw new UnfitWorkerError(new ArgumentError('test/none', 'No file.', { expected: 'a file', got: 'none' }));
  },
  notAFunction: 3,
};
const modules = { own: async () => module, broken: () => Promise.reject(new Error('syntax')) };

const jobOf = async (name: string, items: readonly unknown[], id = 'own'): Promise<RemoteJob> => {
  const pieces = await Promise.all(items.map((item, index) => writeItem(item, { index, lane: 1, attempt: 2 })));
  return { id: 'j1', function: { module: id, name }, payload: await packed(pieces.flat()) };
};
const landing = openReference();
const outcomes = (payload: Uint8Array): unknown[] => {
  const pieces = unpacked(payload);
  return Array.from({ length: pieces.length / 2 }, (_, i) => {
    try {
      return readResult(pieces[2 * i + 1]!, readNews(pieces[2 * i]!).failed, () => landing);
    } catch (error) {
      return error;
    }
  });
};
const done = async (name: string, items: readonly unknown[], context?: unknown): Promise<unknown[]> =>
  outcomes((await doJob(await jobOf(name, items), modules, { context })).payload);

describe('doJob', () => {
  test('gives a result or an error for each item', async () => {
    const [one, two, three] = await done('odd', [1, 2, 3]);
    expect([one, three]).toEqual([1, 3]);
    expect(two).toBeInstanceOf(ArgumentError);
    expect(two).toMatchObject({ code: 'test/even', expected: 'odd', got: 2, place: { record: 2 } });
    expect(await done('double', [])).toEqual([]);
  });

  test('tells the function what a node tells it, and brings back its marks', async () => {
    const { payload, started, ended } = await doJob(await jobOf('facts', [0, 0]), modules);
    expect(outcomes(payload)).toEqual([
      [0, 1, 2],
      [1, 1, 2],
    ]);
    const news = readNews(unpacked(payload)[2]!);
    expect(news.marks.map(({ name, detail }) => [name, detail])).toEqual([
      ['seen', undefined],
      ['odd', undefined],
    ]);
    expect(news.start).toBeGreaterThanOrEqual(0);
    expect(news.end).toBeLessThanOrEqual(ended - started + 1);
    expect(Math.abs(Date.now() - ended)).toBeLessThan(5000);
    expect(await done('ctx', [0])).toMatchObject([{ code: 'graph/no-context' }]);
    expect(await done('ctx', [0], 'mine')).toEqual(['string']);
  });

  test('names a result that cannot leave the worker', async () => {
    expect(await done('wrong', [0])).toMatchObject([{ code: 'graph/remote-value' }]);
  });

  test('frees columns of results, and of items whose function failed', async () => {
    const [here, there] = [openReference(), openReference()];
    const items = [here.column(new Uint32Array(3)), here.column(new Uint32Array(5))];
    const columns = (await done('add', items, there)) as Column<'u32'>[];
    expect(await Promise.all(columns.map((each) => landing.read(each)))).toEqual([
      Uint32Array.of(3),
      Uint32Array.of(5),
    ]);
    await done('keep', items, there);
    expect(there.backend.counters.liveBuffers).toBe(0);
  });

  test.each([
    ['graph/remote-module', 'double', 'other'],
    ['graph/remote-module', 'double', 'toString'],
    ['graph/remote-module', 'double', 'broken'],
    ['graph/remote-function', 'toString', 'own'],
    ['graph/remote-function', 'notAFunction', 'own'],
  ])('refuses with %s the function %s of %s', async (code, name, id) => {
    await expect(doJob(await jobOf(name, [1], id), modules)).rejects.toMatchObject({ code });
  });

  test('refuses a damaged payload, and begins no item after an abort', async () => {
    const job = await jobOf('double', [1]);
    const damaged = { ...job, payload: job.payload.slice(1) };
    await expect(doJob(damaged, modules)).rejects.toMatchObject({ code: 'graph/remote-bytes' });
    const single = { ...job, payload: await packed([job.payload]) };
    await expect(doJob(single, modules)).rejects.toMatchObject({ code: 'graph/remote-bytes' });
    await expect(doJob(job, modules, { signal: AbortSignal.abort('stop') })).rejects.toBe('stop');
  });
});

test('a worker that is unfit fails the job, and not the item', async () => {
  await expect(doJob(await jobOf('unfit', [1, 2]), modules)).rejects.toMatchObject({ code: 'test/none', got: 'none' });
});
