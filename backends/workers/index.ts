/**
 * For contexts on worker threads, in Node and on pages: the backend that compiles functors to WebAssembly.
 *
 * @packageDocumentation
 */

import type { Backend } from '../../primitives/contract/backend.ts';
import { openWorkersBackend, type WorkersOptions } from './backend.ts';
import { nodeThreads } from './node-threads.ts';

export type { WorkersOptions } from './backend.ts';
export { explainVectorization, type Vectorization } from './wasm/explain-vectorization.ts';

/**
 * Opens the backend that runs on worker threads, in WebAssembly: SIMD where a functor is a straight line, with the same
 * bytes as the reference. Its memory is one shared WebAssembly memory, which ends at 4 GiB.
 *
 * Bundled for a page, the same runs on web workers; the page has to be cross-origin isolated.
 *
 * @throws `DeviceLostError` `device/no-threads` where the threads cannot be started, `workers/not-isolated` on a page that is
 * not isolated, `workers/no-webassembly` where WebAssembly is forbidden; `OutOfMemoryError` `memory/shared` where their memory cannot be reserved.
 * @example
 * await using context = new Context(await createWorkersBackend({ workers: 2 }));
 * await context.read(sort(context.column(Uint32Array.of(3, 1, 2)))); // Uint32Array [1, 2, 3]
 */
export function createWorkersBackend(options: WorkersOptions = {}): Promise<Backend> {
  return openWorkersBackend(nodeThreads, options);
}
