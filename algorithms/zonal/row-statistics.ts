import { For, If, Var } from '../../primitives/functors/control.ts';
import { array, bool, type Functor, fn, type Parameters, u32, uniform } from '../../primitives/functors/functor.ts';
import type { Shape } from '../../primitives/functors/shapes.ts';
import { clz, ctz } from '../../primitives/functors/standard/bits.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import type { ArrayValue, U32 } from '../../primitives/functors/value.ts';
import { createVariants } from '../../primitives/ir/memo.ts';
import type { Sample } from '../geometry/raster.ts';
import type { Captured, Classifier } from './binning.ts';
import { GROUP_OFFSET, WIDE_BYTES, WIDE_COUNTERS } from './exact-sums.ts';
import { ABSENT } from './window-plan.ts';
import { orderedRaw } from './zone-cells.ts';

type Word = typeof u32;
type RowParameters = { readonly cell: Word; readonly mask: Word; readonly cells: ReturnType<typeof array<'u32'>> };
type FloatParameters = RowParameters & { readonly home: UniformWord };

const rowParameters: RowParameters = { cell: u32, mask: u32, cells: array(u32) };
const floatParameters: FloatParameters = { ...rowParameters, home: uniform(u32) };

type Integers = {
  readonly min: Word;
  readonly max: Word;
  readonly lo: Word;
  readonly hi: Word;
  readonly data: Word;
};
type Floats = Integers & { readonly belowLo: Word; readonly belowHi: Word; readonly wide: Word };
type UniformWord = ReturnType<typeof uniform<'u32'>>;
type RowFunctor<R extends Shape, P extends Parameters> = (classifier: Classifier, sample: Sample) => Functor<P, R>;

/**
 * Statistics of a row of up to 32 integers: minimum and maximum as ordered words (u32 words that compare like the
 * values), the sum of the ordered words as a u64, and the number of values.
 */
export const rowOfIntegers: RowFunctor<Integers, RowParameters> = perClassifier((classifier, sample) =>
  fn(
    'rowOfIntegers',
    { ...rowParameters, ...classifier.parameters } as RowParameters,
    { min: u32, max: u32, lo: u32, hi: u32, data: u32 },
    ({ cell, mask, cells, ...captured }) => {
      const [min, max] = [Var(u32(ABSENT)), Var(u32(0))];
      const [lo, hi, data] = [Var(u32(0)), Var(u32(0)), Var(u32(0))];
      forEachValue(classifier, captured as Captured, { cell, mask, cells }, (raw) => {
        const value = orderedRaw(sample, raw);
        min.set(min.min(value));
        max.set(max.max(value));
        lo.set(lo.add(value));
        data.set(data.add(1));
        // Only sums of 32-bit values can overflow `lo`: the sum of 32 values of 16 bits fits in one word.
        if (sample === 'u32' || sample === 'i32') hi.set(hi.add(u32(lo.lt(value))));
      });
      return { min, max, lo, hi, data };
    },
  ),
);

/**
 * Statistics of a row of up to 32 f32 values: minimum and maximum as ordered words (u32 words that compare like the
 * values), the number of values, and the sums of two groups of exponents. These groups are `home` and the next lower
 * one; their sums are i64 in the units of the groups. `wide` is 0 only if the values of other groups are all zero or
 * infinite.
 *
 * Adjacent values mostly have the same sign and exponent. Such values form a run. The significands of a run are added
 * without a shift, which cannot overflow for 32 values, and only the sum of the run is shifted. The minimum and maximum
 * of a run are found among the stored words.
 */
export const rowOfFloats: RowFunctor<Floats, FloatParameters> = perClassifier((classifier) => {
  return fn(
    'rowOfFloats',
    { ...floatParameters, ...classifier.parameters } as FloatParameters,
    { min: u32, max: u32, lo: u32, hi: u32, data: u32, belowLo: u32, belowHi: u32, wide: u32 },
    ({ cell, mask, cells, home, ...rest }) => {
      const captured = rest as Captured;
      const totals = emptyTotals();
      const run = {
        head: Var(u32(NO_HEAD)),
        count: Var(u32(0)),
        sum: Var(u32(0)),
        min: Var(u32(0)),
        max: Var(u32(0)),
      };
      const isMixed = Var(bool(false));
      const near = Var(u32(0));
      const countsNear = classifier.slots.near !== classifier.slots.nodata;
      const take = (raw: U32): void => {
        run.count.set(run.count.add(1));
        run.sum.set(run.sum.add(raw.and(0x7fffff)));
        run.min.set(run.min.min(raw));
        run.max.set(run.max.max(raw));
      };
      forEachCell({ cell, mask, cells }, (raw) => {
        const head = raw.shr(23);
        If(head.ne(run.head), () => {
          addRun(totals, run, home);
          startRun(run, head);
          isMixed.set(classifier.mayLackData(head, captured));
        });
        If(isMixed, () => {
          If(classifier.isData(raw, captured), () => take(raw)).Else(() => {
            if (countsNear) near.set(near.add(select(u32(0), u32(1), classifier.isNear(raw, captured))));
          });
        }).Else(() => take(raw));
      });
      addRun(totals, run, home);
      const { min, max, lo, hi, data, belowLo, belowHi, wide } = totals;
      return { min, max, lo, hi, data: data.or(near.shl(NEAR_SHIFT)), belowLo, belowHi, wide };
    },
  );
});

/**
 * Position, in the word `data` of a row, of the number of cells that match the nodata value without being equal to it.
 * The bits below hold the number of cells with data.
 */
export const NEAR_SHIFT = 8;

/** Initial `head` (sign and exponent) of a run. No f32 has this sign and exponent. */
const NO_HEAD = 0x200;

type Total = ReturnType<typeof Var<'u32'>>;
type Totals = Readonly<Record<'min' | 'max' | 'lo' | 'hi' | 'data' | 'belowLo' | 'belowHi' | 'wide', Total>>;
type RunOfValues = Readonly<Record<'head' | 'count' | 'sum' | 'min' | 'max', Total>>;

function emptyTotals(): Totals {
  const zero = (): Total => Var(u32(0));
  const sums = { lo: zero(), hi: zero(), belowLo: zero(), belowHi: zero() };
  return { min: Var(u32(ABSENT)), max: zero(), ...sums, data: zero(), wide: zero() };
}

function startRun(run: RunOfValues, head: U32): void {
  run.head.set(head);
  run.count.set(0);
  run.sum.set(0);
  run.min.set(ABSENT);
  run.max.set(0);
}

/** Adds a run of values with the same sign and exponent to the totals of a row. */
function addRun(totals: Totals, run: RunOfValues, home: U32): void {
  If(run.count.ne(0), () => {
    const { min, max, lo, hi, data, belowLo, belowHi, wide } = totals;
    // Among negative values, the larger stored word is the smaller value. So `run.min` and `run.max` are compared again
    // as ordered words.
    const [one, other] = [orderedRaw('f32', run.min), orderedRaw('f32', run.max)];
    min.set(min.min(one.min(other)));
    max.set(max.max(one.max(other)));
    data.set(data.add(run.count));
    const term = termOf(run);
    const below = home.sub(term.group);
    If(below.eq(0), () => {
      lo.set(lo.add(term.lo));
      hi.set(hi.add(term.hi).add(u32(lo.lt(term.lo))));
    })
      .ElseIf(
        () => below.eq(1),
        () => {
          belowLo.set(belowLo.add(term.lo));
          belowHi.set(belowHi.add(term.hi).add(u32(belowLo.lt(term.lo))));
        },
      )
      .Else(() => wide.set(wide.or(term.lo).or(term.hi)));
  });
}

/** The sum of a run as an i64 in the unit of its group of exponents. It is 0 if the values of the run are infinite. */
function termOf({ head, count, sum }: RunOfValues): { readonly group: U32; readonly lo: U32; readonly hi: U32 } {
  const exponent = head.and(0xff);
  const implicit = select(u32(0), count.shl(23), exponent.ne(0));
  const significands = select(sum.add(implicit), u32(0), exponent.eq(0xff));
  const { group, lo, hi } = placed(significands, exponent);
  // Negates the sum of negative values in two's complement: inverts all bits and adds one.
  const sign = head.shr(8);
  const turn = u32(0).sub(sign);
  return { group, lo: lo.xor(turn).add(sign), hi: hi.xor(turn).add(select(u32(0), sign, lo.eq(0))) };
}

/** The magnitude of a value as a u64 in the unit of its group of exponents. It is 0 if the value is infinite. */
function magnitudeOf(raw: U32): { readonly group: U32; readonly lo: U32; readonly hi: U32 } {
  const exponent = raw.shr(23).and(0xff);
  const implicit = select(u32(0), u32(0x800000), exponent.ne(0));
  const significand = select(raw.and(0x7fffff).or(implicit), u32(0), exponent.eq(0xff));
  return placed(significand, exponent);
}

/**
 * Shifts a sum of significands with the same exponent, so that it is a u64 in the unit of the group of this exponent.
 */
function placed(significands: U32, exponent: U32): { readonly group: U32; readonly lo: U32; readonly hi: U32 } {
  const place = exponent.max(1).add(GROUP_OFFSET);
  const shift = place.and(31);
  return {
    group: place.shr(5),
    lo: significands.shl(shift),
    hi: significands.shr(1).shr(u32(31).sub(shift)),
  };
}

/**
 * Byte number `byte` of the magnitude of a value, and the index of the counter to which the byte is added. The index is
 * ABSENT for values of the home group and the next lower one, which have no such counters; see {@link WIDE_COUNTERS}.
 */
export const wideDigit: Functor<
  { readonly zone: Word; readonly raw: Word; readonly byte: UniformWord; readonly home: UniformWord },
  { readonly counter: Word; readonly value: Word }
> = fn(
  'wideDigit',
  { zone: u32, raw: u32, byte: uniform(u32), home: uniform(u32) },
  { counter: u32, value: u32 },
  ({ zone, raw, byte, home }) => {
    const { group, lo, hi } = magnitudeOf(raw);
    const word = select(hi, lo, byte.lt(4));
    const counter = zone
      .mul(WIDE_COUNTERS)
      .add(group.mul(2).add(raw.shr(31)).mul(WIDE_BYTES))
      .add(byte);
    const isWide = zone.ne(ABSENT).and(home.sub(group).gt(1));
    return { counter: select(u32(ABSENT), counter, isWide), value: word.shr(byte.and(3).shl(3)).and(0xff) };
  },
);

/** A row of 32 cells: the index of its first cell, and a mask of the cells that are in the zone. */
interface CellRow {
  readonly cell: U32;
  readonly mask: U32;
  readonly cells: ArrayValue<'u32'>;
}

/** Calls `body` for each cell of a row that is in the zone and has data. */
function forEachValue(classifier: Classifier, captured: Captured, row: CellRow, body: (raw: U32) => void): void {
  forEachCell(row, (raw) => {
    If(classifier.isData(raw, captured), () => body(raw));
  });
}

/** Calls `body` for each cell of a row that is in the zone. */
function forEachCell({ cell, mask, cells }: CellRow, body: (raw: U32) => void): void {
  For(ctz(mask), u32(32).sub(clz(mask)), (rank) => {
    If(mask.shr(rank).and(1).eq(1), () => body(cells.at(cell.add(rank))));
  });
}

/** Caches one functor per classifier. One functor is enough, because a classifier has only one sample type. */
function perClassifier<F extends object>(
  define: (classifier: Classifier, sample: Sample) => F,
): (classifier: Classifier, sample: Sample) => F {
  const variantOf = createVariants<Classifier, F>(1);
  return (classifier, sample) => variantOf(classifier, sample, () => define(classifier, sample));
}
