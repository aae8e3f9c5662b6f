import { lines } from '../shared/lines.ts';
import { laneSets } from '../shared/subgroups.ts';
import { DIGIT_BITS, DIGITS } from './radix-rows.ts';

/**
 * WGSL that ranks the keys of a tile by a digit. Every subgroup has counters in `shared_words`; `counters` is the index
 * of the first counter of the thread's subgroup. A thread has the digits `d0`, `d1` …, and subgroups have `min` to
 * `max` lanes.
 */

/** WGSL of `alike(d)`: the set of lanes whose digit is d. */
export function emitAlike(min: number, max: number): string {
  const { type, ballot } = laneSets(max);
  const bit = (b: number): string =>
    `{ let own = (d & ${1 << b}u) != 0u; let same = ${ballot('own')}; m &= select(~same, same, own); }`;
  return `fn alike(d: u32) -> ${type} {
  var m = ${min === 32 && max === 32 ? '0xffffffffu' : ballot('true')};
  ${lines(DIGIT_BITS, bit)}
  return m;
}`;
}

/**
 * Statements that set `p0`, `p1` …: the rank of each key, which is the digit's counter plus the number of preceding
 * keys with the same digit. The counter is then advanced by all of them. Lanes with equal digits find each other by
 * ballots, and the first of them advances the counter for all.
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

/** The number of digits that a thread owns, and a WGSL condition for the threads that own any. */
export function shareOf(threads: number): { readonly own: number; readonly holders: string } {
  const own = Math.max(1, 2 ** Math.ceil(Math.log2(DIGITS / threads)));
  return { own, holders: `u < ${DIGITS / own}u` };
}

const counter = (j: number, subgroup: number): string => `shared_words[${subgroup * DIGITS}u + digit${j}]`;

/**
 * Statements that give thread u, for the digits that it owns, the digit (`digit0` …), the number of keys with it
 * (`count0` …), and the number of those in subgroups before s (`e0_s` …).
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

/**
 * Statements that turn the counters into the first places of the subgroups in the tile, given the first places of the
 * digits, `start0` ….
 */
export function emitPlacesByDigit(threads: number, subgroups: number): string {
  const { own, holders } = shareOf(threads);
  const places = lines(own, (j) => lines(subgroups, (s) => `atomicStore(&${counter(j, s)}, e${j}_${s} + start${j});`));
  return `if (${holders}) { ${places} }`;
}
