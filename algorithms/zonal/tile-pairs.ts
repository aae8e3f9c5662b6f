import { array, fn, u32, uniform } from '../../primitives/functors/functor.ts';
import type { U32 } from '../../primitives/functors/value.ts';
import { type Column, type Context, map } from '../../primitives/index.ts';
import { type WindowPlan, ZONE_FIELDS, ZONE_STRIDE } from './window-plan.ts';

/**
 * Pairs of a zone and a tile, in the order of the zones: the zone's index in the window, and where the tile's cells and
 * bits are stored.
 */
export type Pairs = {
  readonly zone: Column<'u32'>;
  /** Index of the tile's first cell. */
  readonly cell: Column<'u32'>;
  /**
   * Index of the tile's first word in the bitmaps. `pitch` is the distance in words from one row of the zone's bitmap
   * to the next.
   */
  readonly word: Column<'u32'>;
  readonly pitch: Column<'u32'>;
};

/** Pairs of a zone and a tile inside the zone, both as indices in the window. */
export type InsidePairs = { readonly zone: Column<'u32'>; readonly tile: Column<'u32'> };

const placePair = fn(
  'placePair',
  { zone: u32, rank: u32, zones: array(u32), tileStarts: array(u32), tile: uniform(u32), tilesAcross: uniform(u32) },
  { zone: u32, tile: u32, cell: u32, word: u32, pitch: u32 },
  ({ zone, rank, zones, tileStarts, tile, tilesAcross }) => {
    const field = (offset: number): U32 => zones.at(zone.mul(ZONE_STRIDE).add(offset));
    const across = field(ZONE_FIELDS.tileColumns);
    const down = rank.div(across);
    const right = rank.sub(down.mul(across));
    const row = field(ZONE_FIELDS.firstTileRow).add(down);
    const column = field(ZONE_FIELDS.firstTileColumn).add(right);
    const perRow = tile.shr(5);
    const pitch = across.mul(perRow);
    const number = row.mul(tilesAcross).add(column);
    return {
      zone,
      tile: number,
      cell: tileStarts.at(number),
      word: field(ZONE_FIELDS.word).add(down.mul(tile).mul(pitch)).add(right.mul(perRow)),
      pitch,
    };
  },
);

/** Pairs each zone with all tiles in the rectangle of tiles around the zone. */
export function pairsOf(
  context: Context,
  plan: WindowPlan,
  zones: Column<'u32'>,
  tileStarts: Column<'u32'>,
): Pairs & InsidePairs {
  return context.scope(() => {
    const pairs = { zone: context.column(plan.pairZone), rank: context.column(plan.pairRank) };
    const { tile, tileColumns: tilesAcross } = plan;
    return context.materialize(map(placePair, { ...pairs, zones, tileStarts, tile, tilesAcross }));
  });
}
