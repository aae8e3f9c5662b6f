import { openTestGpu } from '../../backends/webgpu-node/node-gpu.ts';
import { withStaleWorkgroupMemory } from './stale-workgroup-memory.ts';

/** Maximum number of idle devices. Further idle devices are destroyed. */
const MAX_IDLE = 3;
/** Maximum number of shaders, layouts and pipelines that are kept per device. */
const MAX_MADE = 4000;
/** Methods whose result can be reused if they are called again with an equal descriptor. */
const REUSABLE = [
  'createShaderModule',
  'createBindGroupLayout',
  'createPipelineLayout',
  'createComputePipeline',
] as const;

type Methods = Record<PropertyKey, (...args: unknown[]) => unknown>;

/** A device that several users (backends or tests) have one after another. */
interface PooledDevice {
  /** The adapter of the device. It is kept because Dawn requires that the adapter exists as long as the device. */
  readonly adapter: GPUAdapter;
  readonly device: GPUDevice;
  /** The adapter options and the device descriptor with which the device was requested, as text. */
  readonly key: string;
  /** Results of `REUSABLE` methods, by method and descriptor. The most recently used result is last. */
  readonly made: Map<string, object>;
  /** Resolves when the device has finished the work of its previous user. */
  ready: Promise<unknown>;
  /** Whether the device was lost, or reported an error that no listener handled. */
  isBroken: boolean;
  /** The user's listener for errors that no error scope catches. */
  onError: ((event: GPUUncapturedErrorEvent) => void) | undefined;
}

const idle: PooledDevice[] = [];
let gpu: Promise<GPU> | undefined;

/**
 * Opens the `GPU` on which tests run. When a user destroys a device, the next user gets this device with all pipelines
 * that were compiled on it, because a software GPU takes a tenth of a second to compile a kernel. Nothing else remains
 * of the previous user: buffers are destroyed, and error scopes are closed. A device that was lost or reported an error
 * is not reused. Kernels find arbitrary words in workgroup memory.
 *
 * Tests of device loss and of device calls open their own devices with `openTestGpu`.
 */
export function openPooledGpu(): Promise<GPU> {
  gpu ??= openTestGpu().then(pool);
  return gpu;
}

function pool(real: GPU): GPU {
  const requestAdapter = async (options?: GPURequestAdapterOptions): Promise<GPUAdapter | null> => {
    const adapter = await real.requestAdapter(options);
    if (adapter === null) return null;
    const requestDevice = async (descriptor: GPUDeviceDescriptor): Promise<GPUDevice> => {
      const key = JSON.stringify([options, descriptor]);
      const pooled = takeIdle(key);
      await pooled?.ready;
      return lend(pooled === undefined || pooled.isBroken ? await open(adapter, descriptor, key) : pooled);
    };
    return replacing(adapter, { requestDevice });
  };
  return replacing(real, { requestAdapter });
}

/**
 * Takes an idle device that was requested with equal options. If there are several, takes the one with the most
 * pipelines.
 */
function takeIdle(key: string): PooledDevice | undefined {
  const [found] = idle
    .filter((pooled) => pooled.key === key && !pooled.isBroken)
    .sort((a, b) => b.made.size - a.made.size);
  if (found !== undefined) idle.splice(idle.indexOf(found), 1);
  return found;
}

async function open(adapter: GPUAdapter, descriptor: GPUDeviceDescriptor, key: string): Promise<PooledDevice> {
  const device = await adapter.requestDevice(descriptor);
  const pooled: PooledDevice = {
    adapter,
    device,
    key,
    made: new Map(),
    ready: Promise.resolve(),
    isBroken: false,
    onError: undefined,
  };
  device.addEventListener('uncapturederror', (event) => {
    pooled.isBroken = true;
    pooled.onError?.(event);
  });
  device.lost.then(() => {
    pooled.isBroken = true;
  });
  return pooled;
}

/** Wraps a device so that it looks new to its next user. The wrapper's `destroy` returns the device to the pool. */
function lend(pooled: PooledDevice): GPUDevice {
  const { device } = pooled;
  const buffers = new Set<GPUBuffer>();
  let scopes = 0;
  let isDestroyed = false;
  const requireAlive = (): void => {
    if (isDestroyed) throw new Error('The device was used after it was destroyed.');
  };
  let onDestroyed: ((reason: GPUDeviceLostInfo) => void) | undefined;
  const destroyed = new Promise<GPUDeviceLostInfo>((resolve) => {
    onDestroyed = resolve;
  });
  const reusable = Object.fromEntries(
    REUSABLE.map((name) => [name, (descriptor: object) => reuse(pooled, name, descriptor)]),
  );
  return replacing(device, {
    ...reusable,
    createShaderModule: (descriptor: GPUShaderModuleDescriptor) =>
      reuse(pooled, 'createShaderModule', { ...descriptor, code: withStaleWorkgroupMemory(descriptor.code) }),
    lost: Promise.race([device.lost, destroyed]),
    addEventListener: (_: 'uncapturederror', listener: (event: GPUUncapturedErrorEvent) => void) => {
      pooled.onError = listener;
    },
    createBuffer(descriptor: GPUBufferDescriptor) {
      requireAlive();
      const buffer = device.createBuffer(descriptor);
      buffers.add(buffer);
      return buffer;
    },
    pushErrorScope(filter: GPUErrorFilter) {
      requireAlive();
      scopes++;
      return device.pushErrorScope(filter);
    },
    popErrorScope() {
      scopes--;
      return device.popErrorScope();
    },
    destroy() {
      if (isDestroyed) return;
      isDestroyed = true;
      for (const buffer of buffers) buffer.destroy();
      for (; scopes > 0; scopes--) device.popErrorScope().catch(() => {});
      pooled.onError = undefined;
      giveBack(pooled);
      onDestroyed!({ __brand: 'GPUDeviceLostInfo', reason: 'destroyed', message: 'Device was destroyed.' });
    },
  });
}

/** Returns a device to the pool, or destroys it if it is broken or the pool is full. */
function giveBack(pooled: PooledDevice): void {
  pooled.ready = pooled.device.queue.onSubmittedWorkDone().catch(() => {});
  if (!pooled.isBroken && idle.length < MAX_IDLE) idle.push(pooled);
  else pooled.ready.then(() => pooled.device.destroy());
}

/** Returns the result of an earlier call with an equal descriptor. If there is none, calls the method. */
function reuse({ device, made }: PooledDevice, name: (typeof REUSABLE)[number], descriptor: object): object {
  const key = name + JSON.stringify(descriptor, (_, value) => idOf.get(value) ?? value);
  const result = made.get(key) ?? ((device as unknown as Methods)[name]!(descriptor) as object);
  if (!idOf.has(result)) idOf.set(result, `${name} ${++ids}`);
  made.delete(key);
  made.set(key, result);
  if (made.size > MAX_MADE) made.delete(made.keys().next().value!);
  return result;
}

/** Ids of the objects that devices have made. In a descriptor's text, the id stands for the object. */
const idOf = new WeakMap<object, string>();
let ids = 0;

/** Wraps a WebGPU object, and replaces some members. Assignments to members change the wrapper, not the object. */
function replacing<T extends object>(target: T, members: Record<PropertyKey, unknown>): T {
  return new Proxy(target, {
    get(_, key) {
      if (Object.hasOwn(members, key)) return members[key];
      const value = Reflect.get(target, key, target) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
    set(_, key, value) {
      members[key] = value;
      return true;
    },
  });
}
