import { If, Var } from '../../primitives/functors/control.ts';
import { u32 } from '../../primitives/functors/functor.ts';
import type { U32, Variable } from '../../primitives/functors/value.ts';
import { isWide, type NarrowSample, type Sample, type WideSample } from '../geometry/raster.ts';
import type { Fold, Words } from './fold.ts';
import { orderedKey, valueOfOrderedWord } from './ordered-words.ts';
import { placedExtremes } from './placed-extremes.ts';
import { powerSum } from './power-sums.ts';
import type { Folded } from './statistic-kinds.ts';
import { storableValue } from './wide-keys.ts';
import { isBelow, orderedWords, sortedPair, valueOfOrderedWords } from './wide-words.ts';
import { ABSENT } from './window-plan.ts';

/** Minimum and maximum, in ordered words. Both are found in one fold, because negative values of f32 swap them. */
function extremes(sample: Sample): Fold {
  return isWide(sample) ? wideExtremes(sample) : narrowExtremes(sample);
}

const EXTREMES: Pick<Fold, 'name' | 'add' | 'isPossible'> = {
  name: 'extremes',
  add(sums, { minimum, maximum }) {
    if (minimum < sums.minimum) sums.minimum = minimum;
    if (maximum > sums.maximum) sums.maximum = maximum;
  },
  isPossible: ({ minimum, maximum }) => minimum <= maximum,
};

/** The same as {@link narrowExtremes} in pairs of words, the low one first. */
function wideExtremes(sample: WideSample): Fold {
  const type = sample === 'f64' ? 'number' : 'bigint';
  return {
    ...EXTREMES,
    fields: { minimum: type, maximum: type },
    isPossible: ({ minimum, maximum }) =>
      [minimum, maximum].every((value) => typeof value === type && storableValue(sample, value) !== undefined) &&
      minimum <= maximum,
    rowWords: 4,
    neutral: [ABSENT, ABSENT, 0, 0],
    begin() {
      const [min, max] = [pairOf(ABSENT), pairOf(0)];
      const add = (low: Words, high: Words): void => {
        If(isBelow(low, min), () => setPair(min, low));
        If(isBelow(max, high), () => setPair(max, high));
      };
      const words = [...min, ...max];
      if (sample !== 'f64') return { words, take: (cell) => add(cell, cell) };
      const [least, most] = [pairOf(0), pairOf(0)];
      return {
        words,
        beginRun() {
          setPair(least, [u32(ABSENT), u32(ABSENT)]);
          setPair(most, [u32(0), u32(0)]);
        },
        take(raw) {
          If(isBelow(raw, least), () => setPair(least, raw));
          If(isBelow(most, raw), () => setPair(most, raw));
        },
        endRun() {
          const [low, high] = sortedPair(orderedWords(sample, least), orderedWords(sample, most));
          add(low, high);
        },
      };
    },
    combine: (a, b) => [...sortedPair(a.slice(0, 2), b.slice(0, 2))[0], ...sortedPair(a.slice(2), b.slice(2))[1]],
    read([minLow, minHigh, maxLow, maxHigh], sums) {
      sums.minimum = valueOfOrderedWords(sample, minLow!, minHigh!);
      sums.maximum = valueOfOrderedWords(sample, maxLow!, maxHigh!);
      return minLow !== ABSENT || minHigh !== ABSENT || maxLow !== 0 || maxHigh !== 0;
    },
  };
}

type Pair = readonly [low: Variable<'u32'>, high: Variable<'u32'>];

function pairOf(word: number): Pair {
  return [Var(u32(word)), Var(u32(word))];
}

function setPair([low, high]: Pair, words: Words): void {
  low.set(words[0]!);
  high.set(words[1]!);
}

function narrowExtremes(sample: NarrowSample): Fold {
  return {
    ...EXTREMES,
    fields: { minimum: 'number', maximum: 'number' },
    rowWords: 2,
    neutral: [ABSENT, 0],
    begin() {
      const [min, max] = [Var(u32(ABSENT)), Var(u32(0))];
      const add = (low: U32, high: U32): void => {
        min.set(min.min(low));
        max.set(max.max(high));
      };
      if (sample !== 'f32') return { words: [min, max], take: ([word]) => add(word!, word!) };
      const [least, most] = [Var(u32(0)), Var(u32(0))];
      return {
        words: [min, max],
        beginRun() {
          least.set(ABSENT);
          most.set(0);
        },
        take([raw]) {
          least.set(least.min(raw!));
          most.set(most.max(raw!));
        },
        endRun() {
          // Among negative values, the larger stored word is the smaller value. So both are compared again as ordered
          // words.
          const [one, other] = [orderedKey('f32', least), orderedKey('f32', most)];
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
  };
}

/** All folds, in the order of their fields in parts that processes exchange. */
function foldsFor(sample: Sample, usesPlaces: boolean): readonly Fold[] {
  return [(usesPlaces ? placedExtremes : extremes)(sample), powerSum('sum', 1, sample), powerSum('squares', 2, sample)];
}

const known = new Map<string, readonly Fold[]>();

/** The folds that give some fields. They are the same objects for the same sample type and fields. */
export function foldsOf(sample: Sample, fields: ReadonlySet<keyof Folded>): readonly Fold[] {
  const key = [sample, ...fields].join();
  const usesPlaces = fields.has('minimumPlace') || fields.has('maximumPlace');
  const folds = known.get(key) ?? foldsFor(sample, usesPlaces).filter((fold) => givesAny(fold, fields));
  known.set(key, folds);
  return folds;
}

function givesAny(fold: Fold, fields: ReadonlySet<keyof Folded>): boolean {
  return Object.keys(fold.fields).some((field) => fields.has(field as keyof Folded));
}
