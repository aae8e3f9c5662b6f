import { type Comparison, comparisonFields, RATIO_BINS } from '../../algorithms/cross-compare/totals.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aRecord, aText, type Kind } from '../../primitives/checks/kinds.ts';
import { BAR, histogramChart } from './histogram-chart.ts';
import { chartPage, countText } from './zonal-plot/page.ts';

/** Input of a plot. */
export interface ComparePlot {
  readonly comparison: Comparison;
  readonly title: string;
}

const aPlot: Kind = aRecord<ComparePlot>({ comparison: aRecord<Comparison>(comparisonFields), title: aText });

const CHART_TOP = 96;
const CHART_HEIGHT = 300;
const PALE_BAR = '#a9bfd6';

/**
 * Draws the distribution of the ratios ‖p ∩ q‖ ÷ ‖p ∪ q‖ of the pairs as a standalone SVG: a histogram in bins of 0.02.
 * One line marks J′, which is the mean of the ratios. Another line marks the minimum ratio of a match; bars below this
 * ratio are pale.
 *
 * @throws PackageError `package/missing` if the optional packages `@observablehq/plot` and `linkedom` are not
 * installed.
 *
 * @example
 * const comparison = totalsOf({ minIou: 0.5, method: 'optimal' }).comparison();
 * (await comparePlot({ comparison, title: 'a and b' })).includes('No pair of polygons has common area.'); // true
 */
export async function comparePlot(plot: ComparePlot): Promise<string> {
  requireArguments('comparePlot', { plot }, { plot: aPlot });
  const { comparison, title } = plot;
  return chartPage(title, subtitle(comparison), await drawRatios(comparison), CHART_TOP, CHART_HEIGHT);
}

function subtitle({ similarity, pairs, matching }: Comparison): string {
  if (pairs === 0) return 'No pair of polygons has common area.';
  const matches = `${countText(matching.matches)} matches from ${matching.minIou} on`;
  return `${countText(pairs)} pairs with common area, J′ = ${similarity.toFixed(4)}, ${matches}`;
}

function drawRatios({ similarity, histogram, matching }: Comparison): Promise<string> {
  return histogramChart({
    height: CHART_HEIGHT,
    bars: Array.from(histogram, (count, bin) => ({
      lower: bin / RATIO_BINS,
      upper: (bin + 1) / RATIO_BINS,
      count,
      color: bin / RATIO_BINS < matching.minIou ? PALE_BAR : BAR,
    })),
    end: 1,
    label: 'ratio of intersection to union',
    ticks: { x: 10, y: 6 },
    named: { x: similarity, name: `J′ ${similarity.toFixed(3)}` },
    limits: [matching.minIou],
  });
}
