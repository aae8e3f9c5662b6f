import type { ScalarType } from '../../../../primitives/ir/ir.ts';
import { type Subgroups, widthOf } from '../../device/device.ts';
import { emitLaneFunctions } from '../shared/subgroups.ts';

/** WGSL that folds the states of a workgroup's threads, by subgroups if available; it uses the shared states. */
export function emitFold(types: readonly ScalarType[], threads: number, subgroups: Subgroups | undefined): string {
  if (subgroups === undefined) return foldByTree(threads);
  return `${emitLaneFunctions(types, widthOf(subgroups))}\n${foldBySubgroups(threads)}`;
}

/** Statements after which thread 0 has the fold of all threads' `s`. */
export function foldThreads(bySubgroups: boolean): string {
  return `s = fold_threads(s, t${bySubgroups ? ', sid, lane, sg' : ''});`;
}

/**
 * WGSL that folds the states of a workgroup's threads into thread 0 by halving: in every round, half of the threads
 * fold in the states of the other half.
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

/** The same by subgroups: lanes fold without barriers, and thread 0 folds the results of the subgroups. */
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
