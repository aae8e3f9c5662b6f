import { u32 } from '../../primitives/functors/functor.ts';
import type { U32 } from '../../primitives/functors/value.ts';
import { isFloat, SAMPLE_BYTES, type Sample } from '../geometry/raster.ts';
import { type Power, type PowerLayout, signedWholeOf, WEIGHT_BITS, WEIGHTED } from './exact-sums.ts';
import type { SumField, WeightedFold, Words } from './fold.ts';
import {
  addTo,
  addWords,
  beginGroups,
  groupedSum,
  shifted,
  signed,
  squareOf,
  sumFold,
  summandOf,
  timesWord,
  WINDOW_BITS,
  type ZoneSum,
  zeros,
} from './power-sums.ts';
import type { Folded } from './statistic-kinds.ts';

/**
 * The folds of weights, and of weighted values and squares. Weights are whole numbers, so everything is exact.
 *
 * @param fields - Which of `sum` and `squares` are wanted.
 */
export function weightedFolds(sample: Sample, fields: ReadonlySet<keyof Folded>): readonly WeightedFold[] {
  const key = [sample, fields.has('sum'), fields.has('squares')].join();
  const folds = known.get(key) ?? [
    weights('area', ({ words, add }) => ({ words, take: (_, weight) => add(weight) })),
    weights('lacking', ({ words, add }) => ({ words, take: () => undefined, lack: add })),
    ...(fields.has('sum') ? [weightedPowers('sum', 1, sample)] : []),
    ...(fields.has('squares') ? [weightedPowers('squares', 2, sample)] : []),
  ];
  known.set(key, folds);
  return folds;
}

const known = new Map<string, readonly WeightedFold[]>();

interface WeightedWords extends ZoneSum, Pick<WeightedFold, 'begin'> {}

/** Signed integers of some words, lowest first. */
function wholeSum(words: number): ZoneSum {
  return {
    rowWords: words,
    neutral: Array(words).fill(0),
    combine: addWords,
    integer: signedWholeOf,
  };
}

/** A sum of weights. */
function weights(
  name: SumField,
  begin: (sum: { readonly words: Words; add(weight: U32): void }) => ReturnType<WeightedFold['begin']>,
): WeightedFold {
  return sumFold(name, {
    ...wholeSum(2),
    begin() {
      const words = zeros(2);
      return begin({ words, add: (weight) => addTo(words, [weight, u32(0).sub(weight.shr(31))]) });
    },
  });
}

/** A sum of powers times weights. */
function weightedPowers(name: SumField, power: Power, sample: Sample): WeightedFold {
  const sum = isFloat(sample) ? floatSum(power, WEIGHTED[sample][power]) : integerSum(power, 8 * SAMPLE_BYTES[sample]);
  return sumFold(name, sum);
}

/** Powers of ordered words, which are unsigned integers of `bits` bits. */
function integerSum(power: Power, bits: number): WeightedWords {
  const words = Math.ceil((power * bits + WEIGHT_BITS + WINDOW_BITS + 1) / 32);
  return {
    ...wholeSum(words),
    begin() {
      const sums = zeros(words);
      return {
        words: sums,
        take(value, weight) {
          const sign = weight.shr(31);
          const product = timesWord(power === 1 ? value : squareOf(value), signed([weight], sign)[0]!);
          // Words that the sum does not have are 0.
          const whole = Array.from({ length: words }, (_, i) => product[i] ?? u32(0));
          addTo(sums, signed(whole, sign));
        },
      };
    },
  };
}

function floatSum(power: Power, layout: PowerLayout): WeightedWords {
  // The product has a word more than the power, and what is shifted another.
  const ofRow = power * layout.form.words + 2;
  return {
    ...groupedSum(power, layout, ofRow),
    begin(homes) {
      const groups = beginGroups(homes[power], ofRow);
      return {
        words: groups.words,
        take(raw, weight) {
          const { magnitude, sign, place } = summandOf(power, layout, raw, weight);
          groups.add({ group: place.shr(5), words: signed(shifted(magnitude, place.and(31)), sign) });
        },
      };
    },
  };
}
