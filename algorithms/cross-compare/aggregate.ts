import type { Context } from '../../primitives/context.ts';
import { pairAreas } from '../pixelbox/pair-areas.ts';
import type { Regions } from '../pixelbox/regions.ts';
import type { PairAreas } from './areas.ts';
import type { MatchOptions } from './matching.ts';
import { compareTile, type TileComparison, type TileSide, type TileTask } from './tile-comparison.ts';

/**
 * The aggregator's work on a batch: areas of all candidates of its tiles in one go, then what each tile's areas say.
 *
 * Waits for the device as often for a batch as `pairAreas` does, however many tiles are in it.
 */
export async function aggregate(
  context: Context,
  batch: readonly TileTask[],
  matching: MatchOptions,
): Promise<TileComparison[]> {
  const areas = await pairAreas(
    context,
    joinRegions(batch.map(({ p }) => p.regions)),
    joinRegions(batch.map(({ q }) => q.regions)),
    joinPairs(batch),
  );
  let end = 0;
  return batch.map((task) => {
    const start = end;
    end += task.candidates.p.length;
    return compareTile(task, sliceOf(areas, start, end), matching);
  });
}

/** Bytes that a tile holds while it waits for the aggregator. */
export function sizeOfTask({ p, q, candidates }: TileTask): number {
  return sizeOfSide(p) + sizeOfSide(q) + 8 * candidates.p.length;
}

/** Bytes that one side of a tile holds. */
export function sizeOfSide({ ids, regions }: TileSide): number {
  return ids.bytes.length + 4 * ids.starts.length + 8 * regions.x.length + 24 * regions.left.length;
}

/** The regions of all arguments after one another. */
export function joinRegions(parts: readonly Regions[]): Regions {
  if (parts.length === 1) return parts[0]!;
  return {
    polygonRings: joinStarts(parts.map(({ polygonRings }) => polygonRings)),
    ringVertices: joinStarts(parts.map(({ ringVertices }) => ringVertices)),
    x: join(parts, 'x'),
    y: join(parts, 'y'),
    left: join(parts, 'left'),
    top: join(parts, 'top'),
    right: join(parts, 'right'),
    bottom: join(parts, 'bottom'),
  };
}

/** Starts of parts and one entry more each, counted through. */
function joinStarts(parts: readonly Uint32Array[]): Uint32Array {
  const joined = new Uint32Array(parts.reduce((sum, starts) => sum + starts.length - 1, 1));
  let [at, before] = [0, 0];
  for (const starts of parts) {
    for (let i = 0; i < starts.length; i++) joined[at + i] = before + starts[i]!;
    at += starts.length - 1;
    before += starts.at(-1)!;
  }
  return joined;
}

type Int32Columns = Exclude<keyof Regions, 'polygonRings' | 'ringVertices'>;

function join(parts: readonly Regions[], column: Int32Columns): Int32Array {
  const joined = new Int32Array(parts.reduce((sum, part) => sum + part[column].length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part[column], at);
    at += part[column].length;
  }
  return joined;
}

function joinPairs(batch: readonly TileTask[]): { readonly p: Uint32Array; readonly q: Uint32Array } {
  const pairs = batch.reduce((sum, { candidates }) => sum + candidates.p.length, 0);
  const joined = { p: new Uint32Array(pairs), q: new Uint32Array(pairs) };
  let [at, firstP, firstQ] = [0, 0, 0];
  for (const { candidates, p, q } of batch) {
    for (let pair = 0; pair < candidates.p.length; pair++, at++) {
      joined.p[at] = firstP + candidates.p[pair]!;
      joined.q[at] = firstQ + candidates.q[pair]!;
    }
    firstP += p.regions.left.length;
    firstQ += q.regions.left.length;
  }
  return joined;
}

function sliceOf({ intersection, p, q }: PairAreas, start: number, end: number): PairAreas {
  return {
    intersection: intersection.subarray(start, end),
    p: p.subarray(start, end),
    q: q.subarray(start, end),
  };
}
