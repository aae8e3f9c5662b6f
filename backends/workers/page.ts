import type { Backend } from '../../primitives/contract/backend.ts';
import { openWorkersBackend, type WorkersOptions } from './backend.ts';
import { pageThreads } from './page-threads.ts';

export type { WorkersOptions } from './backend.ts';
export { explainVectorization, type Vectorization } from './wasm/explain-vectorization.ts';

/** As `createWorkersBackend` of `index.ts`, with the web workers of a page. */
export function createWorkersBackend(options: WorkersOptions = {}): Promise<Backend> {
  return openWorkersBackend(pageThreads(options?.workerUrl), options);
}
