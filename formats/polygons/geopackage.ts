import { beginsWith } from '../bytes/byte-arrays.ts';
import { openOnNode, type PolygonFormat } from './polygon-format.ts';

const SQLITE_MAGIC: Uint8Array = new TextEncoder().encode('SQLite format 3\0');

/** GeoPackage. */
export const GEOPACKAGE: PolygonFormat = {
  name: 'geopackage',
  title: 'GeoPackage',
  endings: ['.gpkg'],
  hasPoints: true,
  isBinary: true,
  isLayered: true,
  needsFile: true,
  tells: ({ head }) => beginsWith(head, 0, SQLITE_MAGIC),
  open: openOnNode('geopackage'),
};
