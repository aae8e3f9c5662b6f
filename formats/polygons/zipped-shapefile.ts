import { beginsWith } from '../bytes/byte-arrays.ts';
import { wait } from '../bytes/steps.ts';
import type { PolygonFormat } from './polygon-format.ts';

/** How an archive begins, with a file or with the end of its directory. */
const ZIP_MAGICS: readonly Uint8Array[] = ['PK\x03\x04', 'PK\x05\x06'].map((text) => new TextEncoder().encode(text));

/** ZIP archives with Shapefiles. */
export const ZIPPED_SHAPEFILE: PolygonFormat = {
  name: 'zipped-shapefile',
  title: 'a zipped Shapefile',
  endings: ['.zip', '.shz'],
  hasPoints: true,
  isBinary: true,
  isLayered: true,
  needsFile: true,
  tells: ({ head }) => ZIP_MAGICS.some((magic) => beginsWith(head, 0, magic)),
  *open(input, options) {
    const { openZippedShapefile } = yield* wait(import('./zipped-shapefile-layer.ts'));
    return yield* openZippedShapefile(input, options);
  },
};
