import { parentPort } from 'node:worker_threads';
import type { TileSide } from '../../algorithms/cross-compare/tile-comparison.ts';
import { tileSide } from '../../algorithms/cross-compare/tile-side.ts';
import type { FillRule } from '../../algorithms/geometry/polygons.ts';
import { flattenError } from '../bytes/flat-error.ts';
import { parseLabels } from './label-image.ts';
import type { ParseReply, ParseRequest } from './parse-messages.ts';
import { parseTile } from './parse-tile.ts';
import type { TileParameters } from './result-set.ts';
import { bytesOf } from './tile-bytes.ts';

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

port.on('message', ({ source, parameters }: ParseRequest & { readonly parameters: SideParameters }) => {
  let tile: TileSide;
  try {
    tile = readSide(bytesOf(source, parameters.memoryBytes), parameters);
  } catch (error) {
    port.postMessage({ error: flattenError(error) } satisfies SideReply);
    return;
  }
  port.postMessage({ tile } satisfies SideReply, buffersOf(tile));
});

// Called if a message cannot be deserialized, because a buffer of the message was transferred to another thread.
port.on('messageerror', (error) => port.postMessage({ error: flattenError(error) } satisfies SideReply));

function readSide(bytes: Uint8Array, { pixelSize, fill, countsLabels, ...parameters }: SideParameters): TileSide {
  if (countsLabels) return parseLabels(bytes, parameters);
  const { place, memoryBytes } = parameters;
  return tileSide(parseTile(bytes, parameters), { pixelSize, fill, memoryBytes, place });
}

function buffersOf({ ids, regions, labels }: TileSide): ArrayBuffer[] {
  const columns = [ids.bytes, ids.starts, ...Object.values(regions ?? labels)].filter((each) =>
    ArrayBuffer.isView(each),
  );
  return [...new Set(columns.map(({ buffer }) => buffer as ArrayBuffer))];
}
