// Starts the worker out of its TypeScript source: only used where the package runs unbuilt.
import { register } from 'tsx/esm/api';

register();
await import('./decode-worker.ts');
