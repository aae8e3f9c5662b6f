import type { OperationName, ScalarType } from '../../../../primitives/ir/ir.ts';
import type { Node } from '../../../analyses/straight-line.ts';
import { extracted, splatOf, vectorOperation } from '../../wasm/vector-operations.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import type { Vector } from '../../wasm/wasm-expressions.ts';
import { assign, type ScalarLocal, type VectorLocal } from '../../wasm/wasm-locals.ts';

/**
 * A scan that numbers the runs of elements and combines the values of each run (reduceByKey). The result of a run is
 * stored at the index that equals the run's number. Population counts of head masks give the numbers, so only the
 * values need a scan. Most vectors do not contain the end of a run and store nothing.
 */
export interface Runs {
  /** Whether an element is the head (first element) of a run. */
  readonly head: Node;
  /**
   * The operation that combines each leaf (scalar component) of the values. Leaf 0 of an element is its head flag, so
   * values start at leaf 1.
   */
  readonly operations: readonly OperationName[];
  /** Whether an element is the last of a run, so that the result of the run is stored at this element. */
  readonly guard: Node;
}

/** Locals and operations for the values, one entry per leaf (scalar component). */
export interface RunLeaves {
  readonly types: readonly ScalarType[];
  /** Commutative operations on integers or bools, which are exact. Each lane may therefore fold separately. */
  readonly operations: readonly OperationName[];
  /**
   * The identity of each leaf (scalar component): a local with the identity in every lane, and whether the identity is
   * zero.
   */
  readonly identity: readonly VectorLocal[];
  readonly zero: readonly boolean[];
  /** The fold of the current run so far, spread over the lanes: combining the four lanes gives the fold. */
  readonly total: readonly VectorLocal[];
  /**
   * The scalar state of the scan, as locals: the number of heads (starts of runs) so far, then the fold of the current
   * run.
   */
  readonly state: readonly ScalarLocal[];
}

/** Leaf k (scalar component) of `left ⊕ right`. */
export function combined(code: Code, { types, operations }: RunLeaves, k: number, left: Vector, right: Vector): Vector {
  return vectorOperation(code, operations[k]!, types[k]!, types[k]!, [left, right]);
}

/** A value of leaf k (scalar component) in the lanes that `mask` selects, and the identity in all other lanes. */
export function where({ identity, zero }: RunLeaves, k: number, value: Vector, mask: Vector): Vector {
  return zero[k] ? value.and(mask) : value.bitselect(identity[k]!, mask);
}

/**
 * A value of leaf k (scalar component) in the lanes that `mask` does not select, and the identity in all other lanes.
 */
export function whereNot({ identity, zero }: RunLeaves, k: number, value: Vector, mask: Vector): Vector {
  return zero[k] ? value.andNot(mask) : identity[k]!.bitselect(value, mask);
}

/** Sets lane 0 of the totals to the fold in the scalar state, and the other lanes to the identity. */
export function enterState({ types, identity, total, state }: RunLeaves): void {
  for (const [k, local] of total.entries()) {
    local.set(splatOf(types[k]!, state[k + 1]!).shuffle(identity[k]!, [0, 4, 5, 6]));
  }
}

/** Combines the four lanes of each total, and sets every lane to the result. */
export function foldLanes(code: Code, leaves: RunLeaves): void {
  for (const choice of [
    [2, 3, 0, 1],
    [1, 0, 3, 2],
  ] as const) {
    for (const [k, local] of leaves.total.entries()) {
      local.set(combined(code, leaves, k, local, local.shuffle(local, choice)));
    }
  }
}

export function leaveState(code: Code, leaves: RunLeaves): void {
  foldLanes(code, leaves);
  for (const [k, local] of leaves.total.entries()) {
    assign(leaves.state[k + 1]!, extracted(leaves.types[k]!, local, 0));
  }
}
