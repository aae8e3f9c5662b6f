import type { AdapterChoice, Gpu } from './backends/webgpu/index.ts';
import type { WorkersOptions } from './backends/workers/backend.ts';
import type { Backend } from './primitives/contract/backend.ts';

/** What `open` and `listDevices` need of where they run: Node, or a page. What it needs to load, it loads when it is asked. */
export interface Platform {
  /** Where adapters of a kind are asked for; undefined where there is no WebGPU. */
  readonly gpu: (adapter: AdapterChoice) => Promise<Gpu | undefined>;
  /** Opens the backend on worker threads. */
  readonly workers: (options: WorkersOptions) => Promise<Backend>;
  /** Threads that can run at once. */
  readonly cores: () => Promise<number>;
}
