import type { Column } from '../columns/column.ts';
import type { FusionKey } from '../columns/known-fusions.ts';
import { destination, fuse, type Loader, storeRows } from '../columns/program.ts';
import { For, If, Let, Var } from '../functors/control.ts';
import { i32, u32 } from '../functors/functor.ts';
import { LocalArray } from '../functors/local-arrays.ts';
import { select } from '../functors/standard/choose.ts';
import type { I32, U32 } from '../functors/value.ts';
import { emptyPlaces, type Kept, keep, letAll, type Ranked } from './kept-places.ts';
import { type Candidates, NO_ROW, rowsByKey, type TopSearch, type Tops, WORST } from './key-ranks.ts';

/**
 * The best k of many rows are searched in three steps. Rows are dealt to lanes, of which each finds its best row without
 * a branch. Then the k lanes with the best of these are found: all of the best k rows are theirs, because every other
 * row has k better ones before it. So only the rows of k lanes are looked at again. By "better" is meant that the rank is
 * greater or, of equal ranks, that the number of the row is lower.
 */

/** Rows that are next to each other are dealt to this number of lanes, whose threads read them together. */
const LANE_BITS = 6;
export const LANES: number = 2 ** LANE_BITS;

/** A block of candidates, which are dealt to {@link LANES} lanes. It has at most `most` for each lane. */
export interface Block {
  readonly start: U32;
  readonly size: U32;
  readonly most: number;
}

/**
 * The best candidate of a lane of a block; none if it has no candidates. All lanes have as many rounds, so that their
 * reads stay together, and read past no end: the candidates that are left take one round more, in which a lane without
 * one reads the last of all.
 */
function bestOfLane(candidates: Candidates, { start, size, most }: Block, lane: U32, loader: Loader): Ranked {
  const best = Var(i32(WORST));
  // Of the worst of all ranks, too, the first is the best.
  const foundIn = Var(u32(0));
  const rounds = Let(size.shr(LANE_BITS).min(most));
  For(0, rounds, (round) => {
    const rank = Let(candidates.rankAt(Let(start.add(round.shl(LANE_BITS)).add(lane)), loader));
    foundIn.set(select(foundIn, round, rank.gt(best)));
    best.set(rank.max(best));
  });
  const isLeft = Let(lane.lt(size.sub(rounds.shl(LANE_BITS))));
  const last = Let(start.add(size.max(1).sub(1)));
  const rank = candidates.rankAt(Let(start.add(rounds.shl(LANE_BITS)).add(lane).min(last)), loader);
  const own = Let(select(i32(WORST), rank, isLeft));
  const found = Let(select(foundIn, rounds, own.gt(best)));
  const row = start.add(found.shl(LANE_BITS)).add(lane);
  return { rank: own.max(best), row: Let(select(u32(NO_ROW), row, lane.lt(size))) };
}

/** Lanes whose best candidates are stored: from lane `first` on, `count` of them, a number known when it is recorded. */
export interface Lanes {
  readonly bests: readonly [ranks: Column<'i32'>, rows: Column<'u32'>];
  readonly first: U32;
  readonly count: number;
  /** The block of the lane to which a candidate was dealt. */
  readonly blockOf: (candidate: U32) => Block;
}

/** The best `k` candidates of all lanes. */
export function bestOfLanes(
  candidates: Candidates,
  { bests, first, count, blockOf }: Lanes,
  k: number,
  loader: Loader,
): Kept {
  const lanes = emptyPlaces(k);
  For(0, count, (lane) => {
    const [rank, row] = loader.load(bests, Let(first.add(lane))) as [I32, U32];
    keep(lanes, { rank, row });
  });
  if (k === 1) return letAll(lanes);
  const chosen = LocalArray(k, u32(NO_ROW));
  for (const [j, row] of lanes.rows.entries()) chosen.set(j, row);
  const places = emptyPlaces(k);
  For(0, k, (j) => {
    const best = Let(chosen.at(j));
    If(best.ne(NO_ROW), () => {
      const { start, size, most } = blockOf(best);
      const lane = Let(best.sub(start).and(LANES - 1));
      const rounds = Let(size.sub(lane).sub(1).shr(LANE_BITS).add(1).min(most));
      For(0, rounds, (round) => {
        const row = Let(start.add(round.shl(LANE_BITS)).add(lane));
        keep(places, { rank: Let(candidates.rankAt(row, loader)), row });
      });
    });
  });
  return letAll(places);
}

/** What {@link storeBestOfLanes} goes through: a number of blocks, and the code that finds each. */
export interface Blocks {
  /** The number of threads: {@link LANES} for each block. */
  readonly threads: Column['length'];
  readonly blockAt: (block: U32, loader: Loader) => Block;
  /** What the code of `blockAt` depends on. */
  readonly key: FusionKey;
}

/** Stores the best candidate of every lane. */
export function storeBestOfLanes(
  { context }: TopSearch,
  kind: string,
  candidates: Candidates,
  { threads, blockAt, key }: Blocks,
): Lanes['bests'] {
  const ranks = context.stored('i32', threads);
  const rows = context.stored('u32', threads);
  const program = fuse(
    { name: 'bestOfLanes', kind },
    [],
    ['i32', 'u32'],
    (thread, _, loader) => {
      const block = Let(thread.div(LANES));
      const lane = Let(thread.sub(block.mul(LANES)));
      const { rank, row } = bestOfLane(candidates, blockAt(block, loader), lane, loader);
      return [rank, row];
    },
    {
      by: [storeBestOfLanes, ...candidates.by, ...key.by],
      columns: [...candidates.columns, ...key.columns],
      lengths: [candidates.length, ...(key.lengths ?? [])],
      values: key.values ?? [],
    },
  );
  storeRows(
    context,
    threads,
    program,
    [ranks, rows].map((column, value) => ({ ...destination(column), value })),
  );
  return [ranks, rows];
}

/** Bounds of the number of blocks of a segment. */
const BLOCKS = { min: 4, max: 1024 };

/** The number of blocks of a segment that may have all rows: with it, as many rows are looked at again as there are lanes. */
function blocksFor({ columns, k }: TopSearch): number {
  return Math.min(BLOCKS.max, Math.max(BLOCKS.min, Math.ceil(Math.sqrt(k * columns[0]!.capacity) / LANES)));
}

/** So many times fewer lanes than rows there are at least. */
const ROWS_PER_LANE = 16;

/** Whether {@link storeBestOfFew} takes about the time that it takes to read all rows once, for so many segments. */
export function areFew(search: TopSearch, segments: number): boolean {
  return segments * blocksFor(search) * LANES * ROWS_PER_LANE <= search.columns[0]!.capacity;
}

/** A few segments, of any number of rows each. */
export interface FewSegments {
  readonly count: number;
  readonly rowsOf: (segment: U32, loader: Loader) => { readonly from: U32; readonly size: U32 };
  /** What the code of `rowsOf` depends on. */
  readonly key: FusionKey;
}

/**
 * Stores the best rows of a few segments, whose keys have one word. Every segment is cut into the same number of blocks,
 * and one thread looks at what the lanes of a segment have found.
 */
export function storeBestOfFew(search: TopSearch, kind: string, segments: FewSegments, tops: Tops): void {
  const { context, columns, length, k } = search;
  const candidates = rowsByKey(search);
  const blocks = blocksFor(search);
  const lanes = LANES * blocks;
  const most = 2 ** Math.ceil(Math.log2(Math.max(1, columns[0]!.capacity / lanes)));
  const bests = storeBestOfLanes(search, kind, candidates, {
    threads: segments.count * lanes,
    blockAt: (number, loader) => {
      const segment = Let(number.div(blocks));
      const { from, size } = segments.rowsOf(segment, loader);
      return blockOf(from, size, number.sub(segment.mul(blocks)), blocks, most);
    },
    key: { ...segments.key, by: [storeBestOfFew, blocks, most, ...segments.key.by] },
  });
  const best = Array.from({ length: k }, (_, j) => j);
  const program = fuse(
    { name: 'bestOfFew', kind },
    [],
    ['u32', ...best.flatMap(() => ['u32', 'u32', 'u32'] as const)],
    (segment, _, loader) => {
      const { from, size } = segments.rowsOf(segment, loader);
      const places = {
        ...{ bests, first: Let(segment.mul(lanes)), count: lanes },
        blockOf: (row: U32) => blockOf(from, size, row.sub(from).div(rowsPerBlock(size, blocks)), blocks, most),
      };
      const { rows } = bestOfLanes(candidates, places, k, loader);
      const cells = rows.flatMap((row, j) => {
        const [word] = loader.loadWithin(candidates.columns, row, length) as [U32];
        return [segment.mul(k).add(j), row, word];
      });
      return [size.min(k), ...cells];
    },
    {
      ...segments.key,
      by: [storeBestOfFew, ...candidates.by, k, blocks, most, ...segments.key.by],
      columns: [...candidates.columns, ...bests, ...segments.key.columns],
      lengths: [length, ...(segments.key.lengths ?? [])],
    },
  );
  const [toRows, toKeys] = [destination(tops.rows), destination(tops.keys[0]!)];
  const stores = best.flatMap((j) => [
    { ...toRows, index: 1 + 3 * j, value: 2 + 3 * j },
    { ...toKeys, index: 1 + 3 * j, value: 3 + 3 * j },
  ]);
  const counted = tops.counts === undefined ? [] : [{ ...destination(tops.counts), value: 0 }];
  storeRows(context, segments.count, program, [...stores, ...counted]);
}

/** The rows of a block of a segment of `size` rows from row `from` on, which is cut into a number of blocks. */
function blockOf(from: U32, size: U32, block: U32, blocks: number, most: number): Block {
  const inBlock = Let(rowsPerBlock(size, blocks));
  const before = Let(block.mul(inBlock).min(size));
  return { start: Let(from.add(before)), size: Let(size.sub(before).min(inBlock)), most };
}

function rowsPerBlock(size: U32, blocks: number): U32 {
  return size
    .add(LANES * blocks - 1)
    .div(LANES * blocks)
    .shl(LANE_BITS);
}
