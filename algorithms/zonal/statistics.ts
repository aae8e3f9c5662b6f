import { bool, fn, u32 } from '../../primitives/functors/functor.ts';
import type { U32 } from '../../primitives/functors/value.ts';
import {
  type Column,
  type Context,
  constant,
  copyIf,
  map,
  monoid,
  reduceByKey,
  scatterReduce,
} from '../../primitives/index.ts';
import type { Sample } from '../geometry/raster.ts';
import type { Classifier } from './binning.ts';
import type { Coverage } from './coverage.ts';
import { WIDE_BYTES, WIDE_COUNTERS } from './exact-sums.ts';
import { type NEAR_SHIFT, rowOfFloats, rowOfIntegers, wideDigit } from './row-statistics.ts';
import { type ZoneRows, zoneCells, zoneRows } from './zone-cells.ts';

/** Statistics of one window, with a row for every zone that has cells in the window. */
export type WindowStatistics = {
  readonly zone: Column<'u32'>;
  /**
   * Minimum and maximum as ordered words (u32 with the order of the values). If no cell has data, they are ABSENT and
   * 0.
   */
  readonly min: Column<'u32'>;
  readonly max: Column<'u32'>;
  /**
   * For integers, `lo` and `hi` are the sum of the ordered words as a u64, which a window of 2²⁴ cells cannot overflow.
   * For f32, they are the lower two words of the sum of the home group (a range of exponents); see {@link FloatSums}.
   */
  readonly lo: Column<'u32'>;
  readonly hi: Column<'u32'>;
  readonly floats?: FloatSums;
};

/**
 * Rows of 32 cells after reduction: the zone, a mask of the cells in the zone, and the number of these cells that have
 * data, with the number of those that are near the nodata value above {@link NEAR_SHIFT}.
 */
export type CountedRows = {
  readonly zone: Column<'u32'>;
  readonly mask: Column<'u32'>;
  readonly data: Column<'u32'>;
};

/** Statistics of a window, and the rows of cells from which they were computed. */
interface RowTotals {
  readonly statistics: WindowStatistics;
  readonly counted: CountedRows;
}

/**
 * Further words of the sums of f32 values: three-word integers for the home group of exponents and for the next lower
 * group, in the units of these groups. The lower two words for the home group are in {@link WindowStatistics}.
 */
type FloatSums = {
  readonly top: Column<'u32'>;
  readonly belowLo: Column<'u32'>;
  readonly belowHi: Column<'u32'>;
  readonly belowTop: Column<'u32'>;
  /** Sums of all other groups of exponents, in {@link WIDE_COUNTERS} counters for each zone of the window. */
  readonly digits: Column<'u32'>;
};

/**
 * Computes minimum, maximum and sum of the cells of every zone in a window. Reduces each row of 32 cells first, then
 * the adjacent rows of each zone. All arithmetic is exact, in integers. Also returns the rows of cells, because
 * {@link countCells} needs them.
 *
 * @param home - For f32, the group of exponents that is summed fastest; see {@link homeGroup}.
 */
export function windowStatistics(
  context: Context,
  sample: Sample,
  coverage: Coverage,
  cells: Column<'u32'>,
  classifier: Classifier,
  home: number,
): RowTotals {
  return context.scope(() => {
    const rows = zoneRows(context, coverage);
    return sample === 'f32'
      ? floatStatistics(context, coverage, rows, cells, classifier, home)
      : integerStatistics(context, sample, rows, cells, classifier);
  });
}

const addIntegers = monoid({
  of: { min: u32, max: u32, lo: u32, hi: u32 },
  identity: { min: 0xffffffff, max: 0, lo: 0, hi: 0 },
  combine: ({ a, b }) => {
    const lo = a.lo.add(b.lo);
    return {
      min: a.min.min(b.min),
      max: a.max.max(b.max),
      lo,
      hi: a.hi.add(b.hi).add(u32(lo.lt(a.lo))),
    };
  },
  commutative: true,
  name: 'addIntegers',
});

type IntegerRow = {
  readonly min: Column<'u32'>;
  readonly max: Column<'u32'>;
  readonly lo: Column<'u32'>;
  readonly hi: Column<'u32'>;
  readonly data: Column<'u32'>;
};

function integerStatistics(
  context: Context,
  sample: Sample,
  { zone, cell, mask }: ZoneRows,
  cells: Column<'u32'>,
  classifier: Classifier,
): RowTotals {
  const row = rowOfIntegers(classifier, sample);
  // Materialized, because the reduction reads every row several times.
  const { data, ...found } = context.materialize(
    map(row, { cell, mask, cells, ...classifier.captures } as never) as IntegerRow,
  );
  const { keys, values } = reduceByKey(zone, found, addIntegers);
  return { statistics: { zone: keys, ...values }, counted: { zone, mask, data } };
}

type FloatRow = IntegerRow & {
  readonly belowLo: Column<'u32'>;
  readonly belowHi: Column<'u32'>;
  readonly wide: Column<'u32'>;
};

const floatSums = {
  min: u32,
  max: u32,
  lo: u32,
  hi: u32,
  top: u32,
  belowLo: u32,
  belowHi: u32,
  belowTop: u32,
};

const addFloats = monoid({
  of: floatSums,
  identity: { min: 0xffffffff, max: 0, lo: 0, hi: 0, top: 0, belowLo: 0, belowHi: 0, belowTop: 0 },
  combine: ({ a, b }) => {
    const home = add96([a.lo, a.hi, a.top], [b.lo, b.hi, b.top]);
    const below = add96([a.belowLo, a.belowHi, a.belowTop], [b.belowLo, b.belowHi, b.belowTop]);
    return {
      min: a.min.min(b.min),
      max: a.max.max(b.max),
      lo: home[0],
      hi: home[1],
      top: home[2],
      belowLo: below[0],
      belowHi: below[1],
      belowTop: below[2],
    };
  },
  commutative: true,
  name: 'addFloats',
});

type Words = readonly [U32, U32, U32];

function add96(a: Words, b: Words): Words {
  const lo = a[0].add(b[0]);
  const middle = a[1].add(b[1]);
  const carry = u32(lo.lt(a[0]));
  const hi = middle.add(carry);
  return [
    lo,
    hi,
    a[2]
      .add(b[2])
      .add(u32(middle.lt(a[1])))
      .add(u32(hi.lt(carry))),
  ];
}

/** Extends the sums of a row from two to three words. All bits of the third word equal the sign bit of the sum. */
const widenRow = fn(
  'widenRow',
  { min: u32, max: u32, lo: u32, hi: u32, belowLo: u32, belowHi: u32 },
  floatSums,
  ({ hi, belowHi, ...sums }) => ({
    ...sums,
    hi,
    top: u32(0).sub(hi.shr(31)),
    belowHi,
    belowTop: u32(0).sub(belowHi.shr(31)),
  }),
);

const isWide = fn('isWide', { wide: u32 }, bool, ({ wide }) => wide.ne(0));

function floatStatistics(
  context: Context,
  { plan }: Coverage,
  rows: ZoneRows,
  cells: Column<'u32'>,
  classifier: Classifier,
  home: number,
): RowTotals {
  const { zone, cell, mask } = rows;
  const row = map(rowOfFloats(classifier, 'f32'), { cell, mask, cells, home, ...classifier.captures } as never);
  // Materialized, because the reduction reads every row several times.
  const { wide, data, ...sums } = context.materialize(row as FloatRow);
  const { keys, values } = reduceByKey(zone, map(widenRow, sums), addFloats);
  const wideRows = copyIf(rows, map(isWide, { wide }));
  const digits = wideDigits(context, plan.zones.length, wideRows, cells, classifier, home);
  const { min, max, lo, hi, ...floats } = values;
  const statistics = { zone: keys, min, max, lo, hi, floats: { ...floats, digits } };
  return { statistics, counted: { zone, mask, data } };
}

/** Sums the values outside the home group and the next lower one, byte by byte; see {@link WIDE_COUNTERS}. */
function wideDigits(
  context: Context,
  zones: number,
  rows: ZoneRows,
  cells: Column<'u32'>,
  classifier: Classifier,
  home: number,
): Column<'u32'> {
  const digits = context.materialize(constant(u32, 0, zones * WIDE_COUNTERS));
  const found = zoneCells(context, rows, cells, classifier);
  for (let byte = 0; byte < WIDE_BYTES; byte++) {
    const digit = map(wideDigit, { ...found, byte, home });
    scatterReduce(digit.value, digit.counter, 'add', digits);
  }
  return digits;
}
