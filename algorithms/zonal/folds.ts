import { Var } from '../../primitives/functors/control.ts';
import { u32 } from '../../primitives/functors/functor.ts';
import type { U32 } from '../../primitives/functors/value.ts';
import type { Sample } from '../geometry/raster.ts';
import type { Fold } from './fold.ts';
import { valueOfOrderedWord } from './ordered-words.ts';
import { powerSum } from './power-sums.ts';
import type { Folded } from './statistic-kinds.ts';
import { ABSENT } from './window-plan.ts';
import { orderedRaw } from './zone-cells.ts';

/** Minimum and maximum, in ordered words. Both are found in one fold, because negative values of f32 swap them. */
function extremes(sample: Sample): Fold {
  return {
    name: 'extremes',
    fields: { minimum: 'number', maximum: 'number' },
    rowWords: 2,
    neutral: [ABSENT, 0],
    begin() {
      const [min, max] = [Var(u32(ABSENT)), Var(u32(0))];
      const add = (low: U32, high: U32): void => {
        min.set(min.min(low));
        max.set(max.max(high));
      };
      if (sample !== 'f32') return { words: [min, max], take: (word) => add(word, word) };
      const [least, most] = [Var(u32(0)), Var(u32(0))];
      return {
        words: [min, max],
        beginRun() {
          least.set(ABSENT);
          most.set(0);
        },
        take(raw) {
          least.set(least.min(raw));
          most.set(most.max(raw));
        },
        endRun() {
          // Among negative values, the larger stored word is the smaller value. So both are compared again as ordered
          // words.
          const [one, other] = [orderedRaw('f32', least), orderedRaw('f32', most)];
          add(one.min(other), one.max(other));
        },
      };
    },
    combine: ([min, max], [otherMin, otherMax]) => [min!.min(otherMin!), max!.max(otherMax!)],
    read([min, max], sums) {
      sums.minimum = valueOfOrderedWord(sample, min!);
      sums.maximum = valueOfOrderedWord(sample, max!);
      return min !== ABSENT || max !== 0;
    },
    add(sums, { minimum, maximum }) {
      sums.minimum = Math.min(sums.minimum, minimum);
      sums.maximum = Math.max(sums.maximum, maximum);
    },
    isPossible: ({ minimum, maximum }) => minimum <= maximum,
  };
}

/** All folds, in the order of their fields in parts that processes exchange. */
const FOLDS: readonly ((sample: Sample) => Fold)[] = [
  extremes,
  (sample) => powerSum('sum', 1, sample),
  (sample) => powerSum('squares', 2, sample),
];

const known = new Map<string, readonly Fold[]>();

/** The folds that give some fields. They are the same objects for the same sample type and fields. */
export function foldsOf(sample: Sample, fields: ReadonlySet<keyof Folded>): readonly Fold[] {
  const key = [sample, ...fields].join();
  const folds = known.get(key) ?? FOLDS.map((fold) => fold(sample)).filter((fold) => givesAny(fold, fields));
  known.set(key, folds);
  return folds;
}

function givesAny(fold: Fold, fields: ReadonlySet<keyof Folded>): boolean {
  return Object.keys(fold.fields).some((field) => fields.has(field as keyof Folded));
}
