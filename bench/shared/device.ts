import { createWebGpuBackend, type TuningChoice, type WebGpuBackend } from '../../backends/webgpu/index.ts';
import { openNodeGpu } from '../../backends/webgpu-node/index.ts';
import { Context } from '../../primitives/context/context.ts';

/** An open WebGPU backend. */
export interface Device {
  readonly adapter: 'hardware' | 'software';
  readonly gpu: GPU;
  readonly backend: WebGpuBackend;
  readonly context: Context;
  /** What the adapter calls itself. */
  readonly name: string;
}

/**
 * Opens a WebGPU backend that puts all measured commands into one submission, so that the device never waits for the
 * host.
 */
export async function openDevice(choice: string, tuning: TuningChoice = {}): Promise<Device> {
  const adapter = choice === 'software' ? 'software' : 'hardware';
  const gpu = await openNodeGpu(adapter);
  const backend = await createWebGpuBackend({ gpu, adapter, tuning: { commandsPerSubmission: 2 ** 20, ...tuning } });
  const { device, vendor, architecture, description } = backend.info;
  const name = `${device || vendor} ${architecture} ${description}`;
  return { adapter, gpu, backend, context: new Context(backend), name };
}
