import type { ThreadReply } from '../thread-pool.ts';
import type { PolygonTile, TileParameters } from './result-set.ts';

/** What a worker is asked. */
export interface ParseRequest {
  /** The tile's bytes, or the file that holds them and nothing else. */
  readonly source: TileBytes;
  readonly parameters: TileParameters;
}

/** Where a thread takes the bytes of a tile from. */
export type TileBytes = Uint8Array | { readonly file: string };

/** What it answers. */
export interface ParsedTile<Tile = PolygonTile> {
  readonly tile: Tile;
}
export type ParseReply<Tile = PolygonTile> = ThreadReply<ParsedTile<Tile>>;
