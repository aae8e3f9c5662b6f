import { fn, u32, uniform } from '../../primitives/functors/functor.ts';
import { popcount } from '../../primitives/functors/standard/bits.ts';
import {
  type Column,
  type Context,
  constant,
  map,
  monoid,
  reduceByKey,
  scatterReduce,
} from '../../primitives/index.ts';
import type { Slots } from './binning.ts';
import type { Coverage } from './coverage.ts';
import { addHidden } from './hidden-cells.ts';
import { type CountedRows, NEAR_SHIFT } from './zone-folds.ts';

const withAndWithoutData = fn(
  'withAndWithoutData',
  { mask: u32, data: u32 },
  { data: u32, lacking: u32, near: u32 },
  ({ mask, data }) => {
    const [withData, near] = [data.and(0xff), data.shr(NEAR_SHIFT)];
    return { data: withData, lacking: popcount(mask).sub(withData).sub(near), near };
  },
);

const addCounts = monoid({
  of: { data: u32, lacking: u32, near: u32 },
  identity: { data: 0, lacking: 0, near: 0 },
  combine: ({ a, b }) => ({
    data: a.data.add(b.data),
    lacking: a.lacking.add(b.lacking),
    near: a.near.add(b.near),
  }),
  commutative: true,
  name: 'addCounts',
});

const slotOfZone = fn(
  'slotOfZone',
  { zone: u32, slots: uniform(u32), slot: uniform(u32) },
  u32,
  ({ zone, slots, slot }) => zone.mul(slots).add(slot),
);

/**
 * Counts the cells with and without data in each zone of a window, from `rows`, in which the cells with data were
 * counted. The result has the slots (counters) of a histogram with a single bin for each zone.
 */
export function countCells(context: Context, coverage: Coverage, rows: CountedRows, slots: Slots): Column<'u32'> {
  return context.scope(() => {
    const { zone, mask, data } = rows;
    const counts = context.materialize(constant(u32, 0, coverage.plan.zones.length * slots.count));
    const { keys, values } = reduceByKey(zone, map(withAndWithoutData, { mask, data }), addCounts);
    const slotOf = (slot: number): Column<'u32'> => map(slotOfZone, { zone: keys, slots: slots.count, slot });
    scatterReduce(values.data, slotOf(0), 'add', counts);
    scatterReduce(values.lacking, slotOf(slots.nodata), 'add', counts);
    if (slots.near !== slots.nodata) scatterReduce(values.near, slotOf(slots.near), 'add', counts);
    addHidden(coverage, slots, counts);
    return counts;
  });
}
