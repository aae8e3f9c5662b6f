import { openTestGpu } from '../../backends/webgpu-node/node-gpu.ts';

/** Devices that wait for their next user; those beyond are destroyed. */
const MAX_IDLE = 3;
/** Shaders, layouts and pipelines that are kept of a device. */
const MAX_MADE = 4000;
/** Methods whose result can be used again for the same descriptor. */
const REUSABLE = [
  'createShaderModule',
  'createBindGroupLayout',
  'createPipelineLayout',
  'createComputePipeline',
] as const;

type Methods = Record<PropertyKey, (...args: unknown[]) => unknown>;

/** A device that outlives its users. */
interface PooledDevice {
  /** Dawn needs it as long as the device. */
  readonly adapter: GPUAdapter;
  readonly device: GPUDevice;
  /** What it was asked for with. */
  readonly key: string;
  /** Results of `REUSABLE` methods by their descriptors, the last one used last. */
  readonly made: Map<string, object>;
  /** Resolves when the device is through with what its last user asked of it. */
  ready: Promise<unknown>;
  /** Whether the device was lost, or reported an error to nobody. */
  isBroken: boolean;
  /** Is told of errors that no scope catches. */
  onError: ((event: GPUUncapturedErrorEvent) => void) | undefined;
}

const idle: PooledDevice[] = [];
let gpu: Promise<GPU> | undefined;

/**
 * The `GPU` that tests run on. Its devices are given out again after their users destroyed them, with all pipelines that were
 * compiled on them, since a software GPU takes a tenth of a second for a kernel. Nothing else is left on them: their buffers
 * are destroyed, and their error scopes are closed. A device that was lost or that reported an error is not given out again.
 *
 * Tests of losses and of the calls of a device take devices of their own, of `openTestGpu`.
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

/** An idle device that was asked for in the same way: the one with the most pipelines. */
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

/** The device as its next user sees it: as if it were new, and to be destroyed. */
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

/** Keeps a device for its next user. */
function giveBack(pooled: PooledDevice): void {
  pooled.ready = pooled.device.queue.onSubmittedWorkDone().catch(() => {});
  if (!pooled.isBroken && idle.length < MAX_IDLE) idle.push(pooled);
  else pooled.ready.then(() => pooled.device.destroy());
}

/** What a method of the device returned for an equal descriptor, or returns now. */
function reuse({ device, made }: PooledDevice, name: (typeof REUSABLE)[number], descriptor: object): object {
  const key = name + JSON.stringify(descriptor, (_, value) => idOf.get(value) ?? value);
  const result = made.get(key) ?? ((device as unknown as Methods)[name]!(descriptor) as object);
  if (!idOf.has(result)) idOf.set(result, `${name} ${++ids}`);
  made.delete(key);
  made.set(key, result);
  if (made.size > MAX_MADE) made.delete(made.keys().next().value!);
  return result;
}

/** Numbers of the objects that devices made. */
const idOf = new WeakMap<object, string>();
let ids = 0;

/** An object of the GPU with other members, which can be replaced by its users too. */
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
