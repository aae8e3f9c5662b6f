// Starts the worker from its TypeScript source. Only used when the package runs without being built.
import { startUnbuilt } from '../../start-unbuilt.mjs';

await startUnbuilt(new URL('./worker.ts', import.meta.url));
