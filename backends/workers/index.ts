/**
 * For programs that run functors on threads, in Node or on a page: the backend that compiles functors to WebAssembly and
 * runs them on worker threads.
 *
 * @packageDocumentation
 */

import type { Backend } from '../../primitives/contract/backend.ts';
import { openWorkersBackend, type WorkersOptions } from './backend.ts';
import { nodeThreads } from './node-threads.ts';

export type { WorkersOptions } from './backend.ts';
export { explainVectorization, type Vectorization } from './wasm/explain-vectorization.ts';

/**
 * Opens the backend that runs on worker threads. It compiles functors to WebAssembly, and uses SIMD where possible.
 * Results have the same bytes as those of the reference backend. All data is in one shared WebAssembly memory of at
 * most 4 GiB.
 *
 * In a bundle for a page, the backend runs on web workers. The page must be cross-origin isolated.
 *
 * @throws `DeviceLostError` `device/no-threads` if the threads cannot be started, `workers/not-isolated` on a page that
 * is not isolated, `workers/no-webassembly` if WebAssembly is forbidden; `OutOfMemoryError` `memory/shared` if the
 * shared memory cannot be reserved.
 * @example
 * await using context = new Context(await createWorkersBackend({ workers: 2 }));
 * await context.read(sort(context.column(Uint32Array.of(3, 1, 2)))); // Uint32Array [1, 2, 3]
 */
export function createWorkersBackend(options: WorkersOptions = {}): Promise<Backend> {
  return openWorkersBackend(nodeThreads, options);
}
