import type { TileSide } from '../../algorithms/cross-compare/tile-comparison.ts';
import { tileSide } from '../../algorithms/cross-compare/tile-side.ts';
import type { Context } from '../../primitives/context/context.ts';
import { parseBoundariesOn } from './boundaries-on-device.ts';
import type { TileSource } from './result-set.ts';

/**
 * Creates a function that parses tiles of boundary text on a device, such as a GPU that would otherwise be idle. The
 * function gives the same results, notes and errors as a parser created by `openTileParser`. The device reads the
 * numbers, and the calling thread snaps polygons to the pixel grid.
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
