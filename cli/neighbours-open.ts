import { unknownLayer } from '../formats/polygons/choose-layer.ts';
import { openPointLayer, type PointTable, pointTable } from '../formats/polygons/point-layer.ts';
import { openTable } from '../formats/tables/open-table.ts';
import { UsageError } from '../formats/usage-error.ts';
import { settled } from './index-layers.ts';
import { POINT_COLUMNS } from './index-queries.ts';
import type { PointReading } from './neighbours-run.ts';

/** Opens a file of points: a layer, or a table whose columns are coordinates. */
export async function openPointFile(
  path: string,
  { hasColumns, header, decimal, ...reading }: PointReading,
  signal: AbortSignal,
): Promise<PointTable> {
  const layer = await openPointLayer(path, reading, hasColumns ? [] : POINT_COLUMNS);
  if (layer === undefined) {
    if (reading.layer !== undefined) throw unknownLayer(reading.layer, path);
    return openTable(path, { header, decimal, signal });
  }
  if (hasColumns) throw noColumns(path);
  return pointTable(await settled(layer, signal), reading.id);
}

function noColumns(file: string): UsageError {
  return new UsageError('usage/no-columns', 'The points are geometries, so no columns are their coordinates.', {
    remedy: 'Leave the columns out.',
    place: { file },
  });
}
