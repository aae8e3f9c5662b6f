import type { ScalarType } from '../../../../primitives/ir/ir.ts';
import { type Subgroups, widthOf } from '../../device/device.ts';
import { emitLaneFunctions } from '../shared/subgroups.ts';

/**
 * WGSL of `fold_threads`, which folds the states (partial folds) of a workgroup's threads, with subgroup operations if
 * available. The WGSL calls `put` and `take`, which access states in workgroup memory.
 */
export function emitFold(types: readonly ScalarType[], threads: number, subgroups: Subgroups | undefined): string {
  if (subgroups === undefined) return foldByTree(threads);
  return `${emitLaneFunctions(types, widthOf(subgroups))}\n${foldBySubgroups(threads)}`;
}

/** WGSL that folds the variables `s` of all threads of a workgroup into the `s` of thread 0. */
export function foldThreads(bySubgroups: boolean): string {
  return `s = fold_threads(s, t${bySubgroups ? ', sid, lane, sg' : ''});`;
}

/**
 * WGSL of `fold_threads` without subgroups. In every round, the lower half of the remaining threads combines its states
 * with the states of the upper half, until thread 0 has the result.
 */
function foldByTree(threads: number): string {
  return `fn fold_threads(own: S, t: u32) -> S {
  var s = own;
  put(t, s);
  for (var d = ${threads / 2}u; d > 0u; d = d >> 1u) {
    workgroupBarrier();
    if (t < d) { s = combine(s, take(t + d)); put(t, s); }
  }
  return s;
}`;
}

/**
 * WGSL of `fold_threads` with subgroups: each subgroup folds its lanes without barriers, and thread 0 folds the results
 * of the subgroups.
 */
function foldBySubgroups(threads: number): string {
  return `fn fold_threads(own: S, t: u32, sid: u32, lane: u32, sg: u32) -> S {
  var s = lanes_backwards(own, lane, sg);
  if (lane == 0u) { put(sid, s); }
  workgroupBarrier();
  if (t == 0u) {
    s = take(0u);
    for (var k = 1u; k < ${threads}u / sg; k++) { s = combine(s, take(k)); }
  }
  return s;
}`;
}
