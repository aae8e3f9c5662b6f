import type { TileSide } from '../algorithms/cross-compare/tile-comparison.ts';
import { tileSide } from '../algorithms/cross-compare/tile-side.ts';
import { createParsePool, type ParsePool } from '../formats/result-sets/parse-pool.ts';
import type { PolygonTile, TileSource } from '../formats/result-sets/result-set.ts';
import { DeviceLostError } from '../primitives/errors.ts';
import type { TileParser } from './compare.ts';

/** Parses tiles on worker threads; a tile whose thread died under it is read once more. */
export function openTileParser({
  workers,
  pixelSize,
}: {
  readonly workers: number | undefined;
  readonly pixelSize: number;
}): TileParser {
  const pool = createParsePool({ threads: workers });
  return {
    // One tile is read from disk while the others are parsed.
    lanes: pool.threads + 1,
    async parse(tile, signal): Promise<TileSide> {
      const polygons = await read(pool, tile, signal).catch((error: unknown) => {
        if (!(error instanceof DeviceLostError) || signal.aborted) throw error;
        return read(pool, tile, signal);
      });
      return tileSide(polygons, { pixelSize, place: tile.place });
    },
    close: () => pool.close(),
  };
}

async function read(pool: ParsePool, tile: TileSource, signal: AbortSignal): Promise<PolygonTile> {
  return pool.parse(await tile.load(signal), tile.parameters, signal);
}
