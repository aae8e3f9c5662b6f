// Starts the worker from its TypeScript source. Only used if the package has not been built.
import { startUnbuilt } from '../../../start-unbuilt.mjs';

await startUnbuilt(new URL('./decode-worker.ts', import.meta.url));
