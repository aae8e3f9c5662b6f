import { beginsWith } from '../bytes/byte-arrays.ts';
import { openOnNode, type PolygonFormat } from './polygon-format.ts';

const PARQUET_MAGIC: Uint8Array = new TextEncoder().encode('PAR1');

/** GeoParquet. */
export const GEOPARQUET: PolygonFormat = {
  name: 'geoparquet',
  title: 'GeoParquet',
  endings: ['.parquet', '.geoparquet'],
  hasPoints: true,
  isBinary: true,
  needsFile: true,
  hasColumns: true,
  tells: ({ head }) => beginsWith(head, 0, PARQUET_MAGIC),
  open: openOnNode('geoparquet'),
};
