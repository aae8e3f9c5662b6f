import type { HostColumn } from '../algorithms/tables/host-table.ts';
import { overMemory } from '../formats/memory.ts';
import { joined } from '../formats/tables/rebatch.ts';
import type { PlacedRows } from './neighbours-rows.ts';

/** Bytes of memory per point, for its row number and name and its place in trees. */
const BYTES_PER_ROW = 20;
/**
 * Bytes of memory per coordinate: an f64 as it is read, one among all points, an f32 for the device, and a share of the
 * boxes of a tree.
 */
const BYTES_PER_COORDINATE = 24;
/** Bytes of memory for the rest of a coordinate that f64 does not hold, read and among all points, and its vector. */
const BYTES_PER_REST = 24;

/**
 * Reads all points into memory.
 *
 * @throws OutOfMemoryError `memory/limit`.
 */
export async function collectPoints(
  batches: AsyncIterable<PlacedRows>,
  dimensions: number,
  room: { readonly file: string; readonly bytes: number },
): Promise<PlacedRows> {
  const parts: PlacedRows[] = [];
  let count = 0;
  let hasRests = false;
  for await (const part of batches) {
    count += part.count;
    hasRests ||= part.coordinates.rests !== undefined;
    requireRoom(count, dimensions, room, hasRests);
    parts.push(part);
  }
  const values = new Float64Array(count * dimensions);
  const rests = hasRests ? new Float64Array(values.length) : undefined;
  const rows = new Uint32Array(count);
  let first = 0;
  for (const part of parts) {
    values.set(part.coordinates.values, first * dimensions);
    if (part.coordinates.rests !== undefined) rests!.set(part.coordinates.rests, first * dimensions);
    rows.set(part.rows, first);
    first += part.count;
  }
  return { count, coordinates: { dimensions, values, rests }, rows, names: joinedNames(parts, count) };
}

/** Throws if the points do not fit in memory. */
export function requireRoom(
  count: number,
  dimensions: number,
  { file, bytes }: { file: string; bytes: number },
  hasRests = false,
): void {
  const each = BYTES_PER_COORDINATE + (hasRests ? BYTES_PER_REST : 0);
  const needed = count * (BYTES_PER_ROW + each * dimensions);
  if (needed <= bytes) return;
  throw overMemory('There are too many points to be held in memory.', {
    needed,
    what: `${count} points of ${dimensions} dimensions`,
    allowed: bytes,
    instead: 'split the file',
    place: { file },
  });
}

/** Concatenates the names of the points in all batches. */
function joinedNames(parts: readonly PlacedRows[], count: number): HostColumn | undefined {
  const chunks = parts.flatMap(({ count: rows, names }) =>
    rows > 0 && names !== undefined ? [{ rows, columns: { names } }] : [],
  );
  return chunks.length === 0 ? parts[0]?.names : joined(chunks, count).columns.names;
}
