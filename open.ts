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

/** Where to run, and with which limits. */
export interface OpenOptions {
  /**
   * `auto`, the default, is a hardware WebGPU adapter if there is one, else worker threads. If these are not available
   * either (permissions or limits of the process forbid them, or a page is not cross-origin isolated), it is
   * `reference`, with the warning `open/reference`. `context.backend.name` tells the choice.
   */
  readonly backend?: 'auto' | 'webgpu' | 'workers' | 'reference' | undefined;
  /**
   * The WebGPU adapter. `auto`, the default, takes the one that the system offers. `hardware` or `software` request
   * WebGPU, so they cannot be combined with `workers` or `reference`. A browser may offer a software adapter by itself;
   * Node does not. In Node, `software` comes from the optional package `@sparticuz/chromium`; on a page it is the
   * browser's fallback adapter, if it has one.
   */
  readonly adapter?: 'auto' | 'hardware' | 'software' | undefined;
  /**
   * Your own WebGPU device, so that a renderer on it can draw results without a copy; see `context.lend` and
   * `context.borrow`. The device is never destroyed, and `close()` leaves nothing of the context on it. Errors of your
   * own calls are yours. Request the device with {@link deviceDescriptor}, because kernels can use only the features
   * and limits it was made with. Cannot be combined with `adapter`, nor with any `backend` except `webgpu` and `auto`.
   */
  readonly device?: GpuDevice | undefined;
  /** Number of worker threads. Default: as many as the machine can run in parallel. */
  readonly workers?: number | undefined;
  /**
   * Only on pages: the address of `quadrille/page-worker.js`, the workers' program. Without it, workers are started
   * from a `blob:` address, which a Content-Security-Policy may forbid.
   */
  readonly workerUrl?: string | URL | undefined;
  /** Lowers the limits of the backend. */
  readonly limits?: Partial<Limits> | undefined;
  /**
   * Whether columns beyond `limits.memoryBytes` move to host memory, and commands that do not fit run in windows.
   * Default true. `context.backend.counters.spilling` tells the cost. If false, they throw an `OutOfMemoryError`.
   */
  readonly spill?: boolean | undefined;
  /**
   * Tuning of WebGPU kernels, instead of that for the device's class. It affects speed, never results. `quadrille tune`
   * finds the best tuning of a device. Other backends ignore it.
   */
  readonly tuning?: TuningChoice | undefined;
  /**
   * What takes over if the device is lost, or a worker thread dies. `workers` opens the workers backend (anew) and
   * repeats there the work on which the columns in use depend, so the context continues with the same bytes. This costs
   * host memory; see `createFailoverBackend`. Without it, the context ends with a `DeviceLostError`.
   */
  readonly failover?: 'workers' | undefined;
  /** Called when another backend has taken over, with the reason. If it throws or rejects, that is a warning. */
  readonly onFailover?: ((failover: Failover) => void) | undefined;
  /**
   * Milliseconds without an answer, while somebody waits, after which a WebGPU device or the workers count as lost. It
   * must be longer than the longest wait of a pipeline. Default: no limit.
   */
  readonly hangLimit?: number | undefined;
  /**
   * Called for problems outside the work: an `onFailover` that failed (`warning/callback-failed`), a device that was
   * still busy with an endless kernel four seconds after it was closed (`warning/device-left`), and the reference
   * backend chosen because no other is available (`open/reference`). Default: a warning of the platform,
   * `process.emitWarning` or the console.
   */
  readonly onWarning?: OnWarning | undefined;
}

/** Opens a context on the best backend of a platform, or on the requested one. */
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

/** The backend, extended by host memory unless `spilling` is false. */
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

/** The backend on the caller's device. On a page, `navigator.gpu` gives the language features. */
async function openOnDevice(options: OpenOptions): Promise<Backend> {
  const { device, backend = 'auto', adapter, limits, tuning, hangLimit, onWarning } = options;
  if (adapter !== undefined) throw conflict('open/device', 'adapter', adapter, 'a device');
  if (backend !== 'auto' && backend !== 'webgpu') throw conflict('open/device', 'backend', backend, 'a device');
  const { createWebGpuBackend } = await import('./backends/webgpu/index.ts');
  return createWebGpuBackend({ device, limits, tuning, hangLimit, onWarning });
}

/**
 * Workers or, if they are not available, the reference backend with a warning, because it needs neither threads nor
 * shared memory.
 */
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
