import type { ThreadReply } from '../thread-pool.ts';
import type { PolygonTile, TileParameters } from './result-set.ts';

/** A request to a worker. */
export interface ParseRequest {
  /** The tile's bytes, or a file with just this tile. */
  readonly source: TileBytes;
  readonly parameters: TileParameters;
}

/** The source of a tile's bytes. */
export type TileBytes = Uint8Array | { readonly file: string };

/** The answer of a worker. */
export interface ParsedTile<Tile = PolygonTile> {
  readonly tile: Tile;
}
export type ParseReply<Tile = PolygonTile> = ThreadReply<ParsedTile<Tile>>;
