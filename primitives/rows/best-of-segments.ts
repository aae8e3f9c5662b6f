import { destination, fuse, type Loader, storeRows } from '../columns/program.ts';
import { wordsOf } from '../columns/words.ts';
import { For, If, Let, Var } from '../functors/control.ts';
import { bool, i32, u32 } from '../functors/functor.ts';
import { select } from '../functors/standard/choose.ts';
import type { Bool, I32, U32 } from '../functors/value.ts';
import type { ScalarType } from '../ir/ir.ts';
import { type Block, bestOfLanes, LANES, storeBestOfLanes } from './best-of-lanes.ts';
import { emptyPlaces, type Kept, letAll, type Places, setAll, withCandidate } from './kept-places.ts';
import { type Candidates, NO_ROW, rowsByKey, type TopSearch, type Tops, WORST } from './key-ranks.ts';
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

/**
 * Stores the best rows of every segment, which a thread keeps in variables while it goes through the rows. Of longer
 * segments, the best of every piece are found first, and then the best of these.
 */
export function storeKeptTops(search: TopSearch, places: SegmentRows, tops: Required<Tops>): void {
  const { context, columns, k } = search;
  let candidates = rowsByKey(search);
  let segments: PlacedSegments = places;
  for (let most = columns[0]!.capacity; ; most = candidates.length as number) {
    const isLong = most > PIECE && k > 0;
    const long = isLong ? longSegments('segmentedTopK', context, segments, candidates.length, most, LANES) : undefined;
    storeTops(search, candidates, segments, long, tops);
    if (long === undefined) return;
    candidates = bestOfPieces(search, candidates, long);
    segments = segmentsOfPieces(long, k);
  }
}

/** Stores the best candidates of all segments but those that are cut into pieces. */
function storeTops(
  { context, columns, length, k }: TopSearch,
  candidates: Candidates,
  segments: PlacedSegments,
  long: LongSegments | undefined,
  tops: Required<Tops>,
): void {
  const { of, number } = segments;
  const words = columns.map(wordsOf);
  const cuts = [of, long].filter((each) => each !== undefined);
  const best = Array.from({ length: k }, (_, j) => j);
  const types: readonly ScalarType[] = ['bool', 'u32', ...best.flatMap(() => ['u32', 'u32', 'u32'] as const)];
  const key = {
    by: [storeTops, ...candidates.by, k, of !== undefined, long !== undefined],
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
        const row = Let(candidates.rowAt(found.rows[j]!, loader));
        const [word] = loader.loadWithin(words, row, length) as [U32];
        return [own.mul(k).add(j), row, word];
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
function bestOfPieces(search: TopSearch, given: Candidates, long: LongSegments): Candidates {
  const { context, k } = search;
  const { pieces, piece, first, end } = long;
  const blockAt = (number: U32, loader: Loader): Block => {
    const { from, size } = rowsOfPiece(long, number, loader);
    return { start: from, size, most: PIECE / LANES };
  };
  const places = [piece, first, end];
  const bests = storeBestOfLanes(search, 'segmentedTopK', given, {
    threads: long.lanes,
    blockAt,
    key: { by: [bestOfPieces], columns: places, lengths: [piece.length] },
  });
  const length = pieces.limit * k;
  const ranks = context.stored('i32', length);
  const rows = context.stored('u32', length);
  const best = Array.from({ length: k }, (_, j) => j);
  const types: readonly ScalarType[] = best.flatMap(() => ['u32', 'i32', 'u32'] as const);
  const program = fuse(
    { name: 'bestOfPieces', kind: 'segmentedTopK' },
    [],
    types,
    (number, _, loader) => {
      const block = blockAt(number, loader);
      const lanes = { bests, first: Let(number.mul(LANES)), count: LANES, blockOf: () => block };
      const found = bestOfLanes(given, lanes, k, loader);
      return best.flatMap((j) => [number.mul(k).add(j), found.ranks[j]!, given.rowAt(found.rows[j]!, loader)]);
    },
    {
      by: [bestOfPieces, ...given.by, k],
      columns: [...given.columns, ...bests, ...places],
      lengths: [given.length, piece.length],
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
    by: [bestOfPieces],
    rankAt: (index, loader) => loader.load([ranks], index)[0] as I32,
    rowAt: (index, loader) => select(loader.load([rows], index)[0] as U32, NO_ROW, index.eq(NO_ROW)),
  };
}

/** Rows per round of the search. A device has so many reads on the way at once. */
const ROUND = 4;

/** The best candidates from `from` to `to − 1`; of the places for which there are none, rows are none. */
function bestOf(candidates: Candidates, from: U32, to: U32, k: number, loader: Loader): Kept {
  if (k === 0) return { ranks: [], rows: [] };
  const places = emptyPlaces(k);
  For({ from, to, step: ROUND }, (index) => {
    const left = Let(to.sub(index));
    let kept: Kept = letAll(places);
    for (let i = 0; i < ROUND; i++) {
      const row = i === 0 ? index : Let(index.add(i));
      const own = candidates.rankAt(row, loader);
      const rank = Let(i === 0 ? own : select(i32(WORST), own, left.gt(i)));
      const isBehind = kept.ranks.map((each) => Let(each.lt(rank)));
      kept = withCandidate(kept, { rank, row }, isBehind);
    }
    setAll(places, kept);
  });
  fillWithWorst(candidates, from, to, places, loader);
  return letAll(places);
}

/** Candidates with the worst of all ranks beat no empty place. They fill the places that are left, in order. */
function fillWithWorst(candidates: Candidates, from: U32, to: U32, { rows }: Places, loader: Loader): void {
  const filled = rows.reduce<U32>((sum, row) => sum.add(u32(row.ne(NO_ROW))), u32(0));
  If(filled.lt(to.sub(from).min(rows.length)), () => {
    const place = Var(filled);
    For(from, to, (row) => {
      If(candidates.rankAt(row, loader).eq(WORST), () => {
        for (const [j, each] of rows.entries()) each.set(select(each, row, place.eq(j)));
        place.set(place.add(1));
      });
    });
  });
}
