/**
 * Functions for Node that read rasters, zones, polygons, tables and videos from files, and write results to files.
 *
 * @module
 */

export type { Note } from '../algorithms/notes.ts';
export { textAt, textColumnOf } from '../algorithms/text-column.ts';
export { type TrackWriter, trackWriter } from './cell-tracks/track-rows.ts';
export type { TrackScale } from './cell-tracks/track-scale.ts';
export { type ComparePlot, comparePlot } from './compare-plot.ts';
export {
  COMPARE_TABLES,
  type CompareColumn,
  type CompareRows,
  type CompareTable,
  emptyTable,
  type TableWriter,
} from './compare-tables.ts';
export { csvWriter } from './compare-text.ts';
export type { CsvOptions } from './csv-quote.ts';
export { type DecodedRaster, type DecodePackedOptions, decodePackedRaster } from './decode-packed-raster.ts';
export { type EncodedRaster, type EncodePackedOptions, encodePackedRaster } from './encode-packed-raster.ts';
export { type FileElementsOptions, fileElements } from './file-elements.ts';
export { type GeoTiffOptions, type GeoTiffSource, openGeoTiff } from './geotiff.ts';
export { type CellWriter, type GeoTiffRaster, writeGeoTiff } from './geotiff-writer.ts';
export type { OnBadRecord } from './left-out.ts';
export { encodeMaq, type MaqFile, type MaqSet, type OpenMaqOptions, openMaq } from './maq-file.ts';
export { openPackedRaster } from './packed-raster.ts';
export type { PackedBandOptions, PackedRasterSource } from './packed-rasters/reader.ts';
export type { PackedCodec } from './packed-rasters/tile-encoder.ts';
export { openPolygonLayer, readPolygonLayer } from './polygon-layers/open-polygon-layer.ts';
export type {
  PolygonBatch,
  PolygonBatches,
  PolygonLayer,
  PolygonLayerFormat,
  PolygonLayerOptions,
} from './polygon-layers/polygon-layer.ts';
export { quadrantImage } from './quadrant-plot/image.ts';
export { type QuadrantPlot, type QuadrantPlotOptions, quadrantPlot } from './quadrant-plot.ts';
export { readZones } from './read-zones.ts';
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
export type { FileChunks, TextChunks } from './text-chunks.ts';
export type { PoolThread } from './thread-pool.ts';
export { UsageError } from './usage-error.ts';
export { openVideo } from './video/open-video.ts';
export type { Video, VideoChannel, VideoFormat, VideoFrame, VideoOptions, VideoStream } from './video/video.ts';
export { statisticsCsv, type ZonalCsvOptions, zonalCsv } from './zonal-csv.ts';
export { type ZonalRun, zonalJson } from './zonal-json.ts';
export type { MapExtent } from './zonal-plot/extent.ts';
export type { ChosenAttributes, ZoneAttribute } from './zone-attributes.ts';
export { type ParseZonesOptions, parseZones, type ReadZones, type ZoneOptions } from './zones.ts';
