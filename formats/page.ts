// The entry point of `quadrille/formats` for pages. Nothing here imports Node modules.

export * from './everywhere.ts';
export { openGeoTiff, openPolygonLayer, readPolygonLayer, readZones } from './on-page.ts';
export type { GeoTiffOptions, GeoTiffSource } from './rasters/tiff/open-band.ts';
export type { TextChunks } from './text/text-chunks.ts';
