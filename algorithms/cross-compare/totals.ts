import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aNumber, anInstance, aRecord, aText, type FieldKinds, type Kind } from '../../primitives/checks/kinds.ts';
import { meanOf } from './areas.ts';
import { aMatching, type MatchMethod, type MatchOptions } from './matching.ts';
import type { TileComparison } from './tile-comparison.ts';

/** A number for each side. */
export interface BothSides {
  readonly p: number;
  readonly q: number;
}

/**
 * Number of bins of the histogram of ratios. Bin k counts ratios from k ÷ 50 to below (k + 1) ÷ 50; the last bin
 * includes 1.
 */
export const RATIO_BINS = 50;

/** Quality of the one-to-one matches, with `q` as detections and `p` as the truth. */
export interface MatchFigures {
  readonly minIou: number;
  readonly method: MatchMethod;
  readonly matches: number;
  /** Precision: matches ÷ polygons of `q`; NaN if `q` has none. */
  readonly precision: number;
  /** Recall: matches ÷ polygons of `p`; NaN if `p` has none. */
  readonly recall: number;
  /** F1 score: 2 · matches ÷ polygons of both sides; NaN if neither side has polygons. */
  readonly f1: number;
  /** Mean intersection over union of the matches; NaN if there are none. */
  readonly meanIou: number;
}

/** The comparison of two result sets. */
export interface Comparison {
  /**
   * J′: the mean of the ratio ‖p ∩ q‖ ÷ ‖p ∪ q‖ over all pairs whose intersection is not empty, from 0 to 1. NaN if
   * there is no such pair, even if both sides are empty.
   */
  readonly similarity: number;
  /** Number of pairs with common area. */
  readonly pairs: number;
  /** Number of pairs whose boxes have common area. `meeting` is the number of pairs whose boxes overlap or touch. */
  readonly candidates: number;
  readonly meeting: number;
  readonly polygons: BothSides;
  /** For each side, the number of polygons that share no area with any polygon of the other side. */
  readonly missing: BothSides;
  readonly matching: MatchFigures;
  /** Histogram of the ratios of all pairs with common area, in {@link RATIO_BINS} bins. */
  readonly histogram: Float64Array;
  /** Number of tiles compared, including tiles that only one side has. */
  readonly tiles: number;
}

const bothSides: Kind = aRecord<BothSides>({ p: aNumber, q: aNumber });

export const comparisonFields: FieldKinds<Comparison> = {
  similarity: aNumber,
  pairs: aNumber,
  candidates: aNumber,
  meeting: aNumber,
  polygons: bothSides,
  missing: bothSides,
  matching: aRecord<MatchFigures>({
    minIou: aNumber,
    method: aText,
    matches: aNumber,
    precision: aNumber,
    recall: aNumber,
    f1: aNumber,
    meanIou: aNumber,
  }),
  histogram: anInstance(Float64Array),
  tiles: aNumber,
};

/** Adds up the comparisons of tiles. */
export interface Totals {
  add(tile: TileComparison): void;
  /** The totals of the tiles added so far. */
  comparison(): Comparison;
}

/**
 * Adds up the comparisons of tiles. The state consists of counts and exact sums. So the result has the same bits in
 * every order of tiles and on every device. J′ and the mean ratio of matches are within 2⁻⁵¹ of the exact mean of the
 * ratios.
 *
 * @example
 * const { similarity, pairs } = totalsOf({ minIou: 0.5, method: 'optimal' }).comparison();
 * [similarity, pairs]; // [NaN, 0]
 */
export function totalsOf(matching: MatchOptions): Totals {
  requireArguments('totalsOf', { matching }, { matching: aMatching });
  const sums = { tiles: 0, pairs: 0, candidates: 0, meeting: 0, matches: 0 };
  const [polygons, missing] = [
    { p: 0, q: 0 },
    { p: 0, q: 0 },
  ];
  const histogram = new Float64Array(RATIO_BINS);
  let [ratioSum, matchedSum] = [0n, 0n];
  return {
    add(tile) {
      sums.tiles++;
      sums.pairs += tile.pairs.p.length;
      sums.candidates += tile.candidates;
      sums.meeting += tile.meeting;
      sums.matches += tile.matches;
      for (const side of ['p', 'q'] as const) {
        polygons[side] += tile[side].polygons;
        missing[side] += tile[side].missing.length;
      }
      for (const ratio of tile.pairs.ratio) histogram[binOf(ratio)]!++;
      ratioSum += tile.ratioSum;
      matchedSum += tile.matchedSum;
    },
    comparison() {
      const { matches, ...counts } = sums;
      return {
        similarity: meanOf(ratioSum, sums.pairs),
        ...counts,
        polygons: { ...polygons },
        missing: { ...missing },
        matching: { ...matching, ...figuresOf(matches, polygons), meanIou: meanOf(matchedSum, matches) },
        histogram: histogram.slice(),
      };
    },
  };
}

function binOf(ratio: number): number {
  const bin = Math.floor(ratio * RATIO_BINS);
  // The product `ratio * RATIO_BINS` is rounded, so `bin` may be one too low. For example, 0.58 is the f64 nearest to
  // 29 ÷ 50, but 0.58 · 50 is below 29.
  const belongsAbove = ratio >= (bin + 1) / RATIO_BINS;
  return Math.min(RATIO_BINS - 1, belongsAbove ? bin + 1 : bin);
}

function figuresOf(matches: number, { p, q }: BothSides): Omit<MatchFigures, 'minIou' | 'method' | 'meanIou'> {
  return { matches, precision: matches / q, recall: matches / p, f1: (2 * matches) / (p + q) };
}
