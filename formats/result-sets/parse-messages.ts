import type { ThreadReply } from '../bytes/thread-pool.ts';
import type { PolygonTile, TileParameters } from './result-set.ts';

/** A request to a worker thread: parse one tile. */
export interface ParseRequest {
  /** The bytes of the tile, or a file that contains only this tile. */
  readonly source: TileBytes;
  readonly parameters: TileParameters;
}

/** Where the bytes of a tile come from: memory, or a file that the worker thread reads itself. */
export type TileBytes = Uint8Array | { readonly file: string };

/** The answer of a worker thread. */
export interface ParsedTile<Tile = PolygonTile> {
  readonly tile: Tile;
}
export type ParseReply<Tile = PolygonTile> = ThreadReply<ParsedTile<Tile>>;
