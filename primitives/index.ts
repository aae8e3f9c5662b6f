/**
 * For authors of spatial algorithms: columns, functors and primitives. For authors of backends: the interface that a
 * backend implements.
 *
 * @packageDocumentation
 */

export * from './adjacent-difference.ts';
export * from './checks/errors.ts';
export { type OnWarning, QuadrilleWarning } from './checks/warnings.ts';
export {
  Column,
  type ColumnOwner,
  type ColumnsOf,
  type DeviceLength,
  type HostTableOf,
  type Table,
} from './columns/column.ts';
export type { Grid } from './columns/grid.ts';
export type { HostArray, HostArrayOf, StoredArrayOf } from './columns/host-array.ts';
export type { ViewReport } from './columns/view-reports.ts';
export * from './concatenate.ts';
export type { CapacityOption } from './context/capacity-option.ts';
export * from './context/context.ts';
export type { ContextOption } from './context/context-option.ts';
export type { IntoArray, IntoArrayOf, IntoTable, ReadOptions } from './context/downloads.ts';
export * from './context/explain.ts';
export type { LentArray, LentElements } from './context/lent-arrays.ts';
export type {
  BorrowOptions,
  BufferCount,
  BufferElements,
  ElementsType,
  LendOptions,
  LentColumn,
} from './context/shared-buffers.ts';
export type { ElementFiller, ElementReader, UploadOptions, UploadSource } from './context/uploads.ts';
export * from './contract/backend.ts';
export type { GpuBuffer, GpuBufferLike } from './contract/gpu-types.ts';
export { copyIf, type PartitionOptions, type Predicate, partition, removeIf } from './copy-if.ts';
export * from './count.ts';
export * from './cross-reduce.ts';
export { type CellFormat, type DecodeTilesOptions, decodeTiles, type EncodedTiles } from './decode-tiles.ts';
export * from './disjoint-sets.ts';
export { type ExpandOptions, expand } from './expand.ts';
export type { ExpandFunctor } from './expand-search.ts';
export * from './extremum.ts';
export * from './for-each-strip.ts';
export * from './functors/index.ts';
export * from './gather.ts';
export * from './grid.ts';
export { binOf, type HistogramOptions, histogram, histogramEdges, histogramEven } from './histogram.ts';
export { map } from './map.ts';
export * from './merge.ts';
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
export * from './narrow.ts';
export * from './pack.ts';
export { bitPlaces, packBits } from './pack-bits.ts';
export type { Command } from './prepared/command.ts';
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
export type * from './prepared/script.ts';
export { type RandomOptions, randomIntegers, randomNormal, randomUniform, randomWords } from './random.ts';
export * from './rank-histogram.ts';
export { type AxisOption, reduce } from './reduce.ts';
export * from './reduce-by-key.ts';
export * from './relax.ts';
export type { LineAxis } from './rows/lines.ts';
export type { Segments } from './rows/segments.ts';
export { runHeads } from './runs.ts';
export * from './sample-weighted.ts';
export {
  exclusiveScan,
  inclusiveScan,
  type ScanOptions,
  type SegmentedScanOptions,
  segmentedScan,
} from './scan.ts';
export { type ScatterOptions, scatter, scatterIf } from './scatter.ts';
export { scatterReduce, type WordTable } from './scatter-reduce.ts';
export { lowerBound, type SearchOptions, upperBound } from './search.ts';
export * from './segmented-quantiles.ts';
export * from './segmented-reduce.ts';
export * from './segmented-sort.ts';
export { quantiles, type SelectOptions, selectKth } from './select-kth.ts';
export * from './sequence.ts';
export * from './sets.ts';
export { type ShuffleOptions, sample, shuffle } from './shuffle.ts';
export * from './slice.ts';
export { type SortKeyList, type SortKeys, type SortOptions, sort, sortByKey, sortPermutation } from './sort.ts';
export { type OutsideOf, type StencilArguments, type StencilOptions, stencil } from './stencil.ts';
export * from './tile-histograms.ts';
export { type TileOptions, tileSums } from './tile-sums.ts';
export * from './top-k.ts';
export * from './transpose.ts';
export * from './unfold.ts';
export type { WalkStart, WalkState, WalkStep } from './walk-functors.ts';
export * from './weighted-histogram.ts';
export * from './window-sum.ts';
