import { againLaws } from './again.ts';
import { axisLaws } from './axis.ts';
import { concatenateLaws } from './concatenate.ts';
import { copyIfLaws } from './copy-if.ts';
import { crossReduceLaws } from './cross-reduce.ts';
import { decodeTilesLaws } from './decode-tiles.ts';
import { disjointSetsLaws } from './disjoint-sets.ts';
import { expandLaws } from './expand.ts';
import { extremumLaws } from './extremum.ts';
import { forEachStripLaws } from './for-each-strip.ts';
import { fusionLaws } from './fusion.ts';
import { gatherLaws } from './gather.ts';
import { gridLaws } from './grid.ts';
import { histogramLaws } from './histogram.ts';
import { kernelLaws } from './kernels.ts';
import type { Law } from './law.ts';
import { mapLaws } from './map.ts';
import { mergeLaws } from './merge.ts';
import { narrowLaws } from './narrow.ts';
import { narrowResultsLaws } from './narrow-results.ts';
import { packLaws } from './pack.ts';
import { packBitsLaws } from './pack-bits.ts';
import { randomLaws } from './random.ts';
import { reduceLaws } from './reduce.ts';
import { reduceByKeyLaws } from './reduce-by-key.ts';
import { relaxLaws } from './relax.ts';
import { sampleWeightedLaws } from './sample-weighted.ts';
import { scanLaws } from './scan.ts';
import { scatterLaws } from './scatter.ts';
import { searchLaws } from './search.ts';
import { segmentedReduceLaws } from './segmented-reduce.ts';
import { segmentedSortLaws } from './segmented-sort.ts';
import { selectKthLaws } from './select-kth.ts';
import { sequenceLaws } from './sequence.ts';
import { setLaws } from './sets.ts';
import { shuffleLaws } from './shuffle.ts';
import { sliceLaws } from './slice.ts';
import { sortLaws } from './sort.ts';
import { stencilLaws } from './stencil.ts';
import { tileHistogramsLaws } from './tile-histograms.ts';
import { tileSumsLaws } from './tile-sums.ts';
import { topKLaws } from './top-k.ts';
import { transposeLaws } from './transpose.ts';
import { unfoldLaws } from './unfold.ts';
import { weightedHistogramLaws } from './weighted-histogram.ts';
import { windowSumLaws } from './window-sum.ts';

export { kernelLaws };

/** The laws of the primitives: on every backend, each result must equal that of a plain loop. */
export const primitiveLaws: readonly Law[] = [
  ...mapLaws,
  ...sequenceLaws,
  ...randomLaws,
  ...sliceLaws,
  ...stencilLaws,
  ...gridLaws,
  ...transposeLaws,
  ...windowSumLaws,
  ...gatherLaws,
  ...fusionLaws,
  ...scatterLaws,
  ...narrowLaws,
  ...narrowResultsLaws,
  ...packLaws,
  ...tileSumsLaws,
  ...decodeTilesLaws,
  ...tileHistogramsLaws,
  ...packBitsLaws,
  ...reduceLaws,
  ...extremumLaws,
  ...scanLaws,
  ...axisLaws,
  ...concatenateLaws,
  ...copyIfLaws,
  ...reduceByKeyLaws,
  ...segmentedReduceLaws,
  ...sortLaws,
  ...segmentedSortLaws,
  ...shuffleLaws,
  ...sampleWeightedLaws,
  ...searchLaws,
  ...mergeLaws,
  ...setLaws,
  ...selectKthLaws,
  ...topKLaws,
  ...histogramLaws,
  ...weightedHistogramLaws,
  ...expandLaws,
  ...unfoldLaws,
  ...forEachStripLaws,
  ...relaxLaws,
  ...disjointSetsLaws,
  ...crossReduceLaws,
  ...againLaws,
];

/** The laws of a backend's seven kernels, followed by the laws of the primitives that are built on them. */
export const allLaws: readonly Law[] = [...kernelLaws, ...primitiveLaws];
