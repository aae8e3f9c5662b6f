import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { pageWorkerText } from '../../backends/workers/page-worker-text.ts';
import { fixed } from '../../backends/workers/threads/queue.ts';
import type { DeviceReport } from '../../devices.ts';
import { bundleSource } from '../browser/bundle-source.ts';
import { launchChromium } from '../browser/chromium.ts';
import type { Outcome, Tests } from '../browser/page-program.ts';
import { type PageOptions, type Site, serve } from '../browser/site.ts';

let browser: Browser;
let site: Site;
beforeAll(async () => {
  const program = await bundleSource('page-program.ts');
  site = await serve({ '/program.js': program, '/page-worker.js': pageWorkerText });
  browser = await launchChromium();
}, 60_000);
afterAll(async () => {
  await browser.close();
  await site.close();
});

/** Opens a page that runs the program. Before the program, the page runs the script `before`. */
async function openPage(options: Omit<PageOptions, 'script'> = {}, before = ''): Promise<Page> {
  const page = await browser.newPage();
  onTestFinished(() => page.close());
  if (before !== '') await page.addInitScript(before);
  await page.goto(site.page({ script: '/program.js', ...options }));
  await page.waitForFunction(() => 'run' in globalThis);
  return page;
}

type Run = (name: string, args: readonly unknown[]) => unknown;

/** Calls a function of the program on a page. An error of the library is returned as its code and message. */
function on<N extends keyof Tests>(page: Page, name: N, ...args: Parameters<Tests[N]>): Promise<unknown> {
  return page.evaluate(([name, args]) => (globalThis as unknown as { run: Run }).run(name, args), [
    name,
    args,
  ] as const);
}

const sorted = [1, 2, 3];
const HEADERS = /Cross-Origin-Opener-Policy: same-origin.*Cross-Origin-Embedder-Policy: require-corp.*credentialless/;

describe('open on a cross-origin isolated page', () => {
  test.each([
    ['workers', {}],
    ['workers', { backend: 'workers' }],
    ['workers', { backend: 'workers', workers: 3, workerUrl: '/page-worker.js' }],
    ['workers', { backend: 'workers', spill: false, limits: { memoryBytes: 2 ** 20 } }],
    ['webgpu', { adapter: 'software' }],
    ['webgpu', { backend: 'webgpu' }],
    ['webgpu', { backend: 'webgpu', adapter: 'software', failover: 'workers' }],
    ['reference', { backend: 'reference' }],
  ] as const)('opens %s for %j, without a warning', async (ran, options) => {
    const page = await openPage();
    expect(await on(page, 'use', options)).toEqual({ ran, warnings: [], sorted });
  });

  test.each([
    ['device/no-adapter', { backend: 'webgpu', adapter: 'hardware' }],
    ['workers/number', { backend: 'workers', workers: 0 }],
    ['options/value', { backend: 'workers', workerUrl: 7 }],
    ['device/no-threads', { backend: 'workers', workerUrl: '/missing.js' }],
  ] as const)('rejects with %s for %j', async (code, options) => {
    const page = await openPage();
    expect(await on(page, 'use', options as never)).toMatchObject({ code });
  });

  test('lists the available backends', async () => {
    const { auto, entries } = (await on(await openPage(), 'devices')) as DeviceReport;
    expect(entries.map(({ backend, adapter, device }) => [backend, adapter, device])).toEqual([
      ['webgpu', 'hardware', undefined],
      ['webgpu', 'software', expect.stringMatching(/swiftshader/i)],
      ['workers', undefined, expect.stringMatching(/^\d+ threads?$/)],
      ['reference', undefined, 'this thread'],
    ]);
    expect(entries[auto]!.backend).toBe('workers');
  });

  test('leaves no worker when it is closed', async () => {
    const page = await openPage();
    let max = 0;
    page.on('worker', () => {
      max = Math.max(max, page.workers().length);
    });
    for (let round = 0; round < 3; round++) await on(page, 'use', { backend: 'workers', workers: 2 });
    expect(max).toBeGreaterThanOrEqual(2);
    await expect.poll(() => page.workers().length).toBe(0);
  });
});

describe('open on a page without WebGPU', () => {
  const without = 'Object.defineProperty(Navigator.prototype, "gpu", { value: undefined });';

  test('chooses workers by default', async () => {
    expect(await on(await openPage({}, without), 'use', {})).toEqual({ ran: 'workers', warnings: [], sorted });
  });

  test('rejects when WebGPU is requested', async () => {
    const page = await openPage({}, without);
    expect(await on(page, 'use', { backend: 'webgpu' })).toMatchObject({
      code: 'device/no-adapter',
      message: expect.stringMatching(/not available here.*https/),
    });
  });
});

describe('open on a page that is not isolated', () => {
  test('rejects workers with an error that names both headers', async () => {
    const page = await openPage({ isolated: false });
    expect(await on(page, 'isIsolated')).toBe(false);
    expect(await on(page, 'use', { backend: 'workers' })).toMatchObject({
      error: 'DeviceLostError',
      code: 'workers/not-isolated',
      message: expect.stringMatching(HEADERS),
    });
  });

  test('chooses the reference by default, with a warning that names both headers', async () => {
    const warnings = ['open/reference', expect.stringMatching(HEADERS)];
    expect(await on(await openPage({ isolated: false }), 'use', {})).toEqual({ ran: 'reference', warnings, sorted });
  });

  test('opens WebGPU when it is requested', async () => {
    const page = await openPage({ isolated: false });
    expect(await on(page, 'use', { adapter: 'software' })).toEqual({ ran: 'webgpu', warnings: [], sorted });
  });
});

describe('open on a page whose policy', () => {
  const noBlobs = "worker-src 'self'; script-src 'self' 'unsafe-eval'";

  test('forbids blob: workers rejects with an error that states what to allow', async () => {
    const page = await openPage({ policy: noBlobs });
    expect(await on(page, 'use', { backend: 'workers' })).toMatchObject({
      code: 'device/no-threads',
      message: expect.stringMatching(/worker-src blob:.*quadrille\/page-worker\.js.*workerUrl/),
    });
    expect(await on(page, 'use', {})).toMatchObject({
      ran: 'reference',
      warnings: ['open/reference', expect.anything()],
    });
  });

  test('forbids blob: workers opens workers from a file', async () => {
    const page = await openPage({ policy: noBlobs });
    const options = { backend: 'workers', workerUrl: '/page-worker.js' } as const;
    expect(await on(page, 'use', options)).toEqual({ ran: 'workers', warnings: [], sorted });
  });

  test('allows only WebAssembly opens workers, and explains why the reference cannot run', async () => {
    const page = await openPage({ policy: "script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:" });
    expect(await on(page, 'use', {})).toEqual({ ran: 'workers', warnings: [], sorted });
    expect(await on(page, 'use', { backend: 'reference' })).toMatchObject({
      code: 'reference/no-text',
      message: expect.stringContaining("'unsafe-eval'"),
    });
  });

  test('forbids WebAssembly reports that', async () => {
    const page = await openPage({ policy: "script-src 'self'; worker-src blob:" });
    expect(await on(page, 'use', { backend: 'workers' })).toMatchObject({
      code: 'workers/no-webassembly',
      message: expect.stringContaining("'wasm-unsafe-eval'"),
    });
    expect(await on(page, 'use', { adapter: 'software' })).toEqual({ ran: 'webgpu', warnings: [], sorted });
  });
});

describe('open in a worker of a page', () => {
  /** Calls a function of the program in a worker that the page starts. */
  const inWorker = (page: Page, name: keyof Tests, args: readonly unknown[]): Promise<unknown> =>
    page.evaluate(
      async ([name, args]) => {
        const worker = new Worker(`/program.js?test=${name}&args=${encodeURIComponent(JSON.stringify(args))}`);
        return new Promise((resolve, reject) => {
          worker.onmessage = ({ data }) => resolve(data);
          worker.onerror = ({ message }) => reject(new Error(message));
        }).finally(() => worker.terminate());
      },
      [name, args] as const,
    );

  test.each([
    ['workers', {}],
    ['workers', { backend: 'workers', workers: 2 }],
    ['webgpu', { adapter: 'software' }],
    ['reference', { backend: 'reference' }],
  ] as const)('opens %s for %j', async (ran, options) => {
    const page = await openPage();
    expect(await inWorker(page, 'use', [options])).toEqual({ ran, warnings: [], sorted });
  });
});

describe('workers of a page', () => {
  const busy = { backend: 'workers', workers: 2, spill: false } as const;

  test.each([
    ['unmodified', ''],
    ['in a browser without Atomics.waitAsync', 'delete Atomics.waitAsync;'],
    [
      'with a slow setTimeout, as in a hidden page',
      'const { setTimeout: slow } = globalThis; globalThis.setTimeout = (call) => slow(call, 1000);',
    ],
  ])('count correctly, %s', async (_, before) => {
    const sums = await on(await openPage({}, before), 'busy', busy, 12);
    const [expected] = (await on(await openPage(), 'busy', { backend: 'reference' }, 1)) as number[];
    expect(sums).toEqual(new Array(12).fill(expected));
  });

  test('drop old kernels, and have new ones before they run them', async () => {
    const sums = (await on(await openPage(), 'manyKernels', 300)) as number[];
    const rows = (5000 * 4999) / 2;
    expect(sums).toEqual(Array.from({ length: 300 }, (_, k) => rows + 5000 * k));
  });

  test('start with less memory when the device refuses the full size', async () => {
    const refuse = `WebAssembly.Memory = class extends WebAssembly.Memory {
      constructor(wanted) {
        if (wanted.maximum > 16384) throw new RangeError('could not allocate memory');
        super(wanted);
      }
    }`;
    const { entries } = (await on(await openPage({}, refuse), 'devices')) as DeviceReport;
    const { limits } = entries.find(({ backend }) => backend === 'workers')!;
    expect(limits!.memoryBytes).toBeGreaterThan(2 ** 30 - fixed.heap - 2 ** 18);
    expect(limits!.memoryBytes).toBeLessThan(2 ** 30);
  });

  test('stop an endless loop after the hang limit', async () => {
    const page = await openPage();
    expect(await on(page, 'endless', { hangLimit: 500 })).toMatchObject({ code: 'device/hang' });
    await expect.poll(() => page.workers().length, { timeout: 5000 }).toBe(0);
  });

  test('that throw end the context with one clear error', async () => {
    const page = await openPage();
    expect(await on(page, 'faulty', {})).toMatchObject({ error: 'DeviceLostError', code: 'device/worker' });
    await expect.poll(() => page.workers().length).toBe(0);
  });

  test('that throw change no result when others take over', async () => {
    const outcome = (await on(await openPage(), 'faulty', { failover: 'workers' })) as Outcome;
    expect(outcome).toEqual({ ran: 'workers', warnings: ['workers to workers: device/worker'], sorted });
  });
});

test('an error in a functor names no place when all scripts are one bundle', async () => {
  expect(await on(await openPage(), 'place')).toBe('unknown');
});

test('the committed text of the page worker equals a fresh build', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'quadrille-page-worker-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const workers = join(import.meta.dirname, '..', '..', 'backends', 'workers');
  const made = join(folder, 'page-worker-text.ts');
  await promisify(execFile)(process.execPath, [join(workers, 'page-worker-build.mjs'), made]);
  const kept = await readFile(join(workers, 'page-worker-text.ts'), 'utf8');
  expect(kept, 'npm run page-worker makes it anew').toBe(await readFile(made, 'utf8'));
});
