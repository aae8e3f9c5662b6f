import { parentPort } from 'node:worker_threads';
import { flattenError } from '../../bytes/flat-error.ts';
import { loadDecoder } from './decode.ts';
import { decodeRun, type RunRequest } from './decode-run.ts';

const port = parentPort!;

port.on('message', async (request: RunRequest) => {
  try {
    await loadDecoder(request.coding);
    decodeRun(request);
    port.postMessage({});
  } catch (error) {
    port.postMessage({ error: flattenError(error) });
  }
});
