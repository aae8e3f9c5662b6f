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
} from '../../primitives/checks/kinds.ts';
import { SAMPLES, type Sample } from '../geometry/raster.ts';
import { type Note, someNotes } from '../notes.ts';
import type { Areas } from './areas.ts';
import { columnsOf, someStatistics } from './statistic-columns.ts';
import type { ChosenStatistics, StatisticsOf, ZoneStatistics } from './zone-statistics.ts';

/** How values are assigned to the bins of a histogram. */
export type Binning =
  /** Bins of equal width between `low` and `high`. Edges are `low + i · width`; the last edge is exactly `high`. */
  | { readonly kind: 'even'; readonly low: number; readonly high: number; readonly width: number }
  /** Bins between consecutive edges, which must strictly increase. */
  | { readonly kind: 'edges'; readonly edges: readonly number[] }
  /** One bin for every value that occurs. */
  | { readonly kind: 'unique' }
  /**
   * No bins: only counts the cells with and without data, and computes statistics. No cell is counted as below or
   * above.
   */
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

/** The nonempty bins of all zones, as columns. Rows are ordered by zone and then by bin. */
export interface ZonalBins {
  readonly zone: Uint32Array;
  /** Lower edge of the bin. For unique values, the value itself. */
  readonly lower: Float64Array;
  /** Upper edge of the bin. For unique values, the value itself. */
  readonly upper: Float64Array;
  readonly count: BigUint64Array;
}

/** Integers of 64 bits to the digit. */
export interface ExactIntegers {
  /** The value of each row of `bins`. Undefined unless these are unique values. */
  readonly values?: BigInt64Array | BigUint64Array | undefined;
  /**
   * Statistics that are one of the values (`min`, `max`, `mode`, `minority`, `quantile_disc`), by these names; 0 where the
   * column in `statistics` is NaN.
   */
  readonly statistics: { readonly [name: string]: BigInt64Array | BigUint64Array };
}

/**
 * Result of a zonal histogram. For every zone, the counts of all bins plus `nodata`, `below` and `above` equal `cells`.
 *
 * @typeParam S - The statistics: {@link ZoneStatistics}, `NamedStatistics` where the job gave a list of names, or
 * undefined.
 */
export interface ZonalHistogram<S = ZoneStatistics | undefined> {
  readonly names: readonly string[];
  readonly binning: Binning;
  readonly sample: Sample;
  readonly bins: ZonalBins;
  /** Number of cells that belong to the zone, including cells without data. */
  readonly cells: BigUint64Array;
  readonly nodata: BigUint64Array;
  /** With `pixels: 'fractional'`: the areas of the cells that are counted elsewhere. Undefined for other `pixels`. */
  readonly areas?: Areas | undefined;
  readonly below: BigUint64Array;
  readonly above: BigUint64Array;
  /** Statistics of all zones. Undefined if the job did not ask for statistics. */
  readonly statistics: S;
  /**
   * Only for rasters of i64 and u64 without scale and offset: values to the digit, which `bins` and `statistics` round to
   * the nearest f64 beyond 2⁵³.
   */
  readonly exact?: ExactIntegers | undefined;
  /** Step of the integer grid to which vertices are snapped (2⁻²⁰ of a cell), in the raster's coordinates. */
  readonly gridStep: readonly [x: number, y: number];
  /** Indices of the zones whose overlapping parts were united, ascending. Undefined if no parts were united. */
  readonly united?: Uint32Array | undefined;
  /** Notes on zones that the raster does not cover, and on zones whose parts overlap. */
  readonly notes: readonly Note[];
}

/** A histogram with any statistics, or none. */
export type AnyHistogram = ZonalHistogram<StatisticsOf<ChosenStatistics>>;

/** A histogram that includes statistics. */
export type WithStatistics = ZonalHistogram<ZoneStatistics>;

const someBins: Kind = aRecord<ZonalBins>({
  zone: anInstance(Uint32Array),
  lower: anInstance(Float64Array),
  upper: anInstance(Float64Array),
  count: anInstance(BigUint64Array),
});
const integers: Kind = anInstance(BigInt64Array, BigUint64Array);
const someIntegers: Kind = aRecord<ExactIntegers>({ values: optional(integers), statistics: columnsOf(integers) });

const areas: Kind = anInstance(Float64Array);
const someAreas: Kind = aRecord<Areas>({ count: areas, nodata: areas, below: areas, above: areas, bins: areas });

export const aHistogram: Kind = aRecord<ZonalHistogram>({
  names: anArrayOf(aText),
  binning: aBinning,
  sample: aWord(SAMPLES),
  bins: someBins,
  cells: anInstance(BigUint64Array),
  nodata: anInstance(BigUint64Array),
  areas: optional(someAreas),
  below: anInstance(BigUint64Array),
  above: anInstance(BigUint64Array),
  statistics: optional(someStatistics),
  exact: optional(someIntegers),
  gridStep: numbers,
  united: optional(anInstance(Uint32Array)),
  notes: someNotes,
});
