import { lines } from '../shared/lines.ts';
import { laneSets } from '../shared/subgroups.ts';
import { DIGIT_BITS, DIGITS } from './radix-rows.ts';

/**
 * The functions of this file emit WGSL that ranks the keys of a tile by a digit. In the workgroup array `shared_words`,
 * every subgroup has one counter per digit. The variable `counters` is the index of the subgroup's first counter. The
 * digits of a thread's keys are in `d0`, `d1` …, and subgroups have `min` to `max` lanes.
 */

/** WGSL of `alike(d)`, which returns the set of the lanes whose digit equals d. */
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
 * Emits WGSL statements that set `p0`, `p1` … to the ranks of a thread's keys. For each of the digits `d0`, `d1` …,
 * ballots find the lanes with equal digits. A key's rank is the digit's counter plus the number of lower lanes with
 * this digit. The lowest lane with a digit then adds the number of lanes with this digit to the counter.
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

/**
 * Distributes the digits over threads, for work that is done once per digit. `own` is the number of digits per thread,
 * and `holders` a WGSL condition that is true in the threads that have digits.
 */
export function shareOf(threads: number): { readonly own: number; readonly holders: string } {
  const own = Math.max(1, 2 ** Math.ceil(Math.log2(DIGITS / threads)));
  return { own, holders: `u < ${DIGITS / own}u` };
}

const counter = (j: number, subgroup: number): string => `shared_words[${subgroup * DIGITS}u + digit${j}]`;

/**
 * WGSL statements that set variables for every digit that thread u owns: the digit (`digit0` …), the number of keys
 * with this digit (`count0` …), and the number of such keys in the subgroups before subgroup s (`e0_s` …).
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
 * Emits WGSL statements that replace each subgroup's counter of a digit by an index in the sorted tile: the index of
 * the subgroup's first key with this digit. `start0` … must be the indices of the tile's first keys with the digits
 * `digit0` ….
 */
export function emitPlacesByDigit(threads: number, subgroups: number): string {
  const { own, holders } = shareOf(threads);
  const places = lines(own, (j) => lines(subgroups, (s) => `atomicStore(&${counter(j, s)}, e${j}_${s} + start${j});`));
  return `if (${holders}) { ${places} }`;
}
