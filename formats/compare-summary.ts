import { aComparison, type CrossComparison } from '../algorithms/cross-compare/cross-comparison.ts';
import { type BothSides, RATIO_BINS } from '../algorithms/cross-compare/totals.ts';
import { requireArguments } from '../primitives/arguments.ts';
import { aNumber, aRecord, aText, type Kind } from '../primitives/kinds.ts';

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

/** Explanation that summaries and reports show if the similarity J′ is not a number. */
export const NO_SIMILARITY = 'No pair of polygons has common area, and the mean of no ratios is not defined.';

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
 * quotient with divisor zero is null, too. The same inputs give the same bytes, except for `backend`.
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
  const summary = {
    source: { a: run.a, b: run.b },
    backend: run.backend,
    pixelSize: run.pixelSize,
    similarity: orNull(similarity),
    ...(Number.isNaN(similarity) && { similarityNote: NO_SIMILARITY }),
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
