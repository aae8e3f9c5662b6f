import type { MergeCommand } from '../../../../primitives/contract/backend.ts';
import { entryOf, type Module } from '../../../../primitives/ir/ir.ts';
import { resultOf } from '../../wgsl/emit-wgsl.ts';
import { lines } from '../shared/lines.ts';

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
  readonly subgroups: boolean;
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
export function bytesOf({ threads, items, words, keeps }: MergeTile): number {
  return 4 * (words * (threads * items + items + 1) + (keeps === undefined ? 0 : 2 * threads + 1));
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

/** How WGSL reads the keys of the two tables, or of the parts of them that a tile has. */
interface Accessors {
  readonly name: string;
  readonly first: (i: string) => string;
  readonly second: (j: string) => string;
}

export const IN_MEMORY: Accessors = { name: 'all', first: (i) => `first_key(${i})`, second: (j) => `second_key(${j})` };
export const IN_TILE: Accessors = { name: 'tile', first: (i) => `key_at(${i})`, second: (j) => `key_at(na + ${j})` };

/**
 * WGSL of `NAME_point(count, na, nb)`: how many rows of each of two sorted tables, of `na` and `nb` rows, are among the
 * first `count` that are taken. With pairs, these may be one row less, so that the point is not between the rows of a
 * pair. A search takes two bits in each round, as its reads do not wait for each other.
 */
export function emitPoint({ name, first, second }: Accessors, pairs: boolean): string {
  const isTaken = (m: string): string => `!is_below(${second(`(count - 1u - ${m})`)}, ${first(m)})`;
  const merged = `fn ${name}_split(count: u32, na: u32, nb: u32) -> u32 {
  var low = count - min(count, nb);
  var high = min(count, na);
  while (low < high) {
    let size = high - low;
    let m1 = low + size / 4u;
    let m2 = low + size / 2u;
    let m3 = high - 1u - size / 4u;
    let t1 = ${isTaken('m1')};
    let t2 = ${isTaken('m2')};
    let t3 = ${isTaken('m3')};
    low = select(select(select(low, m1 + 1u, t1), m2 + 1u, t2), m3 + 1u, t3);
    high = select(select(select(m1, m2, t1), m3, t2), high, t3);
  }
  return low;
}`;
  if (!pairs)
    return `${merged}
fn ${name}_point(count: u32, na: u32, nb: u32) -> vec2<u32> {
  let i = ${name}_split(count, na, nb);
  return vec2<u32>(i, count - i);
}`;
  return `${merged}
${emitRunStart(`${name}_first_start`, first)}
${emitRunStart(`${name}_second_start`, second)}
fn ${name}_point(count: u32, na: u32, nb: u32) -> vec2<u32> {
  if (count >= na + nb) { return vec2<u32>(na, nb); }
  // All rows of the first table come before their equals in the second here.
  let i = ${name}_split(count, na, nb);
  let j = count - i;
  var key: Key;
  if (i < na) { key = ${first('i')}; }
  if (j < nb) {
    let other = ${second('j')};
    if (i >= na || is_below(other, key)) { key = other; }
  }
  let start_a = ${name}_first_start(key, i, na);
  let start_b = ${name}_second_start(key, j, na);
  let in_a = i - start_a;
  let run = in_a + (j - start_b);
  if (run == 0u) { return vec2<u32>(i, j); }
  // The end of the run in the second table, if it is near enough to matter.
  var low = j;
  var high = min(nb, start_b + run);
  for (var step = 1u; low < high; step = min(4u * step, 0x10000000u)) {
    let probe = min(low + (high - low) / 2u, low + step - 1u);
    if (is_below(key, ${second('probe')})) { high = probe; } else { low = probe + 1u; }
  }
  let in_b = low - start_b;
  let both = min(run / 2u, min(in_a, in_b));
  // What is left has no partner, unless it is half of a pair.
  let alone = select(run - 2u * both, 0u, in_a > both && in_b > both);
  let is_first = in_a > both;
  return vec2<u32>(start_a + both + select(0u, alone, is_first), start_b + both + select(alone, 0u, is_first));
}`;
}

/**
 * WGSL of a function that finds the first row of a run of equal keys, at or before row \`end\`, before which all keys of
 * the run are. Runs are short, so the search begins at the end.
 */
function emitRunStart(name: string, key: Accessors['first']): string {
  return `fn ${name}(key: Key, end: u32, na: u32) -> u32 {
  var low = 0u;
  var high = end;
  for (var step = 1u; low < high; step = min(4u * step, 0x10000000u)) {
    let probe = max(low + (high - low) / 2u, high - min(step, high - low));
    if (is_below(${key('probe')}, key)) { low = probe + 1u; } else { high = probe; }
  }
  return high;
}`;
}

/** WGSL of the workgroup's memory of keys, and of functions that read keys and rows. */
export function emitTileFunctions(tile: MergeTile, modules: { readonly row: Module }): string {
  const { words, threads, items, isOfKeys, hasSecond, keeps } = tile;
  const room = roomOf(tile) + items + 1;
  const all = Array.from({ length: words }, (_, w) => w);
  const results = entryOf(modules.row).results.length;
  const fields = Array.from({ length: results }, (_, k) => k);
  const row = (prefix: string, at: string, key: string): string =>
    `let r = ${prefix}entry(${[at, ...all.map((w) => `${key}.w${w}`)].join(', ')}); return Row(${fields.map((k) => resultOf('r', k, results)).join(', ')});`;
  const rowOfNumber = `let s = key0[p];
  ${hasSecond ? 'if (s < na) {' : '{'} let i = begin.x + s; let key = first_key(i); ${row(FIRST_ROW, 'i', 'key')} }
  ${hasSecond ? `let j = begin.y + (s - na); let key = second_key(j); ${row(SECOND_ROW, 'j', 'key')}` : ''}`;
  return `${all.map((w) => `var<workgroup> key${w}: array<u32, ${room}>;`).join('\n')}
${keeps === undefined ? '' : `var<workgroup> points: array<u32, ${threads + 1}>;\nvar<workgroup> sums: array<u32, ${threads}>;`}
struct Row { ${fields.map((k) => `r${k}: u32`).join(', ')} }
fn key_at(p: u32) -> Key { return Key(${all.map((w) => `key${w}[p]`).join(', ')}); }
fn put_key(p: u32, key: Key) { ${all.map((w) => `key${w}[p] = key.w${w};`).join(' ')} }
fn key_of(p: u32, begin: vec2<u32>, na: u32) -> Key {
  if (p < na) { return first_key(begin.x + p); }
  return second_key(begin.y + (p - na));
}
fn row_at(p: u32, begin: vec2<u32>, na: u32) -> Row {
  ${isOfKeys ? `let key = key_at(p); ${row(FIRST_ROW, '0u', 'key')}` : rowOfNumber}
}`;
}

/**
 * WGSL that reads the keys of a tile. `starts` are WGSL expressions of the points at which the tile begins and ends. If
 * the tables are not sorted, the rows between these points may be too many or too few; then others are taken.
 */
export function emitRead(tile: MergeTile, starts: (at: string) => string, lengths: readonly [string, string]): string {
  const { threads, items, keeps } = tile;
  const [na, nb] = lengths;
  const sizes =
    keeps === undefined
      ? `let total = min(${roomOf(tile)}u, ${na} + ${nb} - (begin.x + begin.y));
var na = min(max(to.x, begin.x) - begin.x, total);
na = total - min(total - na, ${nb} - begin.y);`
      : `let na = min(max(to.x, begin.x) - begin.x, ${roomOf(tile)}u);
let total = na + min(max(to.y, begin.y) - begin.y, ${roomOf(tile)}u - na);`;
  return `let begin = ${starts('tile')};
let to = ${starts('tile + 1u')};
${sizes}
let nb = total - na;
if (total > 0u) {
${lines(items, (k) => `  let p${k} = min(u + ${k * threads}u, total - 1u); let x${k} = key_of(p${k}, begin, na);`)}
${lines(items, (k) => `  put_key(p${k}, x${k});`)}
}
workgroupBarrier();`;
}

/** WGSL in which a thread walks along the rows of a tile that are between its point and the next thread's. */
export function emitSteps(tile: MergeTile): string {
  const { items, threads, isOfKeys, keeps } = tile;
  const held = (isFirst: string): string =>
    isOfKeys ? `key_of_step(a, b, ${isFirst})` : `select(na + j, i, ${isFirst})`;
  const start = `let point = tile_point(min(u * ${items}u, total), na, nb);
var i = point.x;
var j = point.y;`;
  const first = `var a = key_at(i);
var b = key_at(na + j);`;
  if (keeps === undefined) {
    return `${start}
${first}
${lines(
  items,
  (k) => `let f${k} = i < na && (j >= nb || !is_below(b, a));
let r${k} = ${held(`f${k}`)};
if (f${k}) { i++; a = key_at(i); } else { j++; b = key_at(na + j); }`,
)}`;
  }
  const kept = `select(${keeps.second}, select(${keeps.first}, ${keeps.pairs}, is_b), is_a)`;
  return `${start}
points[u] = i + j;
if (u == 0u) { points[${threads}] = total; }
workgroupBarrier();
let end = points[u + 1u];
${first}
var kept = 0u;
${lines(
  stepsOf(tile),
  (k) => `${isOfKeys ? 'var' : 'var'} r${k} = ${isOfKeys ? 'a' : '0u'};
if (i + j < end) {
  let is_a = i < na && (j >= nb || !is_below(b, a));
  let is_b = j < nb && (i >= na || !is_below(a, b));
  r${k} = ${held('is_a')};
  kept |= select(0u, ${2 ** k}u, ${kept});
  if (is_a) { i++; a = key_at(i); }
  if (is_b) { j++; b = key_at(na + j); }
}`,
)}`;
}

/** WGSL of the key of a step, if rows are held as keys. */
export function emitHeld({ words }: MergeTile): string {
  const all = Array.from({ length: words }, (_, w) => `select(b.w${w}, a.w${w}, is_first)`);
  return `fn key_of_step(a: Key, b: Key, is_first: bool) -> Key { return Key(${all.join(', ')}); }`;
}

/** WGSL that finds how many rows are kept before those of a thread (`before`), and in the tile (`all`). */
export function emitCount({ threads, subgroups }: MergeTile): string {
  if (subgroups) {
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

/**
 * WGSL that writes the rows of a tile from place `base` of the result on. They are collected in workgroup memory first,
 * so that neighbouring threads write neighbouring rows.
 */
export function emitWrite(tile: MergeTile, stores: string): string {
  const { threads, items, isOfKeys, keeps } = tile;
  const put = (at: string, k: number): string => (isOfKeys ? `put_key(${at}, r${k});` : `key0[${at}] = r${k};`);
  const collected =
    keeps === undefined
      ? `let all = total;
${lines(items, (k) => put(`u * ${items}u + ${k}u`, k))}`
      : `var place = before;
${lines(stepsOf(tile), (k) => `if ((kept & ${2 ** k}u) != 0u) { ${put('place', k)} place++; }`)}`;
  return `workgroupBarrier();
${collected}
workgroupBarrier();
${lines(
  items,
  (k) =>
    `{ let p = u + ${k * threads}u; if (p < all) { let row = row_at(p, begin, na); let at = base + p; ${stores} } }`,
)}`;
}
