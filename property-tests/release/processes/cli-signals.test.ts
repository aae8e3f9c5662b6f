import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { temporaryName } from '../../../formats/bytes/temporary-files.ts';
import { someOf } from '../../cases.ts';
import { builtCommand } from '../../support/built-package.ts';
import { collection, openWorkshop, rectangle, type Workshop, zone } from '../../support/cli-support.ts';

const BIN = await builtCommand();
let shop: Workshop;

beforeAll(async () => {
  shop = await openWorkshop();
  await shop.write('zones.json', collection(zone('a', rectangle(0, 0, 2, 2))));
  await shop.write('set.wkt', 'POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0))\n');
  await shop.writeRaster('raster.tif');
  execFileSync('mkfifo', [shop.path('pipe.json'), shop.path('pipe.tif'), shop.path('pipe.wkt')]);
});
const running = new Set<ChildProcessByStdio<null, Readable, Readable>>();
afterAll(async () => {
  for (const child of running) child.kill('SIGKILL');
  await shop.remove();
});

/** Starts a shell command in which `quadrille` means the built program. */
function start(line: string) {
  const script = line.replace('quadrille', `exec "${process.execPath}" "${BIN}"`);
  const child = spawn('sh', ['-c', script], { cwd: shop.folder, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => (stdout += chunk));
  child.stderr.on('data', (chunk) => (stderr += chunk));
  const ended = new Promise<{ exitCode: number | null; stdout: string; stderr: string }>((resolve) => {
    child.on('close', (exitCode) => {
      running.delete(child);
      resolve({ exitCode, stdout, stderr });
    });
  });
  return { child, ended };
}

const temporaries = async (): Promise<string[]> => (await readdir(shop.folder)).filter((name) => name.endsWith('.tmp'));
const ZONAL = 'quadrille zonal --unique --backend reference';
const OUTPUTS = '--out out.csv --stats stats.csv --plot plot.svg';

describe('a named pipe without a writer', () => {
  const signals = [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const;
  for (const [signal, code] of someOf(signals, 2)) {
    test.concurrent(`does not prevent ${signal} from ending the command with ${code}, without a file left`, async () => {
      const { child, ended } = start(`${ZONAL} --zones zones.json --raster pipe.tif ${OUTPUTS}`);
      await vi.waitUntil(async () => (await temporaries()).some((name) => name.includes(`-${child.pid}-`)), 20_000);
      child.kill(signal);
      const { exitCode, stderr } = await ended;
      expect({ exitCode, stderr }).toEqual({
        exitCode: code,
        stderr: `quadrille: Stopped by ${signal}; nothing was written.\n`,
      });
      expect((await temporaries()).filter((name) => name.includes(`-${child.pid}-`))).toEqual([]);
    });
  }

  const others = [
    `${ZONAL} --zones pipe.json --raster raster.tif --out other.csv`,
    'quadrille compare pipe.wkt set.wkt --out other.json',
  ];
  for (const line of someOf(others, 1)) {
    test.concurrent(`of ${line}: Ctrl-C ends it, even if it is opened several times`, async () => {
      const { child, ended } = start(line);
      await vi.waitUntil(async () => (await temporaries()).some((name) => name.includes(`-${child.pid}-`)), 20_000);
      child.kill('SIGINT');
      expect((await ended).exitCode).toBe(130);
    });
  }
});

describe('temporary files', () => {
  test('of a killed process are removed by the next run; those of others, and other names, stay', async () => {
    const { child, ended } = start(`${ZONAL} --zones zones.json --raster pipe.tif ${OUTPUTS}`);
    const own = async () => (await temporaries()).filter((name) => name.includes(`-${child.pid}-`));
    await vi.waitUntil(async () => (await own()).length === 3, 20_000);
    const [killed] = await own();
    const [, host, , start_] = /^\.quadrille-([0-9a-f]+)-(\d+)-(\d+)-/.exec(killed!)!;
    const mine = temporaryName();
    const kept = [
      mine,
      // Files with these names must not be removed either: one from another machine, one without a process id, two with
      // similar names, and one from an older version.
      killed!.replace(host!, 'f'.repeat(12)),
      killed!.replace(`-${child.pid}-`, '--'),
      `${killed}.tmp`,
      `x${killed}`,
      '.quadrille-0123456789ab.tmp',
    ];
    // A name with a process id that is in use again. The id is that of this process, but the start time in the name is
    // different.
    const reused = killed!.replace(`-${child.pid}-${start_}-`, `-${process.pid}-1-`);
    for (const name of [...kept, reused]) await writeFile(shop.path(name), '');
    child.kill('SIGKILL');
    await ended;
    expect(await own()).toHaveLength(3 + 3);
    const next = await start(`${ZONAL} --zones zones.json --raster raster.tif --out counts.csv`).ended;
    expect(next.exitCode).toBe(0);
    expect((await temporaries()).toSorted()).toEqual(kept.toSorted());
    for (const name of kept) expect(await readFile(shop.path(name), 'utf8')).toBe('');
  });
});

describe('stdout that cannot be written', () => {
  const lines = [
    `${ZONAL} --zones zones.json --raster raster.tif`,
    'quadrille compare set.wkt set.wkt',
    'quadrille --help',
    'quadrille zonal --help',
    'quadrille --version',
    'quadrille devices',
  ];
  for (const line of someOf(lines, 2)) {
    test.concurrent(`because it is closed or the disk is full is a failure of ${line}`, async () => {
      const [closed, full] = await Promise.all([start(`${line} >&-`).ended, start(`${line} > /dev/full`).ended]);
      expect(closed.stderr).toContain('quadrille: stdout could not be written: it is closed.');
      expect(full.stderr).toMatch(/quadrille: stdout could not be written: .*ENOSPC/);
      expect([closed.exitCode, full.exitCode]).toEqual([1, 1]);
    });
  }

  test('is no failure for the null device, a reader that has left, or when a file holds the figure as well', async () => {
    const withoutLoss = [
      `${lines[0]} > /dev/null`,
      `( ${lines[0]} ) | true`,
      `${lines[0]} 1<> /dev/null 2<> /dev/null`,
      'quadrille compare set.wkt set.wkt --out f.json >&-',
      'quadrille index build zones.json -o f.maq >&-',
    ];
    const endings = await Promise.all(
      someOf(withoutLoss, 2).map(async (line) => {
        const { exitCode } = await start(line).ended;
        if (line.includes('f.json')) expect(JSON.parse(await readFile(shop.path('f.json'), 'utf8'))).toBeDefined();
        return exitCode;
      }),
    );
    expect(endings).toEqual(endings.map(() => 0));
    const figures = await start('quadrille index build zones.json -o f.maq --json >&-').ended;
    expect(figures.exitCode).toBe(1);
  });
});
