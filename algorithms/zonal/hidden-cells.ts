import { array, fn, u32, uniform } from '../../primitives/functors/functor.ts';
import { popcount } from '../../primitives/functors/standard/bits.ts';
import type { U32 } from '../../primitives/functors/value.ts';
import { type Column, type Context, map, scatterReduce, sequence } from '../../primitives/index.ts';
import type { Slots } from './binning.ts';
import type { Coverage } from './coverage.ts';
import { type WindowPlan, ZONE_FIELDS, ZONE_STRIDE } from './window-plan.ts';

/**
 * Bits of the cells of a window that the raster's mask hides, one bit per cell. Rows are padded to whole tiles.
 *
 * @param mask - One byte per cell, in rows as wide as the window; 0 hides the cell.
 */
export function hiddenBits({ window, tile, tileColumns }: WindowPlan, mask: Uint8Array): Uint32Array {
  const pitch = (tileColumns * tile) / 32;
  const words = new Uint32Array(pitch * window.rows);
  for (let row = 0, cell = 0; row < window.rows; row++) {
    for (let column = 0; column < window.columns; column++, cell++) {
      if (mask[cell] === 0) words[row * pitch + (column >> 5)]! |= 1 << (column & 31);
    }
  }
  return words;
}

const hiddenWord = fn(
  'hiddenWord',
  {
    index: u32,
    pairZone: array(u32),
    pairRank: array(u32),
    zones: array(u32),
    masks: array(u32),
    hidden: array(u32),
    tile: uniform(u32),
    pitch: uniform(u32),
    rows: uniform(u32),
  },
  { word: u32, bits: u32, zone: u32, count: u32 },
  ({ index, pairZone, pairRank, zones, masks, hidden, tile, pitch, rows }) => {
    const perRow = tile.shr(5);
    const line = index.div(perRow);
    const step = index.sub(line.mul(perRow));
    const pair = line.div(tile);
    const zone = pairZone.at(pair);
    const field = (offset: number): U32 => zones.at(zone.mul(ZONE_STRIDE).add(offset));
    const across = field(ZONE_FIELDS.tileColumns);
    const down = pairRank.at(pair).div(across);
    const right = pairRank.at(pair).sub(down.mul(across)).mul(perRow).add(step);
    const row = down.mul(tile).add(line.sub(pair.mul(tile)));
    const word = field(ZONE_FIELDS.word).add(row.mul(across).mul(perRow)).add(right);
    const windowRow = field(ZONE_FIELDS.firstTileRow).mul(tile).add(row);
    const windowWord = field(ZONE_FIELDS.firstTileColumn).mul(perRow).add(right);
    // The column `hidden` has no rows below the window, so its last row is read instead. This is harmless, because the
    // bitmaps of zones, `masks`, have only 0 bits in rows below the window.
    const bits = masks.at(word).and(hidden.at(windowRow.min(rows.sub(1)).mul(pitch).add(windowWord)));
    return { word, bits, zone, count: popcount(bits) };
  },
);

/**
 * Removes from the zones of a window all cells that the raster's mask hides, and counts these cells for each zone.
 *
 * - Work O(words of the bitmaps). Exact.
 *
 * @param hidden - Bits of the cells of the window, such as those from {@link hiddenBits}.
 * @param pitch - Words of a row of these bits.
 */
export function hideCells(
  context: Context,
  coverage: Coverage,
  hidden: Column<'u32'>,
  pitch: number = (coverage.plan.tileColumns * coverage.plan.tile) / 32,
): Coverage {
  const { plan, zones, masks } = coverage;
  const hiddenCounts = context.scope(() => {
    const { tile, window } = plan;
    const captures = { zones, masks, hidden, tile, pitch, rows: window.rows };
    const pairs = { pairZone: context.column(plan.pairZone), pairRank: context.column(plan.pairRank) };
    const words = context.materialize(map(hiddenWord, { index: sequence(plan.words), ...pairs, ...captures }));
    scatterReduce(words.bits, words.word, 'xor', masks);
    const counts = context.column(new Uint32Array(plan.zones.length));
    scatterReduce(words.count, words.zone, 'add', counts);
    return counts;
  });
  return { ...coverage, hiddenCounts };
}

/** Adds the number of cells that the raster's mask hides to the count of cells without data, for each zone. */
export function addHidden({ plan, hiddenCounts }: Coverage, slots: Slots, counts: Column<'u32'>): void {
  if (hiddenCounts === undefined) return;
  scatterReduce(hiddenCounts, sequence(plan.zones.length, slots.nodata, slots.count), 'add', counts);
}
