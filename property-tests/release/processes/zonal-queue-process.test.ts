import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { zonalHere } from '../../cli/zonal-queue-support.ts';
import { builtCommand } from '../../support/built-package.ts';
import { collection, openWorkshop, rectangle, zone } from '../../support/cli-support.ts';
import { describeWithRedis, startRedis } from '../../support/redis-server.ts';

const BIN = await builtCommand();
/** The zones lie on five of them. */
const RASTERS = 6;

describeWithRedis('a run of zonal', () => {
  test('zonal is gone on with by another process when it was killed, and not before', async () => {
    await using server = await startRedis();
    const shop = await openWorkshop();
    await mkdir(shop.path('run'));
    await shop.write('zones.json', collection(zone('a', rectangle(0, 0, 5, 3)), zone('b', rectangle(4, 1, 9, 2))));
    for (let at = 0; at < RASTERS; at++) await shop.writeRaster(`r${at}.tif`, { originX: 2 * at });
    const args = ['--raster', '@r*.tif', '--unique', '--merge', '--stats', '@stats.csv', '--out', '@out.csv'];
    await zonalHere(shop, args);
    const written = () => Promise.all(['out.csv', 'stats.csv'].map((name) => readFile(shop.path(name), 'utf8')));
    const expected = await written();

    const env = { ...process.env, QUADRILLE_QUEUE: server.url, QUADRILLE_QUEUE_FOLDER: shop.path('run') };
    const words = ['zonal', '--zones', '@zones.json', ...args, '--json-log'];
    const zonal = [BIN, ...words.map((word) => (word.startsWith('@') ? shop.path(word.slice(1)) : word))];
    const running: ChildProcess[] = [];
    const start = (...words: readonly string[]): ChildProcess => {
      const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'ignore', 'pipe'] });
      running.push(child);
      return child;
    };
    try {
      const parent = start(...zonal);
      const [line] = (await once(createInterface(parent.stderr!), 'line')) as [string];
      const { run } = JSON.parse(line) as { readonly run: string };
      const resume = () => promisify(execFile)(process.execPath, [...zonal, '--resume', run], { env });
      // The manifest is there once the inputs have been read.
      while (!(await readdir(shop.path(`run/${run}.zonal`)).catch((): string[] => [])).includes('manifest'));
      await expect(resume()).rejects.toMatchObject({ stderr: expect.stringContaining('graph/remote-same-run') });
      parent.kill('SIGKILL');
      await once(parent, 'exit');
      start(BIN, 'worker', '--backend', 'reference', '--quiet');
      const { stderr } = await resume();
      const result = JSON.parse(stderr.trim().split('\n').at(-1)!);
      expect(result.workers).toMatchObject([{ partitions: 5 }]);
      expect(await written()).toEqual(expected);
      expect((await readdir(shop.path('run'))).filter((name) => !name.startsWith('.'))).toEqual([]);
    } finally {
      for (const child of running) child.kill('SIGKILL');
      await shop.remove();
    }
  });
});
