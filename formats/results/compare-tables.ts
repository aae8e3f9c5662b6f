import { meanOf } from '../../algorithms/cross-compare/areas.ts';
import type { SideResult, TileComparison } from '../../algorithms/cross-compare/tile-comparison.ts';
import { aTextColumn, type TextColumn } from '../../algorithms/text-column.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import {
  anArrayOf,
  anInstance,
  anything,
  aRecord,
  aText,
  aWhole,
  aWord,
  type Kind,
} from '../../primitives/checks/kinds.ts';

/**
 * A column of a table. In a `text` column, `rows[i]` is the index in `texts` of the text of row `i`, so that rows can
 * share a text. In a `ratio` column, NaN marks a missing value.
 */
export type CompareColumn =
  | { readonly type: 'text'; readonly texts: TextColumn; readonly rows: Uint32Array }
  | { readonly type: 'count'; readonly values: Float64Array }
  | { readonly type: 'area'; readonly values: BigUint64Array }
  | { readonly type: 'ratio'; readonly values: Float64Array }
  | { readonly type: 'flag'; readonly values: Uint8Array };

/** Some rows of a table, stored as named columns. */
export interface CompareRows {
  readonly rows: number;
  readonly columns: readonly (readonly [name: string, column: CompareColumn])[];
}

const TYPES: { readonly [K in CompareColumn['type']]: Kind } = {
  text: aRecord<Extract<CompareColumn, { type: 'text' }>>({
    type: aText,
    texts: aTextColumn,
    rows: anInstance(Uint32Array),
  }),
  count: aColumnOf(Float64Array),
  area: aColumnOf(BigUint64Array),
  ratio: aColumnOf(Float64Array),
  flag: aColumnOf(Uint8Array),
};
const aColumnType: Kind = aRecord<Pick<CompareColumn, 'type'>>({ type: aWord(Object.keys(TYPES)) });

const aTableColumn: Kind = (given, path, homes) =>
  aColumnType(given, path, homes) ?? TYPES[(given as CompareColumn).type](given, path, homes);

function aColumnOf(values: new () => object): Kind {
  return aRecord<{ values: unknown }>({ values: anInstance(values) });
}

const aNamedColumn: Kind = (given, path, homes) =>
  anArrayOf(anything)(given, path, homes) ??
  aText((given as unknown[])[0], `${path}[0]`, homes) ??
  aTableColumn((given as unknown[])[1], `${path}[1]`, homes);

/** Rows of a table. */
export const aTable: Kind = aRecord<CompareRows>({ rows: aWhole(), columns: anArrayOf(aNamedColumn) });

/** For each table, the function that computes the rows of a tile. `a` is the first result set, `b` the second. */
export const COMPARE_TABLES: Readonly<Record<CompareTable, (tile: TileComparison) => CompareRows>> = {
  pairs: pairRows,
  tiles: tileRow,
  missing: missingRows,
};

/**
 * Name of a table. In the list below, each name is followed by the table's rows and columns:
 *
 * - `pairs`: a row for every pair with common area: `tile, a, b, area_a, area_b, intersection, union, iou, matched`.
 *   Areas are in pixels. Within a tile, rows are ordered by the polygon of `a`, then by the polygon of `b`.
 * - `tiles`: a row for every tile:
 *   `tile, polygons_a, polygons_b, missing_a, missing_b, candidates, pairs, similarity, matches`; `similarity` is the
 *   mean ratio of the tile's pairs, and missing if the tile has no pairs.
 * - `missing`: a row for every polygon that overlaps no polygon of the other set: `tile, set, id`. `set` is `a` or `b`;
 *   within a tile, all rows of `a` come first.
 */
export type CompareTable = 'pairs' | 'tiles' | 'missing';

/** Converts a table to text or bytes, one piece per tile. */
export interface TableWriter {
  /** Text or bytes before the first row. */
  begin(): string | Uint8Array;
  /** Rows of one tile. */
  add(table: CompareRows): string | Uint8Array;
  /** Text or bytes after the last row. */
  end(): string | Uint8Array;
}

/**
 * A table that has all its columns but no rows. Writers take the names and types of the columns from this table.
 *
 * @example
 * emptyTable('missing').columns.map(([name]) => name); // ['tile', 'set', 'id']
 */
export function emptyTable(table: CompareTable): CompareRows {
  requireArguments('emptyTable', { table }, { table: aWord(Object.keys(COMPARE_TABLES)) });
  const none: SideResult = { ids: NO_TEXTS, polygons: 0, missing: new Uint32Array(0) };
  const noAreas = { intersection: new BigUint64Array(0), p: new BigUint64Array(0), q: new BigUint64Array(0) };
  const pairs = {
    p: new Uint32Array(0),
    q: new Uint32Array(0),
    areas: noAreas,
    ratio: new Float64Array(0),
    matched: new Uint8Array(0),
  };
  const sums = { candidates: 0, meeting: 0, matches: 0, ratioSum: 0n, matchedSum: 0n };
  const { columns } = COMPARE_TABLES[table]({ tile: '', p: none, q: none, pairs, notes: [], ...sums });
  return { rows: 0, columns };
}

const NO_TEXTS: TextColumn = { bytes: new Uint8Array(0), starts: Uint32Array.of(0) };

function pairRows({ tile, p, q, pairs }: TileComparison): CompareRows {
  const { areas, ratio, matched } = pairs;
  const union = areas.intersection.map((common, pair) => areas.p[pair]! + areas.q[pair]! - common);
  return {
    rows: ratio.length,
    columns: [
      ['tile', repeated(tile, ratio.length)],
      ['a', { type: 'text', texts: p.ids, rows: pairs.p }],
      ['b', { type: 'text', texts: q.ids, rows: pairs.q }],
      ['area_a', { type: 'area', values: areas.p }],
      ['area_b', { type: 'area', values: areas.q }],
      ['intersection', { type: 'area', values: areas.intersection }],
      ['union', { type: 'area', values: union }],
      ['iou', { type: 'ratio', values: ratio }],
      ['matched', { type: 'flag', values: matched }],
    ],
  };
}

function tileRow({ tile, p, q, pairs, candidates, matches, ratioSum }: TileComparison): CompareRows {
  const count = (value: number): CompareColumn => ({ type: 'count', values: Float64Array.of(value) });
  return {
    rows: 1,
    columns: [
      ['tile', repeated(tile, 1)],
      ['polygons_a', count(p.polygons)],
      ['polygons_b', count(q.polygons)],
      ['missing_a', count(p.missing.length)],
      ['missing_b', count(q.missing.length)],
      ['candidates', count(candidates)],
      ['pairs', count(pairs.ratio.length)],
      ['similarity', { type: 'ratio', values: Float64Array.of(meanOf(ratioSum, pairs.ratio.length)) }],
      ['matches', count(matches)],
    ],
  };
}

function missingRows({ tile, p, q }: TileComparison): CompareRows {
  const rows = p.missing.length + q.missing.length;
  const sets = new Uint32Array(rows).fill(1, p.missing.length);
  // The column's texts are the ids of polygons of `a`, followed by the ids of polygons of `b`. So the indices of ids of
  // `b` are offset by this number.
  const ofB = p.ids.starts.length - 1;
  const ids = new Uint32Array(rows);
  ids.set(p.missing);
  ids.set(
    q.missing.map((polygon) => ofB + polygon),
    p.missing.length,
  );
  return {
    rows,
    columns: [
      ['tile', repeated(tile, rows)],
      ['set', { type: 'text', texts: SETS, rows: sets }],
      ['id', { type: 'text', texts: concatenated(p.ids, q.ids), rows: ids }],
    ],
  };
}

const SETS: TextColumn = { bytes: Uint8Array.of(0x61, 0x62), starts: Uint32Array.of(0, 1, 2) };

function repeated(text: string, rows: number): CompareColumn {
  const bytes = new TextEncoder().encode(text);
  return { type: 'text', texts: { bytes, starts: Uint32Array.of(0, bytes.length) }, rows: new Uint32Array(rows) };
}

function concatenated(first: TextColumn, second: TextColumn): TextColumn {
  const end = first.bytes.length;
  const bytes = new Uint8Array(end + second.bytes.length);
  bytes.set(first.bytes);
  bytes.set(second.bytes, end);
  const starts = new Uint32Array(first.starts.length + second.starts.length - 1);
  starts.set(first.starts);
  starts.set(
    second.starts.subarray(1).map((start) => end + start),
    first.starts.length,
  );
  return { bytes, starts };
}
