import { parentPort } from 'node:worker_threads';
import type { TileSide } from '../../algorithms/cross-compare/tile-comparison.ts';
import { tileSide } from '../../algorithms/cross-compare/tile-side.ts';
import type { FillRule } from '../../algorithms/geometry/polygons.ts';
import { flattenError } from '../bytes/flat-error.ts';
import { parseLabels } from './label-image.ts';
import type { ParseReply, ParseRequest, TileBytes } from './parse-messages.ts';
import type { TileParameters } from './result-set.ts';
import { bytesOf, readTile } from './tile-bytes.ts';

/** Parameters for preparing a tile of one result set on a worker thread. Two result sets are then compared. */
export interface SideParameters extends TileParameters {
  readonly pixelSize: number;
  readonly fill: FillRule | undefined;
  /**
   * Whether label images are compared as regions of pixels, without tracing outlines. True if all tiles of both sets
   * are label images.
   */
  readonly countsLabels: boolean;
}

type SideReply = ParseReply<TileSide>;

const port = parentPort!;

port.on('message', async ({ source, parameters }: ParseRequest & { readonly parameters: SideParameters }) => {
  let tile: TileSide;
  try {
    tile = await readSide(source, parameters);
  } catch (error) {
    port.postMessage({ error: flattenError(error) } satisfies SideReply);
    return;
  }
  port.postMessage({ tile } satisfies SideReply, buffersOf(tile));
});

// Called if a message cannot be deserialized, because a buffer of the message was transferred to another thread.
port.on('messageerror', (error) => port.postMessage({ error: flattenError(error) } satisfies SideReply));

async function readSide(
  source: TileBytes,
  { pixelSize, fill, countsLabels, ...parameters }: SideParameters,
): Promise<TileSide> {
  const { place, memoryBytes } = parameters;
  if (countsLabels) return parseLabels(bytesOf(source, memoryBytes), parameters);
  return tileSide(await readTile(source, parameters), { pixelSize, fill, memoryBytes, place });
}

function buffersOf({ ids, regions, labels }: TileSide): ArrayBuffer[] {
  const columns = [ids.bytes, ids.starts, ...Object.values(regions ?? labels)].filter((each) =>
    ArrayBuffer.isView(each),
  );
  return [...new Set(columns.map(({ buffer }) => buffer as ArrayBuffer))];
}
