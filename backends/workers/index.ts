export { createWorkersBackend, type WorkersOptions } from './backend.ts';
export { explainVectorization, type Vectorization } from './explain-vectorization.ts';
