import type { TileColumns } from '../result-sets/tile-columns.ts';
import type { FoundGeometries } from './feature.ts';
import { appendRing, beginPart, type LayerColumns } from './layer-columns.ts';

const NOTED: Readonly<Record<string, string>> = {
  'polygons/unclosed-rings': 'zones/unclosed-rings',
  'polygons/short-rings': 'polygons/short-rings',
  'polygons/other-geometry': 'polygons/other-geometry',
};
const UNTOLD: Readonly<Record<string, () => string>> = Object.fromEntries(
  [...Object.keys(NOTED), 'polygons/empty', 'polygons/empty-geometry', 'polygons/zero-area-rings'].map((code) => [
    code,
    () => '',
  ]),
);

/**
 * Appends the rings of a tile, which the parser of well-known text has filled with one geometry, to the current polygon.
 * Also copies those notes of the parser that `appendRing` cannot derive from the vertices. Returns what the geometry is.
 */
export function appendTile(columns: LayerColumns, tile: TileColumns): FoundGeometries {
  // An empty geometry is a record without rings.
  const polygons = tile.polygons + tile.empty;
  const found = { polygons, others: 1 - polygons };
  if (tile.polygons === 0) return found;
  for (const { code, count } of tile.tally.notes(UNTOLD)) {
    const known = NOTED[code];
    for (let more = known === undefined ? 0 : (count ?? 1); more > 0; more--) columns.noticed.push(known!);
  }
  let next = 0;
  for (let ring = 0; ring < tile.rings; ring++) {
    if (ring === 0 || ring === tile.furtherParts[next]) beginPart(columns);
    if (ring === tile.furtherParts[next]) next++;
    appendRing(columns, tile, tile.ringVertices[ring]!, tile.ringVertices[ring + 1]!, false);
  }
  return found;
}
