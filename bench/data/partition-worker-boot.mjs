import { startUnbuilt } from '../../start-unbuilt.mjs';

await startUnbuilt(new URL('./partition-worker.ts', import.meta.url));
