import { requireHangLimit, requireLimits } from './backends/common/backend-options.ts';
import type { Failover } from './backends/failover/index.ts';
import { aDevice } from './backends/webgpu/device/device-kind.ts';
import type { TuningChoice, WebGpuBackend } from './backends/webgpu/index.ts';
import type { Platform } from './platform.ts';
import { requireOptions, wrongArgument } from './primitives/checks/arguments.ts';
import { ArgumentError, DeviceLostError, OutOfMemoryError } from './primitives/checks/errors.ts';
import {
  aFlag,
  aFunction,
  anAddress,
  anything,
  type FieldKinds,
  someRecord,
  where,
} from './primitives/checks/kinds.ts';
import { type OnWarning, QuadrilleWarning, warn } from './primitives/checks/warnings.ts';
import { Context } from './primitives/context/context.ts';
import type { Backend, Limits } from './primitives/contract/backend.ts';
import type { GpuDevice } from './primitives/contract/gpu-types.ts';
import type { Url } from './primitives/host/platform-types.ts';

/** Options of `open`: the backend, its device, and its limits. */
export interface OpenOptions {
  /**
   * The backend. `auto`, the default, selects a hardware WebGPU adapter if there is one, otherwise worker threads.
   * Worker threads may be unavailable: permissions or limits of the process may forbid them, or a page may not be
   * cross-origin isolated. In this case, `auto` selects `reference` and gives the warning `open/reference`.
   * `context.backend.name` is the name of the selected backend.
   */
  readonly backend?: 'auto' | 'webgpu' | 'workers' | 'reference' | undefined;
  /**
   * The WebGPU adapter. `auto`, the default, takes the adapter that the system offers. `hardware` or `software` request
   * WebGPU, so they cannot be combined with `workers` or `reference`. A browser may offer a software adapter by itself;
   * Node does not. In Node, `software` comes from the optional package `@sparticuz/chromium`; on a page, `software`
   * requests the browser's fallback adapter, which not every browser has.
   */
  readonly adapter?: 'auto' | 'hardware' | 'software' | undefined;
  /**
   * Your own WebGPU device. A renderer on the same device can draw results without a copy; see `context.lend` and
   * `context.borrow`. The context never destroys the device, but `close()` frees everything that the context allocated
   * on the device. Errors caused by your own WebGPU calls are reported to you as usual. Request the device with {@link
   * deviceDescriptor}, because kernels can use only the features and limits that were requested with the device. This
   * option cannot be combined with `adapter`, nor with any `backend` except `webgpu` and `auto`.
   */
  readonly device?: GpuDevice | undefined;
  /** Number of worker threads. Default: as many as the machine can run in parallel. */
  readonly workers?: number | undefined;
  /**
   * Only on pages: the address of `quadrille/page-worker.js`, which is the program of the workers. Without this option,
   * workers are started from a `blob:` address, which a Content-Security-Policy may forbid.
   */
  readonly workerUrl?: string | Url | undefined;
  /** Overrides for limits of the backend. A limit can only be lowered, never raised. */
  readonly limits?: Partial<Limits> | undefined;
  /**
   * Whether columns move to host memory when all data on the device would exceed `limits.memoryBytes`. Commands that do
   * not fit on the device then run in windows (parts of their rows). Default true. `context.backend.counters.spilling`
   * counts the bytes moved and the windows. If `spill` is false, calls that need more device memory throw an
   * `OutOfMemoryError`.
   */
  readonly spill?: boolean | undefined;
  /**
   * Tuning of the WebGPU kernels. Replaces the default tuning for the class of the device. Tuning affects speed, never
   * results. The command `quadrille tune` finds the best tuning of a device. Other backends ignore this option.
   */
  readonly tuning?: TuningChoice | undefined;
  /**
   * The backend that takes over if the device is lost or a worker thread dies. With `workers`, a new workers backend
   * opens and recomputes the columns in use, so the context continues with the same bytes. The data logged for the
   * recomputation takes host memory; see `createFailoverBackend`. Without this option, the context ends with a
   * `DeviceLostError`.
   */
  readonly failover?: 'workers' | undefined;
  /**
   * Called after another backend has taken over, with the reason as its argument. If the callback throws or rejects, a
   * warning is given.
   */
  readonly onFailover?: ((failover: Failover) => void) | undefined;
  /**
   * Milliseconds that a call may wait for a WebGPU device or for the workers. If there is no answer within this time,
   * the device or the workers count as lost. The limit must be longer than the longest pipeline takes. Default: no
   * limit.
   */
  readonly hangLimit?: number | undefined;
  /**
   * Called for problems that do not make a call fail. `warning/callback-failed`: the `onFailover` callback failed.
   * `warning/device-left`: four seconds after a device was closed, it was still busy with an endless kernel.
   * `open/reference`: the reference backend was chosen because no other backend is available. `column/forgotten`: a
   * column was garbage-collected without having been disposed of, only in development; see
   * {@link Context.dispose}. By default, warnings go to `process.emitWarning` in Node and to the console on a page.
   */
  readonly onWarning?: OnWarning | undefined;
}

/** Opens a context on the best backend of a platform, or on the requested one. */
export async function openOn(platform: Platform, options: OpenOptions = {}): Promise<Context> {
  return new Context(await openBackendOn(platform, options), undefined, options.onWarning);
}

/** The backend of {@link openOn}, with the wrappers that its options ask for. */
export async function openBackendOn(platform: Platform, options: OpenOptions): Promise<Backend> {
  requireOptions('open()', OPTIONS, options, UNKNOWN);
  requireLimits(options.limits);
  requireHangLimit(options.hangLimit);
  const { failover, onFailover, onWarning } = options;
  if (failover === undefined) return openRoomy(platform, options);
  requireOneOf('failover', FAILOVERS, failover);
  const { createFailoverBackend } = await import('./backends/failover/index.ts');
  const standby = (): Promise<Backend> =>
    openRoomy(platform, { ...options, backend: failover, adapter: 'auto', device: undefined });
  return createFailoverBackend(await openRoomy(platform, options), { standby, onFailover, onWarning });
}

/**
 * Opens the backend. Unless the option `spill` is false, the backend moves data to host memory when device memory is
 * full.
 */
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

/** The error for two options that cannot be combined. Its remedy asks the caller to leave one of them out. */
function conflict(code: string, option: string, given: string, beside: string): ArgumentError {
  return new ArgumentError(code, `open() was given ${beside}, and the option ${option} '${given}'.`, {
    expected: `${beside} without the ${option} '${given}'`,
    got: `${option} '${given}'`,
    remedy: 'Leave one of them out.',
  });
}

/**
 * Opens the backend on the caller's device. The supported WGSL language features are read from `navigator.gpu`, if it
 * exists.
 */
async function openOnDevice(options: OpenOptions): Promise<Backend> {
  const { device, backend = 'auto', adapter, limits, tuning, hangLimit, onWarning } = options;
  if (adapter !== undefined) throw conflict('open/device', 'adapter', adapter, 'a device');
  if (backend !== 'auto' && backend !== 'webgpu') throw conflict('open/device', 'backend', backend, 'a device');
  const { createWebGpuBackend } = await import('./backends/webgpu/index.ts');
  return createWebGpuBackend({ device, limits, tuning, hangLimit, onWarning });
}

/**
 * Opens the workers backend. If workers are not available, gives a warning and opens the reference backend, which needs
 * neither threads nor shared memory.
 */
async function openWorkersOrReference(platform: Platform, options: OpenOptions): Promise<Backend> {
  try {
    return await openWorkers(platform, options);
  } catch (cause) {
    const isMissing = cause instanceof DeviceLostError || cause instanceof OutOfMemoryError;
    if (!isMissing) throw cause;
    const reference = await openReference(options);
    const sentence = `The slow reference backend is used, because workers are not available: ${cause.message}`;
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

/** Opens the WebGPU backend on an adapter of the platform (Node or a page). */
export async function openWebGpu(
  platform: Platform,
  adapter: 'auto' | 'hardware' | 'software',
  { limits, tuning, hangLimit, onWarning }: Pick<OpenOptions, 'limits' | 'tuning' | 'hangLimit' | 'onWarning'> = {},
): Promise<WebGpuBackend> {
  const { createWebGpuBackend } = await import('./backends/webgpu/index.ts');
  const gpu = await platform.gpu(adapter);
  return createWebGpuBackend({ gpu, adapter, limits, tuning, hangLimit, onWarning });
}
