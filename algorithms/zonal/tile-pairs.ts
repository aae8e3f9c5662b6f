import { type ArrayParameter, array, type Functor, fn, u32, uniform } from '../../primitives/functors/functor.ts';
import type { Scalar } from '../../primitives/functors/shapes.ts';
import type { U32 } from '../../primitives/functors/value.ts';
import type { Column, Context } from '../../primitives/index.ts';
import { memoized } from '../../primitives/ir/memo.ts';
import { type WindowPlan, ZONE_FIELDS, ZONE_STRIDE } from './window-plan.ts';

/** Pairs of a zone and a tile, in the order of the zones, by their fields: arrays on the host or columns. */
interface PairFields<T> {
  /** The zone's index in the window. */
  readonly zone: T;
  /**
   * Index of the tile's first word in the bitmaps. `pitch` is the distance in words from one row of the zone's bitmap
   * to the next.
   */
  readonly word: T;
  readonly pitch: T;
}

/** Pairs of each zone of a window with all tiles in the rectangle of tiles around the zone. */
export interface PairList extends PairFields<Uint32Array> {
  /** The tile's number in the window. */
  readonly tile: Uint32Array;
}

/** Pairs on the device, with the index of the tile's first cell. */
export type Pairs = { readonly [field in keyof PairFields<unknown> | 'cell']: Column<'u32'> };

/** Pairs of a zone and a tile inside the zone, both as indices in the window. */
export type InsidePairs = { readonly zone: Column<'u32'>; readonly tile: Column<'u32'> };

/** Pairs each zone with all tiles in the rectangle of tiles around the zone. They are kept as long as the plan. */
export const listPairs: (plan: WindowPlan) => PairList = memoized(pairsOf);

function pairsOf({ table, zones, tile, tileColumns, pairs }: WindowPlan): PairList {
  const [zone, tiles, word, pitch] = [0, 1, 2, 3].map(() => new Uint32Array(pairs)) as [
    Uint32Array<ArrayBuffer>,
    Uint32Array<ArrayBuffer>,
    Uint32Array<ArrayBuffer>,
    Uint32Array<ArrayBuffer>,
  ];
  const perRow = tile / 32;
  for (let row = 0, at = 0; row < zones.length; row++) {
    const field = row * ZONE_STRIDE;
    const first = table[field + ZONE_FIELDS.word]!;
    const across = table[field + ZONE_FIELDS.tileColumns]!;
    const end = at + table[field + ZONE_FIELDS.tiles]!;
    const rowWords = across * perRow;
    let corner = table[field + ZONE_FIELDS.firstTileRow]! * tileColumns + table[field + ZONE_FIELDS.firstTileColumn]!;
    for (let line = first; at < end; line += tile * rowWords, corner += tileColumns) {
      for (let right = 0; right < across; right++, at++) {
        zone[at] = row;
        tiles[at] = corner + right;
        word[at] = line + right * perRow;
        pitch[at] = rowWords;
      }
    }
  }
  return { zone, tile: tiles, word, pitch };
}

/** The pairs of a window as columns. `tileStarts` has the index of each tile's first cell. */
export function pairColumns(context: Context, pairs: PairList, tileStarts: Uint32Array): Pairs & InsidePairs {
  const cell = new Uint32Array(pairs.tile.length);
  for (let at = 0; at < cell.length; at++) cell[at] = tileStarts[pairs.tile[at]!]!;
  const { zone, tile, word, pitch } = pairs;
  return {
    zone: context.column(zone),
    tile: context.column(tile),
    cell: context.column(cell),
    word: context.column(word),
    pitch: context.column(pitch),
  };
}

/**
 * Caches one functor per tile size. The size is a constant in the functor, because the functor divides by it for every
 * row of cells.
 */
export function forTile<F>(define: (tile: number) => F): (tile: number) => F {
  const known = new Map<number, F>();
  return (tile) => {
    const functor = known.get(tile) ?? define(tile);
    known.set(tile, functor);
    return functor;
  };
}

/** Splits the number of a row of 32 cells among those of all pairs: into the pair, and the row and word in its tile. */
export function splitIndex(index: U32, tile: number): { readonly pair: U32; readonly row: U32; readonly step: U32 } {
  const perRow = tile / 32;
  const line = index.div(perRow);
  const pair = line.div(tile);
  return { pair, row: line.sub(pair.mul(tile)), step: index.sub(line.mul(perRow)) };
}

/** The number of words of the bitmap of a zone or a further sheet, by its row in the table of zones. */
export const wordsOfZone: Functor<
  {
    readonly zone: Scalar<'u32'>;
    readonly zones: ArrayParameter<'u32'>;
    readonly tile: ReturnType<typeof uniform<'u32'>>;
  },
  Scalar<'u32'>
> = fn('wordsOfZone', { zone: u32, zones: array(u32), tile: uniform(u32) }, u32, ({ zone, zones, tile }) =>
  zones.at(zone.mul(ZONE_STRIDE).add(ZONE_FIELDS.tiles)).mul(tile).mul(tile.shr(5)),
);
