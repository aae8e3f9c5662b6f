import { execFile } from 'node:child_process';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { CLOSE_LIMIT } from '../../backends/common/close-limit.ts';
import { createFailoverBackend } from '../../backends/failover/index.ts';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import { createSpillingBackend } from '../../backends/spilling/index.ts';
import { testAdapter } from '../../backends/webgpu-node/node-gpu.ts';
import { createWorkersBackend } from '../../backends/workers/index.ts';
import { DeviceLostError } from '../../primitives/checks/errors.ts';
import { Context } from '../../primitives/context/context.ts';
import type { Backend } from '../../primitives/contract/backend.ts';
import { fn, u32 } from '../../primitives/functors/index.ts';
import * as q from '../../primitives/index.ts';
import { THOROUGH } from '../cases.ts';
import { builtPackage } from '../support/built-package.ts';

const BUILT = await builtPackage();

const endless = fn('endless', { x: u32 }, u32, ({ x }) => {
  const sum = q.Var(x);
  q.While(
    () => sum.and(1).lt(2),
    () => sum.set(sum.add(2)),
  );
  return sum;
});

const openWorkers = () => createWorkersBackend({ workers: 2, inlineNanoseconds: 0 });

/** Measures how many milliseconds `close` takes while an endless functor runs. */
async function closingTime(backend: Backend): Promise<number> {
  const context = new Context(backend);
  const read = context.read(q.map(endless, { x: context.column(new Uint32Array(5000)) })).catch((error) => error.code);
  await new Promise((resolve) => setTimeout(resolve, 100));
  const start = performance.now();
  await context.close();
  expect(await read).toBe('device/closed');
  return performance.now() - start;
}

describe('close() resolves within five seconds', () => {
  const wrappers: [string, () => Promise<Backend>][] = [
    ['workers', openWorkers],
    ['spilling over workers', async () => createSpillingBackend(await openWorkers())],
    ['failover over workers', async () => createFailoverBackend(await openWorkers(), { standby: openWorkers })],
    [
      'failover over spilling over workers',
      async () => createFailoverBackend(createSpillingBackend(await openWorkers()), { standby: openWorkers }),
    ],
  ];
  for (const [name, open] of wrappers) {
    test.concurrent(`on ${name} during an endless loop, and ends its threads`, async () => {
      expect(await closingTime(await open())).toBeLessThan(5000);
    });
  }

  test('while a standby never opens, with a warning', async () => {
    const lost = createReferenceBackend();
    const broken: Backend = {
      ...lost,
      sync: () => Promise.reject(new DeviceLostError('device/lost', 'The device was lost.')),
    };
    const codes: string[] = [];
    const failover = createFailoverBackend(broken, {
      standby: () => new Promise(() => {}),
      onWarning: ({ code }) => codes.push(code),
    });
    const sync = failover.sync().catch((error) => error.code);
    await new Promise((resolve) => setTimeout(resolve, 10));
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const closing = failover.close();
    await vi.advanceTimersByTimeAsync(4999);
    await closing;
    expect([await sync, codes]).toEqual(['device/closed', ['warning/standby-left']]);
  });

  test.concurrent('and closes a standby that opens later', async () => {
    let opened: (standby: Backend) => void = () => {};
    let closed = 0;
    const broken: Backend = {
      ...createReferenceBackend(),
      sync: () => Promise.reject(new DeviceLostError('device/lost', 'The device was lost.')),
    };
    const failover = createFailoverBackend(broken, { standby: () => new Promise((resolve) => (opened = resolve)) });
    const sync = failover.sync().catch((error) => error.code);
    await new Promise((resolve) => setTimeout(resolve, 10));
    const closing = failover.close();
    opened({ ...createReferenceBackend(), close: async () => void closed++ });
    await closing;
    expect([await sync, closed]).toEqual(['device/closed', 1]);
  });

  test.concurrent('on WebGPU during a kernel that does not end, with a warning that the device is abandoned', async () => {
    // The kernel runs in a separate process, so that the kernel ends when the separate process exits. On a fast GPU,
    // the kernel would otherwise run for about 20 s. A software GPU uses every core while `close` waits for the kernel,
    // so the limit is short by default.
    const closeLimit = THOROUGH ? CLOSE_LIMIT : 500;
    const program = `
        import { createWebGpuBackend } from './dist/backends/webgpu/index.js';
        import { openTestGpu } from './dist/backends/webgpu-node/node-gpu.js';
        import { Context, fn, map, u32, Var, While } from './dist/index.js';
        const codes = [];
        const onWarning = ({ code }) => codes.push(code);
        const options = { adapter: '${testAdapter()}', closeLimit: ${closeLimit}, onWarning };
        const context = new Context(await createWebGpuBackend({ gpu: await openTestGpu(), ...options }));
        const endless = fn('endless', { x: u32 }, u32, ({ x }) => {
          const [sum, round] = [Var(x), Var(u32(0))];
          While(() => round.lt(2 ** 32 - 1), () => {
            sum.set(sum.mul(1664525).add(round));
            round.set(round.add(1));
          });
          return sum;
        });
        const read = context.read(map(endless, { x: context.column(new Uint32Array(64)) })).catch(({ code }) => code);
        await new Promise((resolve) => setTimeout(resolve, 200));
        const start = performance.now();
        await context.close();
        const time = performance.now() - start;
        process.stdout.write(JSON.stringify({ time, codes, read: await read }), () => process.exit(0));`;
    const output = await new Promise<string>((resolve, reject) => {
      const options = { cwd: BUILT, timeout: 60_000, killSignal: 'SIGKILL' } as const;
      execFile(process.execPath, ['--input-type=module', '--eval', program], options, (error, stdout) =>
        error === null ? resolve(stdout) : reject(error),
      );
    });
    const { time, codes, read } = JSON.parse(output);
    expect({ codes, read }).toEqual({ codes: ['warning/device-left'], read: 'device/closed' });
    expect(time).toBeLessThan(closeLimit + 1000);
    expect(CLOSE_LIMIT).toBeLessThan(5000);
  }, 90_000);
});

describe('an onFailover callback', () => {
  for (const [how, onFailover] of [
    [
      'throws',
      () => {
        throw new Error('broken callback');
      },
    ],
    [
      'rejects',
      async () => {
        throw new Error('broken callback');
      },
    ],
  ] as const) {
    test(`that ${how} causes a warning, and the failover succeeds`, async () => {
      const primary = createReferenceBackend();
      let lost = false;
      const breaking: Backend = {
        ...primary,
        read: (...args) => {
          if (!lost) lost = true;
          else return primary.read(...args);
          return Promise.reject(new DeviceLostError('device/lost', 'The device was lost.'));
        },
      };
      const warnings: unknown[] = [];
      const backend = createFailoverBackend(breaking, {
        standby: async () => createReferenceBackend(),
        onFailover,
        onWarning: (warning) => warnings.push(warning),
      });
      const context = new Context(backend);
      expect(await context.read(q.sort(context.column(Uint32Array.of(3, 1, 2))))).toEqual(Uint32Array.of(1, 2, 3));
      await new Promise((resolve) => setImmediate(resolve));
      expect(warnings).toMatchObject([{ code: 'warning/callback-failed', cause: { message: 'broken callback' } }]);
      await context.close();
    });
  }
});
