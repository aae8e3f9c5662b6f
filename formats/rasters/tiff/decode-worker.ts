import { parentPort } from 'node:worker_threads';
import { flattenError } from '../../bytes/flat-error.ts';
import { loadDecoder } from './decode.ts';
import { decodeRun } from './decode-run.ts';
import { nodeCodecs } from './node-codecs.ts';
import type { RunRequest } from './tiff-platform.ts';

const port = parentPort!;

port.on('message', async (request: RunRequest) => {
  try {
    await loadDecoder(request.coding, nodeCodecs, request.file);
    decodeRun(request);
    port.postMessage({});
  } catch (error) {
    port.postMessage({ error: flattenError(error) });
  }
});
