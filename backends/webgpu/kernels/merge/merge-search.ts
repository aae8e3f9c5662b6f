/** How WGSL reads the keys of the two tables, or of the parts of them that a tile has. */
export interface Accessors {
  readonly name: string;
  readonly first: (i: string) => string;
  readonly second: (j: string) => string;
  /** The row of the second table that a search along diagonal `count` compares with row m of the first: count − 1 − m. */
  readonly opposite: (m: string) => string;
}

function inMemory(name: string, first: string, second: string): Accessors {
  const at = (j: string): string => `second_key(${second}${j})`;
  return { name, first: (i) => `first_key(${first}${i})`, second: at, opposite: (m) => at(`(count - 1u - ${m})`) };
}

export const IN_MEMORY: Accessors = inMemory('all', '', '');
export const IN_GAP: Accessors = inMemory('gap', 'gap_begin.x + ', 'gap_begin.y + ');
export const IN_TILE: Accessors = {
  name: 'tile',
  first: (i) => `key_at(${i})`,
  second: (j) => `key_at(na + nb - 1u - ${j})`,
  opposite: (m) => `key_at(rest + ${m})`,
};

/**
 * WGSL of `NAME_point(count, na, nb)`: how many rows of each of two sorted tables, of `na` and `nb` rows, are among the
 * first `count` that are taken. With pairs, these may be one row less, so that the point is not between the rows of a
 * pair. With several lanes, as many adjacent lanes must search for the same point.
 */
export function emitPoint(access: Accessors, pairs: boolean, lanes = 1): string {
  const { name, first, second } = access;
  const merged = lanes > 1 ? emitSplitByLanes(access, lanes) : emitSplit(access);
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
  let start_a = ${name}_first_start(key, i, na, nb);
  let start_b = ${name}_second_start(key, j, na, nb);
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

/** Whether row m of the first table is among the first `count`. */
function isTaken({ first, opposite }: Accessors, m: string): string {
  return `!is_below(${opposite(m)}, ${first(m)})`;
}

/**
 * WGSL of `NAME_split(count, na, nb)`: how many of the first `count` rows are of the first table, if all rows of the
 * first table come before their equals.
 */
function emitSplit(access: Accessors): string {
  return `fn ${access.name}_split(count: u32, na: u32, nb: u32) -> u32 {
  let rest = na + nb - count;
  var low = count - min(count, nb);
  var high = min(count, na);
  while (low < high) {
    let m = low + (high - low) / 2u;
    let taken = ${isTaken(access, 'm')};
    low = select(low, m + 1u, taken);
    high = select(m, high, taken);
  }
  return low;
}`;
}

/** As {@link emitSplit}, by several lanes, each of which reads one row of either table in a round. */
function emitSplitByLanes(access: Accessors, lanes: number): string {
  const distances = Array.from({ length: Math.log2(lanes) }, (_, k) => 2 ** k);
  return `fn ${access.name}_split(count: u32, na: u32, nb: u32) -> u32 {
  let rest = na + nb - count;
  var low = count - min(count, nb);
  var high = min(count, na);
  while (subgroupAny(low < high)) {
    let size = high - low;
    let step = size / ${lanes + 1}u + 1u;
    let own = step * (search_lane + 1u) - 1u;
    let m = low + own;
    var taken = 0u;
    if (own < size) { if (${isTaken(access, 'm')}) { taken = 1u; } }
    ${distances.map((d) => `taken += subgroupShuffleXor(taken, ${d}u);`).join(' ')}
    low += step * taken;
    if (taken < ${lanes}u) { high = min(high, low + step - 1u); }
  }
  return low;
}`;
}

/**
 * WGSL of a function that finds the first row of a run of equal keys, at or before row \`end\`, before which all keys of
 * the run are. Runs are short, so the search begins at the end.
 */
function emitRunStart(name: string, key: Accessors['first']): string {
  return `fn ${name}(key: Key, end: u32, na: u32, nb: u32) -> u32 {
  var low = 0u;
  var high = end;
  for (var step = 1u; low < high; step = min(4u * step, 0x10000000u)) {
    let probe = max(low + (high - low) / 2u, high - min(step, high - low));
    if (is_below(${key('probe')}, key)) { low = probe + 1u; } else { high = probe; }
  }
  return high;
}`;
}
