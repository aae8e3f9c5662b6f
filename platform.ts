import type { AdapterChoice, Gpu } from './backends/webgpu/index.ts';
import type { WorkersOptions } from './backends/workers/backend.ts';
import type { Backend } from './primitives/contract/backend.ts';

/** The parts of the platform, Node or a page, that `open` and `listDevices` need. Modules are loaded on demand. */
export interface Platform {
  /** The source of adapters of a kind; undefined without WebGPU. */
  readonly gpu: (adapter: AdapterChoice) => Promise<Gpu | undefined>;
  /** Opens the backend on worker threads. */
  readonly workers: (options: WorkersOptions) => Promise<Backend>;
  /** Number of threads that can run in parallel. */
  readonly cores: () => Promise<number>;
}
