// Starts the worker from its TypeScript source; only used if the package runs unbuilt.
import { startUnbuilt } from '../../start-unbuilt.mjs';

await startUnbuilt(new URL('./worker.ts', import.meta.url));
