import { knownRows } from '../../primitives/columns/length.ts';
import { For, If, Var } from '../../primitives/functors/control.ts';
import { array, bool, fn, u32 } from '../../primitives/functors/functor.ts';
import { clz, ctz, popcount } from '../../primitives/functors/standard/bits.ts';
import { cached } from '../../primitives/host/cache.ts';
import { type Column, type Context, copyIf, map, monoid, reduceByKey, sequence } from '../../primitives/index.ts';
import { memoized } from '../../primitives/ir/memo.ts';
import type { NarrowSample } from '../geometry/raster.ts';
import type { Captured, Classifier } from './binning.ts';
import type { WindowPlan } from './window-plan.ts';
import { orderedRaw, type ZoneRows } from './zone-cells.ts';
import { type CountedRows, NEAR_SHIFT } from './zone-folds.ts';

/** Values of zones: rows of up to 32, ordered by zone, and the cells that they lie in. */
export interface ValueRows {
  /** `mask` has the bits of cells with data. Zones are numbers of a window. */
  readonly rows: ZoneRows;
  readonly cells: Column<'u32'>;
  /** How the cells are stored. Ordered words, which compare like the values, are cells of u32. */
  readonly sample: NarrowSample;
}

/** Numbers of rows and values, by the zones that have rows, ascending. */
type RowCounts<C> = { readonly zone: C; readonly rows: C; readonly values: C };

/** The values of a window, on the device. */
export interface WindowValues extends ValueRows {
  readonly counts: RowCounts<Column<'u32'>>;
}

/** The same when the numbers were read. */
export interface CountedValues extends ValueRows {
  readonly counts: RowCounts<Uint32Array>;
}

/** The values of the zones of a window: the cells of `rows` that have data, which were counted in each row. */
export function windowValues(
  context: Context,
  sample: NarrowSample,
  { zone, cell, mask }: ZoneRows,
  { data }: CountedRows,
  cells: Column<'u32'>,
  classifier: Classifier,
): WindowValues {
  const row = { zone, cell, mask, data, cells, ...classifier.captures };
  // Copied, because an overlay may own the rows.
  const rows = context.materialize(map(dataRow(classifier), row as never) as unknown as ZoneRows);
  const counts = reduceByKey(rows.zone, map(rowCount, { mask: rows.mask }), addCounts);
  return { rows, cells, sample, counts: { zone: counts.keys, ...counts.values } };
}

const rowCount = fn('rowCount', { mask: u32 }, { rows: u32, values: u32 }, ({ mask }) => ({
  rows: u32(1),
  values: popcount(mask),
}));

const addCounts = monoid({
  of: { rows: u32, values: u32 },
  identity: { rows: 0, values: 0 },
  combine: ({ a, b }) => ({ rows: a.rows.add(b.rows), values: a.values.add(b.values) }),
  commutative: true,
  name: 'addCounts',
});

const dataRow = memoized(defineDataRow);

/** The functor that clears the bits of cells without data. Most rows have none, and their cells are not read. */
function defineDataRow(classifier: Classifier) {
  const parameters = { zone: u32, cell: u32, mask: u32, data: u32, cells: array(u32) };
  return fn(
    'dataRow',
    { ...parameters, ...classifier.parameters } as typeof parameters,
    { zone: u32, cell: u32, mask: u32 },
    ({ zone, cell, mask, data, cells, ...captured }) => {
      const found = Var(mask);
      If(popcount(mask).ne(data.and(2 ** NEAR_SHIFT - 1)), () => {
        For(ctz(mask), u32(32).sub(clz(mask)), (rank) => {
          const isData = classifier.isData(classifier.cellAt(cells, cell.add(rank)), captured as Captured);
          If(isData.not(), () => found.set(found.and(u32(1).shl(rank).xor(0xffffffff))));
        });
      });
      return { zone, cell, mask: found };
    },
  );
}

/**
 * Upper bound of the bytes of device memory for {@link windowValues} and for keeping some of them: for each row its
 * columns, the counts of its zone, and its columns once more.
 */
export function windowValuesBytes({ rows }: WindowPlan): number {
  return 4 * rows * (3 + 3 + 3);
}

/** Bytes of a row of {@link copyRows}: 32 values, and the zone, first cell and mask. */
export const BYTES_PER_ROW: number = 4 * (32 + 3);

/**
 * Copies the rows of some zones, of which there are `length`, with their values as ordered words.
 *
 * @param numbers - For each zone its new number, or {@link LEFT_OUT}.
 */
export function copyRows(
  context: Context,
  { rows, cells, sample }: ValueRows,
  numbers: Uint32Array,
  length: number,
): ValueRows {
  return context.scope(() => {
    const zone = map(numberOf, { zone: rows.zone, numbers: context.column(numbers) });
    const chosen = copyIf({ zone, cell: rows.cell, mask: rows.mask }, map(isTaken, { zone }), { capacity: length });
    const kept = knownRows(chosen, length);
    const words = map(wordOf(sample), { index: sequence(32 * length), cell: kept.cell, cells });
    const copy = { zone: kept.zone, mask: kept.mask, cell: sequence(length, 0, 32), words };
    const { words: copied, ...others } = context.materialize(copy);
    return { rows: others, cells: copied, sample: 'u32' };
  });
}

/** Makes a function that defines something once for each type of cells. */
export function bySample<V>(define: (sample: NarrowSample) => V): (sample: NarrowSample) => V {
  const known = new Map<NarrowSample, V>();
  return (sample) => cached(known, sample, () => define(sample));
}

/** Number of a zone that is left out. */
export const LEFT_OUT: number = 2 ** 32 - 1;

/** The number that each zone gets. */
const numberOf = fn('numberOf', { zone: u32, numbers: array(u32) }, u32, ({ zone, numbers }) => numbers.at(zone));

const isTaken = fn('isTaken', { zone: u32 }, bool, ({ zone }) => zone.ne(LEFT_OUT));

const wordOf = bySample(defineWordOf);

function defineWordOf(sample: NarrowSample) {
  return fn('wordOf', { index: u32, cell: array(u32), cells: array(u32) }, u32, ({ index, cell, cells }) => {
    const at = cell.at(index.shr(5)).add(index.and(31));
    return orderedRaw(sample, [cells.at(at)])[0]!;
  });
}
