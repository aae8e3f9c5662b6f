import type { Column, ColumnOwner } from '../columns/column.ts';
import { destination, fuse, type Loader, storeRows } from '../columns/program.ts';
import { computedColumn } from '../columns/views.ts';
import { wordsOf } from '../columns/words.ts';
import { For, If, Let, Var } from '../functors/control.ts';
import { bool, i32, u32 } from '../functors/functor.ts';
import { bitsToI32, bitsToU32 } from '../functors/standard/bits.ts';
import { select } from '../functors/standard/choose.ts';
import type { Bool, I32, U32, Variable } from '../functors/value.ts';
import type { ScalarType } from '../ir/ir.ts';
import { slice } from '../slice.ts';
import {
  isCut,
  type LongSegments,
  longSegments,
  PIECE,
  type PlacedSegments,
  rowsOfPiece,
  rowsOfSegment,
  type SegmentRows,
  segmentsOfPieces,
} from './segments.ts';

/** The best `k` keys of segments of rows are searched. */
export interface TopSearch {
  readonly context: ColumnOwner;
  /** The columns of the keys, the most significant word first. */
  readonly columns: readonly Column[];
  readonly length: Column['length'];
  readonly smallest: boolean;
  readonly k: number;
}

/** Where the best rows are stored, `k` for each segment, and how many a segment has. */
export interface Tops {
  readonly keys: readonly Column[];
  readonly rows: Column<'u32'>;
  readonly counts: Column<'u32'>;
}

/** The row of a cell for which there is none. */
export const NO_ROW: number = 2 ** 32 - 1;

/** The rank of the worst of all keys, and of no key. */
const WORST = -(2 ** 31);

/** A word of a key as an i32 that is the greater the better the key is. All NaN have the same. */
function rankOf(word: U32, type: ScalarType, smallest: boolean): I32 {
  const rank = ascendingRank(word, type);
  return smallest ? rank.not() : rank;
}

function ascendingRank(word: U32, type: ScalarType): I32 {
  const bits = bitsToI32(word);
  if (type === 'i32') return bits;
  if (type === 'u32') return bits.xor(WORST);
  const ordered = bits.xor(select(i32(0), 2 ** 31 - 1, bits.lt(0)));
  return select(ordered, 2 ** 31 - 1, bits.and(2 ** 31 - 1).gt(0x7f800000));
}

/** Columns of keys as words of u32 in the order of their ranks, the best first. */
export function orderWords(columns: readonly Column[], smallest: boolean): Column<'u32'>[] {
  return columns.map((column) => {
    const words = wordsOf(column);
    const key = { by: [orderWords, column.type, smallest], columns: [words] };
    return computedColumn('order', 'u32', column, key, (index, loader) => {
      const [word] = loader.load([words], index) as [U32];
      return bitsToU32(rankOf(word, column.type, smallest)).xor(2 ** 31 - 1);
    });
  });
}

/** Rows among which the best are searched: for each, a rank and the number of the row. */
interface Candidates {
  readonly length: Column['length'];
  readonly columns: readonly Column[];
  readonly at: (index: U32, loader: Loader) => { readonly rank: I32; readonly row: U32 };
  /** Whether a row may have the rank {@link WORST}. */
  readonly mayBeWorst: boolean;
}

/** All rows, with the ranks of their keys. */
function keysToSearch(columns: readonly Column[], length: Column['length'], smallest: boolean): Candidates {
  const words = columns.map(wordsOf);
  const [{ type }] = columns as [Column];
  return {
    length,
    columns: words,
    at: (index, loader) => ({
      rank: rankOf(loader.loadWithin(words, index, length)[0] as U32, type, smallest),
      row: index,
    }),
    // Of f32, only NaN have an extreme rank.
    mayBeWorst: type !== 'f32' || smallest,
  };
}

/**
 * Stores the best rows of every segment, which a thread keeps in variables while it goes through the rows. Of longer
 * segments, the best of every piece are found first, and then the best of these.
 */
export function storeKeptTops(search: TopSearch, places: SegmentRows, tops: Tops): void {
  const { context, columns, length, smallest, k } = search;
  const [{ type, capacity }] = columns as [Column];
  let candidates = keysToSearch(columns, length, smallest);
  let segments: PlacedSegments = places;
  let by: readonly (object | string | number | boolean)[] = [storeKeptTops, k, type, smallest];
  for (let most = capacity; ; most = candidates.length as number) {
    const long = most > PIECE ? longSegments('segmentedTopK', context, segments, candidates.length, most) : undefined;
    storeTops(search, by, candidates, segments, long, tops);
    if (long === undefined) return;
    candidates = bestOfPieces(search, by, candidates, long);
    segments = segmentsOfPieces(long, k);
    by = [storeKeptTops, k, candidates.mayBeWorst];
  }
}

/** Stores the best candidates of all segments but those that are cut into pieces. */
function storeTops(
  { context, columns, length, k }: TopSearch,
  by: readonly (object | string | number | boolean)[],
  candidates: Candidates,
  segments: PlacedSegments,
  long: LongSegments | undefined,
  tops: Tops,
): void {
  const { of, number } = segments;
  const words = columns.map(wordsOf);
  const cuts = [of, long].filter((each) => each !== undefined);
  const best = Array.from({ length: k }, (_, j) => j);
  const types: readonly ScalarType[] = ['bool', 'u32', ...best.flatMap(() => ['u32', 'u32', 'u32'] as const)];
  const key = {
    by: [...by, storeTops, of !== undefined, long !== undefined],
    columns: [
      ...[...candidates.columns, segments.first, segments.end, ...words],
      ...(number === undefined ? [] : [number]),
      ...cuts.map(({ needed }) => needed),
    ],
    lengths: [candidates.length, length, segments.first.length, segments.end.length],
    values: cuts.map(({ pieces }) => pieces.limit),
  };
  const program = fuse(
    { name: 'tops', kind: 'segmentedTopK' },
    [],
    types,
    (segment, _, loader) => {
      const { from, to, size } = rowsOfSegment(segments, segment, candidates.length, loader);
      const isMine = of === undefined ? undefined : isCut(of, loader);
      const isWhole = long === undefined ? undefined : size.le(PIECE).or(isCut(long, loader).not());
      const isStored = Let([isMine, isWhole].reduce<Bool>((all, one) => (one ? all.and(one) : all), bool(true)));
      const end = Let(select(from, to, isStored));
      const found = bestOf(candidates, from, end, k, loader);
      const own = number === undefined ? segment : (loader.load([number], segment)[0] as U32);
      const cells = best.flatMap((j) => {
        const [word] = loader.loadWithin(words, found.rows[j]!, length) as [U32];
        return [own.mul(k).add(j), found.rows[j]!, word];
      });
      return [isStored, size.min(k), ...cells];
    },
    key,
  );
  const stores = best.flatMap((j) => [
    { ...destination(tops.rows), guard: 0, index: 2 + 3 * j, value: 3 + 3 * j },
    { ...destination(tops.keys[0]!), guard: 0, index: 2 + 3 * j, value: 4 + 3 * j },
  ]);
  const counted = of === undefined ? [{ ...destination(tops.counts), value: 1 }] : [];
  // Of segments whose number only the device knows, the cells of those that are missing are written too.
  const extent = of === undefined ? segments.end.capacity : segments.end.length;
  storeRows(context, extent, program, [...stores, ...counted]);
}

/** The best candidates of every piece of long segments: `k` for each piece. */
function bestOfPieces(
  { context, k }: TopSearch,
  by: readonly (object | string | number | boolean)[],
  candidates: Candidates,
  long: LongSegments,
): Candidates {
  const { pieces, piece, first, end } = long;
  const length = pieces.limit * k;
  const ranks = context.stored('i32', length);
  const rows = context.stored('u32', length);
  const best = Array.from({ length: k }, (_, j) => j);
  const types: readonly ScalarType[] = best.flatMap(() => ['u32', 'i32', 'u32'] as const);
  const program = fuse(
    { name: 'topsOfPieces', kind: 'segmentedTopK' },
    [],
    types,
    (number, _, loader) => {
      const { from, to } = rowsOfPiece(long, number, loader);
      const found = bestOf(candidates, from, to, k, loader);
      return best.flatMap((j) => [number.mul(k).add(j), found.ranks[j]!, found.rows[j]!]);
    },
    {
      by: [...by, bestOfPieces],
      columns: [...candidates.columns, piece, first, end],
      lengths: [candidates.length, piece.length],
    },
  );
  const stores = best.flatMap((j) => [
    { ...destination(ranks), index: 3 * j, value: 3 * j + 1 },
    { ...destination(rows), index: 3 * j, value: 3 * j + 2 },
  ]);
  storeRows(context, pieces, program, stores);
  return {
    length,
    columns: [ranks, rows],
    at: (index, loader) => {
      const [rank, row] = loader.load([ranks, rows], index) as [I32, U32];
      return { rank, row };
    },
    mayBeWorst: candidates.mayBeWorst,
  };
}

/** Rows per round of the search. A device has so many reads on the way at once. */
const ROUND = 4;

/** The best candidates from `from` to `to − 1`: for each of `k` places a rank and a row, which is none if there are fewer. */
function bestOf(candidates: Candidates, from: U32, to: U32, k: number, loader: Loader): Kept {
  if (k === 0) return { ranks: [], rows: [] };
  const places = emptyPlaces(k);
  For({ from, to, step: ROUND }, (index) => {
    const left = Let(to.sub(index));
    let kept: Kept = letAll(places);
    for (let i = 0; i < ROUND; i++) {
      const { rank, row } = candidates.at(i === 0 ? index : Let(index.add(i)), loader);
      kept = withCandidate(kept, Let(i === 0 ? rank : select(i32(WORST), rank, left.gt(i))), row);
    }
    setAll(places, kept);
  });
  if (candidates.mayBeWorst) fillWithWorst(candidates, to.sub(from), (i) => from.add(i), places, loader);
  return letAll(places);
}

/** Rows that are next to each other go to this number of threads, which read them together. */
const LANES = 64;
/** About the number of rows of a block: a thread's share of it is so large that few of its rows are among the best. */
const BLOCK_ROWS = 2 ** 18;
/** The number of blocks is so large that threads are busy, and so small that few candidates are left. */
const BLOCKS = { min: 4, max: 64 };

/**
 * The best rows of all, of which each of a few threads keeps its own best: every row takes one comparison, unless it is
 * among the best of its thread so far. These are sorted by rank and row.
 */
export function bestKeptRows({ context, columns, length, smallest, k }: TopSearch): Column<'u32'> {
  const [{ capacity }] = columns as [Column];
  const candidates = keysToSearch(columns, length, smallest);
  const blocks = Math.min(BLOCKS.max, Math.max(BLOCKS.min, Math.ceil(capacity / BLOCK_ROWS)));
  const threads = LANES * blocks;
  const ranks = context.stored('i32', threads * k);
  const rows = context.stored('u32', threads * k);
  const best = Array.from({ length: k }, (_, j) => j);
  const types: readonly ScalarType[] = best.flatMap(() => ['u32', 'i32', 'u32'] as const);
  const program = fuse(
    { name: 'topsOfThreads', kind: 'topK' },
    [],
    types,
    (thread, _, loader) => {
      const inBlock = loader.uniform('u32', LANES * Math.ceil(capacity / threads));
      const all = loader.length(length);
      const block = Let(thread.div(LANES));
      const start = Let(block.mul(inBlock));
      const size = Let(all.max(start).sub(start).min(inBlock));
      const lane = Let(thread.sub(block.mul(LANES)));
      const found = bestOfLane(candidates, { start, size, lane }, k, loader);
      return best.flatMap((j) => [thread.add(j * threads), found.ranks[j]!, found.rows[j]!]);
    },
    {
      by: [bestKeptRows, k, columns[0]!.type, smallest, threads],
      columns: candidates.columns,
      lengths: [length],
      values: [LANES * Math.ceil(capacity / threads)],
    },
  );
  const stores = best.flatMap((j) => [
    { ...destination(ranks), index: 3 * j, value: 3 * j + 1 },
    { ...destination(rows), index: 3 * j, value: 3 * j + 2 },
  ]);
  storeRows(context, threads, program, stores);
  return bestOfThreads(context, ranks, rows, k);
}

/** The rows of the best of all candidates: one thread goes through them, by rank and then by row. */
function bestOfThreads(context: ColumnOwner, ranks: Column<'i32'>, rows: Column<'u32'>, k: number): Column<'u32'> {
  const found = context.stored('u32', k);
  const program = fuse(
    { name: 'topOfAll', kind: 'topK' },
    [],
    Array.from({ length: k }, () => 'u32'),
    (_, __, loader) => {
      const places = emptyPlaces(k);
      For(0, loader.length(ranks.length), (index) => {
        const [rank, row] = loader.load([ranks, rows], index) as [I32, U32];
        const isBehind = (place: I32, its: U32): Bool => place.lt(rank).or(place.eq(rank).and(its.gt(row)));
        If(isBehind(places.ranks.at(-1)!, places.rows.at(-1)!), () => {
          const kept = letAll(places);
          const behind = kept.ranks.map((place, j) => Let(isBehind(place, kept.rows[j]!)));
          setAll(places, withCandidate(kept, rank, row, behind));
        });
      });
      return places.rows;
    },
    { by: [bestOfThreads, k], columns: [ranks, rows], lengths: [ranks.length] },
  );
  const stores = Array.from({ length: k }, (_, j) => ({ ...destination(slice(found, j)), value: j }));
  storeRows(context, 1, program, stores);
  return found;
}

/**
 * The best of every 64th candidate of a block, from that of a lane on. All lanes have as many rounds, so that their reads
 * stay together, and read past no end: the candidates that are left take one round more, in which a lane without one
 * reads the last of all.
 */
function bestOfLane(candidates: Candidates, { start, size, lane }: LaneRows, k: number, loader: Loader): Kept {
  const places = emptyPlaces(k);
  const consider = (rank: I32, row: U32): void => {
    If(rank.gt(places.ranks.at(-1)!), () => setAll(places, withCandidate(letAll(places), rank, row)));
  };
  const indexOf = (round: U32): U32 => start.add(round.mul(LANES)).add(lane);
  const rounds = Let(size.div(LANES));
  For(0, rounds, (round) => {
    const { rank, row } = candidates.at(Let(indexOf(round)), loader);
    consider(Let(rank), row);
  });
  const isLeft = Let(lane.lt(size.sub(rounds.mul(LANES))));
  const last = Let(start.add(size.max(1).sub(1)));
  const { rank, row } = candidates.at(Let(indexOf(rounds).min(last)), loader);
  consider(Let(select(i32(WORST), rank, isLeft)), row);
  if (candidates.mayBeWorst) fillWithWorst(candidates, Let(rounds.add(u32(isLeft))), indexOf, places, loader);
  return letAll(places);
}

interface LaneRows {
  readonly start: U32;
  readonly size: U32;
  readonly lane: U32;
}

type Kept = { readonly ranks: readonly I32[]; readonly rows: readonly U32[] };

/** Variables for what is kept, the best first. */
interface Places {
  readonly ranks: readonly Variable<'i32'>[];
  readonly rows: readonly Variable<'u32'>[];
}

function emptyPlaces(k: number): Places {
  return {
    ranks: Array.from({ length: k }, () => Var(i32(WORST))),
    rows: Array.from({ length: k }, () => Var(u32(NO_ROW))),
  };
}

function letAll({ ranks, rows }: Places): Kept {
  return { ranks: ranks.map(Let), rows: rows.map(Let) };
}

function setAll({ ranks, rows }: Places, kept: Kept): void {
  for (const [j, rank] of ranks.entries()) {
    rank.set(kept.ranks[j]!);
    rows[j]!.set(kept.rows[j]!);
  }
}

/** The best of the rows that were kept, in order, and of one more: it goes behind those that are as good. */
function withCandidate(
  { ranks, rows }: Kept,
  rank: I32,
  row: U32,
  isBehind: readonly Bool[] = ranks.map((each) => Let(each.lt(rank))),
): Kept {
  return {
    ranks: ranks.map((each, j) => Let(each.max(j === 0 ? rank : rank.min(ranks[j - 1]!)))),
    rows: rows.map((each, j) => {
      const moved = j === 0 ? row : select(row, rows[j - 1]!, isBehind[j - 1]!);
      return Let(select(each, moved, isBehind[j]!));
    }),
  };
}

/** Candidates with the worst of all ranks beat no empty place. They fill the places that are left, in order. */
function fillWithWorst(
  candidates: Candidates,
  size: U32,
  indexOf: (i: U32) => U32,
  { rows }: Places,
  loader: Loader,
): void {
  const filled = rows.reduce<U32>((sum, row) => sum.add(u32(row.ne(NO_ROW))), u32(0));
  If(filled.lt(size.min(rows.length)), () => {
    const place = Var(filled);
    For(0, size, (i) => {
      const { rank, row } = candidates.at(Let(indexOf(i)), loader);
      If(rank.eq(WORST).and(row.ne(NO_ROW)), () => {
        for (const [j, each] of rows.entries()) each.set(select(each, row, place.eq(j)));
        place.set(place.add(1));
      });
    });
  });
}
