import { lines } from '../shared/lines.ts';
import { laneSets } from '../shared/subgroups.ts';
import { DIGITS } from './radix-rows.ts';

/**
 * How the keys of a tile get their places by a digit in WGSL. Every subgroup has counters in `shared_words`, `counters` is
 * the first of the thread's own; a thread has digits `d0`, `d1` …, and subgroups have `min` to `max` lanes.
 */

/** WGSL of `alike(d)`: the lanes whose digit is d. */
export function emitAlike(min: number, max: number): string {
  const { type, ballot } = laneSets(max);
  const bit = (b: number): string =>
    `{ let own = (d & ${1 << b}u) != 0u; let same = ${ballot('own')}; m &= select(~same, same, own); }`;
  return `fn alike(d: u32) -> ${type} {
  var m = ${min === 32 && max === 32 ? '0xffffffffu' : ballot('true')};
  ${lines(8, bit)}
  return m;
}`;
}

/**
 * Statements that give `p0`, `p1` …: what the counter of the digit had, and how many of its keys come before; the counter
 * then has them all. Lanes of equal digits find each other by ballots, and the first of them takes places for all.
 */
export function emitRanks(items: number): string {
  return `let below = lanes_below(lane);
${lines(
  items,
  (k) => `let m${k} = alike(d${k}); let b${k} = ones(m${k} & below);
var o${k} = 0u;
if (b${k} == 0u) { o${k} = atomicAdd(&shared_words[counters + d${k}], ones(m${k})); }
let p${k} = subgroupShuffle(o${k}, first_lane(m${k})) + b${k};`,
)}`;
}

/** Digits that a thread looks after, and the threads that do so. */
export function shareOf(threads: number): { readonly own: number; readonly holders: string } {
  const own = Math.max(1, 2 ** Math.ceil(Math.log2(DIGITS / threads)));
  return { own, holders: `u < ${DIGITS / own}u` };
}

const counter = (j: number, subgroup: number): string => `shared_words[${subgroup * DIGITS}u + digit${j}]`;

/**
 * Statements that give thread u the digits that it looks after, `digit0` …; how many keys have them, `count0` …; and how
 * many of those are of the subgroups before s, `e0_s` ….
 */
export function emitCountsByDigit(threads: number, subgroups: number): string {
  const { own } = shareOf(threads);
  const of = (j: number, s: number): string =>
    `let c${j}_${s} = atomicLoad(&${counter(j, s)}); let e${j}_${s} = ${s === 0 ? '0u' : `e${j}_${s - 1} + c${j}_${s - 1}`};`;
  return lines(
    own,
    (j) => `let digit${j} = min(u * ${own}u + ${j}u, ${DIGITS - 1}u);
${lines(subgroups, (s) => of(j, s))}
let count${j} = e${j}_${subgroups - 1} + c${j}_${subgroups - 1};`,
  );
}

/** Statements that turn the counters into the first places of subgroups in the tile, given those of digits, `start0` …. */
export function emitPlacesByDigit(threads: number, subgroups: number): string {
  const { own, holders } = shareOf(threads);
  const places = lines(own, (j) => lines(subgroups, (s) => `atomicStore(&${counter(j, s)}, e${j}_${s} + start${j});`));
  return `if (${holders}) { ${places} }`;
}
