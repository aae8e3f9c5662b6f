/**
 * Functions that read rasters, zones, polygons, tables and videos from files, and write results to files.
 *
 * On pages there are `openGeoTiff`, `readZones`, `parseZones`, `openPolygonLayer` and `readPolygonLayer`, which read a `File` or
 * `Blob` by slices, and the writers of zonal results: `zonalCsv`, `statisticsCsv`, `zonalJson`, `statisticsGeoJson` and
 * `statisticsFlatGeobuf`. The other functions are for Node.
 *
 * @module
 */

export { type FileElementsOptions, fileElements } from './bytes/file-elements.ts';
export type { PoolThread } from './bytes/thread-pool.ts';
export { type ComparePlot, comparePlot } from './charts/compare-plot.ts';
export { quadrantImage } from './charts/quadrant-plot/image.ts';
export { type QuadrantPlot, type QuadrantPlotOptions, quadrantPlot } from './charts/quadrant-plot.ts';
export type { MapExtent } from './charts/zonal-plot/extent.ts';
export * from './everywhere.ts';
export { openPolygonLayer, readPolygonLayer } from './polygons/open-polygon-layer.ts';
export { readZones } from './polygons/read-zones.ts';
export { type ReprojectionGrid, type ReprojectOptions, reprojectZones } from './polygons/reproject-zones.ts';
export { type DecodedRaster, type DecodePackedOptions, decodePackedRaster } from './rasters/decode-packed-raster.ts';
export { type EncodedRaster, type EncodePackedOptions, encodePackedRaster } from './rasters/encode-packed-raster.ts';
export { type GeoTiffOptions, type GeoTiffSource, openGeoTiff } from './rasters/geotiff.ts';
export { type CellWriter, type GeoTiffRaster, writeGeoTiff } from './rasters/geotiff-writer.ts';
export type { PackedBandOptions, PackedRasterSource } from './rasters/packed/reader.ts';
export type { PackedCodec } from './rasters/packed/tile-encoder.ts';
export { openPackedRaster } from './rasters/packed-raster.ts';
export { type BandCache, type BandCacheOptions, createBandCache } from './rasters/tiff/band-cache.ts';
export { parseBoundariesOn } from './result-sets/boundaries-on-device.ts';
export type { RegionKind } from './result-sets/gather-regions.ts';
export { type LabelTile, parseLabels } from './result-sets/label-image.ts';
export { openResultSet, type ResultSetOptions } from './result-sets/open-result-set.ts';
export type { TileBytes } from './result-sets/parse-messages.ts';
export { createParsePool, type ParsePool, type ParsePoolOptions } from './result-sets/parse-pool.ts';
export { parseTile } from './result-sets/parse-tile.ts';
export type {
  LabelType,
  PolygonTile,
  ResultSet,
  ResultSetFormat,
  TextColumn,
  TileParameters,
  TileSource,
} from './result-sets/result-set.ts';
export { type Labels, type TraceLabelsOptions, traceLabels } from './result-sets/trace-labels.ts';
export { type TrackWriter, trackWriter } from './results/cell-tracks/track-rows.ts';
export type { TrackScale } from './results/cell-tracks/track-scale.ts';
export {
  COMPARE_TABLES,
  type CompareColumn,
  type CompareRows,
  type CompareTable,
  emptyTable,
  type TableWriter,
} from './results/compare-tables.ts';
export { csvWriter } from './results/compare-text.ts';
export { encodeMaq, type MaqFile, type MaqSet, type OpenMaqOptions, openMaq } from './results/maq-file.ts';
export { openTable } from './tables/open-table.ts';
export type {
  BatchOptions,
  DeclaredType,
  FieldType,
  TableBatch,
  TableField,
  TableFile,
  TableFormat,
  TableOptions,
  TimestampUnit,
  UnreadField,
} from './tables/table-file.ts';
export type { Rows } from './tables/write/text-writers.ts';
export {
  fieldsOfTable,
  tableChunks,
  type WriteTableOptions,
  type WrittenTableFormat,
  writeTable,
} from './tables/write/write-table.ts';
export type { FileChunks, TextChunks } from './text/text-chunks.ts';
export { openVideo } from './video/open-video.ts';
export type { Video, VideoChannel, VideoFormat, VideoFrame, VideoOptions, VideoStream } from './video/video.ts';
