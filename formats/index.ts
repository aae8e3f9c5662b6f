/**
 * Reading zones, rasters and sets of polygons, and writing what comes of them. Runs in Node.
 *
 * @module
 */

export type { Note } from '../algorithms/notes.ts';
export { type StagedOutputs, stageOutputs } from './atomic-write.ts';
export { isGeographicCrs, normalizeCrs, sameCrs } from './crs.ts';
export { type GeoTiffOptions, type GeoTiffSource, openGeoTiff } from './geotiff.ts';
export { type CellWriter, type GeoTiffRaster, writeGeoTiff } from './geotiff-writer.ts';
export { openResultSet, type ResultSetOptions } from './result-sets/open-result-set.ts';
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
export { textAt, textColumnOf } from './result-sets/text-column.ts';
export { type Labels, traceLabels } from './result-sets/trace-labels.ts';
export type { TextChunks } from './text-chunks.ts';
export { statisticsCsv, zonalCsv } from './zonal-csv.ts';
export { type ZonalRun, zonalJson } from './zonal-json.ts';
export { parseZones, type ReadZones, readZones, type ZoneOptions } from './zones.ts';
