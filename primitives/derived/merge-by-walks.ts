import {
  type Backend,
  capacityOf,
  type DeviceBuffer,
  type Length,
  type MergeCommand,
  type Program,
  type SortedRows,
  type Store,
} from '../contract/backend.ts';
import { below, partitionPoint } from '../functors/bisection.ts';
import { If, Let, Var } from '../functors/control.ts';
import { bool, u32 } from '../functors/functor.ts';
import { select } from '../functors/standard/choose.ts';
import type { Bool, U32 } from '../functors/value.ts';
import { createCache } from '../host/cache.ts';
import { entryOf, type Module, moduleNumber, type ScalarType } from '../ir/ir.ts';
import { monoidProgram, plus } from '../monoid.ts';
import { assemble, type BoundArray, type Inside, withBuffers, wordsAt } from './assembled-program.ts';

/** What the derived form asks of a backend. */
export type MergeIssuer = Pick<Backend, 'allocate' | 'release' | 'run' | 'walkRows'>;

/**
 * Merges by walks. The path along which rows are taken is cut into tiles, and a walk takes the rows of each tile one by
 * one. If all rows are kept, the place of a row on the path is that in the result. Otherwise a walk finds the rows that
 * its tile keeps, a scan finds the places of the tiles in the result, and another walk moves the rows there. Allocates
 * memory for the cuts and, if not all rows are kept, for one word of each.
 *
 * Source: Green, McColl and Bader, GPU Merge Path: A GPU Merging Algorithm, 2012; Baxter, Modern GPU: Multisets, 2013.
 */
export function mergeByWalks(backend: MergeIssuer, command: MergeCommand): void {
  const { keeps } = command;
  withBuffers(backend, (take) => {
    const allocate = (words: number): DeviceBuffer => take(Math.max(1, words));
    if (keeps === undefined) mergeAll(backend, command, allocate);
    else keepSome(backend, command, keeps, allocate);
  });
}

type Take = (words: number) => DeviceBuffer;

/** Numbers of rows of the first and of the second table: a point of the path. */
type Point = readonly [U32, U32];

/** Number of rows between coarse cuts of the path, each of which is found in the whole tables. */
const PART = 2048;

/** A tile of a set operation has this many times the rows of a tile of a merge. */
const PIECES = 4;

function mergeAll(backend: MergeIssuer, command: MergeCommand, take: Take): void {
  const { walkRows } = backend;
  const capacity = capacityOf(command.extent);
  const parts = Math.ceil(capacity / PART) + 1;
  const cuts = take(parts);
  const cut = recorded('mergeCut', ['u32'], command, {}, (part, { tables }) => {
    const start = Let(part.mul(PART).min(tables.total));
    const [min, max] = diagonal(tables, start);
    return [splitAt(tables, start, min, max)];
  });
  backend.run({ kind: 'forEach', extent: parts, program: cut, stores: [wordsOf(cuts, 0)] });
  const arrays = { cuts: wordsAt(cuts, parts) };
  const start = recorded(
    'mergeStart',
    ['bool', 'u32', 'u32', 'u32'],
    command,
    { arrays, numbers: [walkRows] },
    (tile, { tables, at }) => {
      const { total } = tables;
      const place = Let(tile.mul(walkRows).min(total));
      const part = Let(place.shr(Math.log2(PART)));
      // If the tables are not sorted, the cuts may lie outside the range from `min` to `max`.
      const [min, max] = diagonal(tables, place);
      const i = splitAt(tables, place, at('cuts', part).max(min), at('cuts', part.add(1)).min(max));
      return [place.lt(total), i, place.sub(i), place.add(total.sub(place).min(walkRows))];
    },
  );
  const words = rowTypes(command);
  const parameters = ['u32', 'u32', 'u32'] as const;
  const step = recorded(
    'merge',
    ['bool', 'u32', 'u32', 'u32', ...words],
    command,
    { parameters },
    (_tile, { tables, state }) => {
      const [i, j, end] = state as [U32, U32, U32];
      const [keyOfFirst, keyOfSecond] = [tables.first.keys(i), tables.second.keys(j)];
      const isLeft = i.lt(tables.first.length);
      const isFirst = isLeft.and(j.ge(tables.second.length).or(below(keyOfSecond, keyOfFirst).not()));
      const at = i.add(j);
      const row = chosen(isFirst, tables.first.row(i, keyOfFirst), tables.second.row(j, keyOfSecond));
      return [at.add(1).lt(end), i.add(u32(isFirst)), j.add(u32(isFirst.not())), at, ...row];
    },
  );
  backend.run({
    kind: 'walk',
    extent: Math.ceil(capacity / walkRows),
    start,
    step,
    steps: walkRows,
    changing: 2,
    stores: command.stores.map((store) => ({ ...store, index: 3, value: 4 + store.value })),
  });
}

/**
 * Tiles between points of the balanced path: the path on which equal keys of both tables are taken in pairs, and then
 * those that have no partner. Between two rows that are not of a pair, what follows does not depend on what was before.
 */
interface Tiles {
  readonly tiles: number;
  /** How many rows of each table are before every tile, and before the end. */
  readonly arrays: { readonly startsI: BoundArray; readonly startsJ: BoundArray };
}

function keepSome(
  backend: MergeIssuer,
  command: MergeCommand,
  keeps: NonNullable<MergeCommand['keeps']>,
  take: Take,
): void {
  const coarse = cutEvery(backend, command, PART, take);
  const tiled = cutEvery(backend, command, PIECES * backend.walkRows, take, coarse);
  const { tiles, arrays } = tiled;
  const capacity = capacityOf(command.extent);
  const [kept, ends, offsets] = [take(capacity), take(tiles), take(tiles)];
  findRows(backend, command, keeps, tiled, kept, ends);
  const counted = { ...arrays, ends: wordsAt(ends, tiles) };
  const rows = recorded('keptOfTile', ['u32'], command, { arrays: counted }, (tile, { at }) => [
    rowsOfTile(tile, at).rows,
  ]);
  const emit = recorded('keptBefore', ['u32'], command, { parameters: ['u32', 'u32'] }, (_tile, { state }) => [
    state[0] as U32,
  ]);
  backend.run({
    kind: 'scan',
    extent: tiles,
    program: rows,
    monoid: monoidProgram(plus(u32)),
    emit,
    stores: [wordsOf(offsets, 0)],
    total: command.total,
  });
  const from = { ...counted, offsets: wordsAt(offsets, tiles), kept: wordsAt(kept, capacity) };
  const start = recorded('moveStart', ['bool', 'u32', 'u32', 'u32'], command, { arrays: from }, (tile, { at }) => {
    const { place, rows } = rowsOfTile(tile, at);
    const offset = at('offsets', tile);
    return [rows.ne(0), place, offset, offset.add(rows)];
  });
  const words = rowTypes(command);
  const given = { arrays: from, parameters: ['u32', 'u32', 'u32'] as const };
  const step = recorded(
    'moveKept',
    ['bool', 'u32', 'u32', 'u32', ...words],
    command,
    given,
    (_tile, { tables, state, at }) => {
      const [place, target, end] = state as [U32, U32, U32];
      const word = at('kept', place);
      const next = Let(target.add(1));
      return [next.lt(end), place.add(1), next, target, ...(words.length === 1 ? [word] : rowOfNumber(tables, word))];
    },
  );
  const stores = command.stores.map((store) => ({ ...store, index: 3, value: 4 + store.value }));
  backend.run({ kind: 'walk', extent: tiles, start, step, changing: 2, stores });
}

/** Cuts the balanced path before every `rows` rows, or one row before if that is between the rows of a pair. */
function cutEvery(backend: MergeIssuer, command: MergeCommand, rows: number, take: Take, coarse?: Tiles): Tiles {
  const tiles = Math.ceil(capacityOf(command.extent) / rows);
  const [startsI, startsJ] = [take(tiles + 1), take(tiles + 1)];
  const given = { arrays: coarse?.arrays ?? {}, numbers: [rows] };
  const program = recorded('setCut', ['u32', 'u32'], command, given, (tile, { tables, at }) => {
    const count = Let(tile.mul(rows).min(tables.total));
    if (coarse === undefined) {
      return balancedPoint(tables, count, [u32(0), u32(0)], [tables.first.length, tables.second.length]);
    }
    // A point at a cut is in the part before, as there is none after the last.
    const part = count.sub(count.min(1)).div(PART);
    const [from, to] = [part, part.add(1)].map((cut): Point => [at('startsI', cut), at('startsJ', cut)]);
    return balancedPoint(tables, count, from!, to!);
  });
  backend.run({ kind: 'forEach', extent: tiles + 1, program, stores: [wordsOf(startsI, 0), wordsOf(startsJ, 1)] });
  return { tiles, arrays: { startsI: wordsAt(startsI, tiles + 1), startsJ: wordsAt(startsJ, tiles + 1) } };
}

/**
 * Finds the rows that each tile keeps, and stores them from the place of its first row on the path: their words, if the
 * result has one column, else their numbers. A step writes at the next free place of its tile, which only a row that is
 * kept then occupies. `ends` is where the rows of each tile end, any number for a tile without rows.
 */
function findRows(
  backend: MergeIssuer,
  command: MergeCommand,
  keeps: NonNullable<MergeCommand['keeps']>,
  { tiles, arrays }: Tiles,
  kept: DeviceBuffer,
  ends: DeviceBuffer,
): void {
  const start = recorded('setStart', ['bool', 'u32', 'u32', 'u32', 'u32'], command, { arrays }, (tile, { at }) => {
    const [i, j] = [at('startsI', tile), at('startsJ', tile)];
    const next = tile.add(1);
    const [place, end] = [Let(i.add(j)), Let(at('startsI', next).add(at('startsJ', next)))];
    return [place.lt(end), i, j, place, end];
  });
  const given = {
    parameters: ['u32', 'u32', 'u32', 'u32'] as const,
    numbers: [Number(keeps.first), Number(keeps.second), Number(keeps.pairs)],
  };
  const results = ['bool', 'u32', 'u32', 'u32', 'u32', 'u32', 'bool'] as const;
  const [isWord, hasSecond] = [rowTypes(command).length === 1, command.second.row !== undefined];
  const step = recorded('setStep', results, command, given, (_tile, { tables, state }) => {
    const [i, j, place, end] = state as [U32, U32, U32, U32];
    const { first, second } = tables;
    const [keyOfFirst, keyOfSecond] = [first.keys(i), second.keys(j)];
    const [isA, isB] = [i.lt(first.length), j.lt(second.length)];
    const a = Let(isA.and(isB.not().or(below(keyOfSecond, keyOfFirst).not())));
    const b = Let(isB.and(isA.not().or(below(keyOfFirst, keyOfSecond).not())));
    const [ofFirst, ofSecond] = isWord
      ? [first.row(i, keyOfFirst), second.row(j, keyOfSecond)]
      : [[i], hasSecond ? [j.add(first.length)] : []];
    const [word] = hasSecond ? chosen(a, ofFirst, ofSecond) : ofFirst;
    const [nextI, nextJ] = [Let(i.add(u32(a))), Let(j.add(u32(b)))];
    const goesOn = Let(nextI.add(nextJ).lt(end));
    return [goesOn, nextI, nextJ, place.add(u32(isKept(keeps, a, b))), place, word!, goesOn.not()];
  });
  const stores = [
    { ...wordsOf(kept, 5), index: 4 },
    { ...wordsOf(ends, 3), guard: 6 },
  ];
  backend.run({ kind: 'walk', extent: tiles, start, step, changing: 3, stores });
}

/**
 * Whether a row is kept of a step that takes the next row of the first table (`a`), of the second (`b`), or of both, a
 * pair. It takes one at least.
 */
function isKept({ first, second, pairs }: NonNullable<MergeCommand['keeps']>, a: Bool, b: Bool): Bool {
  if (first === second) return first === pairs ? bool(pairs) : pairs ? a.and(b) : a.ne(b);
  if (first === pairs) return first ? a : a.not();
  return second ? b : b.not();
}

/** The place of a tile's first row on the path, and how many rows it keeps. */
function rowsOfTile(tile: U32, at: Recording['at']): { readonly place: U32; readonly rows: U32 } {
  const next = tile.add(1);
  const place = Let(at('startsI', tile).add(at('startsJ', tile)));
  const end = at('startsI', next).add(at('startsJ', next));
  return { place, rows: Let(select(u32(0), at('ends', tile).sub(place), place.lt(end))) };
}

/** The row with a number, where the rows of the second table follow those of the first. */
function rowOfNumber({ first, second }: Tables, number: U32): U32[] {
  const others = second.row(Let(number.sub(first.length)));
  return others.length === 0 ? first.row(number) : chosen(number.lt(first.length), first.row(number), others);
}

/** A row of either table. A branch instead would be mispredicted half of the time. */
function chosen(isFirst: Bool, ofFirst: readonly U32[], ofSecond: readonly U32[]): U32[] {
  return ofFirst.map((word, k) => select(ofSecond[k]!, word, isFirst));
}

/** How many rows the first table has of the first `count` that are taken, between `min` and `max`. */
function splitAt({ first, second }: Tables, count: U32, min: U32, max: U32): U32 {
  return partitionPoint(min, max, (i) => below(second.keys(count.sub(i).sub(1)), first.keys(i)).not());
}

/** The least and the greatest number of rows that the first table can have of the first `count`. */
function diagonal({ first, second }: Tables, count: U32): Point {
  return [count.sub(count.min(second.length)), count.min(first.length)];
}

/** How many rows of each table are among the first `count` of the balanced path, or among one less; between two points. */
function balancedPoint(tables: Tables, count: U32, from: Point, to: Point): Point {
  const { first, second } = tables;
  const [i, j] = [Var(to[0]), Var(to[1])];
  If(count.lt(to[0].add(to[1])), () => {
    // The point of the merge path, on which all rows of the first table come before their equals in the second.
    const least = from[0].max(count.sub(count.min(to[1])));
    const merged = splitAt(tables, count, least, to[0].min(count.sub(count.min(from[1]))));
    const others = Let(count.sub(merged));
    i.set(merged);
    j.set(others);
    const [ofFirst, ofSecond] = [first.keys(merged), second.keys(others)];
    const isOfFirst = merged.lt(to[0]).and(others.ge(to[1]).or(below(ofSecond, ofFirst).not()));
    const key = ofFirst.map((word, k) => Let(select(ofSecond[k]!, word, isOfFirst)));
    const isKey = (side: Side, row: U32): Bool => below(side.keys(row), key).not();
    const follows = merged.gt(from[0]).and(isKey(first, merged.sub(1)));
    If(follows.or(others.gt(from[1]).and(isKey(second, others.sub(1)))), () => {
      const startOf = (side: Side, least: U32, most: U32): U32 =>
        partitionPoint(least, most, (row) => isKey(side, row).not());
      const [startA, startB] = [startOf(first, from[0], merged), startOf(second, from[1], others)];
      const inA = Let(merged.sub(startA));
      const inRun = Let(inA.add(others.sub(startB)));
      const most = Let(to[1].min(startB.add(inRun)));
      const end = partitionPoint(others, most, (row) => below(key, second.keys(row)).not());
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

function wordsOf(buffer: DeviceBuffer, value: number): Store {
  return { buffer, offset: 0, capacity: buffer.words, value };
}

/** A sorted table inside a program. Without rows in the result, `row` returns none. */
interface Side {
  readonly length: U32;
  keys(i: U32): U32[];
  row(i: U32, keys?: readonly U32[]): U32[];
}

interface Tables {
  readonly first: Side;
  readonly second: Side;
  readonly total: U32;
}

/** What the body of a program of the derived form uses. `at` reads a word of an array, and `state` is that of a walk. */
interface Recording {
  readonly tables: Tables;
  readonly state: readonly (U32 | Bool)[];
  at(name: string, index: U32): U32;
}

interface Given {
  readonly arrays?: { readonly [name: string]: BoundArray };
  readonly parameters?: readonly ScalarType[];
  /** Numbers that the body uses as literals. */
  readonly numbers?: readonly number[];
}

/** Programs take longer to record than small tables to merge. */
const modules = createCache<string, Module>({ max: 512 });

/** A program of the derived form. It is recorded once for tables of the same form. */
function recorded(
  name: string,
  results: readonly ScalarType[],
  { first, second }: MergeCommand,
  { arrays = {}, parameters = [], numbers = [] }: Given,
  body: (index: U32, recording: Recording) => readonly (U32 | Bool)[],
): Program {
  const programs = { ...programsOf('first', first), ...programsOf('second', second) };
  const forms = Object.values(programs).map(({ module }) => moduleNumber(module));
  const key = [name, ...forms, ...numbers, Object.keys(arrays), results.length].join(' ');
  const kept = { get: () => modules.get(key), set: (module: Module) => modules.set(key, module) };
  const bodyOf = (index: U32, inside: Inside): (U32 | Bool)[] => {
    const [a, b] = [sideIn(inside, 'first'), sideIn(inside, 'second')];
    const tables = { first: a, second: b, total: Let(a.length.add(b.length)) };
    const at = (array: string, index: U32): U32 => inside.arrays[array]!.at(index) as U32;
    return [...body(index, { tables, state: inside.parameters as U32[], at })];
  };
  return assemble(name, results, { arrays, parameters, programs }, bodyOf, kept);
}

function programsOf(name: string, { length, keys, row }: SortedRows): { readonly [name: string]: Program } {
  return { [`${name}Length`]: lengthProgram(length), [`${name}Keys`]: keys, ...(row && { [`${name}Row`]: row }) };
}

function sideIn({ programs }: Inside, name: string): Side {
  const [length] = programs[`${name}Length`]!([u32(0)]) as [U32];
  const keys = (i: U32): U32[] => programs[`${name}Keys`]!([i]) as U32[];
  const rowOf = programs[`${name}Row`];
  const row = (i: U32, words = keys(i)): U32[] => rowOf!([i, ...words]) as U32[];
  return { length, keys, row: rowOf === undefined ? () => [] : row };
}

/** A program that returns a length. */
function lengthProgram(length: Length): Program {
  const isKnown = typeof length === 'number';
  const name = isKnown ? 'rowCount' : 'rowCountOnDevice';
  const kept = { get: () => modules.get(name), set: (module: Module) => modules.set(name, module) };
  if (isKnown) return assemble(name, ['u32'], { uniforms: { length } }, (_i, { uniforms }) => [uniforms.length!], kept);
  const { buffer, word, minus, limit } = length;
  const binding = { buffer, storage: 'u32' as const, offset: word, length: 1 };
  const given = { arrays: { count: { type: 'u32' as const, binding } }, uniforms: { minus, limit } };
  return assemble(
    name,
    ['u32'],
    given,
    (_i, { arrays, uniforms }) => {
      const count = arrays.count!.at(u32(0)) as U32;
      return [count.max(uniforms.minus!).sub(uniforms.minus!).min(uniforms.limit!)];
    },
    kept,
  );
}

function rowTypes({ first }: MergeCommand): readonly ScalarType[] {
  return entryOf(first.row!.module).results;
}
