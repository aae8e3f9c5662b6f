import { CSV } from './csv-layer.ts';
import { FLATGEOBUF } from './flatgeobuf.ts';
import { GEOJSON } from './geojson-layer.ts';
import { GEOJSON_LINES } from './geojson-lines.ts';
import { GEOPACKAGE } from './geopackage.ts';
import { GEOPARQUET } from './geoparquet.ts';
import type { PolygonFormat } from './polygon-format.ts';
import { SHAPEFILE } from './shapefile.ts';
import { TOPOJSON } from './topojson-layer.ts';
import { WKT } from './wkt-lines.ts';
import { ZIPPED_SHAPEFILE } from './zipped-shapefile.ts';

/** All formats of polygon layers. A file is of the first that tells it. */
export const POLYGON_FORMATS: readonly PolygonFormat[] = [
  FLATGEOBUF,
  SHAPEFILE,
  ZIPPED_SHAPEFILE,
  GEOPARQUET,
  GEOPACKAGE,
  TOPOJSON,
  GEOJSON_LINES,
  GEOJSON,
  WKT,
  CSV,
];
