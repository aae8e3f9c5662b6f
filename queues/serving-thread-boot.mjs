// Starts the thread from its TypeScript source. Only used if the package has not been built.
import { startUnbuilt } from '../start-unbuilt.mjs';

await startUnbuilt(new URL('./serving-thread.ts', import.meta.url));
