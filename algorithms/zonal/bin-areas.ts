import { type BinAreas, UNIT } from './areas.ts';
import type { BinEdges, Slots } from './binning.ts';
import { differenceAt, type ShareRows } from './share-rows.ts';
import type { AnyHistogram } from './types.ts';

/** The areas of bins, from the cells of each and from what the shares of cells differ from whole cells in each slot. */
export function binAreas(
  { bins, below, above }: Pick<AnyHistogram, 'bins' | 'below' | 'above'>,
  shares: ShareRows | undefined,
  { lower }: BinEdges,
  slots: Slots,
): BinAreas {
  const areas = { bins: unitsOf(bins.count), below: unitsOf(below), above: unitsOf(above) };
  const { zone, value } = shares ?? { zone: [], value: [] };
  // Both are in the order of zones and slots, and each bin with shares has cells.
  for (let at = 0, row = 0; at < zone.length; at++) {
    const [own, slot, difference] = [zone[at]!, value[at]!, differenceAt(shares!, at)];
    if (slot === slots.below) areas.below[own]! += difference;
    else if (slot === slots.above) areas.above[own]! += difference;
    else if (slot < slots.bins) {
      while (row < bins.zone.length && (bins.zone[row] !== own || bins.lower[row] !== lower[slot])) row++;
      areas.bins[row]! += difference;
    }
  }
  return areas;
}

function unitsOf(counts: BigUint64Array): BigInt64Array {
  const units = new BigInt64Array(counts.length);
  for (let row = 0; row < counts.length; row++) units[row] = counts[row]! * UNIT;
  return units;
}
