import type { OperationName, ScalarType } from '../../../../primitives/ir/ir.ts';
import type { Node } from '../../../analyses/straight-line.ts';
import { extracted, splatOf, vectorOperation } from '../../wasm/vector-operations.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import type { Vector } from '../../wasm/wasm-expressions.ts';
import { assign, type ScalarLocal, type VectorLocal } from '../../wasm/wasm-locals.ts';

/**
 * A scan that numbers runs and combines within each, stored where the run has its number: reduceByKey. The number is a
 * count of bits, so that only the values are scanned, and most vectors have no row that is stored.
 */
export interface Runs {
  /** Whether an element starts a run. */
  readonly head: Node;
  /** What combines every value, element and state alike without their first leaf. */
  readonly operations: readonly OperationName[];
  /** Whether an element is stored. */
  readonly guard: Node;
}

/** Vectors of the values, leaf by leaf. */
export interface RunLeaves {
  readonly types: readonly ScalarType[];
  /** Exact and of whole numbers, so in any order: lanes may fold side by side. */
  readonly operations: readonly OperationName[];
  /** The identity in all lanes, in locals, and whether it is zero. */
  readonly identity: readonly VectorLocal[];
  readonly zero: readonly boolean[];
  /** What was folded so far of the run under way: all lanes together. */
  readonly total: readonly VectorLocal[];
  /** Locals of the scalar state: the count of heads, then the values. */
  readonly state: readonly ScalarLocal[];
}

/** left ⊕ right, leaf k of each. */
export function combined(code: Code, { types, operations }: RunLeaves, k: number, left: Vector, right: Vector): Vector {
  return vectorOperation(code, operations[k]!, types[k]!, types[k]!, [left, right]);
}

/** Leaf k of a value in the lanes of a mask, and the identity in the others. */
export function where({ identity, zero }: RunLeaves, k: number, value: Vector, mask: Vector): Vector {
  return zero[k] ? value.and(mask) : value.bitselect(identity[k]!, mask);
}

/** The same in the lanes that are not in the mask. */
export function whereNot({ identity, zero }: RunLeaves, k: number, value: Vector, mask: Vector): Vector {
  return zero[k] ? value.andNot(mask) : identity[k]!.bitselect(value, mask);
}

/** The state in the first lanes of the totals, and the identity in the others. */
export function enterState({ types, identity, total, state }: RunLeaves): void {
  for (const [k, local] of total.entries()) {
    local.set(splatOf(types[k]!, state[k + 1]!).shuffle(identity[k]!, [0, 4, 5, 6]));
  }
}

/** Combines the lanes of the totals: all lanes have all of it. */
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
