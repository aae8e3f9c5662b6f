import { cp, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PartitionParts } from '../../cli/zonal-partition.ts';
import { zonalParts } from '../../cli/zonal-parts.ts';
import { encodePackedRaster } from '../../formats/rasters/encode-packed-raster.ts';
import type { RemoteJob, RemoteOutcome, RemoteRun, WorkQueue } from '../../graph/index.ts';
import { decodeItems } from '../../graph/remote/wire.ts';
import { FormatError, GraphError, QuadrilleError } from '../../primitives/checks/errors.ts';
import { someOf } from '../cases.ts';
import { collection, openWorkshop, rectangle, type Workshop, zone } from '../support/cli-support.ts';
import { openReference } from '../support/reference-context.ts';
import { type QueueSetting, zonalHere, zonalOnQueue } from './zonal-queue-support.ts';

let shop: Workshop;
const context = openReference();

beforeAll(async () => {
  shop = await openWorkshop();
  await mkdir(shop.path('queue'));
  const zones = [
    { ...zone('a', rectangle(0, 0, 2, 3)), properties: { name: 'first', count: 1 } },
    zone('b', rectangle(2, 0, 6, 3)),
    zone('c', rectangle(30, 0, 31, 1)),
  ];
  await shop.write('zones.json', collection(...zones));
  const cells = Array.from({ length: 12 }, (_, cell) => cell / 3 - 1);
  const strips = { sample: 'f32', stripRows: 1 } as const;
  await shop.writeRaster('left.tif', { ...strips, nodata: 0 }, cells);
  await shop.writeRaster('right.tif', { ...strips, originX: 3 }, cells.toReversed());
  await encodePackedRaster(shop.path('left.tif'), shop.path('packed.qbp'));
  await shop.writeRaster('bands.tif', { ...strips, bands: 2 }, [...cells, ...cells]);
  await shop.writeRaster('away.tif', { ...strips, originX: -60 }, cells);
});
afterAll(() => shop.remove());

const BINS = ['--raster', '@left.tif', '--bins', '-1:3:0.5'];

/** A queue that hands out each job through a function. */
function aroundJobs(
  queue: WorkQueue,
  around: (job: RemoteJob, submit: () => Promise<RemoteOutcome>) => Promise<RemoteOutcome>,
): WorkQueue {
  const changed = (run: RemoteRun): RemoteRun => ({
    id: run.id,
    submit: (job, signal) => around(job, () => run.submit(job, signal)),
    workers: () => run.workers(),
    close: () => run.close(),
  });
  return { ...queue, openRun: async (options) => changed(await queue.openRun(options)) };
}

/** A queue that calls a function before each job. */
function beforeJobs(queue: WorkQueue, before: (job: RemoteJob) => Promise<void>): WorkQueue {
  return aroundJobs(queue, async (job, submit) => {
    await before(job);
    return submit();
  });
}

/** Makes a queue on which the first attempts of a job fail. */
function failing(id: string, failures: number, error = () => new FormatError('format/test', 'A test.') as Error) {
  let failed = 0;
  return (queue: WorkQueue): WorkQueue =>
    beforeJobs(queue, async (job) => {
      if (job.id.startsWith(id) && failed++ < failures) throw error();
    });
}

const left = async (): Promise<string[]> => readdir(shop.path('queue'));

describe('zonal on a queue', () => {
  test.each([
    ['one raster', ['@left.tif'], ['--bins', '-1:3:0.5']],
    ['statistics', ['@left.tif'], ['--stats', '-']],
    ['named statistics', ['@left.tif', '@right.tif'], ['--merge', '--stats', '-', '--stat', 'mean,nodata']],
    ['attributes of zones', ['@left.tif', '@right.tif'], ['--stats', '-', '--include-field', 'all']],
    ['bands', ['@bands.tif', '@packed.qbp'], ['--band', 'all', '--stats', '-', '--stat', 'mean,min_center_x']],
    ['JSON', ['@left.tif'], ['--unique', '--format', 'json']],
    ['several rasters', ['@left.tif', '@away.tif', '@right.tif'], ['--unique', '--format', 'json']],
    ['rows of several rasters', ['@left.tif', '@away.tif', '@right.tif'], ['--bins', '-1:3:0.5']],
    ['parts of a surface', ['@left.tif', '@away.tif', '@right.tif'], ['--merge', '--unique', '--format', 'json']],
    ['packed rasters', ['@packed.qbp', '@right.tif'], ['--unique', '--merge', '--stats', '@out.csv', '--out', '-']],
    ['one packed raster', ['@packed.qbp'], ['--bins', '-1:3:0.5']],
    ['no zone on the raster', ['@away.tif'], ['--unique', '--format', 'json']],
  ])('gives the bytes of one process: %s', async (_, rasters, args) => {
    const words = [...rasters.flatMap((raster) => ['--raster', raster]), ...args];
    const expected = await zonalHere(shop, words);
    for (const partCells of someOf([1, 8, 1000], 1)) {
      const { stdout, error } = await zonalOnQueue(shop, context, words, { partCells });
      expect([error, stdout]).toEqual([undefined, expected]);
    }
    expect(await left()).toEqual([]);
  });

  test('says how the run is called, how far it is, and what each worker did', async () => {
    const { events } = await zonalOnQueue(shop, context, BINS);
    expect(events[0]).toMatchObject({ event: 'news', kind: 'run', run: 'run-1' });
    const done = events.filter(({ event }) => event === 'progress').at(-1);
    expect(done).toMatchObject({ doneCells: 12, totalCells: 12 });
    const workers = [{ name: 'in process', partitions: 3, cells: 12, cellsPerSecond: expect.any(Number) }];
    expect(events.at(-1)).toMatchObject({ event: 'result', workers });
  });

  test('tries a partition again that failed, and names it when it has failed three times', async () => {
    const expected = await zonalHere(shop, BINS);
    for (const failures of [2, 3]) {
      const { stdout, error, events, exitCode } = await zonalOnQueue(shop, context, BINS, {
        around: failing('s0-0-1', failures),
      });
      if (failures === 2) expect(stdout).toBe(expected);
      else {
        expect([error?.code, exitCode, stdout]).toEqual(['format/test', 2, '']);
        expect(events.find(({ kind }) => kind === 'failed')?.message).toMatch(
          /^Rows 2 to 2 of .*left\.tif could not be counted, 3 times: /,
        );
      }
      expect(await left()).toEqual([]);
    }
  });

  test('leaves out what no worker can count if it may, and says so in the results', async () => {
    const json = [...BINS, '--format', 'json', '--on-error', 'skip'];
    const { stdout, exitCode } = await zonalOnQueue(shop, context, json, { around: failing('s0-0-1', 9) });
    expect(exitCode).toBe(0);
    const { zones, notes } = JSON.parse(stdout);
    expect(zones.map(({ cells }: { cells: number }) => cells)).toEqual([4, 4, 0]);
    expect(notes).toContainEqual(expect.objectContaining({ code: 'zonal/partitions-left-out', count: 1 }));
  });

  test('does not try again what ended three workers, or what ends the run', async () => {
    for (const [code, tries] of [
      ['graph/remote-deaths', 1],
      ['graph/remote-lost', 3],
    ] as const) {
      let calls = 0;
      const around = failing('s0-0-1', 9, () => {
        calls++;
        return new GraphError(code, 'A test.');
      });
      const { error } = await zonalOnQueue(
        shop,
        context,
        [...BINS, '--on-error', code.endsWith('lost') ? 'skip' : 'stop'],
        { around },
      );
      expect([error?.code, calls]).toEqual([code, tries]);
    }
  });

  test.each([
    ['the zones', 'zones.json'],
    ['the raster', 'left.tif'],
    ['its mask', 'left.tif.msk'],
  ])('refuses a worker that sees another file: %s', async (_, name) => {
    const time = new Date(2000, 1, 1);
    const file = shop.path(name);
    const isThere = await stat(file).then(
      () => true,
      () => false,
    );
    const changed: NonNullable<QueueSetting['around']> = (queue) =>
      beforeJobs(queue, async () => (isThere ? utimes(file, time, time) : writeFile(file, 'a mask')));
    const { error } = await zonalOnQueue(shop, context, BINS, { around: changed });
    await (isThere ? utimes(file, new Date(), new Date()) : rm(file));
    expect(error).toMatchObject({ code: 'zonal/other-file', place: { file }, remedy: expect.any(String) });
  });

  test('refuses a worker that does not see a file', async () => {
    await shop.writeRaster('gone.tif');
    const around = (queue: WorkQueue) => beforeJobs(queue, () => rm(shop.path('gone.tif'), { force: true }));
    const { error } = await zonalOnQueue(shop, context, ['--raster', '@gone.tif', '--unique'], { around });
    expect(error).toMatchObject({ code: 'zonal/other-file', got: 'none', place: { file: shop.path('gone.tif') } });
  });

  test('refuses a worker to which the same file states something else', async () => {
    const openRaster: PartitionParts['openRaster'] = async (path, options) => ({
      ...(await zonalParts.openRaster(path, options)),
      nodata: 7,
    });
    const { error } = await zonalOnQueue(shop, context, BINS, { workerParts: { openRaster } });
    expect(error?.code).toBe('zonal/other-file');
    expect(`${error?.got}`).toContain('"nodata":7');
  });

  test('gives up a partition that takes too long', async () => {
    const openRaster = async () => {
      await delay(300);
      throw new Error('too late');
    };
    const args = [...BINS, '--partition-timeout', '0.05'];
    const { error } = await zonalOnQueue(shop, context, args, { workerParts: { openRaster } });
    expect(error).toMatchObject({
      code: 'zonal/partition-timeout',
      remedy: expect.stringContaining('--on-error skip'),
    });
  });

  test('names the partition with a damaged part of a file', async () => {
    const bytes = await readFile(shop.path('packed.qbp'));
    bytes[100]! ^= 1;
    await shop.write('damaged.qbp', bytes);
    const args = ['--raster', '@damaged.qbp', '--unique'];
    const { error, events, exitCode } = await zonalOnQueue(shop, context, args);
    expect([error?.code, exitCode]).toEqual(['format/damaged-packed-raster', 2]);
    expect(events.find(({ kind }) => kind === 'failed')?.message).toMatch(/^Rows 1 to 3 of .*damaged\.qbp could/);
    expect((await zonalOnQueue(shop, context, [...args, '--on-error', 'skip'])).exitCode).toBe(0);
  });

  test('goes on when a checkpoint cannot be written', async () => {
    const vanishing = (queue: WorkQueue) =>
      beforeJobs(queue, () => rm(shop.path('queue/run-1.zonal'), { recursive: true, force: true }));
    const checkpoints = { every: 0, share: 0 };
    const { stdout, events } = await zonalOnQueue(shop, context, BINS, { around: vanishing, checkpoints });
    expect(stdout).toBe(await zonalHere(shop, BINS));
    expect(events.filter(({ kind }) => kind === 'checkpoint-failed')).toHaveLength(1);
  });

  test('ends with nothing left behind when it is interrupted', async () => {
    const abort = new AbortController();
    const around = (queue: WorkQueue) =>
      beforeJobs(queue, async () => abort.abort(new QuadrilleError('test/stop', 'Stopped.')));
    const { error, stdout } = await zonalOnQueue(shop, context, BINS, { around, signal: abort.signal });
    expect([error?.code, stdout]).toEqual(['test/stop', '']);
    expect(await left()).toEqual([]);
  });
});

describe('a run that was killed', () => {
  const MANY = [
    '--raster',
    '@left.tif',
    '--raster',
    '@right.tif',
    '--raster',
    '@away.tif',
    '--unique',
    '--format',
    'json',
  ];

  const ALWAYS = { every: 0, share: 0 };

  /** The number of jobs that the newest checkpoint holds. */
  async function keptJobs(): Promise<number> {
    const bytes = await readFile(shop.path('queue/run-1.zonal/sums')).catch(() => undefined);
    return bytes === undefined
      ? 0
      : (decodeItems(bytes.subarray(32))[0] as { readonly done: readonly string[] }).done.length;
  }

  /** Copies the files of a run once its newest checkpoint holds a number of jobs. */
  async function copyWhenKept(jobs: number): Promise<void> {
    while ((await keptJobs()) < jobs) await delay(1);
    await cp(shop.path('queue/run-1.zonal'), shop.path('saved'), { recursive: true });
  }

  test.each([
    ['of a surface', [...MANY, '--merge']],
    ['of several rasters', MANY],
  ])('is gone on with from each of its checkpoints: %s', async (_, args) => {
    const expected = await zonalHere(shop, args);
    for (const kept of someOf([0, 1, 2, 3, 4, 5], 2)) {
      let jobs = 0;
      let copying: Promise<void> | undefined;
      const copied = (queue: WorkQueue) =>
        aroundJobs(queue, async (_, submit) => {
          const outcome = await submit();
          const order = jobs++;
          if (order === kept) copying = copyWhenKept(kept);
          // So that the files hold still while they are copied.
          if (order >= kept) await copying;
          return outcome;
        });
      const whole = await zonalOnQueue(shop, context, args, { around: copied, lanes: 1, checkpoints: ALWAYS });
      expect([whole.stdout, jobs]).toEqual([expected, 6]);
      await rename(shop.path('saved'), shop.path('queue/run-1.zonal'));
      let further = 0;
      const around = (queue: WorkQueue) => beforeJobs(queue, async () => void further++);
      const resumed = await zonalOnQueue(shop, context, [...args, '--resume', 'run-1'], { around });
      expect([resumed.stdout, resumed.error]).toEqual([expected, undefined]);
      expect(further).toBe(6 - kept);
      expect(await left()).toEqual([]);
    }
  });

  test('is gone on with after the server was away for too long', async () => {
    let jobs = 0;
    const lost = (queue: WorkQueue) =>
      beforeJobs(queue, async () => {
        if (++jobs > 2) throw new GraphError('graph/remote-lost', 'Away.', {});
      });
    const setting = { around: lost, lanes: 1, checkpoints: ALWAYS };
    const { error, events } = await zonalOnQueue(shop, context, [...MANY, '--on-error', 'skip'], setting);
    expect(error).toMatchObject({ code: 'graph/remote-lost' });
    expect(events.find(({ kind }) => kind === 'kept')).toMatchObject({ run: 'run-1' });
    const resumed = await zonalOnQueue(shop, context, [...MANY, '--resume', 'run-1']);
    expect(resumed.stdout).toBe(await zonalHere(shop, MANY));
    expect(await left()).toEqual([]);
  });

  test('is refused if what it kept was damaged', async () => {
    const copied = (queue: WorkQueue) =>
      beforeJobs(queue, () => cp(shop.path('queue/run-1.zonal'), shop.path('queue/run-9.zonal'), { recursive: true }));
    await zonalOnQueue(shop, context, BINS, { around: copied, partCells: 12 });
    const bytes = await readFile(shop.path('queue/run-9.zonal/manifest'));
    for (const spoilt of [bytes.subarray(0, 20), bytes.map((byte, i) => (i === bytes.length - 1 ? byte ^ 1 : byte))]) {
      await writeFile(shop.path('queue/run-9.zonal/manifest'), spoilt);
      const { error } = await zonalOnQueue(shop, context, [...BINS, '--resume', 'run-9']);
      expect(error).toMatchObject({ code: 'zonal/damaged-run', place: { file: expect.stringContaining('manifest') } });
    }
    await rm(shop.path('queue/run-9.zonal'), { recursive: true });
  });

  test.each([
    ['zonal/no-run', ['--resume', 'run-2'], undefined],
    ['zonal/other-options', ['--resume', 'run-1', '--nodata', '3'], '--nodata'],
    ['zonal/other-options', ['--resume', 'run-1', '--format', 'json'], 'whether there are --stats, --plot or JSON'],
    ['zonal/other-inputs', ['--resume', 'run-1', '--raster', '@away.tif', '--merge'], 'away.tif'],
  ])('is refused if another one is meant: %s %j', async (code, args, named) => {
    const copied = (queue: WorkQueue) =>
      beforeJobs(queue, () => cp(shop.path('queue/run-1.zonal'), shop.path('saved'), { recursive: true }));
    const merged = code === 'zonal/other-inputs' ? ['--raster', '@right.tif', '--merge'] : [];
    await zonalOnQueue(shop, context, [...BINS, ...merged], { around: copied, partCells: 12 });
    await rename(shop.path('saved'), shop.path('queue/run-1.zonal'));
    const { error, exitCode } = await zonalOnQueue(shop, context, [...BINS, ...args]);
    expect([error?.code, exitCode]).toEqual([code, 2]);
    if (named !== undefined) expect(error?.message).toContain(named);
    // The right command can still go on with it.
    const { stdout } = await zonalOnQueue(shop, context, [...BINS, ...merged, '--resume', 'run-1']);
    expect(stdout).toBe(await zonalHere(shop, [...BINS, ...merged]));
    expect(await left()).toEqual([]);
  });
});
