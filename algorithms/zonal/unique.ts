import { bool, fn, u32 } from '../../primitives/functors/functor.ts';
import { type Column, type Context, copyIf, map, runLengthEncode, sort, sortByKey } from '../../primitives/index.ts';
import { isWide, type NarrowSample, type Sample, type WideSample } from '../geometry/raster.ts';
import type { Classifier } from './binning.ts';
import type { Coverage } from './coverage.ts';
import { ABSENT, type WindowPlan } from './window-plan.ts';
import { orderedRaw, type ZoneCells, zoneCells, zoneRows } from './zone-cells.ts';

/**
 * Number of cells for each pair of a zone of the window and a value that occurs in the zone. Values are ordered words
 * (u32 with the order of the values); `high` has the upper words of values of 64 bits.
 */
export type UniqueCounts = {
  readonly zone: Column<'u32'>;
  readonly value: Column<'u32'>;
  readonly high?: Column<'u32'>;
  readonly count: Column<'u32'>;
};

/**
 * Counts how often each value occurs in every zone of a window. Sorts the cells by zone and value, then measures
 * the length of each run of equal pairs of zone and value.
 */
export function windowUnique(
  context: Context,
  sample: Sample,
  coverage: Coverage,
  cells: Column<'u32'>,
  classifier: Classifier,
): UniqueCounts {
  return context.scope(() => {
    const rows = zoneCells(context, zoneRows(context, coverage), cells, classifier);
    return isWide(sample) ? wideUnique(sample, rows) : narrowUnique(sample, rows);
  });
}

function narrowUnique(sample: NarrowSample, { zone, raw }: ZoneCells): UniqueCounts {
  const ordered = map(orderedFunctor(sample), { raw });
  const present = copyIf({ lo: ordered, hi: zone }, map(isPresent, { zone }));
  const { keys, values } = runLengthEncode(sort(present));
  return { zone: keys.hi, value: keys.lo, count: values };
}

/** Sorts by value, and then by zone, which keeps the order of the values of a zone. */
function wideUnique(sample: WideSample, { zone, raw, high }: ZoneCells): UniqueCounts {
  const ordered = map(orderedWideFunctor(sample), { raw, high });
  const present = copyIf({ ...ordered, zone }, map(isPresent, { zone }));
  const byValue = sortByKey({ lo: present.lo, hi: present.hi }, { zone: present.zone });
  const sorted = sortByKey(byValue.values.zone, byValue.keys);
  const { keys, values } = runLengthEncode({ zone: sorted.keys, ...sorted.values });
  return { zone: keys.zone, value: keys.lo, high: keys.hi, count: values };
}

const orderedFunctor = (sample: NarrowSample) =>
  fn('ordered', { raw: u32 }, u32, ({ raw }) => orderedRaw(sample, [raw])[0]!);

const orderedWideFunctor = (sample: WideSample) =>
  fn('orderedWide', { raw: u32, high: u32 }, { lo: u32, hi: u32 }, ({ raw, high }) => {
    const [lo, hi] = orderedRaw(sample, [raw, high]);
    return { lo: lo!, hi: hi! };
  });

const isPresent = fn('isPresent', { zone: u32 }, bool, ({ zone }) => zone.ne(ABSENT));

/** Bytes per cell during the sort: for its zone and value, for a second copy of both, and for the runs. */
const BYTES_PER_CELL = 32;
const BYTES_PER_WIDE_CELL = 72;

/** Upper bound of the bytes of device memory that {@link windowUnique} takes. */
export function uniqueBytes({ rows }: WindowPlan, sample: Sample): number {
  return rows * 32 * (isWide(sample) ? BYTES_PER_WIDE_CELL : BYTES_PER_CELL);
}
