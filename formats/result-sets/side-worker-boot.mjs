// Starts the worker out of its TypeScript source: only used where the package runs unbuilt.
import { startUnbuilt } from '../../start-unbuilt.mjs';

await startUnbuilt(new URL('./side-worker.ts', import.meta.url));
