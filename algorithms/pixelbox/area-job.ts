import type { Context, HostTableOf, Table } from '../../primitives/index.ts';
import type { AreaPlan, RegionPairs } from './area-plan.ts';
import type { NumberedPairs } from './pair-tables.ts';
import type { Regions } from './regions.ts';

/** Pairs of regions of two sets, the method for each pair, and the areas found so far. */
export interface AreaJob {
  readonly p: Regions;
  readonly q: Regions;
  readonly pairs: RegionPairs;
  readonly plan: AreaPlan;
  /** Area of the intersection of each pair, ‖p ∩ q‖, in pixels. */
  readonly intersection: BigUint64Array;
  /** Area of each region in pixels; 0 if the region is in no pair. */
  readonly ofP: BigUint64Array;
  readonly ofQ: BigUint64Array;
}

/**
 * Cuts a list of pairs into parts that each need at most `memoryBytes`. A pair that needs more is a part of its own.
 */
export function* parts(
  list: Uint32Array,
  memoryBytes: number,
  bytesOf: (pair: number, part: number) => number,
): Generator<Uint32Array> {
  let [from, used, part] = [0, 0, 1];
  for (let i = 0; i < list.length; i++) {
    let needed = bytesOf(list[i]!, part);
    if (i > from && used + needed > memoryBytes) {
      yield list.subarray(from, i);
      [from, used] = [i, 0];
      needed = bytesOf(list[i]!, ++part);
    }
    used += needed;
  }
  if (from < list.length) yield list.subarray(from);
}

/** The pairs of a list, numbered from 0 in the order of the list. */
export function listedPairs(list: Uint32Array, { p, q }: RegionPairs): NumberedPairs {
  const column = (): Uint32Array => new Uint32Array(list.length);
  const listed = { pair: column(), p: column(), q: column() };
  for (let row = 0; row < list.length; row++) {
    listed.pair[row] = row;
    listed.p[row] = p[list[row]!]!;
    listed.q[row] = q[list[row]!]!;
  }
  return listed;
}

/** Writes areas to the rows given by a list. Areas have 32 bits, or 64 bits if `hi` is given. */
export function writeAreas(areas: BigUint64Array, rows: Uint32Array, lo: Uint32Array, hi?: Uint32Array): void {
  const words = new Uint32Array(areas.buffer);
  for (let i = 0; i < rows.length; i++) {
    words[2 * rows[i]!] = lo[i]!;
    words[2 * rows[i]! + 1] = hi === undefined ? 0 : hi[i]!;
  }
}

/** Reads columns to the host and disposes of them. */
export async function readOnce<C extends Table>(context: Context, table: C): Promise<HostTableOf<C>> {
  try {
    return await context.read(table);
  } finally {
    context.dispose(table);
  }
}
