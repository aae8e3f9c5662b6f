import { aComparison, type CrossComparison } from '../../algorithms/cross-compare/cross-comparison.ts';
import { type BothSides, RATIO_BINS } from '../../algorithms/cross-compare/totals.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aNumber, aRecord, aText, type Kind } from '../../primitives/checks/kinds.ts';

/** The inputs, the backend and the pixel size of a comparison. */
export interface CompareRun {
  /** The files or folders that were compared, as given by the user. */
  readonly a: string;
  readonly b: string;
  /** The backend, such as `workers` or `webgpu (NVIDIA H200)`. */
  readonly backend: string;
  /** Side length of a pixel, in the units of the polygons' coordinates. */
  readonly pixelSize: number;
}

export const aCompareRun: Kind = aRecord<CompareRun>({ a: aText, b: aText, backend: aText, pixelSize: aNumber });

type Figures = Pick<CrossComparison, 'polygons' | 'matching'>;

/** Explanation that summaries and reports show if the similarity J′ is not a number. */
export function noSimilarity({ polygons }: Figures): string {
  const { p, q } = polygons;
  if (p > 0 && q > 0) return 'No pair of polygons has common area, and the mean of no ratios is not defined.';
  return `${nameOfEmpty(polygons)} no polygons, so there is no pair, and the mean of no ratios is not defined.`;
}

function nameOfEmpty({ p, q }: BothSides): string {
  if (p === 0 && q === 0) return 'Both sets have';
  return p === 0 ? 'The first set (A) has' : 'The second set (B) has';
}

/** Explanation which figures of the matching are not numbers, and why; undefined if all are. */
export function noMatching({ polygons, matching }: Figures): string | undefined {
  const { precision, recall, f1, meanIou } = matching;
  const missing = Object.entries({ precision, recall, F1: f1 }).filter(([, figure]) => Number.isNaN(figure));
  const names = missing.map(([name]) => name).join(', ');
  const reasons = [
    ...(missing.length === 0
      ? []
      : [
          `${nameOfEmpty(polygons)} no polygons, so ${names} would divide by 0 and ${missing.length === 1 ? 'is' : 'are'} not defined.`,
        ]),
    ...(Number.isNaN(meanIou) ? ['The mean IoU of no matches is not defined.'] : []),
  ];
  return reasons.length === 0 ? undefined : reasons.join(' ');
}

/**
 * Writes the result of a comparison as one JSON object. `a` is the first result set, `b` the second:
 *
 * ```json
 * {
 *   "source": { "a": "human/", "b": "model/" },
 *   "backend": "workers",
 *   "pixelSize": 1,
 *   "similarity": 0.8125,
 *   "pairs": 4, "candidates": 5, "meeting": 7,
 *   "polygons": { "a": 5, "b": 6 },
 *   "missing": { "a": 1, "b": 2 },
 *   "matching": { "minIou": 0.5, "method": "optimal", "matches": 4, "precision": 0.67, "recall": 0.8, "f1": 0.73, "meanIou": 0.81 },
 *   "histogram": { "width": 0.02, "counts": [0, 0, 1] },
 *   "tiles": { "compared": 2, "onlyA": 0, "onlyB": 1, "skipped": 0 },
 *   "skipped": [{ "tile": "t-07", "code": "format/syntax", "message": "…" }],
 *   "notes": []
 * }
 * ```
 *
 * `similarity` is J′, the mean IoU (intersection over union) of the pairs of polygons with common area. If no pair has
 * common area, `similarity` is null, and an additional member `similarityNote` gives the reason. In `matching`, a
 * quotient with divisor zero is null, too, and `matchingNote` gives the reason. The same inputs give the same bytes, except for `backend`.
 *
 * @example
 * const comparison = totalsOf({ minIou: 0.5, method: 'optimal' }).comparison();
 * const result = { ...comparison, alone: { p: 0, q: 0 }, skipped: [], notes: [] };
 * const run = { a: 'a.png', b: 'b.png', backend: 'reference', pixelSize: 1 };
 * JSON.parse(compareSummary(result, run)).similarity; // null
 */
export function compareSummary(comparison: CrossComparison, run: CompareRun): string {
  requireArguments('compareSummary', { comparison, run }, { comparison: aComparison, run: aCompareRun });
  const { similarity, pairs, candidates, meeting, polygons, missing, matching, histogram } = comparison;
  const { tiles, alone, skipped, notes } = comparison;
  const matchingNote = noMatching(comparison);
  const summary = {
    source: { a: run.a, b: run.b },
    backend: run.backend,
    pixelSize: run.pixelSize,
    similarity: orNull(similarity),
    ...(Number.isNaN(similarity) && { similarityNote: noSimilarity(comparison) }),
    pairs,
    candidates,
    meeting,
    polygons: ofBoth(polygons),
    missing: ofBoth(missing),
    matching: {
      ...matching,
      precision: orNull(matching.precision),
      recall: orNull(matching.recall),
      f1: orNull(matching.f1),
      meanIou: orNull(matching.meanIou),
    },
    ...(matchingNote !== undefined && { matchingNote }),
    histogram: { width: 1 / RATIO_BINS, counts: [...histogram] },
    tiles: { compared: tiles, onlyA: alone.p, onlyB: alone.q, skipped: skipped.length },
    skipped,
    notes,
  };
  const lines = Object.entries(summary).map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  return `{\n${lines.join(',\n')}\n}\n`;
}

function ofBoth({ p, q }: BothSides): { readonly a: number; readonly b: number } {
  return { a: p, b: q };
}

export function orNull(figure: number): number | null {
  return Number.isNaN(figure) ? null : figure;
}
