import type { Metric } from '../algorithms/neighbours/index.ts';
import type { HostColumn } from '../algorithms/tables/host-table.ts';
import { overMemory } from '../formats/memory.ts';
import { type Chunk, rebatched } from '../formats/tables/rebatch.ts';
import type { PlacedRows } from './neighbours-rows.ts';

/** Points in memory, in the form that the device needs. */
export interface HostPoints {
  readonly count: number;
  readonly dimensions: number;
  /** Coordinates of the points, point after point, relative to the offset. */
  readonly elements: Float32Array;
  /** Row number of each point in the file. */
  readonly rows: Uint32Array;
  /** Names of the points; undefined if points are named by row numbers. */
  readonly names: HostColumn | undefined;
  /** Vector that was subtracted from all points before rounding to f32; undefined if nothing was subtracted. */
  readonly offset: readonly number[] | undefined;
  /** Whether some coordinate in the file has more digits than f32 holds. */
  readonly areRounded: boolean;
}

/** Bytes of memory per point while points are read, for its row number and name. */
const BYTES_PER_ROW = 16;
/** Bytes of memory per coordinate: an f64 and an f32. */
const BYTES_PER_COORDINATE = 12;

/**
 * Reads all points into memory. Some coordinates may have more digits than f32 holds. If so, and if the metric depends
 * only on differences of coordinates, subtracts an offset from all points. Then f32 holds the digits in which points
 * differ. The caller must subtract the same offset from the queries.
 *
 * @throws OutOfMemoryError `memory/limit`.
 */
export async function collectPoints(
  batches: AsyncIterable<PlacedRows>,
  dimensions: number,
  metric: Metric,
  room: { readonly file: string; readonly bytes: number },
): Promise<HostPoints> {
  const parts: PlacedRows[] = [];
  let count = 0;
  for await (const part of batches) {
    count += part.count;
    requireRoom(count, dimensions, room);
    parts.push(part);
  }
  const areRounded = parts.some(({ coordinates }) => coordinates.some((x) => Math.fround(x) !== x));
  const offset = areRounded && isOfDifferences(metric) ? offsetOf(parts, count, dimensions) : undefined;
  const elements = new Float32Array(count * dimensions);
  const rows = new Uint32Array(count);
  let first = 0;
  for (const part of parts) {
    elements.set(placedAt(part.coordinates, dimensions, offset), first * dimensions);
    rows.set(part.rows, first);
    first += part.count;
  }
  return { count, dimensions, elements, rows, names: await joinedNames(parts, count), offset, areRounded };
}

/** Subtracts an offset from coordinates, and rounds the result to f32. */
export function placedAt(
  coordinates: Float64Array,
  dimensions: number,
  offset: readonly number[] | undefined,
): Float32Array {
  const elements = new Float32Array(coordinates);
  if (offset === undefined) return elements;
  for (let i = 0; i < elements.length; i++) elements[i] = coordinates[i]! - offset[i % dimensions]!;
  return elements;
}

/** Throws if the points do not fit in memory. */
export function requireRoom(count: number, dimensions: number, { file, bytes }: { file: string; bytes: number }): void {
  const needed = count * (BYTES_PER_ROW + BYTES_PER_COORDINATE * dimensions);
  if (needed <= bytes) return;
  throw overMemory('There are too many points to be held in memory.', {
    needed,
    what: `${count} points of ${dimensions} dimensions`,
    allowed: bytes,
    instead: 'split the file',
    place: { file },
  });
}

function isOfDifferences(metric: Metric): boolean {
  return metric !== 'cosine' && metric !== 'inner';
}

const MAX_SAMPLES = 4096;

/** The median of each coordinate. It is computed from at most 4,096 points, which are evenly spread over the file. */
function offsetOf(parts: readonly PlacedRows[], count: number, dimensions: number): number[] {
  const every = Math.ceil(count / MAX_SAMPLES);
  const samples: number[][] = Array.from({ length: dimensions }, () => []);
  let first = 0;
  for (const part of parts) {
    for (let i = (every - (first % every)) % every; i < part.count; i += every) {
      for (const [d, sample] of samples.entries()) sample.push(part.coordinates[i * dimensions + d]!);
    }
    first += part.count;
  }
  return samples.map((sample) => sample.sort((a, b) => a - b)[sample.length >> 1]!);
}

/** Concatenates the names of the points in all batches. */
async function joinedNames(parts: readonly PlacedRows[], count: number): Promise<HostColumn | undefined> {
  async function* chunks(): AsyncGenerator<Chunk> {
    for (const { count: rows, names } of parts) if (names !== undefined) yield { rows, columns: { names } };
  }
  for await (const { columns } of rebatched(chunks(), Math.max(1, count))) return columns.names;
  return parts[0]?.names;
}
