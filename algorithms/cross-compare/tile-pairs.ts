import { ArgumentError } from '../../primitives/checks/errors.ts';
import { byCodeUnits } from '../../primitives/host/code-units.ts';
import type { Note } from '../notes.ts';
import { listNames } from '../quoted-names.ts';
import type { BothSides } from './totals.ts';

/** A tile of side p and the matching tile of side q. One of them may be missing, but not both. */
export interface TilePair<T> {
  readonly tile: string;
  readonly p: T | undefined;
  readonly q: T | undefined;
}

/** One side of a comparison: its tiles, each with a name. */
export interface TileSet<T extends { readonly name: string }> {
  /** Path of the set, used as its name in notes and errors. */
  readonly path: string;
  readonly tiles: readonly T[];
}

/** The tiles of two sets, paired by name. */
export interface PairedTiles<T> {
  /** Pairs in the order of their names, compared by UTF-16 code units. */
  readonly pairs: readonly TilePair<T>[];
  /** For each side, the number of its tiles that the other side lacks. */
  readonly alone: BothSides;
  readonly notes: readonly Note[];
}

/**
 * Pairs tiles by name. If both sets have exactly one tile, these two tiles are paired whatever their names, so that two
 * files of one folder can be compared. O(n log n) for n tiles.
 *
 * Adds the note `compare/tiles-of-one-side` if some tiles are in only one of the sets.
 *
 * @throws `ArgumentError` `compare/no-common-tile` if both sets have tiles but no name in common.
 * @example
 * const [p, q] = [{ path: 'a', tiles: [{ name: '1' }, { name: '2' }] }, { path: 'b', tiles: [{ name: '2' }] }];
 * pairTiles(p, q).pairs.map(({ tile, q }) => [tile, q !== undefined]); // [['1', false], ['2', true]]
 */
export function pairTiles<T extends { readonly name: string }>(p: TileSet<T>, q: TileSet<T>): PairedTiles<T> {
  if (p.tiles.length === 1 && q.tiles.length === 1) {
    const pair = { tile: p.tiles[0]!.name, p: p.tiles[0], q: q.tiles[0] };
    return { pairs: [pair], alone: { p: 0, q: 0 }, notes: [] };
  }
  const [ofP, ofQ] = [byName(p), byName(q)];
  const names = [...new Set([...ofP.keys(), ...ofQ.keys()])].sort(byCodeUnits);
  const pairs = names.map((tile) => ({ tile, p: ofP.get(tile), q: ofQ.get(tile) }));
  const [onlyP, onlyQ] = [pairs.filter((pair) => pair.q === undefined), pairs.filter((pair) => pair.p === undefined)];
  if (onlyP.length === ofP.size && onlyQ.length === ofQ.size && pairs.length > 0) throw noCommonTile(p, q);
  return {
    pairs,
    alone: { p: onlyP.length, q: onlyQ.length },
    notes: [...aloneNote(onlyP, p.path, q.path), ...aloneNote(onlyQ, q.path, p.path)],
  };
}

function byName<T extends { readonly name: string }>({ tiles }: TileSet<T>): Map<string, T> {
  return new Map(tiles.map((tile) => [tile.name, tile]));
}

const NAMES_SHOWN = 3;

function aloneNote(pairs: readonly TilePair<unknown>[], path: string, other: string): Note[] {
  if (pairs.length === 0) return [];
  const names = listNames(
    pairs.map(({ tile }) => tile),
    NAMES_SHOWN,
  );
  const subject = pairs.length === 1 ? '1 tile is' : `${pairs.length} tiles are`;
  const message = `${subject} in ${path} alone, and missing from ${other} with all polygons: ${names}.`;
  return [{ code: 'compare/tiles-of-one-side', message, count: pairs.length }];
}

function noCommonTile<T extends { readonly name: string }>(p: TileSet<T>, q: TileSet<T>): ArgumentError {
  const namesOf = ({ tiles, path }: TileSet<T>): string => {
    const names = listNames(
      tiles.map(({ name }) => name),
      NAMES_SHOWN,
    );
    return `${tiles.length === 0 ? 'none' : names} in ${path}`;
  };
  return new ArgumentError('compare/no-common-tile', 'The two sets have no tile name in common.', {
    expected: 'at least one tile of the same name in both sets',
    got: `${namesOf(p)}, ${namesOf(q)}`,
    remedy: 'Give the files of a tile the same name in both folders; their extensions may differ.',
  });
}
