import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testAdapter } from '../../../backends/webgpu-node/index.ts';
import { useSoftwareVulkan, useSystemVulkan } from '../../../backends/webgpu-node/software-vulkan.ts';
import { hasGpuNode } from '../../../backends/webgpu-node/vulkan-drivers.ts';
import { someOf, THOROUGH } from '../../cases.ts';
import { builtCommand } from '../../support/built-package.ts';
import { collection, openWorkshop, rectangle, type Workshop, zone } from '../../support/cli-support.ts';

const BIN = await builtCommand();
let shop: Workshop;

beforeAll(async () => {
  shop = await openWorkshop();
  await shop.write('zones.json', collection(zone('a', rectangle(0, 0, 2, 2))));
  await shop.writeRaster('raster.tif');
});
afterAll(() => shop.remove());

function start(
  words: readonly string[],
  environment = {},
  node: readonly string[] = [],
): ChildProcessWithoutNullStreams {
  const files = ['--zones', 'zones.json', '--raster', 'raster.tif', '--unique'];
  const repeated = files.filter((_, i) => !words.includes(files[i - (i % 2)]!));
  return spawn(process.execPath, [...node, BIN, 'zonal', ...repeated, ...words], {
    cwd: shop.folder,
    env: { ...process.env, ...environment },
  });
}

/** Resolves with the exit code and output of a process when it ends. */
async function ended(child: ChildProcessWithoutNullStreams) {
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => (stdout += chunk));
  child.stderr.on('data', (chunk) => (stderr += chunk));
  const exitCode = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { exitCode, stdout, stderr };
}

/**
 * A module that is loaded before the program. The module sends Ctrl-C when the first progress is printed. It reports
 * which files exist at that moment, and the CPU time that is spent later. If the test sent the signal itself, the
 * moment would depend on how busy the machine is.
 */
const PRESS = `
  import { readdirSync } from 'node:fs';
  const write = process.stderr.write.bind(process.stderr);
  const tell = (fields) => write(JSON.stringify(fields) + '\\n');
  let before;
  process.stderr.write = (text, ...rest) => {
    const isRoom = write(text, ...rest);
    if (before === undefined && /"event":"progress".*"doneCells":[1-9]/.test(text)) {
      before = process.cpuUsage();
      tell({ event: 'pressed', files: readdirSync('.') });
      process.kill(process.pid, 'SIGINT');
    }
    return isRoom;
  };
  process.on('exit', () => {
    const { user, system } = process.cpuUsage(before);
    tell({ event: 'exit', cpuSeconds: (user + system) / 1e6 });
  });
`;

describe('Ctrl-C while counting', () => {
  const [columns, rows] = [4096, THOROUGH ? 12_288 : 4096];

  beforeAll(async () => {
    const [stepX, stepY] = [4 / columns, -4 / rows];
    await shop.writeRaster(
      'large.tif',
      { width: columns, height: rows, originY: 4, stepX, stepY, stripRows: 64, compression: 'deflate', level: 1 },
      new Uint8Array(columns * rows),
    );
    await shop.write('all.json', collection(zone('all', rectangle(0, 0, 4, 4))));
    await shop.write('press.mjs', PRESS);
  });

  const webgpu = ['--backend', 'webgpu', '--adapter', testAdapter()];
  const backends: readonly (readonly [name: string, words: readonly string[]])[] = [
    ['workers', ['--backend', 'workers', '--workers', '2']],
    ['webgpu', webgpu],
    ['reference', ['--backend', 'reference']],
  ];
  test.each(someOf(backends, 1))('ends with exit code 130 and leaves no file: on %s', async (_, backend) => {
    const before = await readdir(shop.folder);
    const outputs = ['--out', 'out.csv', '--stats', 'stats.csv', '--plot', 'plot.svg'];
    // A small memory limit makes small windows, so that even a slow backend soon finishes a window.
    const words = ['--zones', 'all.json', '--raster', 'large.tif', '--json-log', '--memory', '8MB'];
    const run = start([...words, ...outputs, ...backend], {}, ['--import', shop.path('press.mjs')]);
    const { exitCode, stdout, stderr } = await ended(run);
    const events = stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const [error, exit] = events.slice(-2);
    expect(error).toMatchObject({ event: 'error', code: 'run/interrupted', exitCode: 130 });
    expect(events.filter(({ event }) => event === 'result')).toEqual([]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 130, stdout: '' });
    const { files: during } = events.find(({ event }) => event === 'pressed');
    expect(during.filter((name: string) => name.endsWith('.tmp'))).toHaveLength(3);
    expect(await readdir(shop.folder)).toEqual(before);
    expect(exit.cpuSeconds).toBeLessThan(2);
  });
});

describe('a missing device', () => {
  const noDrivers = { VK_DRIVER_FILES: join(tmpdir(), 'no-driver.json') };

  const requests: readonly (readonly [words: readonly string[]])[] = [
    [['--backend', 'webgpu']],
    [['--backend', 'webgpu', '--adapter', 'hardware']],
    [['--adapter', 'hardware']],
  ];
  test.each(someOf(requests, 1))('is a usage error in one line: %j', async (words) => {
    const { exitCode, stdout, stderr } = await ended(start([...words, '--out', 'out.csv'], noDrivers));
    expect(stderr).toMatch(
      /^quadrille: There is no (GPU|Vulkan loader \(libvulkan\.so\.1\)|Vulkan driver) on this machine[.:].* Install the graphics driver, or .+\n$/,
    );
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(await readdir(shop.folder)).not.toContain('out.csv');
  });

  test('does not affect --backend auto, which prints nothing about it', async () => {
    const { exitCode, stderr } = await ended(start([], noDrivers));
    expect(stderr).toMatch(/^1 zone, 4 cells inside, [\d.]+ s on workers\.\nCell centres [^\n]+\n$/);
    expect(exitCode).toBe(0);
  });

  test('leaves stderr to the log where software drivers are installed but no GPU', async () => {
    await useSoftwareVulkan();
    const driver = process.env.VK_DRIVER_FILES!;
    useSystemVulkan();
    // A loader that finds no library for a manifest prints so, and Dawn prints what a driver lacks.
    await shop.write(
      'broken.json',
      JSON.stringify({ file_format_version: '1.0.1', ICD: { library_path: 'libno.so' } }),
    );
    const drivers = { LD_LIBRARY_PATH: dirname(driver), VK_DRIVER_FILES: `${shop.path('broken.json')}:${driver}` };
    const [plain, json] = await Promise.all(['--quiet', '--json-log'].map((word) => ended(start([word], drivers))));
    expect([plain!.exitCode, json!.exitCode]).toEqual([0, 0]);
    const lines = json!.stderr.trimEnd().split('\n');
    const ofLog = lines.filter((line) => line.startsWith('{'));
    expect(ofLog.map((line) => JSON.parse(line)).at(-1)).toMatchObject({ event: 'result', backend: 'workers' });
    // Where there is a GPU, Dawn is loaded, and its lines cannot be kept off stderr.
    if (!hasGpuNode()) expect([plain!.stderr, lines]).toEqual(['', ofLog]);
  });

  test('is reported with what to install when it is the software adapter', async () => {
    const hook = `export function resolve(specifier, context, next) {
      if (specifier === '@sparticuz/chromium') throw new Error('not installed');
      return next(specifier, context);
    }`;
    const url = `data:text/javascript,${encodeURIComponent(hook)}`;
    const register = `import { register } from 'node:module'; register(${JSON.stringify(url)});`;
    await shop.write('not-installed.mjs', register);
    const words = ['--backend', 'webgpu', '--adapter', 'software', '--out', 'out.csv'];
    const run = start(words, {}, ['--import', shop.path('not-installed.mjs')]);
    const { exitCode, stdout, stderr } = await ended(run);
    expect(stderr).toMatch(
      /^quadrille: The software adapter cannot be started\. .+ npm install @sparticuz\/chromium@143\..+\n$/,
    );
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(await readdir(shop.folder)).not.toContain('out.csv');
  });
});
