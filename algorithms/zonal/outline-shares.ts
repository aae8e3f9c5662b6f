import { For, Let, Var } from '../../primitives/functors/control.ts';
import { bool, fn, u32 } from '../../primitives/functors/functor.ts';
import { ctz, popcount } from '../../primitives/functors/standard/bits.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import {
  type Column,
  type Context,
  copyIf,
  expand,
  map,
  monoid,
  reduceByKey,
  sortByKey,
} from '../../primitives/index.ts';
import { createVariants } from '../../primitives/ir/memo.ts';
import { isWide, type Sample } from '../geometry/raster.ts';
import type { Captured, Classifier } from './binning.ts';
import type { Coverage } from './coverage.ts';
import { ONE } from './fractions/line-numbers.ts';
import {
  firstCell,
  OUTLINE_ROW,
  type OutlineCells,
  type OutlineGiven,
  outlineCaptures,
  outlineGiven,
  weightOf,
} from './outline-cells.ts';
import { addWords } from './power-sums.ts';
import { ABSENT } from './window-plan.ts';
import { orderedRaw } from './zone-cells.ts';

/**
 * What the cells on outlines differ from whole cells, for each pair of a zone of the window and a value, or a slot of its
 * histogram: sorted by zone and then by value. `low` and `up` are the words of Σ(c − 1) in units of 2⁻³⁰ of a cell; `over`
 * is the sum of the shares that are negative by their rounding, without their sign.
 */
export type OutlineShares = {
  readonly zone: Column<'u32'>;
  readonly value: Column<'u32'>;
  readonly high?: Column<'u32'>;
  readonly low: Column<'u32'>;
  readonly up: Column<'u32'>;
  readonly over: Column<'u32'>;
};

/**
 * Adds up the shares of cells on outlines by their values (ordered words), of those with data; or by the slots of the
 * histogram, of all that are neither hidden nor held by another raster.
 *
 * - Work O(cells on outlines), sorted by radix. Exact.
 */
export function outlineShares(
  context: Context,
  by: 'value' | 'slot',
  met: OutlineCells,
  coverage: Pick<Coverage, 'plan' | 'tileStarts' | 'pitch'>,
  { sample, cells, classifier }: { readonly sample: Sample; readonly cells: Column<'u32'>; classifier: Classifier },
): OutlineShares {
  return context.scope(() => {
    const { areas, ...rows } = met.outlines;
    const captures = outlineGiven(context, met, coverage, cells, classifier);
    const capacity = areas.length as number;
    const functor = shareFunctor(classifier, sample, by, met.limits !== undefined);
    const bits = map(bitsIn, { bits: rows.bits });
    const all = expand(rows, bits, functor as never, { capacity, captures }) as unknown as Cells;
    const { zone, lo, hi, weight } = copyIf(all, map(isPresent, { zone: all.zone }), { capacity });
    const zoneBits = 32 - Math.clz32(coverage.plan.zones.length);
    if (by === 'value' && isWide(sample)) {
      const byValue = sortByKey({ lo, hi }, { zone, weight });
      const sorted = sortByKey(
        byValue.values.zone,
        { ...byValue.keys, weight: byValue.values.weight },
        { bits: { from: 0, to: zoneBits } },
      );
      const { weight: weights, ...keys } = sorted.values;
      const found = reduceByKey({ zone: sorted.keys, ...keys }, map(sumOf, { weight: weights }), addShares);
      return { zone: found.keys.zone, value: found.keys.lo, high: found.keys.hi, ...found.values };
    }
    const sorted = sortByKey({ lo, hi: zone }, { weight }, { bits: { from: 0, to: 32 + zoneBits } });
    const { keys, values } = reduceByKey(sorted.keys, map(sumOf, sorted.values), addShares);
    return { zone: keys.hi, value: keys.lo, ...values };
  });
}

type Cells = { readonly [field in 'zone' | 'lo' | 'hi' | 'weight']: Column<'u32'> };

/**
 * Number of words that {@link outlineShares} takes, for outlines that enter so many cells: all cells, those that count,
 * twice while they are sorted, and sums.
 */
export function outlineShareWords(cells: number): number {
  return cells * (4 + 4 + 2 * 4 + 3 + 6);
}

const bitsIn = fn('bitsIn', { bits: u32 }, u32, ({ bits }) => popcount(bits));

const isPresent = fn('isPresent', { zone: u32 }, bool, ({ zone }) => zone.ne(ABSENT));

const SUMS = { low: u32, up: u32, over: u32 };

const sumOf = fn('sumOf', { weight: u32 }, SUMS, ({ weight }) => {
  const share = weight.add(ONE);
  const isNegative = share.shr(31).eq(1);
  return { low: weight, up: u32(0).sub(weight.shr(31)), over: select(u32(0), u32(0).sub(share), isNegative) };
});

const addShares = monoid({
  of: SUMS,
  identity: { low: 0, up: 0, over: 0 },
  combine: ({ a, b }) => {
    const [low, up] = addWords([a.low, a.up], [b.low, b.up]);
    return { low: low!, up: up!, over: a.over.add(b.over) };
  },
  commutative: true,
  name: 'addShares',
});

const variantOf = createVariants<Classifier, ReturnType<typeof defineShare>>(4);

function shareFunctor(classifier: Classifier, sample: Sample, by: 'value' | 'slot', isLimited: boolean) {
  return variantOf(classifier, [by, isLimited].join(), () => defineShare(classifier, sample, by, isLimited));
}

/** The functor that gives the cell of bit number `rank` among those of a row. The zone is absent if it does not count. */
function defineShare(classifier: Classifier, sample: Sample, by: 'value' | 'slot', isLimited: boolean) {
  return fn(
    'outlineShare',
    { zone: u32, rank: u32, ...OUTLINE_ROW, ...outlineCaptures(classifier, isLimited) },
    { zone: u32, lo: u32, hi: u32, weight: u32 },
    ({ zone, rank, ...all }) => {
      const given = all as typeof all & OutlineGiven;
      const captured = all as unknown as Captured;
      const rest = Var(all.bits);
      For(0, rank, () => rest.set(rest.and(rest.sub(1))));
      const bit = Let(ctz(rest));
      // What is hidden, or held by another raster, has no value and no bin.
      const seen = given.visible ? all.bits.and(given.visible.at(all.word)) : all.bits;
      const isSeen = seen.shr(bit).and(1).eq(1);
      const raw = classifier.cellAt(all.cells, firstCell(all, given).add(bit)).map((word) => Let(word));
      const weight = weightOf(all, bit, given);
      if (by === 'slot') {
        return { zone: select(u32(ABSENT), zone, isSeen), lo: classifier.slotOf(raw, captured), hi: u32(0), weight };
      }
      const isData = isSeen.and(classifier.isData(raw, captured));
      const [lo, hi] = orderedRaw(sample, raw);
      return { zone: select(u32(ABSENT), zone, isData), lo: lo!, hi: hi ?? u32(0), weight };
    },
  );
}
