import {
  aNumber,
  anArrayOf,
  anInstance,
  anything,
  aRecord,
  aText,
  aWord,
  type Kind,
  numbers,
  optional,
} from '../../primitives/kinds.ts';
import { SAMPLES, type Sample } from '../geometry/raster.ts';
import { type Note, someNotes } from '../notes.ts';

/** How values are put into bins. */
export type Binning =
  /** `count` bins between `low` and `high`: edges are `low + i · width`, the last exactly `high`. */
  | { readonly kind: 'even'; readonly low: number; readonly high: number; readonly width: number }
  /** Strictly increasing edges; one bin fewer than edges. */
  | { readonly kind: 'edges'; readonly edges: readonly number[] }
  /** A bin for every value that occurs. */
  | { readonly kind: 'unique' }
  /** No bins: cells with and without data are counted, and statistics taken; none lie below or above. */
  | { readonly kind: 'none' };

const BINNINGS: { readonly [K in Binning['kind']]: Kind } = {
  even: aRecord<Extract<Binning, { kind: 'even' }>>({ kind: aText, low: aNumber, high: aNumber, width: aNumber }),
  edges: aRecord<Extract<Binning, { kind: 'edges' }>>({ kind: aText, edges: numbers }),
  unique: anything,
  none: anything,
};
const aBinningKind: Kind = aRecord<Pick<Binning, 'kind'>>({ kind: aWord(Object.keys(BINNINGS)) });

export const aBinning: Kind = (given, path, homes) =>
  aBinningKind(given, path, homes) ?? BINNINGS[(given as Binning).kind](given, path, homes);

/** The exact statistics of a zone's cells that carry data, in columns over zones. */
export interface ZoneStatistics {
  /** NaN where no cell of the zone carries data. */
  readonly minimum: Float64Array;
  readonly maximum: Float64Array;
  /**
   * The f64 nearest to the exact sum, ties to even, of subnormal numbers too. Of scaled values, the exact sum is that of the
   * exact products. NaN where no cell carries data, or both infinities are among them.
   */
  readonly sum: Float64Array;
  /** The f64 nearest to the exact sum divided by the number of cells that carry data: rounded once, and not by way of `sum`. */
  readonly mean: Float64Array;
}

/** Non-empty bins of all zones, ordered by zone and then by bin, in columns. */
export interface ZonalBins {
  readonly zone: Uint32Array;
  /** Lower edge of the bin; with unique binning the value itself. */
  readonly lower: Float64Array;
  /** Upper edge of the bin; with unique binning the value itself. */
  readonly upper: Float64Array;
  readonly count: BigUint64Array;
}

/** What zonal histogramming found: for every zone, its bins plus nodata, below and above add up to its cells. */
export interface ZonalHistogram {
  readonly names: readonly string[];
  readonly binning: Binning;
  readonly sample: Sample;
  readonly bins: ZonalBins;
  /** Cells whose centre lies in the zone, nodata among them. */
  readonly cells: BigUint64Array;
  readonly nodata: BigUint64Array;
  readonly below: BigUint64Array;
  readonly above: BigUint64Array;
  /** Undefined where the job asked for none. */
  readonly statistics: ZoneStatistics | undefined;
  /** Side of the integer grid's step in units of the raster's coordinates, along x and y. */
  readonly gridStep: readonly [x: number, y: number];
  /** The zones whose parts overlap and were united, ascending; undefined where there are none. */
  readonly united?: Uint32Array | undefined;
  /** What there is to say about zones that the raster does not cover, and about those whose parts overlap. */
  readonly notes: readonly Note[];
}

/** A histogram whose statistics were asked for. */
export type WithStatistics = ZonalHistogram & { readonly statistics: ZoneStatistics };

const someBins: Kind = aRecord<ZonalBins>({
  zone: anInstance(Uint32Array),
  lower: anInstance(Float64Array),
  upper: anInstance(Float64Array),
  count: anInstance(BigUint64Array),
});
const someStatistics: Kind = aRecord<ZoneStatistics>({
  minimum: anInstance(Float64Array),
  maximum: anInstance(Float64Array),
  sum: anInstance(Float64Array),
  mean: anInstance(Float64Array),
});

export const aHistogram: Kind = aRecord<ZonalHistogram>({
  names: anArrayOf(aText),
  binning: aBinning,
  sample: aWord(SAMPLES),
  bins: someBins,
  cells: anInstance(BigUint64Array),
  nodata: anInstance(BigUint64Array),
  below: anInstance(BigUint64Array),
  above: anInstance(BigUint64Array),
  statistics: optional(someStatistics),
  gridStep: numbers,
  united: optional(anInstance(Uint32Array)),
  notes: someNotes,
});
