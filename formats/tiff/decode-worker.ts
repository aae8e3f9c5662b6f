import { parentPort } from 'node:worker_threads';
import { flattenError } from '../flat-error.ts';
import { decodeRun, type RunRequest } from './decode-run.ts';

const port = parentPort!;

port.on('message', (request: RunRequest) => {
  try {
    decodeRun(request);
    port.postMessage({});
  } catch (error) {
    port.postMessage({ error: flattenError(error) });
  }
});
