import { Let } from '../../primitives/functors/control.ts';
import { u32 } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import type { U32 } from '../../primitives/functors/value.ts';
import { type Cells, isFloat, type Sample } from '../geometry/raster.ts';
import {
  type Exponent,
  exponentsOf,
  FLAWS,
  FLOATS,
  type Float,
  type HomeGroups,
  type ProductKey,
  type ProductLayout,
  productLayout,
} from './exact-sums.ts';
import type { ProductField, Words, ZoneFold } from './fold.ts';
import { addWords, beginGroups, groupedSum, shifted, signed, sumFold, summandOf, timesWord } from './power-sums.ts';

/** A product with a weight: a magnitude that is shifted left by `place` bits in the unit of its sum. */
interface Product {
  readonly magnitude: Words;
  readonly sign: U32;
  readonly place: U32;
}

/** A sum of products over the cells of zones. */
export interface ProductFold extends ZoneFold {
  readonly key: ProductKey;
  readonly sums: ProductLayout;
  begin(home: U32): { readonly words: Words; take(product: Product): void };
}

const FIELDS: readonly ProductField[] = ['weights', 'products', 'productsOfSquares'];

const known = new Map<string, readonly ProductFold[]>();

/**
 * The folds of Σw, Σwx and Σwx², which are exact: weights and floats are integers times powers of two. Integers are folded
 * as ordered words.
 *
 * @param powers - How many of them.
 * @param hasShares - Whether shares of cells are factors, too.
 */
export function productFolds(
  sample: Sample,
  weights: Float,
  powers: number,
  hasShares: boolean,
): readonly ProductFold[] {
  const key = [sample, weights, powers, hasShares].join();
  const folds =
    known.get(key) ??
    FIELDS.slice(0, powers).map((field, at) => {
      const power = at as Exponent;
      return foldOf(field, `w${power}`, productLayout(sample, weights, power, hasShares));
    });
  known.set(key, folds);
  return folds;
}

function foldOf(field: ProductField, key: ProductKey, sums: ProductLayout): ProductFold {
  const { words, rowWords } = sums;
  return {
    ...sumFold(field, groupedSum(key, sums, rowWords)),
    ...{ key, sums },
    begin(home) {
      const groups = beginGroups(home, rowWords);
      return {
        words: groups.words,
        take({ magnitude, sign, place }) {
          const whole = [...shifted(magnitude, place.and(31)), ...(rowWords > words + 1 ? [u32(0)] : [])];
          groups.add({ group: place.shr(5), words: signed(whole, sign) });
        },
      };
    },
  };
}

/**
 * The products of a weight and the powers of a value, one for each fold, in the code of functors.
 *
 * @param raw - The stored words of a float, or the ordered words of an integer.
 */
export function productsOf(
  folds: readonly ProductFold[],
  sample: Sample,
  weights: Float,
  raw: Words,
  weight: Words,
  share: U32 | undefined,
): readonly Product[] {
  const value = isFloat(sample) ? floatOf(sample, raw) : { magnitude: raw, sign: u32(0), place: u32(0) };
  const products = [floatOf(weights, weight, share)];
  for (const { sums } of folds.slice(1)) {
    const { magnitude, sign, place } = products.at(-1)!;
    products.push({
      // Words beyond those of a product are 0.
      magnitude: timesWords(magnitude, value.magnitude).slice(0, sums.words),
      sign: sign.xor(value.sign),
      place: Let(place.add(value.place)),
    });
  }
  return products;
}

/** A stored float, times a factor. */
function floatOf(sample: Float, stored: Words, factor?: U32): Product {
  return summandOf(1, { form: FLOATS[sample], offset: 0 }, stored, factor);
}

/** The product of two integers, in as many words as both have. */
function timesWords(a: Words, b: Words): Words {
  return b.slice(1).reduce<Words>(
    (sum, word, at) => {
      const [low, high] = [sum.slice(0, at + 1), sum.slice(at + 1)];
      return [...low, ...addWords([...high, u32(0)], timesWord(a, word))];
    },
    timesWord(a, b[0]!),
  );
}

/** What is wrong with the weights of the cells with data of a zone: bits of {@link FLAWS}. */
const UNWEIGHTED: ZoneFold = {
  name: 'unweighted',
  fields: { unweighted: 'number' },
  rowWords: 1,
  neutral: [0],
  combine: ([a], [b]) => [a!.or(b!)],
  read([word], sums) {
    sums.unweighted = word!;
    return true;
  },
  add(sums, more) {
    sums.unweighted |= more.unweighted;
  },
  isPossible: ({ unweighted }) => unweighted >= 0 && unweighted <= (FLAWS.missing | FLAWS.negative),
};

/** The folds of whole cells with weights, and of cells on outlines. They are the same objects for the same arguments. */
export function foldsOfWeights(
  sample: Sample,
  weights: Float,
  powers: number,
  isOutline: boolean,
): readonly ZoneFold[] {
  const products = productFolds(sample, weights, powers, isOutline);
  if (isOutline) return products;
  const folds = withFlaws.get(products) ?? [UNWEIGHTED, ...products];
  withFlaws.set(products, folds);
  return folds;
}

const withFlaws = new WeakMap<readonly ZoneFold[], readonly ZoneFold[]>();

/** Bits of {@link FLAWS} of a weight. Infinite ones were replaced by NaN. */
export function flawOf(weights: Float, weight: Words): U32 {
  const { significandBits, exponentBits } = FLOATS[weights];
  const head = weight.at(-1)!.shr((significandBits - 1) & 31);
  const isMissing = head.and(2 ** exponentBits - 1).eq(2 ** exponentBits - 1);
  return select(head.shr(exponentBits).mul(FLAWS.negative), u32(FLAWS.missing), isMissing);
}

/** Number of cells that {@link productHomes} examines. */
const LOOKS = 1024;

/**
 * The home groups of the products of a window: those that, with the next lower ones, have the most products of examined
 * cells.
 */
export function productHomes(
  cells: Cells,
  weights: Cells,
  nodata: number | bigint | undefined,
): Pick<HomeGroups, ProductKey> {
  const [valueAt, weightAt] = [exponentsOf(cells, nodata), exponentsOf(weights, undefined)];
  const held = FIELDS.map(() => new Map<number, number>());
  const step = Math.max(1, Math.floor(weights.length / LOOKS));
  for (let at = 0; at < weights.length; at += step) {
    const [weight, value] = [weightAt(at), valueAt(at)];
    if (weight === undefined || value === undefined) continue;
    held.forEach((groups, power) => {
      const group = (weight + power * value) >> 5;
      groups.set(group, (groups.get(group) ?? 0) + 1);
    });
  }
  const [w0, w1, w2] = held.map(homeAmong) as [number, number, number];
  return { w0, w1, w2 };
}

function homeAmong(held: ReadonlyMap<number, number>): number {
  const withBelow = (group: number): number => (held.get(group) ?? 0) + (held.get(group - 1) ?? 0);
  return [...held.keys()].reduce((home, group) => (withBelow(group) > withBelow(home) ? group : home), 0);
}
