import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addressSpaceLeft, requireAddressSpace } from '../../../backends/workers/memory/address-space.ts';
import { DeviceLostError } from '../../../primitives/checks/errors.ts';
import { someOf } from '../../cases.ts';

const run = promisify(execFile);

const files = (limit: string, kilobytes: number) => (file: string) =>
  file === '/proc/self/limits'
    ? `Limit                     Soft Limit           Hard Limit           Units\nMax address space         ${limit}            unlimited            bytes\n`
    : `Name:\tnode\nVmPeak:\t 99 kB\nVmSize:\t ${kilobytes} kB\n`;

describe('address space', () => {
  test('that is left is computed when there is a limit, and is otherwise infinite', () => {
    expect(addressSpaceLeft(files('4096000', 1000))).toBe(4096000 - 1024 * 1000);
    expect(addressSpaceLeft(files('unlimited', 1000))).toBe(Infinity);
    expect(addressSpaceLeft(() => '')).toBe(Infinity);
    const denied = () => {
      throw new Error('ERR_ACCESS_DENIED');
    };
    expect(addressSpaceLeft(denied)).toBe(Infinity);
  });

  test('is checked before threads start', () => {
    expect(() => requireAddressSpace(128, Infinity)).not.toThrow();
    const refuse = (threads: number, left: number) => () => requireAddressSpace(threads, left);
    expect(refuse(2, 2 ** 31)).not.toThrow();
    expect(refuse(4, 2 ** 31)).toThrow(DeviceLostError);
    expect(refuse(4, 2 ** 31)).toThrow(expect.objectContaining({ code: 'device/no-threads' }));
    expect(refuse(4, 2 ** 31)).toThrow(/at most 3 workers/);
    expect(refuse(1, -5)).toThrow(/got 0 bytes/);
  });
});

/**
 * The tests use bundled code, as the package does, because TypeScript loaders reserve additional memory in every
 * thread.
 */
describe.runIf(process.platform === 'linux')('under ulimit -v', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'quadrille-ulimit-'));
    const workers = resolve('backends/workers');
    await writeFile(
      join(folder, 'main.ts'),
      `import { createWorkersBackend } from ${JSON.stringify(join(workers, 'index.ts'))};
      try {
        const backend = await createWorkersBackend({ workers: 2 });
        await backend.close();
        console.log('opened');
      } catch (error) {
        console.log(error.code);
      }`,
    );
    await build({
      entryPoints: { main: join(folder, 'main.ts'), worker: join(workers, 'worker.ts') },
      outdir: folder,
      bundle: true,
      platform: 'node',
      format: 'esm',
      outExtension: { '.js': '.mjs' },
      loader: { '.mjs': 'js' },
      packages: 'external',
      logLevel: 'error',
    });
    // The backend starts its threads from `worker.js`, which is the name of the file in the package.
    await run('cp', [join(folder, 'worker.mjs'), join(folder, 'worker.js')]);
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  }, 60_000);
  afterAll(() => rm(folder, { recursive: true }));

  // Memory limits close to the address space that V8 reserves: 11 GB for a shared memory of any size, and 0.6 GB per
  // thread.
  test.each([...someOf([10.5, 11.2, 11.4, 11.7, 12, 12.3, 12.6, 12.9, 13.5], 3), 20])(
    'of %f million KiB: threads start or are refused with a code, and the process survives',
    async (limit) => {
      const command = `ulimit -v ${limit * 1e6} && exec "${process.execPath}" main.mjs`;
      const { stdout } = await run('sh', ['-c', command], { cwd: folder, env: { PATH: process.env.PATH ?? '' } });
      expect(['opened\n', 'device/no-threads\n', 'memory/shared\n']).toContain(stdout);
      if (limit === 20) expect(stdout).toBe('opened\n');
    },
    30_000,
  );
});
