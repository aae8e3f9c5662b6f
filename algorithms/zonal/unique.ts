import { bool, fn, u32 } from '../../primitives/functors/functor.ts';
import { type Column, type Context, copyIf, map, runLengthEncode, sort } from '../../primitives/index.ts';
import type { Sample } from '../geometry/raster.ts';
import type { Classifier } from './binning.ts';
import type { Coverage } from './coverage.ts';
import { ABSENT, type WindowPlan } from './window-plan.ts';
import { orderedFunctor, zoneCells, zoneRows } from './zone-cells.ts';

/**
 * Number of cells for each pair of a zone of the window and a value that occurs in the zone. Values are ordered words
 * (u32 with the order of the values).
 */
export type UniqueCounts = {
  readonly zone: Column<'u32'>;
  readonly value: Column<'u32'>;
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
    const ordered = map(orderedFunctor(sample), { raw: rows.raw });
    const present = copyIf({ lo: ordered, hi: rows.zone }, map(isPresent, { zone: rows.zone }));
    const { keys, values } = runLengthEncode(sort(present));
    return { zone: keys.hi, value: keys.lo, count: values };
  });
}

const isPresent = fn('isPresent', { zone: u32 }, bool, ({ zone }) => zone.ne(ABSENT));

/** Bytes per cell during the sort: for its zone and value, for a second copy of both, and for the runs. */
const BYTES_PER_CELL = 32;

/** Upper bound of the bytes of device memory that {@link windowUnique} takes. */
export function uniqueBytes({ words }: WindowPlan): number {
  return words * 32 * BYTES_PER_CELL;
}
