import { ArgumentError, DeviceLostError } from '../../../primitives/checks/errors.ts';
import type { Limits } from '../../../primitives/contract/backend.ts';
import type { Gpu, GpuAdapter, GpuAdapterInfo, GpuDevice } from '../../../primitives/contract/gpu-types.ts';
import { adapterName } from './adapter-name.ts';
import { deviceDescriptor } from './device-descriptor.ts';
import { lostError } from './failure.ts';

/** Which adapters to accept; `auto` prefers a hardware adapter. */
export type AdapterChoice = 'hardware' | 'software' | 'auto';

/** An open device, with the limits and features that matter to kernels. */
export interface OpenDevice {
  /** The adapter of the device; undefined if the caller passed the device. */
  readonly adapter: GpuAdapter | undefined;
  readonly device: GpuDevice;
  readonly info: GpuAdapterInfo;
  /** The limits of the device, not yet lowered by the caller's options. */
  readonly limits: Limits;
  readonly features: ReadonlySet<string>;
  readonly subgroups: Subgroups | undefined;
  /**
   * Whether the caller passed the device and also uses it. Closing the backend frees the backend's memory, but never
   * destroys a shared device.
   */
  readonly shared: boolean;
}

/**
 * The sizes of a device's subgroups. Kernels use subgroups only if every subgroup has at least 4 lanes and WGSL
 * provides the built-in value `subgroup_id`.
 */
export interface Subgroups {
  /** Minimum and maximum number of lanes. */
  readonly min: number;
  readonly max: number;
}

/** The number of lanes of a subgroup if all subgroups have the same size; else undefined. */
export function widthOf({ min, max }: Subgroups): number | undefined {
  return min === max ? min : undefined;
}

/**
 * Opens a device with those limits and features of the adapter that kernels can use.
 *
 * @throws DeviceLostError `device/no-adapter`
 */
export async function openDevice(gpu: Gpu | undefined, choice: AdapterChoice): Promise<OpenDevice> {
  if (gpu === undefined) throw noWebGpu();
  const adapter = await requestAdapter(gpu, choice);
  const device = await adapter.requestDevice(deviceDescriptor(adapter)).catch((cause: unknown) => {
    throw new DeviceLostError('device/refused', 'The adapter gave no device.', { cause });
  });
  const { info } = adapter;
  const subgroups = subgroupsOf(device.features, info, gpu.wgslLanguageFeatures.has(NUMBERED_SUBGROUPS));
  const features: ReadonlySet<string> = new Set(device.features);
  return { adapter, device, info, limits: limitsOf(device.limits), features, subgroups, shared: false };
}

/**
 * Wraps a device that the caller also uses. Kernels get the limits and features with which the caller requested the
 * device.
 *
 * @throws ArgumentError `device/limits` if the limits are too low for the kernels.
 * @throws DeviceLostError `device/lost`
 */
export async function shareDevice(device: GpuDevice, gpu: Gpu | undefined): Promise<OpenDevice> {
  requireLeast(device.limits);
  await requireAlive(device);
  // Older browsers have no `adapterInfo`.
  const info = (device.adapterInfo as GpuAdapterInfo | undefined) ?? UNKNOWN_ADAPTER;
  const known = gpu?.wgslLanguageFeatures.has(NUMBERED_SUBGROUPS);
  const hasNumbers = device.features.has('subgroups') && (known ?? (await compilesNumberedSubgroups(device)));
  const subgroups = subgroupsOf(device.features, info, hasNumbers);
  const features: ReadonlySet<string> = new Set(device.features);
  return { adapter: undefined, device, info, limits: limitsOf(device.limits), features, subgroups, shared: true };
}

/** Device limits that all kernels need. Every WebGPU device has them, except in compatibility mode. */
const MIN_COUNT = {
  maxStorageBuffersPerShaderStage: 4,
  maxStorageBufferBindingSize: 4096,
  maxBufferSize: 65536,
  maxComputeInvocationsPerWorkgroup: 256,
  maxComputeWorkgroupSizeX: 256,
  maxComputeWorkgroupStorageSize: 16384,
} as const;

function requireLeast(limits: GPUSupportedLimits): void {
  const missing = (Object.keys(MIN_COUNT) as (keyof typeof MIN_COUNT)[]).filter(
    (name) => limits[name] < MIN_COUNT[name],
  );
  if (missing.length === 0) return;
  const list = (numbers: Pick<GPUSupportedLimits, keyof typeof MIN_COUNT>): string =>
    missing.map((name) => `${name} ${numbers[name]}`).join(', ');
  throw new ArgumentError('device/limits', 'The device was made with limits too low for the kernels.', {
    expected: `at least ${list(MIN_COUNT as never)}`,
    got: list(limits),
    remedy:
      'Request it with deviceDescriptor(adapter), or with at least these requiredLimits: adapter.requestDevice(…).',
  });
}

async function requireAlive({ lost }: GpuDevice): Promise<void> {
  // If the device is already lost, its promise `lost` settles before the timer fires.
  const reason = await Promise.race([lost, new Promise<undefined>((resolve) => setTimeout(resolve, 0))]);
  if (reason !== undefined) throw lostError(reason);
}

const UNKNOWN_ADAPTER = {
  vendor: '',
  architecture: '',
  device: '',
  description: '',
  subgroupMinSize: 0,
  subgroupMaxSize: 128,
  isFallbackAdapter: false,
} as GpuAdapterInfo;

/** The WGSL language feature that provides `subgroup_id`. */
const NUMBERED_SUBGROUPS = 'subgroup_id';

/**
 * Whether a device supports `subgroup_id`, found out by a test compilation. Needed in Node, where no `navigator.gpu`
 * lists the language features.
 */
async function compilesNumberedSubgroups(device: GpuDevice): Promise<boolean> {
  device.pushErrorScope('validation');
  device.createShaderModule({
    code: `enable subgroups;
requires ${NUMBERED_SUBGROUPS};
@compute @workgroup_size(64) fn main(@builtin(subgroup_id) id: u32) {}`,
  });
  return (await device.popErrorScope()) === null;
}

function subgroupsOf(
  features: GPUSupportedFeatures,
  info: GpuAdapterInfo,
  areNumbered: boolean,
): Subgroups | undefined {
  const { subgroupMinSize: min = 0, subgroupMaxSize: max = 128 } = info;
  return features.has('subgroups') && areNumbered && min >= 4 ? { min, max } : undefined;
}

async function requestAdapter(gpu: GPU, choice: AdapterChoice): Promise<GPUAdapter> {
  const software = choice === 'software';
  const adapter = await gpu.requestAdapter(
    software ? { forceFallbackAdapter: true } : { powerPreference: 'high-performance' },
  );
  if (adapter === null) throw noAdapter(`There is no ${choice === 'auto' ? '' : `${choice} `}adapter here.`);
  const { isFallbackAdapter } = adapter.info;
  if (choice === 'hardware' && isFallbackAdapter) {
    throw noAdapter(`The only adapter here is a software one (${adapterName(adapter.info)}).`);
  }
  if (software && !isFallbackAdapter)
    throw noAdapter(`The adapter is not a software adapter (${adapterName(adapter.info)}).`);
  return adapter;
}

function noWebGpu(): DeviceLostError {
  return new DeviceLostError('device/no-adapter', 'WebGPU is not available here.', {
    remedy:
      'On a page, use a browser with WebGPU, and serve the page over https or from localhost; in Node, pass the gpu of ' +
      'openNodeGpu(); or use another backend.',
  });
}

function noAdapter(sentence: string): DeviceLostError {
  return new DeviceLostError('device/no-adapter', sentence, {
    remedy:
      "Install the graphics driver, or use the software adapter (--adapter software, { adapter: 'software' }) or another backend.",
  });
}

function limitsOf(limits: GPUSupportedLimits): Limits {
  return {
    bindingBytes: Math.min(limits.maxStorageBufferBindingSize, limits.maxBufferSize),
    workgroups: limits.maxComputeWorkgroupsPerDimension,
    storageBuffers: limits.maxStorageBuffersPerShaderStage,
    // WebGPU does not reveal the amount of device memory, so no limit is set here. An allocation that exceeds the
    // memory reports an error.
    memoryBytes: Number.MAX_SAFE_INTEGER,
  };
}

/** Minimum limits with which the kernels work. A binding must hold at least one block (4 KiB) of a fold or scan. */
const minLimits: Limits = { bindingBytes: 4096, workgroups: 1, storageBuffers: 4, memoryBytes: 0 };

/**
 * Returns, for each limit, the minimum of the device's limit and the limit that the caller wants.
 *
 * @throws ArgumentError `limits/too-low`
 */
export function lowered(limits: Limits, wanted: Partial<Limits>): Limits {
  for (const name of Object.keys(minLimits) as (keyof Limits)[]) {
    if ((wanted[name] ?? minLimits[name]) >= minLimits[name]) continue;
    throw new ArgumentError('limits/too-low', `limits.${name} is too low for this backend.`, {
      expected: `at least ${minLimits[name]}`,
      got: `${wanted[name]}`,
    });
  }
  const min = (name: keyof Limits): number => Math.min(limits[name], wanted[name] ?? Number.POSITIVE_INFINITY);
  return {
    bindingBytes: min('bindingBytes'),
    workgroups: min('workgroups'),
    storageBuffers: min('storageBuffers'),
    memoryBytes: min('memoryBytes'),
  };
}
