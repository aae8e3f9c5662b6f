import { MAP_MODE_READ, usage } from '../../backends/webgpu/device/usage.ts';
import { builtInExperiments } from '../experiments/index.ts';
import { type Candidate, hostTime, type Prepared } from '../harness/candidate.ts';
import type { HostColumn } from '../harness/experiment.ts';
import type { Job } from '../harness/job.ts';
import { optionalPackage } from './optional.ts';

/** The members of `@luma.gl/core`, `@luma.gl/webgpu` and `@luma.gl/gpgpu` that are used here. */
interface LumaDevice {
  readonly handle: GPUDevice;
  createBuffer(props: { data?: HostColumn; byteLength?: number; usage: number }): LumaBuffer;
  createCommandEncoder(props: { id: string }): { readonly handle: GPUCommandEncoder; finish(): unknown };
  submit(commands: unknown): void;
  destroy(): void;
}

interface LumaBuffer {
  readonly byteLength: number;
  readAsync(): Promise<Uint8Array>;
  destroy(): void;
}

interface LumaWebGpu {
  readonly webgpuAdapter: { create(props: object): Promise<LumaDevice> };
}

interface Graph {
  importBuffer(descriptor: { id: string; byteLength: number; usage: number }, buffer: LumaBuffer): unknown;
  createDataView(buffer: unknown, props: { format: 'uint32'; length: number }): View;
  compile(): { encode(encoder: unknown, options: object): unknown; destroy(): void };
}

type View = object;

interface Operation {
  addToGraph(graph: Graph): void;
}

interface GpuCore {
  readonly GPUCommandGraph: new (device: LumaDevice, props: { id: string }) => Graph;
  readonly GPUScan: new (props: { input: View; output: View }) => Operation;
  readonly GPUSort: new (props: { keys: View; values: View; outputKeys: View; outputValues: View }) => Operation;
}

/**
 * The experiments over u32 that are measured with luma.gl. Each function makes luma.gl's operation from views of the
 * input and output columns.
 */
const OPERATIONS: Readonly<
  Record<string, (core: GpuCore, inputs: readonly View[], outputs: readonly View[]) => Operation>
> = {
  scan: ({ GPUScan }, [input], [output]) => new GPUScan({ input: input!, output: output! }),
  sortByKey: ({ GPUSort }, [keys, values], [outputKeys, outputValues]) =>
    new GPUSort({ keys: keys!, values: values!, outputKeys: outputKeys!, outputValues: outputValues! }),
};

const HEATING_MS = 250;
const IDLE_MS = 20;

/** luma.gl's compute primitives on the given adapter; undefined if luma.gl's packages or the adapter are missing. */
export async function lumaPeer(adapter: 'auto' | 'hardware' | 'software'): Promise<Candidate | undefined> {
  const webgpu = await optionalPackage<LumaWebGpu>('@luma.gl/webgpu');
  const core = await optionalPackage<GpuCore>('@luma.gl/gpgpu', 'dist/gpu-core/index.js');
  if (webgpu === undefined || core === undefined) return undefined;
  const gpu = await gpuOf(adapter === 'auto' ? 'hardware' : adapter);
  if (gpu === undefined) return undefined;
  const { globals } = await import('webgpu');
  // luma.gl expects the names of WebGPU as global variables, as in a browser.
  Object.assign(globalThis, globals);
  const before = Object.getOwnPropertyDescriptor(globalThis, 'navigator');
  Object.defineProperty(globalThis, 'navigator', { value: { gpu, userAgent: 'node' }, configurable: true });
  const props = { id: 'quadrille-bench', featureLevel: 'max', createCanvasContext: false };
  const device = await webgpu.library.webgpuAdapter.create(props);
  return {
    name: 'luma.gl',
    kind: 'peer',
    hardware: adapter === 'software' ? 'cpu' : 'gpu',
    description: `@luma.gl/gpgpu ${core.version}`,
    prepare: async (job) => (knows(job) ? prepare(device, core.library, job, adapter !== 'software') : undefined),
    async close() {
      device.destroy();
      Object.defineProperty(globalThis, 'navigator', before ?? { value: undefined, configurable: true });
    },
  };
}

async function gpuOf(adapter: 'hardware' | 'software'): Promise<GPU | undefined> {
  const { openNodeGpu } = await import('../../backends/webgpu-node/index.ts');
  try {
    const gpu = await openNodeGpu(adapter);
    return (await gpu.requestAdapter()) === null ? undefined : gpu;
  } catch {
    return undefined;
  }
}

function knows({ experiment, type, n }: Job): boolean {
  return builtInExperiments.includes(experiment) && experiment.name in OPERATIONS && type === 'u32' && n > 0;
}

async function prepare(
  device: LumaDevice,
  core: GpuCore,
  { experiment, inputs, n }: Job,
  isHardware: boolean,
): Promise<Prepared> {
  const words = usage.storage | usage.copySource | usage.copyDestination;
  const sources = Object.values(inputs).map((data) => device.createBuffer({ data, usage: words }));
  const results = sources.map(({ byteLength }) => device.createBuffer({ byteLength, usage: words }));
  const graph = new core.GPUCommandGraph(device, { id: experiment.name });
  const view = (buffer: LumaBuffer, id: string): View =>
    graph.createDataView(graph.importBuffer({ id, byteLength: n * 4, usage: words }, buffer), {
      format: 'uint32',
      length: n,
    });
  const operation = OPERATIONS[experiment.name]!(
    core,
    sources.map((buffer, i) => view(buffer, `in${i}`)),
    results.map((buffer, i) => view(buffer, `out${i}`)),
  );
  operation.addToGraph(graph);
  const compiled = graph.compile();
  const { handle } = device;
  const hasClock = handle.features.has('timestamp-query');
  let lastUse = 0;

  const submit = (calls: number, around?: (encoder: GPUCommandEncoder, when: 'before' | 'after') => void): void => {
    const encoder = device.createCommandEncoder({ id: experiment.name });
    around?.(encoder.handle, 'before');
    for (let call = 0; call < calls; call++) compiled.encode(encoder, { parameters: undefined });
    around?.(encoder.handle, 'after');
    device.submit(encoder.finish());
  };
  const alone = async (): Promise<void> => {
    submit(1);
    await handle.queue.onSubmittedWorkDone();
  };
  const heat = async (): Promise<void> => {
    const start = performance.now();
    if (!isHardware || start - lastUse < IDLE_MS) return;
    while (performance.now() - start < HEATING_MS) await alone();
  };

  return {
    async answer() {
      await alone();
      const read = await Promise.all(results.map((buffer) => buffer.readAsync()));
      return read.map(({ buffer, byteOffset }) => new Uint32Array(buffer, byteOffset, n));
    },
    async round(calls) {
      await heat();
      const time = hasClock
        ? await deviceTime(handle, (around) => submit(calls, around))
        : await hostTime(() => alone());
      const latency = await hostTime(alone);
      lastUse = performance.now();
      return hasClock ? { time: time / calls, latency, clock: 'device' } : { time: latency, clock: 'host' };
    },
    async close() {
      compiled.destroy();
      for (const buffer of [...sources, ...results]) buffer.destroy();
    },
  };
}

type Around = (encoder: GPUCommandEncoder, when: 'before' | 'after') => void;

/** Nanoseconds between two timestamps around a submission, by the device's clock. */
async function deviceTime(device: GPUDevice, submit: (around: Around) => void): Promise<number> {
  const set = device.createQuerySet({ type: 'timestamp', count: 2 });
  const resolved = device.createBuffer({ size: 16, usage: usage.queryResolve | usage.copySource });
  const host = device.createBuffer({ size: 16, usage: usage.mapRead | usage.copyDestination });
  submit((encoder, when) => {
    const endOfPassWriteIndex = when === 'before' ? 0 : 1;
    encoder.beginComputePass({ timestampWrites: { querySet: set, endOfPassWriteIndex } }).end();
    if (when === 'before') return;
    encoder.resolveQuerySet(set, 0, 2, resolved, 0);
    encoder.copyBufferToBuffer(resolved, 0, host, 0, 16);
  });
  await host.mapAsync(MAP_MODE_READ);
  const [start, end] = new BigUint64Array(host.getMappedRange().slice(0));
  for (const each of [set, resolved, host]) each.destroy();
  return Number(end! - start!);
}
