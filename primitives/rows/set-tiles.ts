import { type Column, type ColumnOwner, columnsOf, type Memory, type Table, withColumns } from '../columns/column.ts';
import { addLengths } from '../columns/length.ts';
import { destination, type Fusion, fuse, type Loader, programOf, storeRows } from '../columns/program.ts';
import { expectRows } from '../context/capacity-option.ts';
import { requireContext } from '../context/context-option.ts';
import { capacityOf, type Store } from '../contract/backend.ts';
import { If, Let, Var } from '../functors/control.ts';
import { bool, u32 } from '../functors/functor.ts';
import { select } from '../functors/standard/choose.ts';
import type { Bool, U32 } from '../functors/value.ts';
import { plus } from '../monoid.ts';
import { countIn, fusedScan } from '../scan.ts';
import { below, partitionPoint } from '../search.ts';
import { keyOf, type MergeSide, type Path, rowAt, type Sorted, sidesOf, split } from './merge-path.ts';

/** What a set operation keeps of two sorted tables. */
export interface SetOperation {
  /** Whether a row is kept of a step that takes the next row of the first table (`a`), of the second (`b`), or a pair. */
  readonly keeps: (a: Bool, b: Bool) => Bool;
  /** The maximum number of rows of the result. */
  readonly most: (a: number, b: number) => number;
}

export const UNION: SetOperation = {
  keeps: () => bool(true),
  most: (a, b) => a + b,
};

export const INTERSECTION: SetOperation = {
  keeps: (a, b) => a.and(b),
  most: Math.min,
};

export const DIFFERENCE: SetOperation = {
  keeps: (a, b) => a.and(b.not()),
  most: (a) => a,
};

export const SYMMETRIC_DIFFERENCE: SetOperation = {
  keeps: (a, b) => a.ne(b),
  most: (a, b) => a + b,
};

/** The rows that a set operation keeps of two sorted tables; those of the second need no rows if none are kept. */
export function operateOnSets<C extends Table>(
  call: string,
  a: Sorted<C>,
  b: Sorted<C | undefined>,
  operation: SetOperation,
  options: { readonly capacity: number | undefined; readonly descending: boolean | undefined },
): C {
  const [first, second] = sidesOf(call, a, b, options.descending);
  const { capacity = Number.POSITIVE_INFINITY } = options;
  const context = requireContext([...first.rows, ...first.keys, ...second.keys, ...second.rows], call);
  return context.scope(() => {
    const length = addLengths(call, context, first.length, second.length);
    const tiled = keepRows(call, context, cutTiles(call, context, { first, second, length }), operation);
    const { offsets, total } = placeTiles(call, context, tiled);
    const most = operation.most(capacityOf(first.length), capacityOf(second.length));
    const rows = countIn(total, 0, Math.min(capacity, most));
    const stored = columnsOf(a.rows).map(({ type }) => context.stored(type, rows));
    moveRows(call, context, tiled, offsets, stored);
    expectRows(call, context, rows, most);
    return withColumns(a.rows, stored);
  });
}

/**
 * Both tables, cut into tiles at points of their balanced path: the order in which their rows are taken if equal keys of
 * both are taken in pairs, and then those that have no partner. Between two rows that are not of a pair, what follows
 * does not depend on what was before.
 */
interface Tiles {
  readonly path: Path;
  /** How many rows of the first and of the second table are before each tile, and before the end. */
  readonly starts: readonly [Column<'u32'>, Column<'u32'>];
  readonly tiles: number;
}

/** A tile has this many times the rows of a piece of {@link merge}. */
const PIECES = 4;

/** Tiles are found between coarse cuts, of which each is found in the whole tables. */
const PART = 2048;

function cutTiles(call: string, context: ColumnOwner, path: Path): Tiles {
  const whole = (loader: Loader): Box => ({
    from: [u32(0), u32(0)],
    to: [loader.length(path.first.length), loader.length(path.second.length)],
  });
  const { starts: cuts } = cutEvery(call, context, path, PART, [], whole);
  const box = (loader: Loader, count: U32): Box => {
    // A point at a cut is in the part before, as there is none after the last.
    const part = count.sub(count.min(1)).div(PART);
    const [from, to] = [part, part.add(1)].map((cut) => loader.load(cuts, cut)) as [[U32, U32], [U32, U32]];
    return { from, to };
  };
  return cutEvery(call, context, path, PIECES * context.backend.walkRows, cuts, box);
}

/** Cuts the balanced path before every `rows` rows, or one row before if that is between the rows of a pair. */
function cutEvery(
  call: string,
  context: ColumnOwner,
  path: Path,
  rows: number,
  cuts: readonly Column<'u32'>[],
  boxOf: (loader: Loader, count: U32) => Box,
): Tiles {
  const tiles = Math.ceil(capacityOf(path.length) / rows);
  const starts = [0, 1].map(() => context.stored('u32', tiles + 1)) as [Column<'u32'>, Column<'u32'>];
  const places = fuse(
    `${call}Cut`,
    [],
    ['u32', 'u32'],
    (tile, _, loader) => {
      const count = Let(tile.mul(rows).min(loader.length(path.length)));
      return balancedPoint(path, count, boxOf(loader, count), loader);
    },
    keyOf([cutEvery, rows], path, cuts),
  );
  const stores = starts.map((column, value) => ({ ...destination(column), value }));
  storeRows(context, tiles + 1, places, stores);
  return { path, starts, tiles };
}

/** Two points of the balanced path: numbers of rows of the first and of the second table. */
interface Box {
  readonly from: readonly [U32, U32];
  readonly to: readonly [U32, U32];
}

/** How many rows of each table are among the first `count` of the balanced path, or among one less; between two points. */
function balancedPoint(path: Path, count: U32, { from, to }: Box, loader: Loader): [U32, U32] {
  const { first, second } = path;
  const [i, j] = [Var(to[0]), Var(to[1])];
  If(count.lt(to[0].add(to[1])), () => {
    // The point of the merge path, on which all rows of the first table come before their equals in the second.
    const least = from[0].max(count.sub(count.min(to[1])));
    const merged = split(path, count, least, to[0].min(count.sub(count.min(from[1]))), loader);
    const others = Let(count.sub(merged));
    i.set(merged);
    j.set(others);
    const [ofFirst, ofSecond] = [keyAt(first, merged, loader), keyAt(second, others, loader)];
    const isOfFirst = merged.lt(to[0]).and(others.ge(to[1]).or(below(ofSecond, ofFirst).not()));
    const key = ofFirst.map((word, k) => Let(select(ofSecond[k]!, word, isOfFirst)));
    const isKey = (side: MergeSide, row: U32): Bool => below(keyAt(side, row, loader), key).not();
    const follows = merged.gt(from[0]).and(isKey(first, merged.sub(1)));
    If(follows.or(others.gt(from[1]).and(isKey(second, others.sub(1)))), () => {
      const startOf = (side: MergeSide, least: U32, most: U32): U32 =>
        partitionPoint(least, most, (row) => isKey(side, row).not());
      const [startA, startB] = [startOf(first, from[0], merged), startOf(second, from[1], others)];
      const inA = Let(merged.sub(startA));
      const inRun = Let(inA.add(others.sub(startB)));
      const end = partitionPoint(others, Let(to[1].min(startB.add(inRun))), (row) =>
        below(key, keyAt(second, row, loader)).not(),
      );
      const inB = Let(end.sub(startB));
      const pairs = Let(inRun.shr(1).min(inA).min(inB));
      // What is left has no partner, unless it is half of a pair.
      const isHalf = inA.gt(pairs).and(inB.gt(pairs));
      const alone = Let(select(inRun.sub(pairs).sub(pairs), 0, isHalf));
      i.set(startA.add(pairs).add(select(u32(0), alone, inA.gt(pairs))));
      j.set(startB.add(pairs).add(select(alone, u32(0), inA.gt(pairs))));
    });
  });
  return [Let(i), Let(j)];
}

function keyAt(side: MergeSide, row: U32, loader: Loader): U32[] {
  return loader.loadWithin(side.keys, row, side.length) as U32[];
}

/** Which of the next rows of both tables are taken in a step along the balanced path; both, if they are a pair. */
function taken({ first, second }: Path, i: U32, j: U32, loader: Loader): { readonly a: Bool; readonly b: Bool } {
  const [ofFirst, ofSecond] = [keyAt(first, i, loader), keyAt(second, j, loader)];
  const [isA, isB] = [i.lt(loader.length(first.length)), j.lt(loader.length(second.length))];
  return {
    a: isA.and(isB.not().or(below(ofSecond, ofFirst).not())),
    b: isB.and(isA.not().or(below(ofFirst, ofSecond).not())),
  };
}

/** Tiles whose rows of the result have been found. */
interface KeptTiles extends Tiles {
  /**
   * The rows that each tile gives the result, from the place of its first row in the path: their words, if the result has
   * one column, else their numbers, where those of the second table follow those of the first.
   */
  readonly kept: Column<'u32'>;
  /** Where the rows of each tile end in `kept`; any number for a tile without rows. */
  readonly ends: Column<'u32'>;
}

/**
 * Finds the rows of the result by walks along the tiles. Every step writes at the next free place of its tile, which only
 * a row that is kept then occupies.
 */
function keepRows(call: string, context: ColumnOwner, tiled: Tiles, operation: SetOperation): KeptTiles {
  const { path, starts, tiles } = tiled;
  const { first, second } = path;
  const [kept, ends] = [context.stored('u32', capacityOf(path.length)), context.stored('u32', tiles)];
  const begin = fuse(
    { name: `${call}Start`, kind: call },
    [],
    ['bool', 'u32', 'u32', 'u32', 'u32'],
    (tile, _, loader) => {
      const [i, j] = loader.load(starts, tile) as [U32, U32];
      const [endI, endJ] = loader.load(starts, tile.add(1)) as [U32, U32];
      const [place, end] = [Let(i.add(j)), Let(endI.add(endJ))];
      return [place.lt(end), i, j, place, end];
    },
    { by: [keepRows], columns: starts },
  );
  const step = fuse(
    call,
    ['u32', 'u32', 'u32', 'u32'],
    ['bool', 'u32', 'u32', 'u32', 'u32', 'u32', 'bool'],
    (_tile, state, loader) => {
      const [i, j, place, end] = state as [U32, U32, U32, U32];
      const { a, b } = taken(path, i, j, loader);
      const [word] = isOneColumn(first)
        ? rowAt(first, second, i, j, a, loader)
        : [second.rows.length === 0 ? i : select(j.add(loader.length(first.length)), i, a)];
      const [nextI, nextJ] = [Let(i.add(u32(a))), Let(j.add(u32(b)))];
      const goesOn = Let(nextI.add(nextJ).lt(end));
      return [goesOn, nextI, nextJ, place.add(u32(operation.keeps(a, b))), place, word!, goesOn.not()];
    },
    keyOf([keepRows, operation], path, isOneColumn(first) ? [...first.rows, ...second.rows] : []),
  );
  walkTiles(context, tiles, path.length, begin, step, [
    { ...destination(kept), index: 4, value: 5 },
    { ...destination(ends), guard: 6, value: 3 },
  ]);
  return { ...tiled, kept, ends };
}

function isOneColumn({ rows }: MergeSide): boolean {
  return rows.length === 1;
}

/** The number of rows of the result before each tile, and of all. */
function placeTiles(
  call: string,
  context: ColumnOwner,
  { starts, ends, tiles }: KeptTiles,
): { readonly offsets: Column<'u32'>; readonly total: Memory } {
  const offsets = context.stored('u32', tiles);
  const total = context.allocate(1);
  fusedScan(call, {
    context,
    length: tiles,
    monoid: plus(u32),
    element: (tile, loader) => [rowsOfTile(starts, ends, tile, loader)],
    emit: (_tile, before) => before,
    emitted: ['u32'],
    stores: [{ ...destination(offsets), value: 0 }],
    total,
    keys: {
      element: { by: [placeTiles], columns: [...starts, ends] },
      emit: { by: [placeTiles], columns: [] },
    },
  });
  return { offsets, total };
}

/** How many rows of the result come from a tile. */
function rowsOfTile(starts: Tiles['starts'], ends: Column<'u32'>, tile: U32, loader: Loader): U32 {
  const [i, j, end] = loader.load([...starts, ends], tile) as [U32, U32, U32];
  const [endI, endJ] = loader.load(starts, tile.add(1)) as [U32, U32];
  const place = Let(i.add(j));
  return select(u32(0), end.sub(place), place.lt(endI.add(endJ)));
}

/** Moves the rows of all tiles to their places in the result, one after another. */
function moveRows(
  call: string,
  context: ColumnOwner,
  { path, starts, tiles, kept, ends }: KeptTiles,
  offsets: Column<'u32'>,
  stored: readonly Column[],
): void {
  const { first, second } = path;
  const name = `${call}Move`;
  const begin = fuse(
    { name: `${name}Start`, kind: call },
    [],
    ['bool', 'u32', 'u32', 'u32'],
    (tile, _, loader) => {
      const [i, j, offset] = loader.load([...starts, offsets], tile) as [U32, U32, U32];
      const rows = rowsOfTile(starts, ends, tile, loader);
      return [rows.ne(0), i.add(j), offset, offset.add(rows)];
    },
    { by: [moveRows], columns: [...starts, offsets, ends] },
  );
  const step = fuse(
    { name, kind: call },
    ['u32', 'u32', 'u32'],
    ['bool', 'u32', 'u32', 'u32', ...stored.map(() => 'u32' as const)],
    (_tile, state, loader) => {
      const [from, place, end] = state as [U32, U32, U32];
      const [word] = loader.load([kept], from) as [U32];
      const next = Let(place.add(1));
      const row = isOneColumn(first) ? [word] : rowOfNumber(first, second, word, loader);
      return [next.lt(end), from.add(1), next, place, ...row];
    },
    keyOf([moveRows], path, [kept, ...(isOneColumn(first) ? [] : [...first.rows, ...second.rows])]),
  );
  const stores = stored.map((column, k) => ({ ...destination(column), index: 3, value: 4 + k }));
  walkTiles(context, tiles, path.length, begin, step, stores);
}

/** The row with a number, where the rows of the second table, if any are kept, follow those of the first. */
function rowOfNumber(first: MergeSide, second: MergeSide, number: U32, loader: Loader): U32[] {
  if (second.rows.length === 0) return loader.loadWithin(first.rows, number, first.length) as U32[];
  const count = loader.length(first.length);
  return rowAt(first, second, number, number.sub(count), number.lt(count), loader);
}

/** Walks in every tile; steps change all numbers of the state but the last. */
function walkTiles(
  context: ColumnOwner,
  tiles: number,
  rows: Column['length'],
  start: Fusion,
  step: Fusion,
  stores: readonly Store[],
): void {
  context.backend.run({
    kind: 'walk',
    extent: tiles,
    start: programOf(start, context, tiles),
    step: programOf(step, context, rows),
    changing: start.results.length - 2,
    stores,
  });
}
