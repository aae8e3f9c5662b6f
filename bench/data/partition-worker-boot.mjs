import { register } from 'tsx/esm/api';

// Threads do not inherit the loader of TypeScript.
register();
await import('./partition-worker.ts');
