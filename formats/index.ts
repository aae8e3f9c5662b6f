/**
 * Reading zones and rasters, and writing what comes of them. Runs in Node.
 *
 * @module
 */

export type { Note } from '../algorithms/notes.ts';
export { type StagedOutputs, stageOutputs } from './atomic-write.ts';
export { isGeographicCrs, normalizeCrs, sameCrs } from './crs.ts';
export { type GeoTiffOptions, type GeoTiffSource, openGeoTiff } from './geotiff.ts';
export { type CellWriter, type GeoTiffRaster, writeGeoTiff } from './geotiff-writer.ts';
export type { TextChunks } from './text-chunks.ts';
export { statisticsCsv, zonalCsv } from './zonal-csv.ts';
export { type ZonalRun, zonalJson } from './zonal-json.ts';
export { parseZones, type ReadZones, readZones, type ZoneOptions } from './zones.ts';
