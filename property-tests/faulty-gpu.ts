import { createWebGpuBackend, type WebGpuBackend, type WebGpuOptions } from '../backends/webgpu/backend.ts';
import { openTestGpu, testAdapter } from '../backends/webgpu-node/node-gpu.ts';

/** A GPU whose device can be got at, and whose calls are counted. */
export interface FaultyGpu {
  readonly gpu: GPU;
  /** The last device that was asked for. */
  readonly device: GPUDevice;
  /** How often a method of the device or its queue was called. */
  readonly calls: number;
  /** Is called before a call with its name; what it returns, unless that is undefined, is returned in its place. */
  onCall: (name: string, call: number) => unknown;
}

type Methods = Record<PropertyKey, (...args: unknown[]) => unknown>;

/** The GPU that tests run on, watched. */
export async function openFaultyGpu(): Promise<FaultyGpu> {
  const real = await openTestGpu();
  let device: GPUDevice | undefined;
  let calls = 0;
  const counted = <T extends object>(target: T, replaced: Partial<T> = {}): T =>
    new Proxy(target, {
      get(_, key) {
        if (key in replaced) return (replaced as Methods)[key];
        const value = Reflect.get(target, key, target) as unknown;
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) =>
          faulty.onCall(String(key), ++calls) ?? (value as Methods[string]).apply(target, args);
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
  return createWebGpuBackend({ gpu, adapter: testAdapter(), ...options });
}
