import { beginsWith } from '../bytes/byte-arrays.ts';
import { wait } from '../bytes/steps.ts';
import type { PolygonFormat } from './polygon-format.ts';

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
  *open(input, options) {
    const { openGeoPackage } = yield* wait(import('./geopackage-layer.ts'));
    return yield* openGeoPackage(input, options);
  },
};
