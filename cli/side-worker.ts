import { parentPort } from 'node:worker_threads';
import type { TileSide } from '../algorithms/cross-compare/tile-comparison.ts';
import { tileSide } from '../algorithms/cross-compare/tile-side.ts';
import { flattenError, type ParseReply, type ParseRequest } from '../formats/result-sets/parse-messages.ts';
import { parseTile } from '../formats/result-sets/parse-tile.ts';
import type { TileParameters } from '../formats/result-sets/result-set.ts';
import { bytesOf } from '../formats/result-sets/tile-bytes.ts';

/** What the worker is to make of a tile. */
export interface SideParameters extends TileParameters {
  readonly pixelSize: number;
}

type SideReply = ParseReply<TileSide>;

const port = parentPort!;

port.on('message', ({ source, parameters }: ParseRequest & { readonly parameters: SideParameters }) => {
  let tile: TileSide;
  try {
    tile = tileSide(parseTile(bytesOf(source), parameters), parameters);
  } catch (error) {
    port.postMessage({ error: flattenError(error) } satisfies SideReply);
    return;
  }
  port.postMessage({ tile } satisfies SideReply, buffersOf(tile));
});

// Bytes that cannot be read here, as they were moved elsewhere before.
port.on('messageerror', (error) => port.postMessage({ error: flattenError(error) } satisfies SideReply));

function buffersOf({ ids, regions }: TileSide): ArrayBuffer[] {
  const columns: (Uint8Array | Uint32Array | Int32Array)[] = [ids.bytes, ids.starts, ...Object.values(regions)];
  return [...new Set(columns.map(({ buffer }) => buffer as ArrayBuffer))];
}
