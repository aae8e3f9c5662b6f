import { createWebGpuBackend, type WebGpuBackend, type WebGpuOptions } from '../../backends/webgpu/backend.ts';
import { openTestGpu, testAdapter } from '../../backends/webgpu-node/node-gpu.ts';

/** A method call on the device or on its queue. */
export interface DeviceCall {
  readonly name: string;
  /** Counted from 1. */
  readonly number: number;
  readonly args: readonly unknown[];
}

/** A GPU that counts the calls on its devices, and gives tests access to a device. */
export interface FaultyGpu {
  readonly gpu: GPU;
  /** The device that was requested most recently. */
  readonly device: GPUDevice;
  /** Number of method calls on the device and its queue so far. */
  readonly calls: number;
  /** Called before each method call. If it returns a value, this value replaces the call. */
  onCall: (call: DeviceCall) => unknown;
}

type Methods = Record<PropertyKey, (...args: unknown[]) => unknown>;

/**
 * Wraps a GPU so that tests can inject faults. If `given` is undefined, opens and wraps the GPU on which tests run. A
 * test that does not lose its device can pass a GPU with pooled devices.
 */
export async function openFaultyGpu(given?: GPU): Promise<FaultyGpu> {
  const real = given ?? (await openTestGpu());
  let device: GPUDevice | undefined;
  let calls = 0;
  const counted = <T extends object>(target: T, replaced: Partial<T> = {}): T =>
    new Proxy(target, {
      get(_, key) {
        if (key in replaced) return (replaced as Methods)[key];
        const value = Reflect.get(target, key, target) as unknown;
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) =>
          faulty.onCall({ name: String(key), number: ++calls, args }) ?? (value as Methods[string]).apply(target, args);
      },
    });
  const gpu = {
    wgslLanguageFeatures: real.wgslLanguageFeatures,
    async requestAdapter(options: GPURequestAdapterOptions) {
      const adapter = (await real.requestAdapter(options))!;
      return new Proxy(adapter, {
        get(_, key) {
          if (key !== 'requestDevice') return Reflect.get(adapter, key, adapter) as unknown;
          return async (descriptor: GPUDeviceDescriptor) => {
            device = await adapter.requestDevice(descriptor);
            return counted(device, { queue: counted(device.queue) } as Partial<GPUDevice>);
          };
        },
      });
    },
  } as unknown as GPU;
  const faulty: FaultyGpu = {
    gpu,
    get device() {
      return device!;
    },
    get calls() {
      return calls;
    },
    onCall: () => undefined,
  };
  return faulty;
}

/** Opens a backend on a GPU that {@link openFaultyGpu} returned. */
export function openOnFaulty({ gpu }: FaultyGpu, options: WebGpuOptions = {}): Promise<WebGpuBackend> {
  const staging = { buffers: 2, bytes: 1024 };
  // `closeLimit` is short, because waiting for a device that does not answer is pointless.
  return createWebGpuBackend({ gpu, adapter: testAdapter(), staging, closeLimit: 50, onWarning: () => {}, ...options });
}

/** Destroys the device before call number `calls` from now, counted from 1. */
export function destroyBefore(faulty: FaultyGpu, calls: number): void {
  const at = faulty.calls + calls;
  faulty.onCall = ({ number }) => (number === at ? faulty.device.destroy() : undefined);
}

/**
 * Simulates that the device has no memory for buffer number `at` from now, counted from 1. On some devices, a buffer
 * without memory can still be mapped at creation. If `isMapped` is true, the device simulates this too. The returned
 * function ends the fault.
 */
export function refuseBuffer(faulty: FaultyGpu, at: number, isMapped = true): () => void {
  let refused = at;
  const scopes: { readonly filter: unknown; short: boolean }[] = [];
  let buffers = 0;
  faulty.onCall = ({ name, args }) => {
    const { device } = faulty;
    if (name === 'pushErrorScope') scopes.push({ filter: args[0], short: false });
    if (name === 'popErrorScope' && scopes.pop()?.short) {
      return device.popErrorScope().then(() => ({ message: 'not enough memory left' }));
    }
    if (name !== 'createBuffer' || ++buffers !== refused) return undefined;
    scopes.findLast(({ filter }) => filter === 'out-of-memory')!.short = true;
    // A device without memory returns an invalid buffer. Incompatible usages are a simple way to make such a buffer.
    device.pushErrorScope('validation');
    const { size, mappedAtCreation = false } = args[0] as GPUBufferDescriptor;
    const usage = MAP_READ | STORAGE;
    const invalid = device.createBuffer({ size, usage, mappedAtCreation: isMapped && mappedAtCreation });
    void device.popErrorScope();
    return invalid;
  };
  return () => {
    refused = 0;
  };
}

/** Makes the device silent: from now on, it does not answer. */
export function fallSilent(faulty: FaultyGpu): void {
  silentFrom(faulty, 1);
}

/** Makes the device silent from call number `calls` on, counted from 1: its promises no longer settle. */
export function silentFrom(faulty: FaultyGpu, calls: number): void {
  const at = faulty.calls + calls;
  faulty.onCall = ({ name, number }) =>
    number >= at && (name === 'popErrorScope' || name === 'onSubmittedWorkDone') ? new Promise(() => {}) : undefined;
}

/** Two buffer usages that must not be combined. */
const [MAP_READ, STORAGE] = [0x1, 0x80] as const;
