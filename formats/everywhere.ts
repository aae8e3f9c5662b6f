// The exports of `quadrille/formats` that are the same in Node and on pages.

export type { Note } from '../algorithms/notes.ts';
export { textAt, textColumnOf } from '../algorithms/text-column.ts';
export type { BlobLike } from '../primitives/host/platform-types.ts';
export type { OnBadRecord } from './left-out.ts';
export type {
  PolygonBatch,
  PolygonBatches,
  PolygonLayer,
  PolygonLayerFormat,
  PolygonLayerOptions,
} from './polygons/polygon-layer.ts';
export type { ChosenAttributes, ZoneAttribute } from './polygons/zone-attributes.ts';
export { type ParseZonesOptions, parseZones, type ReadZones, type ZoneOptions } from './polygons/zones.ts';
export { statisticsCsv, type ZonalCsvOptions, zonalCsv } from './results/zonal-csv.ts';
export { type ZonalRun, zonalJson } from './results/zonal-json.ts';
export { statisticsFlatGeobuf, statisticsGeoJson } from './results/zonal-layer.ts';
export type { ZonalRows } from './results/zonal-table.ts';
export type { CsvOptions } from './text/csv-quote.ts';
export { UsageError } from './usage-error.ts';
