import { If, Var } from '../../primitives/functors/control.ts';
import { u32 } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import type { Bool, U32 } from '../../primitives/functors/value.ts';
import { isWide, type Sample } from '../geometry/raster.ts';
import { isPlaceOn } from './cell-order.ts';
import type { Fold, RowFold, Words } from './fold.ts';
import { orderedKey, valueOfOrderedWord } from './ordered-words.ts';
import { storableValue } from './wide-keys.ts';
import { isBelow, orderedWords, valueOfOrderedWords } from './wide-words.ts';
import { ABSENT } from './window-plan.ts';

/** The rank of no cell of a row. */
const NO_RANK = 32;

/**
 * Minimum and maximum, each with the place of the first cell that has it. Those of a row have its rank in the row, those
 * of a zone the number of the cell in the window. It has the fields of `extremes`, and takes more time.
 */
export function placedExtremes(sample: Sample): Fold {
  const width = isWide(sample) ? 2 : 1;
  const type = sample === 'i64' || sample === 'u64' ? 'bigint' : 'number';
  const neutral = [...Array<number>(width).fill(ABSENT), ...Array<number>(width).fill(0), ABSENT, ABSENT];
  const split = <T>(words: readonly T[]) => ({
    ...{ min: words.slice(0, width), max: words.slice(width, 2 * width) },
    ...{ minPlace: words[2 * width]!, maxPlace: words[2 * width + 1]! },
  });
  const valueIn = (words: readonly number[]): number | bigint =>
    isWide(sample) ? valueOfOrderedWords(sample, words[0]!, words[1]!) : valueOfOrderedWord(sample, words[0]!);
  return {
    name: 'places',
    fields: { minimum: type, maximum: type, minimumPlace: 'bigint', maximumPlace: 'bigint' },
    rowWords: neutral.length,
    neutral,
    usesPlaces: true,
    begin: () => beginRow(sample, width),
    widen(row, place) {
      const { min, max, minPlace, maxPlace } = split(row);
      const placeOf = (rank: U32): U32 => select(place!.add(rank), u32(ABSENT), rank.eq(NO_RANK));
      return [...min, ...max, placeOf(minPlace), placeOf(maxPlace)];
    },
    combine(words, others) {
      const [a, b] = [split(words), split(others)];
      const isFirstMin = isFirst(isLess(b.min, a.min), b.min, a.min, b.minPlace.lt(a.minPlace));
      const isFirstMax = isFirst(isLess(a.max, b.max), b.max, a.max, b.maxPlace.lt(a.maxPlace));
      const pick = (one: Words, other: Words, isOther: Bool): Words =>
        one.map((word, i) => select(word, other[i]!, isOther));
      return [
        ...pick(a.min, b.min, isFirstMin),
        ...pick(a.max, b.max, isFirstMax),
        select(a.minPlace, b.minPlace, isFirstMin),
        select(a.maxPlace, b.maxPlace, isFirstMax),
      ];
    },
    read(words, sums, { placeOf }) {
      const { min, max, minPlace, maxPlace } = split(words);
      sums.minimum = valueIn(min);
      sums.maximum = valueIn(max);
      sums.minimumPlace = placeOf(minPlace);
      sums.maximumPlace = placeOf(maxPlace);
      return minPlace !== ABSENT;
    },
    add(sums, { minimum, maximum, minimumPlace, maximumPlace }) {
      if (minimum < sums.minimum || (minimum === sums.minimum && minimumPlace < sums.minimumPlace)) {
        sums.minimum = minimum;
        sums.minimumPlace = minimumPlace;
      }
      if (maximum > sums.maximum || (maximum === sums.maximum && maximumPlace < sums.maximumPlace)) {
        sums.maximum = maximum;
        sums.maximumPlace = maximumPlace;
      }
    },
    isPossible: ({ minimum, maximum, minimumPlace, maximumPlace }, grids) =>
      [minimum, maximum].every((value) => typeof value === type && isStorable(sample, value)) &&
      minimum <= maximum &&
      [minimumPlace, maximumPlace].every((place) => isPlaceOn(place, grids)),
  };
}

function isStorable(sample: Sample, value: number | bigint): boolean {
  return !isWide(sample) || storableValue(sample, value) !== undefined;
}

/** Whether ordered or raw words of one width, the low one first, are below others. */
function isLess(words: Words, others: Words): Bool {
  return words.length === 1 ? words[0]!.lt(others[0]!) : isBelow(words, others);
}

/** Whether words take the place of others: if they are better, or equal and earlier. */
function isFirst(isBetter: Bool, words: Words, others: Words, isEarlier: Bool): Bool {
  const areEqual = words.map((word, i) => word.eq(others[i]!)).reduce((all, one) => all.and(one));
  return isBetter.or(areEqual.and(isEarlier));
}

function beginRow(sample: Sample, width: number): RowFold {
  const least = (): ExtremeOfRow => extremeOfRow(Array<number>(width).fill(ABSENT), isLess);
  const most = (): ExtremeOfRow => extremeOfRow(Array<number>(width).fill(0), (next, word) => isLess(word, next));
  const [min, max] = [least(), most()];
  const words = [...min.words, ...max.words, min.rank, max.rank];
  if (sample !== 'f32' && sample !== 'f64') {
    return {
      words,
      take(next, rank) {
        min.take(next, rank);
        max.take(next, rank);
      },
    };
  }
  const [low, high] = [least(), most()];
  const ordered = (raw: Words): Words => (sample === 'f64' ? orderedWords(sample, raw) : [orderedKey(sample, raw[0]!)]);
  return {
    words,
    beginRun() {
      low.clear();
      high.clear();
    },
    take(raw, rank) {
      low.take(raw, rank);
      high.take(raw, rank);
    },
    endRun() {
      // Among negative values, the larger stored words are the smaller value; so each is taken as either.
      for (const { words: raw, rank } of [low, high]) {
        min.take(ordered(raw), rank);
        max.take(ordered(raw), rank);
      }
    },
  };
}

interface ExtremeOfRow {
  readonly words: Words;
  readonly rank: U32;
  /** Takes a cell if it is better, or the first. */
  take(next: Words, at: U32): void;
  clear(): void;
}

/** The best words of a row, and the rank of the first cell that has them. */
function extremeOfRow(absent: readonly number[], isBetter: (next: Words, word: Words) => Bool): ExtremeOfRow {
  const [words, rank] = [absent.map((word) => Var(u32(word))), Var(u32(NO_RANK))];
  return {
    ...{ words, rank },
    take(next, at) {
      If(rank.eq(NO_RANK).or(isBetter(next, words)), () => {
        words.forEach((word, i) => void word.set(next[i]!));
        rank.set(at);
      });
    },
    clear: () => rank.set(NO_RANK),
  };
}
