import type { Backend } from '../../primitives/contract/backend.ts';
import { openWorkersBackend, type WorkersOptions } from './backend.ts';
import { pageThreads } from './page-threads.ts';

export type { WorkersOptions } from './backend.ts';
export { explainVectorization, type Vectorization } from './wasm/explain-vectorization.ts';

/** Opens the workers backend on the web workers of a page. All else is as in `createWorkersBackend` of `index.ts`. */
export function createWorkersBackend(options: WorkersOptions = {}): Promise<Backend> {
  return openWorkersBackend(pageThreads(options?.workerUrl), options);
}
