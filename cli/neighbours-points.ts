import type { Metric } from '../algorithms/neighbours/index.ts';
import type { HostColumn } from '../algorithms/tables/host-table.ts';
import { overMemory } from '../formats/memory.ts';
import { type Chunk, rebatched } from '../formats/tables/rebatch.ts';
import type { PlacedRows } from './neighbours-rows.ts';

/** Points in memory, ready for the device. */
export interface HostPoints {
  readonly count: number;
  readonly dimensions: number;
  /** Coordinates, one point after the other, minus the offset. */
  readonly elements: Float32Array;
  /** Their rows in the file. */
  readonly rows: Uint32Array;
  /** Names of points; undefined if row numbers name them. */
  readonly names: HostColumn | undefined;
  /** Subtracted from the coordinates before they are rounded to f32; undefined if nothing is. */
  readonly offset: readonly number[] | undefined;
  /** Whether any coordinate has more digits than f32 holds. */
  readonly areRounded: boolean;
}

/** Bytes per point while reading, for its row and name. */
const BYTES_PER_ROW = 16;
/** Bytes per coordinate: an f64 and an f32. */
const BYTES_PER_COORDINATE = 12;

/**
 * Collects points. If coordinates have more digits than f32 holds and the metric depends on differences only, an offset is
 * subtracted from all points and queries. The remaining digits tell points apart.
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

/** Coordinates minus an offset, as f32. */
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

/** Checks that the points fit in memory. */
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

/** The median of each coordinate, over up to 4,096 points spread evenly over the file. */
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

/** The names of all parts, one after the other. */
async function joinedNames(parts: readonly PlacedRows[], count: number): Promise<HostColumn | undefined> {
  async function* chunks(): AsyncGenerator<Chunk> {
    for (const { count: rows, names } of parts) if (names !== undefined) yield { rows, columns: { names } };
  }
  for await (const { columns } of rebatched(chunks(), Math.max(1, count))) return columns.names;
  return parts[0]?.names;
}
