import { createWebGpuBackend, type WebGpuBackend, type WebGpuOptions } from '../../backends/webgpu/backend.ts';
import { openTestGpu, testAdapter } from '../../backends/webgpu-node/node-gpu.ts';

/** A call of a method of the device or of its queue. */
export interface DeviceCall {
  readonly name: string;
  /** Counted from 1. */
  readonly number: number;
  readonly args: readonly unknown[];
}

/** A GPU whose device can be got at, and whose calls are counted. */
export interface FaultyGpu {
  readonly gpu: GPU;
  /** The last device that was asked for. */
  readonly device: GPUDevice;
  /** How often a method of the device or its queue was called. */
  readonly calls: number;
  /** Is told of a call before it is made; where it returns something, that is returned instead. */
  onCall: (call: DeviceCall) => unknown;
}

type Methods = Record<PropertyKey, (...args: unknown[]) => unknown>;

/** The GPU that tests run on, or one with pooled devices where no device is lost, watched. */
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

/** A backend on a GPU that is watched. */
export function openOnFaulty({ gpu }: FaultyGpu, options: WebGpuOptions = {}): Promise<WebGpuBackend> {
  const staging = { buffers: 2, bytes: 1024 };
  // A device that answers nothing is waited for in vain.
  return createWebGpuBackend({ gpu, adapter: testAdapter(), staging, closeLimit: 50, onWarning: () => {}, ...options });
}

/** Destroys the device before one of the calls that follow. */
export function destroyBefore(faulty: FaultyGpu, calls: number): void {
  const at = faulty.calls + calls;
  faulty.onCall = ({ number }) => (number === at ? faulty.device.destroy() : undefined);
}

/**
 * Lets the device have no memory for one of the buffers that are made from now on, counted from 1; whether the host can write to
 * it all the same, where it is mapped at creation, is up to the device. The function that it returns lets it have memory for all
 * that are made later.
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
    // A buffer that is no buffer, as the device returns it then.
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

/** Lets the device answer nothing from now on. */
export function fallSilent(faulty: FaultyGpu): void {
  silentFrom(faulty, 1);
}

/** Lets the device answer nothing from one of its calls on, counted from 1 from now on. */
export function silentFrom(faulty: FaultyGpu, calls: number): void {
  const at = faulty.calls + calls;
  faulty.onCall = ({ name, number }) =>
    number >= at && (name === 'popErrorScope' || name === 'onSubmittedWorkDone') ? new Promise(() => {}) : undefined;
}

/** Uses of a buffer that do not go together. */
const [MAP_READ, STORAGE] = [0x1, 0x80] as const;
