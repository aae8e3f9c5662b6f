import { parentPort } from 'node:worker_threads';
import { flattenError } from '../bytes/flat-error.ts';
import type { ParseReply, ParseRequest } from './parse-messages.ts';
import type { PolygonTile } from './result-set.ts';
import { readTile } from './tile-bytes.ts';

const port = parentPort!;

port.on('message', async ({ source, parameters }: ParseRequest) => {
  let tile: PolygonTile;
  try {
    tile = await readTile(source, parameters);
  } catch (error) {
    port.postMessage({ error: flattenError(error) } satisfies ParseReply);
    return;
  }
  port.postMessage({ tile } satisfies ParseReply, buffersOf(tile));
});

// A message arrived that cannot be deserialized, because its buffer had already been transferred to another thread.
port.on('messageerror', (error) => port.postMessage({ error: flattenError(error) } satisfies ParseReply));

function buffersOf({ ids, polygons }: PolygonTile): ArrayBuffer[] {
  const { polygonRings, ringVertices, x, y } = polygons;
  return [ids.bytes, ids.starts, polygonRings, ringVertices, x, y].map(({ buffer }) => buffer as ArrayBuffer);
}
