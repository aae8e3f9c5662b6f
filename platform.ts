import type { AdapterChoice, Gpu } from './backends/webgpu/index.ts';
import type { WorkersOptions } from './backends/workers/backend.ts';
import type { Backend } from './primitives/contract/backend.ts';

/**
 * The functions with which `open` and `listDevices` reach the platform, which is Node or a page. Each function loads
 * its module on demand.
 */
export interface Platform {
  /** The entry point of WebGPU for a kind of adapter; undefined if the platform has no WebGPU. */
  readonly gpu: (adapter: AdapterChoice) => Promise<Gpu | undefined>;
  /** Opens the backend on worker threads. */
  readonly workers: (options: WorkersOptions) => Promise<Backend>;
  /** Number of threads that can run in parallel. */
  readonly cores: () => Promise<number>;
}
