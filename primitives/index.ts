/**
 * For authors of spatial algorithms: columns, functors and primitives. For authors of backends: the interface that a
 * backend implements.
 *
 * @packageDocumentation
 */

export { adjacentDifference } from './adjacent-difference.ts';
export {
  Column,
  type ColumnOwner,
  type ColumnsOf,
  type DeviceLength,
  type HostTableOf,
  type Table,
} from './columns/column.ts';
export type { HostArray, HostArrayOf, StoredArrayOf } from './columns/host-array.ts';
export type { ViewReport } from './columns/view-reports.ts';
export type { Command } from './command.ts';
export { concatenate } from './concatenate.ts';
export { Context } from './context.ts';
export type { ContextOption } from './context-option.ts';
export * from './contract/backend.ts';
export type { GpuBuffer, GpuBufferLike } from './contract/gpu-types.ts';
export { copyIf, type Predicate, partition, removeIf } from './copy-if.ts';
export { all, any, count } from './count.ts';
export {
  type Contraction,
  type CrossReduceOptions,
  type CrossRows,
  crossReduce,
  type Vectors,
} from './cross-reduce.ts';
export { type CellFormat, type DecodeTilesOptions, decodeTiles, type EncodedTiles } from './decode-tiles.ts';
export type { IntoArray, IntoArrayOf, IntoTable, ReadOptions } from './downloads.ts';
export * from './errors.ts';
export { type ExpandOptions, expand } from './expand.ts';
export type { ExpandFunctor } from './expansion.ts';
export { type ExplainedView, type Explanation, explain } from './explain.ts';
export { type Extremum, maxElement, minElement } from './extremum.ts';
export * from './functors/index.ts';
export { gather } from './gather.ts';
export { binOf, type HistogramOptions, histogram, histogramEdges, histogramEven } from './histogram.ts';
export type { LentArray, LentElements } from './lent-arrays.ts';
export { map } from './map.ts';
export { type KeyedRows, type MergeOptions, merge, mergeByKey } from './merge.ts';
export {
  bitAnd,
  bitOr,
  bitXor,
  type Monoid,
  type MonoidDefinition,
  maximum,
  minimum,
  monoid,
  plus,
  product,
  saturatingPlus,
  segmented,
  times,
} from './monoid.ts';
export { narrow, type PackedFormat } from './narrow.ts';
export { type Packed, pack, unpack } from './pack.ts';
export { bitPlaces, packBits } from './pack-bits.ts';
export {
  type InputOptions,
  input,
  type PackedStorage,
  type PreparedArguments,
  type PreparedInput,
  type PreparedInputs,
  type TableInput,
} from './prepared/inputs.ts';
export type { Iterated, IterateOptions } from './prepared/iterate.ts';
export type { Prepared } from './prepared/prepare.ts';
export type { Script, ScriptBuffer, ScriptCall, ScriptInput, ScriptStep } from './prepared/script.ts';
export { type RankedRows, type RankHistogramOptions, rankHistogram } from './rank-histogram.ts';
export { reduce } from './reduce.ts';
export { reduceByKey, runLengthEncode, unique, uniqueByKey } from './reduce-by-key.ts';
export { type GridSizes, type Relaxed, type RelaxOptions, relax, type StopRule } from './relax.ts';
export { runHeads } from './runs.ts';
export { exclusiveScan, inclusiveScan, type SegmentedScanOptions, segmentedScan } from './scan.ts';
export { type ScatterOptions, scatter, scatterIf, scatterReduce, type WordTable } from './scatter.ts';
export { lowerBound, type SearchOptions, upperBound } from './search.ts';
export { quantiles, type SelectOptions, selectKth } from './select-kth.ts';
export { constant, fill, sequence, tabulate } from './sequence.ts';
export type {
  BorrowOptions,
  BufferCount,
  BufferElements,
  ElementsType,
  LendOptions,
  LentColumn,
} from './shared-buffers.ts';
export { reverse, slice } from './slice.ts';
export { type SortKeys, type SortOptions, sort, sortByKey, sortPermutation } from './sort.ts';
export { type OutsideOf, type StencilArguments, type StencilOptions, stencil } from './stencil.ts';
export { type HiddenCells, type TileHistogramsOptions, type TileParts, tileHistograms } from './tile-histograms.ts';
export { type TileOptions, tileSums } from './tile-sums.ts';
export { type UnfoldOptions, unfold, unfoldReduce } from './unfold.ts';
export type { ElementFiller, ElementReader, UploadOptions, UploadSource } from './uploads.ts';
export type { WalkStart, WalkState, WalkStep } from './walk-functors.ts';
export { type OnWarning, QuadrilleWarning } from './warnings.ts';
export { type Weights, type WideSums, weightedHistogram } from './weighted-histogram.ts';
