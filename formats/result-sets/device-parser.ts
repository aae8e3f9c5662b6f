import type { TileSide } from '../../algorithms/cross-compare/tile-comparison.ts';
import { tileSide } from '../../algorithms/cross-compare/tile-side.ts';
import type { Context } from '../../primitives/context.ts';
import { parseBoundariesOn } from './boundaries-on-device.ts';
import type { TileSource } from './result-set.ts';

/**
 * Parses tiles of text of boundaries on a device, for a GPU that has nothing else to do: what `openTileParser` gives, to
 * the byte, notes and errors too. The device reads the numbers; polygons are put on the pixel grid on the calling thread.
 */
export function parserOnDevice(
  context: Context,
  pixelSize: number,
): (tile: TileSource, signal: AbortSignal) => Promise<TileSide> {
  return async (tile, signal) => {
    const { place } = tile.parameters;
    const text = await tile.load(signal);
    const read = await parseBoundariesOn(context, text, place);
    signal.throwIfAborted();
    return tileSide(read, { pixelSize, place });
  };
}
