import { meanOf } from '../../algorithms/cross-compare/areas.ts';
import { aComparison, type CrossComparison } from '../../algorithms/cross-compare/cross-comparison.ts';
import type { TileComparison } from '../../algorithms/cross-compare/tile-comparison.ts';
import type { ReportSection, ReportTable } from '../../graph/reports/report-page.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aNumber, anArrayOf, aRecord, aText, atLeast, type Kind } from '../../primitives/checks/kinds.ts';
import { comparePlot } from '../charts/compare-plot.ts';
import { aCompareRun, type CompareRun, noMatching, noSimilarity } from './compare-summary.ts';

/** Figures of one tile, which are shown as a row in a table of the report. */
export interface TileFigures {
  readonly tile: string;
  readonly similarity: number;
  readonly pairs: number;
  readonly missingA: number;
  readonly missingB: number;
}

const someFigures: Kind = anArrayOf(
  aRecord<TileFigures>({ tile: aText, similarity: aNumber, pairs: aNumber, missingA: aNumber, missingB: aNumber }),
);

/** Keeps the tiles with the lowest similarity, up to a maximum number. */
export interface WorstTiles {
  add(tile: TileComparison): void;
  /** The tiles in ascending order of similarity; tiles without pairs come first. */
  list(): TileFigures[];
}

/**
 * Creates an empty {@link WorstTiles}. Of the tiles added later, it keeps the `max` tiles with the lowest similarity.
 *
 * @example
 * worstTiles(20).list(); // []
 */
export function worstTiles(max: number): WorstTiles {
  requireArguments('worstTiles', { max }, { max: atLeast(0) });
  const worst: TileFigures[] = [];
  const likeness = ({ similarity }: TileFigures): number => (Number.isNaN(similarity) ? -1 : similarity);
  return {
    add({ tile, pairs, ratioSum, p, q }) {
      const [missingA, missingB] = [p.missing.length, q.missing.length];
      const similarity = meanOf(ratioSum, pairs.ratio.length);
      worst.push({ tile, similarity, pairs: pairs.ratio.length, missingA, missingB });
      worst.sort((a, b) => likeness(a) - likeness(b));
      if (worst.length > max) worst.pop();
    },
    list: () => [...worst],
  };
}

/**
 * The sections of a report that describe a comparison: figures, histogram, tiles, skipped tiles and notes. In a report,
 * these sections precede the sections about the execution of the comparison.
 *
 * @example
 * const comparison = totalsOf({ minIou: 0.5, method: 'optimal' }).comparison();
 * const result = { ...comparison, alone: { p: 0, q: 0 }, skipped: [], notes: [] };
 * const run = { a: 'a.png', b: 'b.png', backend: 'reference', pixelSize: 1 };
 * (await compareSections(result, run, [])).map(({ title }) => title); // ['Result', 'Ratios of the pairs']
 */
export async function compareSections(
  comparison: CrossComparison,
  run: CompareRun,
  worst: readonly TileFigures[],
): Promise<ReportSection[]> {
  const kinds = { comparison: aComparison, run: aCompareRun, worst: someFigures };
  requireArguments('compareSections', { comparison, run, worst }, kinds);
  const { notes, skipped } = comparison;
  return [
    { title: 'Result', text: verdict(comparison, run), table: figures(comparison) },
    {
      title: 'Ratios of the pairs',
      text: 'Bars below the threshold of matches are pale.',
      svg: await comparePlot({ comparison, title: `${run.a} and ${run.b}` }),
    },
    ...(worst.length === 0 ? [] : [{ title: 'Tiles least alike', table: tileTable(worst) }]),
    ...(skipped.length === 0
      ? []
      : [
          {
            title: 'Tiles left out',
            table: { columns: ['Tile', 'Why'], rows: skipped.map((s) => [s.tile, s.message]) },
          },
        ]),
    ...(notes.length === 0
      ? []
      : [{ title: 'Notes', table: { columns: ['Note'], rows: notes.map(({ message }) => [message]) } }]),
  ];
}

function verdict(comparison: CrossComparison, { a, b, backend, pixelSize }: CompareRun): string {
  const { similarity, pairs, tiles } = comparison;
  const why = noMatching(comparison);
  const likeness = `${Number.isNaN(similarity) ? noSimilarity(comparison) : `J′ = ${similarity}.`}${why === undefined ? '' : ` ${why}`}`;
  const size = pixelSize === 1 ? '' : ` Pixels are ${pixelSize} units wide.`;
  return `${a} is set A, ${b} is set B: ${tiles} tiles, ${pairs} pairs with common area, on ${backend}. ${likeness}${size}`;
}

function figures({ similarity, pairs, candidates, polygons, missing, matching }: CrossComparison): ReportTable {
  const { minIou, method, matches, precision, recall, f1, meanIou } = matching;
  return {
    columns: ['Figure', 'Value', 'Meaning'],
    rows: [
      ['J′', decimal(similarity), 'mean ratio of intersection to union of the pairs with common area'],
      ['Pairs', pairs, `with common area, of ${candidates.toLocaleString('en-US')} whose boxes have`],
      ['Polygons of A', polygons.p, `${missing.p.toLocaleString('en-US')} have no counterpart in B`],
      ['Polygons of B', polygons.q, `${missing.q.toLocaleString('en-US')} have no counterpart in A`],
      ['Matches', matches, `one to one, from a ratio of ${minIou} on, ${method}`],
      ['Precision', decimal(precision), 'matches by polygons of B'],
      ['Recall', decimal(recall), 'matches by polygons of A'],
      ['F1', decimal(f1), 'twice the matches by polygons of both'],
      ['Mean IoU', decimal(meanIou), 'mean ratio of the matches'],
    ],
  };
}

function tileTable(worst: readonly TileFigures[]): ReportTable {
  return {
    columns: ['Tile', 'J′', 'Pairs', 'Missing in B', 'Missing in A'],
    rows: worst.map(({ tile, similarity, pairs, missingA, missingB }) => [
      tile,
      decimal(similarity),
      pairs,
      missingA,
      missingB,
    ]),
  };
}

function decimal(figure: number): string {
  return Number.isNaN(figure) ? '–' : figure.toFixed(4);
}
