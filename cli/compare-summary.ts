import type { CrossComparison } from '../algorithms/cross-compare/cross-comparison.ts';
import { type CompareRun, noMatching, noSimilarity, orNull } from '../formats/results/compare-summary.ts';
import { counted, grouped } from './grouped.ts';
import type { RunEnd, RunSummary } from './log.ts';

/** The summary that `quadrille compare` prints at its end. */
export function compareSummaryLines(comparison: CrossComparison, run: CompareRun, end: RunEnd): RunSummary {
  const { similarity, pairs, candidates, polygons, missing, matching, tiles, skipped } = comparison;
  const { seconds, outputs } = end;
  const why = noMatching(comparison);
  return {
    lines: [
      Number.isNaN(similarity)
        ? noSimilarity(comparison)
        : `J′ ${similarity.toFixed(4)}: mean ratio of ${counted(pairs, 'pair')} with common area, of ${counted(candidates, 'candidate')}.`,
      `${counted(polygons.p, 'polygon')} in ${run.a}, ${grouped(missing.p)} missing from ${run.b}; ` +
        `${counted(polygons.q, 'polygon')} in ${run.b}, ${grouped(missing.q)} missing from ${run.a}.`,
      `${matches(matching.matches)} from ${matching.minIou} on (${matching.method}): ${rates(matching)}.`,
      ...(why === undefined ? [] : [why]),
      `${counted(tiles, 'tile')}, ${seconds.toFixed(1)} s on ${run.backend}.`,
      ...(skipped.length === 0 ? [] : [leftOut(skipped.length, tiles)]),
      ...(outputs.length === 0 ? [] : [`Wrote ${outputs.join(', ')}.`]),
    ],
    fields: {
      backend: run.backend,
      similarity: orNull(similarity),
      ...(Number.isNaN(similarity) && { similarityNote: noSimilarity(comparison) }),
      ...(why !== undefined && { matchingNote: why }),
      pairs,
      candidates,
      polygons: { a: polygons.p, b: polygons.q },
      missing: { a: missing.p, b: missing.q },
      matches: matching.matches,
      f1: orNull(matching.f1),
      tiles,
      skipped: skipped.length,
      seconds,
      outputs,
    },
  };
}

function leftOut(skipped: number, tiles: number): string {
  const were = skipped === 1 ? 'tile was' : 'tiles were';
  return `${skipped} of ${counted(skipped + tiles, 'tile')} could not be read: the ${were} left out of all figures.`;
}

function matches(count: number): string {
  return `${grouped(count)} ${count === 1 ? 'match' : 'matches'}`;
}

function rates({ precision, recall, f1, meanIou }: CrossComparison['matching']): string {
  const figures = { precision, recall, F1: f1, 'mean IoU': meanIou };
  return Object.entries(figures)
    .map(([name, figure]) => `${name} ${Number.isNaN(figure) ? '–' : figure.toFixed(3)}`)
    .join(', ');
}
