import type { OperationName, ScalarType } from '../../../../primitives/ir/ir.ts';
import type { Node } from '../../../analyses/straight-line.ts';
import { extracted, splatOf, vectorOperation } from '../../wasm/vector-operations.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import type { Vector } from '../../wasm/wasm-expressions.ts';
import { assign, type ScalarLocal, type VectorLocal } from '../../wasm/wasm-locals.ts';

/**
 * A scan that numbers the runs and combines the values of each run (reduceByKey). The result of a run is stored at the
 * number of the run. Population counts of head masks give the numbers, so only the values need a scan. Most vectors
 * store nothing.
 */
export interface Runs {
  /** Whether an element is the head of a run. */
  readonly head: Node;
  /** The operation for each leaf of the values, which are the leaves of an element or state after the first. */
  readonly operations: readonly OperationName[];
  /** Whether an element is stored. */
  readonly guard: Node;
}

/** Locals and operations for the values, leaf by leaf. */
export interface RunLeaves {
  readonly types: readonly ScalarType[];
  /** Commutative operations without f32, hence exact: lanes may fold independently. */
  readonly operations: readonly OperationName[];
  /** Locals with the identity in every lane, and whether the identity is zero. */
  readonly identity: readonly VectorLocal[];
  readonly zero: readonly boolean[];
  /** Per-lane partial folds of the current run. Combining the lanes gives the fold so far. */
  readonly total: readonly VectorLocal[];
  /** Locals of the scalar state: the number of heads, then the values. */
  readonly state: readonly ScalarLocal[];
}

/** Leaf k of left ⊕ right. */
export function combined(code: Code, { types, operations }: RunLeaves, k: number, left: Vector, right: Vector): Vector {
  return vectorOperation(code, operations[k]!, types[k]!, types[k]!, [left, right]);
}

/** Leaf k of a value in the lanes that the mask selects, the identity in all other lanes. */
export function where({ identity, zero }: RunLeaves, k: number, value: Vector, mask: Vector): Vector {
  return zero[k] ? value.and(mask) : value.bitselect(identity[k]!, mask);
}

/** Leaf k of a value in the lanes that the mask does not select, the identity in all other lanes. */
export function whereNot({ identity, zero }: RunLeaves, k: number, value: Vector, mask: Vector): Vector {
  return zero[k] ? value.andNot(mask) : identity[k]!.bitselect(value, mask);
}

/** Sets the first lane of the totals to the state, and the other lanes to the identity. */
export function enterState({ types, identity, total, state }: RunLeaves): void {
  for (const [k, local] of total.entries()) {
    local.set(splatOf(types[k]!, state[k + 1]!).shuffle(identity[k]!, [0, 4, 5, 6]));
  }
}

/** Combines the four lanes of the totals, and leaves the result in every lane. */
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
