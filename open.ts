import { requireHangLimit, requireLimits } from './backends/common/backend-options.ts';
import type { Failover } from './backends/failover/index.ts';
import { aDevice } from './backends/webgpu/device/device-kind.ts';
import type { TuningChoice, WebGpuBackend } from './backends/webgpu/index.ts';
import type { Platform } from './platform.ts';
import { wrongArgument } from './primitives/arguments.ts';
import { Context } from './primitives/context.ts';
import type { Backend, Limits } from './primitives/contract/backend.ts';
import type { GpuDevice } from './primitives/contract/gpu-types.ts';
import { ArgumentError, DeviceLostError, OutOfMemoryError } from './primitives/errors.ts';
import { aFlag, aFunction, anAddress, anything, type FieldKinds, someRecord, where } from './primitives/kinds.ts';
import { requireOptions } from './primitives/options.ts';
import { type OnWarning, QuadrilleWarning, warn } from './primitives/warnings.ts';

/** Where to run, and with how much. */
export interface OpenOptions {
  /**
   * `auto`, the default: a hardware adapter of WebGPU where there is one, else worker threads; where these cannot be had
   * either, as permissions or limits of the process forbid them or a page is not cross-origin isolated, `reference`, with the
   * warning `open/reference`. `context.backend.name` tells which it is.
   */
  readonly backend?: 'auto' | 'webgpu' | 'workers' | 'reference' | undefined;
  /**
   * Which adapter of WebGPU: `auto`, the default, takes what the system offers. To ask for `hardware` or `software` is to
   * ask for WebGPU, so it does not go with `workers` or `reference`. A browser may offer a software adapter by itself, Node does
   * not. In Node, `software` comes out of the optional package `@sparticuz/chromium`; on a page it is the browser's
   * fallback adapter, where it has one.
   */
  readonly adapter?: 'auto' | 'hardware' | 'software' | undefined;
  /**
   * Your own device of WebGPU, so that a renderer on it can draw what was computed without a copy: see `context.lend` and
   * `context.borrow`. It is never destroyed, and nothing of the context is left on it after `close()`; errors of your own calls
   * are yours. Ask for it with {@link deviceDescriptor}: what it was made with is what kernels can use. Not with `adapter`, nor
   * with a `backend` but `webgpu` and `auto`.
   */
  readonly device?: GpuDevice | undefined;
  /** Number of worker threads; as many as the machine can run at once by default. */
  readonly workers?: number | undefined;
  /**
   * Pages alone: where the page serves `quadrille/page-worker.js`, the program of the workers. Without it
   * they are started out of a `blob:` address, which a Content-Security-Policy may forbid.
   */
  readonly workerUrl?: string | URL | undefined;
  /** Lowers the limits of the backend. */
  readonly limits?: Partial<Limits> | undefined;
  /**
   * Whether columns beyond `limits.memoryBytes` go to host memory, and commands that do not fit run in windows; true by
   * default. `context.backend.counters.spilling` tells what it cost. Where false, they throw an `OutOfMemoryError`.
   */
  readonly spill?: boolean | undefined;
  /**
   * How kernels of WebGPU are cut, otherwise than for the device's class: how fast they are, never what they compute. What is
   * fast on a device, `quadrille tune` finds out. Other backends have no use for it.
   */
  readonly tuning?: TuningChoice | undefined;
  /**
   * What takes over when the device is lost, or a worker thread dies: `workers` opens the workers backend (anew) and does
   * there again what the columns in use depend on, so that the context goes on with the same bytes. This costs host memory:
   * see `createFailoverBackend`. Without it, the context ends with a `DeviceLostError`.
   */
  readonly failover?: 'workers' | undefined;
  /** Is told when another backend has taken over, and why. What it throws, or rejects with, is a warning. */
  readonly onFailover?: ((failover: Failover) => void) | undefined;
  /**
   * Milliseconds without an answer, while somebody waits, after which a device of WebGPU or the workers are taken for lost.
   * It must be longer than the longest wait of a pipeline; without it, waits are as long as the device takes.
   */
  readonly hangLimit?: number | undefined;
  /**
   * Is told of what went wrong beside the work: an `onFailover` that failed (`warning/callback-failed`), a device that was
   * still at an endless kernel four seconds after it was to close (`warning/device-left`), and of the reference backend taken for
   * want of others (`open/reference`). Default: a warning of the
   * platform, `process.emitWarning` or the console.
   */
  readonly onWarning?: OnWarning | undefined;
}

/** Opens a context on the best backend that a platform has, or on the one asked for. */
export async function openOn(platform: Platform, options: OpenOptions = {}): Promise<Context> {
  requireOptions('open()', OPTIONS, options, UNKNOWN);
  requireLimits(options.limits);
  requireHangLimit(options.hangLimit);
  const { failover, onFailover, onWarning } = options;
  if (failover === undefined) return new Context(await openRoomy(platform, options));
  requireOneOf('failover', FAILOVERS, failover);
  const { createFailoverBackend } = await import('./backends/failover/index.ts');
  const standby = (): Promise<Backend> =>
    openRoomy(platform, { ...options, backend: failover, adapter: 'auto', device: undefined });
  return new Context(createFailoverBackend(await openRoomy(platform, options), { standby, onFailover, onWarning }));
}

/** The backend, with host memory behind its own unless that is not wanted. */
async function openRoomy(platform: Platform, options: OpenOptions): Promise<Backend> {
  const backend = await openBackend(platform, options);
  if (options.spill === false) return backend;
  const { createSpillingBackend } = await import('./backends/spilling/index.ts');
  return createSpillingBackend(backend, { hangLimit: options.hangLimit });
}

const UNKNOWN = 'open/option';
const OPTIONS: FieldKinds<OpenOptions> = {
  backend: anything,
  adapter: anything,
  device: aDevice,
  workerUrl: anAddress,
  workers: where('a whole number from 1', (workers) => typeof workers === 'number', { code: 'workers/number' }),
  limits: anything,
  spill: aFlag,
  tuning: someRecord,
  failover: anything,
  onFailover: aFunction,
  hangLimit: anything,
  onWarning: aFunction,
};
const BACKENDS = ['auto', 'webgpu', 'workers', 'reference'] as const;
const FAILOVERS = ['workers'] as const;
const ADAPTERS = ['auto', 'hardware', 'software'] as const;

async function openBackend(platform: Platform, options: OpenOptions): Promise<Backend> {
  const { backend = 'auto', adapter = 'auto' } = options;
  requireOneOf('backend', BACKENDS, backend);
  requireOneOf('adapter', ADAPTERS, adapter);
  if (options.device !== undefined) return openOnDevice(options);
  if (adapter !== 'auto' && backend !== 'auto' && backend !== 'webgpu') {
    throw conflict('open/adapter', 'backend', backend, `adapter '${adapter}'`);
  }
  if (backend === 'reference') return openReference(options);
  if (backend === 'workers') return openWorkers(platform, options);
  if (backend === 'webgpu' || adapter !== 'auto') return openWebGpu(platform, adapter, options);
  try {
    return await openWebGpu(platform, 'hardware', options);
  } catch (error) {
    if (!(error instanceof DeviceLostError)) throw error;
    return openWorkersOrReference(platform, options);
  }
}

/** The caller leaves out one of two options that do not go together. */
function conflict(code: string, option: string, given: string, beside: string): ArgumentError {
  return new ArgumentError(code, `open() was given ${beside}, and the option ${option} '${given}'.`, {
    expected: `${beside} without the ${option} '${given}'`,
    got: `${option} '${given}'`,
    remedy: 'Leave one of them out.',
  });
}

/** The backend on the caller's device. On a page its `navigator.gpu` tells of language features. */
async function openOnDevice(options: OpenOptions): Promise<Backend> {
  const { device, backend = 'auto', adapter, limits, tuning, hangLimit, onWarning } = options;
  if (adapter !== undefined) throw conflict('open/device', 'adapter', adapter, 'a device');
  if (backend !== 'auto' && backend !== 'webgpu') throw conflict('open/device', 'backend', backend, 'a device');
  const { createWebGpuBackend } = await import('./backends/webgpu/index.ts');
  return createWebGpuBackend({ device, limits, tuning, hangLimit, onWarning });
}

/** Workers, or where they cannot be had, which is told, the one backend that needs neither threads nor shared memory. */
async function openWorkersOrReference(platform: Platform, options: OpenOptions): Promise<Backend> {
  try {
    return await openWorkers(platform, options);
  } catch (cause) {
    const isMissing = cause instanceof DeviceLostError || cause instanceof OutOfMemoryError;
    if (!isMissing) throw cause;
    const reference = await openReference(options);
    const sentence = `The reference backend, which is slow, stands in for the workers: ${cause.message}`;
    warn(new QuadrilleWarning('open/reference', sentence, { cause }), options.onWarning);
    return reference;
  }
}

function requireOneOf(option: string, choices: readonly string[], got: string): void {
  if (choices.includes(got)) return;
  throw wrongArgument('open()', `the option ${option}`, got, choices.join(' or '), { code: `open/${option}` });
}

async function openReference({ limits }: OpenOptions): Promise<Backend> {
  const { createReferenceBackend } = await import('./backends/reference/index.ts');
  return createReferenceBackend({ limits });
}

function openWorkers(platform: Platform, options: OpenOptions): Promise<Backend> {
  const { workers, limits, hangLimit, workerUrl } = options;
  return platform.workers({ workers, limits, hangLimit, workerUrl });
}

/** The backend on WebGPU, on an adapter of the platform's. */
export async function openWebGpu(
  platform: Platform,
  adapter: 'auto' | 'hardware' | 'software',
  { limits, tuning, hangLimit, onWarning }: Pick<OpenOptions, 'limits' | 'tuning' | 'hangLimit' | 'onWarning'> = {},
): Promise<WebGpuBackend> {
  const { createWebGpuBackend } = await import('./backends/webgpu/index.ts');
  const gpu = await platform.gpu(adapter);
  return createWebGpuBackend({ gpu, adapter, limits, tuning, hangLimit, onWarning });
}
