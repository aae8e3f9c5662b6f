import type { MergeCommand } from '../../../../primitives/contract/backend.ts';
import { entryOf, type Module } from '../../../../primitives/ir/ir.ts';
import type { Subgroups } from '../../device/device.ts';
import { resultOf } from '../../wgsl/emit-wgsl.ts';
import { lines } from '../shared/lines.ts';
import { emitPoint, IN_GAP } from './merge-search.ts';

/** The shape of a tile, and what its workgroup holds. */
export interface MergeTile {
  readonly threads: number;
  /** Rows per thread. */
  readonly items: number;
  /** Words of a key. */
  readonly words: number;
  /** Whether the results of rows follow from their keys alone. Otherwise a workgroup finds the numbers of rows. */
  readonly isOfKeys: boolean;
  readonly keeps: MergeCommand['keeps'];
  readonly hasSecond: boolean;
  /** The subgroups of the workgroups, if these use them. */
  readonly subgroups: Subgroups | undefined;
}

/** Rows for which a tile has room. */
function roomOf({ threads, items }: MergeTile): number {
  return threads * items;
}

/** Rows between the cuts of tiles. A tile of a set operation may begin one row earlier, so as not to split a pair. */
export function rowsOfTile(tile: MergeTile): number {
  return roomOf(tile) - (tile.keeps === undefined ? 0 : 1);
}

/** Steps of a thread. One of a set operation may begin one row earlier, too. */
function stepsOf({ items, keeps }: MergeTile): number {
  return keeps === undefined ? items : items + 1;
}

/** Bytes of workgroup memory that a tile takes. */
export function bytesOf(tile: MergeTile): number {
  const { threads, items, words, keeps } = tile;
  return 4 * (words * (threads * items + items + 1) + (keeps === undefined ? 0 : 2 * sharersOf(tile) + 4));
}

/** How many words a workgroup needs to share a number of each thread, or of each subgroup if there are subgroups. */
function sharersOf({ threads, subgroups }: Pick<MergeTile, 'threads' | 'subgroups'>): number {
  return subgroups === undefined ? threads : threads / subgroups.min;
}

/** Names of the programs in WGSL. */
export const PREFIXES = ['a_', 'b_', 'c_', 'd_'] as const;
const [FIRST_KEYS, SECOND_KEYS, FIRST_ROW, SECOND_ROW] = PREFIXES;

/** WGSL of keys: their type, their order, and those of the rows of both tables. */
export function emitKeys({ words }: Pick<MergeTile, 'words'>): string {
  const all = Array.from({ length: words }, (_, w) => w);
  const isBelow = all.reduceRight(
    (rest, w) => `(x.w${w} < y.w${w}${rest === '' ? '' : ` || (x.w${w} == y.w${w} && ${rest})`})`,
    '',
  );
  const key = (prefix: string): string =>
    `let r = ${prefix}entry(i); return Key(${all.map((w) => resultOf('r', w, words)).join(', ')});`;
  return `struct Key { ${all.map((w) => `w${w}: u32`).join(', ')} }
fn is_below(x: Key, y: Key) -> bool { return ${isBelow}; }
fn first_key(i: u32) -> Key { ${key(FIRST_KEYS)} }
fn second_key(i: u32) -> Key { ${key(SECOND_KEYS)} }`;
}

/** WGSL of the workgroup's memory of keys, and of functions that read keys and rows. */
export function emitTileFunctions(tile: MergeTile, modules: { readonly row: Module }): string {
  const { words, items, isOfKeys, hasSecond, keeps } = tile;
  const room = roomOf(tile) + items + 1;
  const all = Array.from({ length: words }, (_, w) => w);
  const results = entryOf(modules.row).results.length;
  const fields = Array.from({ length: results }, (_, k) => k);
  const row = (prefix: string, at: string, key: string): string =>
    `let r = ${prefix}entry(${[at, ...all.map((w) => `${key}.w${w}`)].join(', ')}); return Row(${fields.map((k) => resultOf('r', k, results)).join(', ')});`;
  const rowOfNumber = `let s = key0[p];
  ${hasSecond ? 'if (s < na) {' : '{'} let i = begin.x + s; let key = first_key(i); ${row(FIRST_ROW, 'i', 'key')} }
  ${hasSecond ? `let j = begin.y + (total - 1u - s); let key = second_key(j); ${row(SECOND_ROW, 'j', 'key')}` : ''}`;
  const each = all.map((w) => `select(y.w${w}, x.w${w}, is_first)`);
  const sharers = sharersOf(tile);
  return `${all.map((w) => `var<workgroup> key${w}: array<u32, ${room}>;`).join('\n')}
${keeps === undefined ? '' : `var<workgroup> points: array<u32, ${sharers + 1}>;\nvar<workgroup> sums: array<u32, ${sharers}>;`}
struct Row { ${fields.map((k) => `r${k}: u32`).join(', ')} }
fn key_at(p: u32) -> Key { return Key(${all.map((w) => `key${w}[p]`).join(', ')}); }
fn put_key(p: u32, key: Key) { ${all.map((w) => `key${w}[p] = key.w${w};`).join(' ')} }
fn either(x: Key, y: Key, is_first: bool) -> Key { return Key(${each.join(', ')}); }
fn key_of(p: u32, begin: vec2<u32>, na: u32, total: u32) -> Key {
  if (p < na) { return first_key(begin.x + p); }
  return second_key(begin.y + (total - 1u - p));
}
fn row_at(p: u32, begin: vec2<u32>, na: u32, total: u32) -> Row {
  ${isOfKeys ? `let key = key_at(p); ${row(FIRST_ROW, '0u', 'key')}` : rowOfNumber}
}`;
}

/**
 * WGSL of where a tile begins and how many rows of each table it has. `starts` are WGSL expressions of the points at
 * which tiles begin. If the tables are not sorted, the rows between these points may be too many or too few; then others
 * are taken.
 */
export function emitExtent(
  tile: MergeTile,
  starts: (at: string) => string,
  lengths: readonly [string, string],
): string {
  const [na, nb] = lengths;
  const sizes =
    tile.keeps === undefined
      ? `let total = min(${roomOf(tile)}u, ${na} + ${nb} - (begin.x + begin.y));
var na = min(max(to.x, begin.x) - begin.x, total);
na = total - min(total - na, ${nb} - begin.y);`
      : `let na = min(max(to.x, begin.x) - begin.x, ${roomOf(tile)}u);
let total = na + min(max(to.y, begin.y) - begin.y, ${roomOf(tile)}u - na);`;
  return `let begin = ${starts('tile')};
let to = ${starts('tile + 1u')};
${sizes}
let nb = total - na;`;
}

/**
 * WGSL that reads the keys of a tile: those of the first table, then those of the second backwards. The rows that are
 * left are then always side by side, and where one table ends, the greatest key of the other follows.
 */
export function emitRead({ threads, items }: MergeTile): string {
  return `if (total > 0u) {
${lines(items, (k) => `  let p${k} = min(u + ${k * threads}u, total - 1u); let x${k} = key_of(p${k}, begin, na, total);`)}
${lines(items, (k) => `  put_key(p${k}, x${k});`)}
}
workgroupBarrier();`;
}

/**
 * WGSL in which a thread walks along the rows of a tile that are between its point and the next thread's, and holds the
 * keys or the places of the rows.
 */
export function emitSteps(tile: MergeTile): string {
  const { items, threads, isOfKeys, keeps, subgroups } = tile;
  const start = `let point = tile_point(min(u * ${items}u, total), na, nb);`;
  if (keeps === undefined) {
    // Of equal keys, either may be taken if nothing else of the row is stored.
    const isFirst = isOfKeys ? '!is_below(b, a)' : 'i < na && !is_below(b, a)';
    return `${start}
var i = point.x;
var j = total - 1u - point.y;
var a = key_at(i);
var b = key_at(j);
${lines(
  items,
  (k) => `let f${k} = ${isFirst};
let r${k} = ${isOfKeys ? `either(a, b, f${k})` : `select(j, i, f${k})`};
let next${k} = select(j - 1u, i + 1u, f${k});
let x${k} = key_at(next${k});
if (f${k}) { i = next${k}; a = x${k}; } else { j = next${k}; b = x${k}; }`,
)}`;
  }
  const next =
    subgroups === undefined
      ? `points[u] = point.x + point.y;
if (u == 0u) { points[${threads}] = total; }
workgroupBarrier();
let end = points[u + 1u];`
      : `if (lane == 0u) { points[sid] = point.x + point.y; }
if (u == 0u) { points[${threads}u / sg] = total; }
var end = subgroupShuffleDown(point.x + point.y, 1u);
workgroupBarrier();
if (lane == sg - 1u) { end = points[sid + 1u]; }`;
  return `${start}
${next}
${emitWalk('key_at')}
var kept = 0u;
${lines(
  stepsOf(tile),
  (k) => `var r${k} = ${isOfKeys ? 'a' : 'i'};
if (j + 1u > i + rest) {
  ${emitStep(keeps)}
  r${k} = ${isOfKeys ? 'either(a, b, is_a)' : 'select(j, i, is_a)'};
  kept |= select(0u, ${2 ** k}u, is_kept);
  ${emitAdvance('key_at')}
}`,
)}`;
}

/**
 * WGSL that begins the walk of a set operation from `point` to row `end` of a tile. `keyAt` reads the key at a place of
 * the tile.
 */
function emitWalk(keyAt: string): string {
  return `var i = point.x;
var j = total - 1u - point.y;
let rest = total - end;
var a = ${keyAt}(i);
var b = ${keyAt}(j);`;
}

/**
 * WGSL of one step of the walk, if it has not ended: which rows are taken, and whether one is kept. Each step takes one
 * of the rows that are left, even if the tables are not sorted; otherwise a thread could keep more rows than there are.
 */
function emitStep({ first, second, pairs }: NonNullable<MergeTile['keeps']>): string {
  return `let is_a = i < na && !is_below(b, a);
  let is_b = !is_a || (j + 1u > na && !is_below(a, b));
  let is_kept = select(${second}, select(${first}, ${pairs}, is_b), is_a);`;
}

function emitAdvance(keyAt: string): string {
  return `if (is_a) { i++; a = ${keyAt}(i); }
  if (is_b) { j--; b = ${keyAt}(j); }`;
}

/**
 * WGSL of `aggregate_of(tile, …)`, which counts the rows that are kept of a tile as the tile itself does, but from
 * memory: its workgroup has not come to it.
 */
export function emitGapCount(tile: MergeTile, extent: string): string {
  const { items, threads, keeps } = tile;
  return `var<private> gap_begin: vec2<u32>;
var<private> gap_rows: vec2<u32>;
fn gap_key(p: u32) -> Key { return key_of(p, gap_begin, gap_rows.x, gap_rows.y); }
${emitPoint(IN_GAP, true)}
fn aggregate_of(tile: u32, n: u32, u: u32, sid: u32, lane: u32, sg: u32) -> S {
  ${extent}
  gap_begin = begin;
  gap_rows = vec2<u32>(na, total);
  let point = gap_point(min(u * ${items}u, total), na, nb);
  let next = gap_point(min((u + 1u) * ${items}u, total), na, nb);
  let end = select(next.x + next.y, total, u == ${threads - 1}u);
  ${emitWalk('gap_key')}
  var kept = 0u;
  for (var k = 0u; k < ${stepsOf(tile)}u && j + 1u > i + rest; k++) {
  ${emitStep(keeps!)}
  kept += select(0u, 1u, is_kept);
  ${emitAdvance('gap_key')}
  }
  let count = subgroupAdd(kept);
  if (lane == 0u) { sums[sid] = count; }
  workgroupBarrier();
  var all = 0u;
  for (var s = 0u; s < ${threads}u / sg; s++) { all += sums[s]; }
  return S(all);
}`;
}

/** WGSL that finds how many rows are kept before those of a thread (`before`), and in the tile (`all`). */
export function emitCount({ threads, subgroups }: MergeTile): string {
  if (subgroups !== undefined) {
    return `let count = countOneBits(kept);
let up_to = subgroupInclusiveAdd(count);
if (lane == sg - 1u) { sums[sid] = up_to; }
workgroupBarrier();
var before = up_to - count;
var all = 0u;
for (var s = 0u; s < ${threads}u / sg; s++) { let sum = sums[s]; all += sum; before += select(0u, sum, s < sid); }`;
  }
  return `let count = countOneBits(kept);
sums[u] = count;
workgroupBarrier();
for (var d = 1u; d < ${threads}u; d = d << 1u) {
  var more = 0u;
  if (u >= d) { more = sums[u - d]; }
  workgroupBarrier();
  sums[u] += more;
  workgroupBarrier();
}
let before = sums[u] - count;
let all = sums[${threads - 1}u];`;
}

/** WGSL that collects the rows of a tile in workgroup memory, so that neighbouring threads write neighbouring rows. */
export function emitCollect(tile: MergeTile): string {
  const { items, isOfKeys, keeps } = tile;
  const put = (at: string, k: number): string => (isOfKeys ? `put_key(${at}, r${k});` : `key0[${at}] = r${k};`);
  const collected =
    keeps === undefined
      ? `let all = total;
${lines(items, (k) => put(`u * ${items}u + ${k}u`, k))}`
      : `var place = before;
${lines(stepsOf(tile), (k) => `if ((kept & ${2 ** k}u) != 0u) { ${put('place', k)} place++; }`)}`;
  return `workgroupBarrier();
${collected}`;
}

/** WGSL that writes the collected rows of a tile from place `base` of the result on. */
export function emitWrite({ items, threads }: MergeTile, stores: string): string {
  return lines(
    items,
    (k) =>
      `{ let p = u + ${k * threads}u; if (p < all) { let row = row_at(p, begin, na, total); let at = base + p; ${stores} } }`,
  );
}
