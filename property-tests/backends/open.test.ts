import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { testAdapter } from '../../backends/webgpu-node/index.ts';
import type { DeviceReport } from '../../devices.ts';
import { listDevices, type OpenOptions, open, plus, type QuadrilleWarning, reduce, u32 } from '../../index.ts';
import { builtCommand } from '../support/built-package.ts';

const root = join(import.meta.dirname, '..', '..');
const run = promisify(execFile);

/**
 * The backend that open() chooses by default on this machine. QUADRILLE_ADAPTER tells which adapter the machine has.
 */
const best = testAdapter() === 'hardware' ? 'webgpu' : 'workers';

async function sumOn(options: OpenOptions): Promise<readonly [backend: string, sum: number]> {
  await using context = await open(options);
  const numbers = context.column(Uint32Array.from({ length: 1000 }, (_, i) => i));
  const [sum] = await context.read(reduce(numbers, plus(u32)));
  return [context.backend.name, sum!];
}

describe('open', () => {
  test.each([
    ['reference', { backend: 'reference' }],
    ['workers', { backend: 'workers', workers: 2 }],
    ['webgpu', { backend: 'webgpu', adapter: testAdapter() }],
    ['webgpu', { adapter: testAdapter() }],
    [best, {}],
    [best, { backend: 'auto', adapter: 'auto' }],
  ] as const)('opens %s for %j', async (name, options) => {
    expect(await sumOn(options)).toEqual([name, 499_500]);
  });

  test.each(['reference', 'workers', 'webgpu'] as const)('lowers the limits of %s', async (backend) => {
    const limits = { bindingBytes: 4096, workgroups: 7, storageBuffers: 4, memoryBytes: 2 ** 20 };
    await using context = await open({ backend, limits, ...(backend === 'webgpu' && { adapter: testAdapter() }) });
    expect(context.backend.limits).toEqual(limits);
  });

  test.each([
    [{ backend: 'cuda' }, 'open/backend'],
    [{ bakend: 'workers' }, 'open/option'],
    [{ limits: { memoryByte: 1 } }, 'open/option'],
    [{ limits: { memoryBytes: Number.NaN } }, 'open/limits'],
    [{ limits: { memoryBytes: 0 } }, 'open/limits'],
    [{ limits: { bindingBytes: -1 } }, 'open/limits'],
    [{ adapter: 'fast' }, 'open/adapter'],
    [{ backend: 'reference', failover: 'reference' }, 'open/failover'],
    [{ backend: 'workers', hangLimit: 0 }, 'device/hang-limit'],
    [{ backend: 'workers', workers: 0 }, 'workers/number'],
    [{ backend: 'workers', workers: 1.5 }, 'workers/number'],
  ])('refuses %j', async (options, code) => {
    await expect(open(options as OpenOptions)).rejects.toMatchObject({ code });
  });

  test('can be imported without Node: no statically imported module is a Node module', () => {
    expect([...importedAtOnce(join(root, 'index.ts'))].filter((name) => name.startsWith('node:'))).toEqual([]);
  });
});

describe('open without threads or memory', () => {
  function refuse(): void {
    const { Memory } = WebAssembly;
    WebAssembly.Memory = class extends Memory {
      constructor(descriptor: WebAssembly.MemoryDescriptor) {
        if (descriptor.shared === true) throw new RangeError('WebAssembly.Memory(): could not allocate memory');
        super(descriptor);
      }
    };
    onTestFinished(() => {
      WebAssembly.Memory = Memory;
    });
  }

  test('refuses workers with an error of the library', async () => {
    refuse();
    await expect(open({ backend: 'workers' })).rejects.toMatchObject({
      name: 'OutOfMemoryError',
      code: 'memory/shared',
      remedy: expect.stringContaining('ulimit'),
      cause: expect.any(RangeError),
    });
    const { entries } = await listDevices();
    expect(entries.find(({ backend }) => backend === 'workers')!.unavailable).toContain('memory');
  });

  test.skipIf(best === 'webgpu')('falls back to the reference backend, with a warning', async () => {
    refuse();
    const warnings: QuadrilleWarning[] = [];
    expect(await sumOn({ onWarning: (warning) => warnings.push(warning) })).toEqual(['reference', 499_500]);
    expect(warnings).toMatchObject([{ code: 'open/reference', cause: { code: 'memory/shared' } }]);
  });
});

/**
 * The names of a file, of all files that it imports statically (also indirectly), and of the packages that these files
 * import.
 */
function importedAtOnce(file: string, seen: Set<string> = new Set()): Set<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  const imports = readFileSync(file, 'utf8').matchAll(/^(?:import|export) (?!type )[^;]*?from '([^']+)';/gm);
  for (const [, name] of imports) {
    if (name!.startsWith('.')) importedAtOnce(join(dirname(file), name!), seen);
    else seen.add(name!);
  }
  return seen;
}

describe('listDevices', () => {
  test('reports which backends run here, and why the others do not', async () => {
    const { auto, entries } = await listDevices();
    expect(entries.map(({ backend, adapter }) => [backend, adapter])).toEqual([
      ['webgpu', 'hardware'],
      ['webgpu', 'software'],
      ['workers', undefined],
      ['reference', undefined],
    ]);
    expect(entries[auto]!.backend).toBe(best);
    expect(entries.find(({ adapter }) => adapter === testAdapter())!.device).toMatch(/\w/);
    for (const { device, unavailable, limits, determinism } of entries) {
      const there = unavailable === undefined;
      expect([device, limits, determinism].map((known) => known !== undefined)).toEqual([there, there, there]);
    }
    expect(entries.find(({ backend }) => backend === 'workers')!.device).toContain(`${availableParallelism()} `);
  });
});

describe('quadrille devices', () => {
  test('prints the report, and nothing on stderr', async () => {
    const { stdout, stderr } = await run(process.execPath, [await builtCommand(), 'devices', '--json']);
    expect(stderr).toBe('');
    const { auto, entries } = JSON.parse(stdout) as DeviceReport;
    expect(entries[auto]!.backend).toBe(best);
    expect(entries).toHaveLength(4);
  });
});
