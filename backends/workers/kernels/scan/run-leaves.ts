import type { OperationName, ScalarType } from '../../../../primitives/ir/ir.ts';
import type { Node } from '../../../analyses/straight-line.ts';
import type { VectorCode } from '../../wasm/emit-simd.ts';
import { emitExtract, emitSplat, emitVector } from '../../wasm/vector-operations.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { simd } from '../../wasm/wasm-encoder.ts';

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
  readonly identity: readonly number[];
  readonly zero: readonly boolean[];
  /** What was folded so far of the run under way: all lanes together. */
  readonly total: readonly number[];
  /** Locals of the scalar state: the count of heads, then the values. */
  readonly state: readonly number[];
}

/** Pushes left ⊕ right, leaf k of each. */
export function combine(
  code: Code,
  { types, operations }: RunLeaves,
  k: number,
  left: () => void,
  right: () => void,
): void {
  emitVector(code, operations[k]!, types[k]!, types[k]!, [left, right], undefined);
}

/** Pushes leaf k of a value in the lanes of a mask, which is pushed last, and the identity in the others. */
export function pushWhere(
  code: Code,
  { identity, zero }: RunLeaves,
  k: number,
  value: () => void,
  mask: () => void,
): void {
  value();
  if (!zero[k]) code.get(identity[k]!);
  mask();
  code.simd(zero[k] ? simd.and : simd.bitselect);
}

/** The same in the lanes that are not in the mask. */
export function pushWhereNot(
  code: Code,
  { identity, zero }: RunLeaves,
  k: number,
  value: () => void,
  mask: () => void,
): void {
  if (!zero[k]) code.get(identity[k]!);
  value();
  mask();
  code.simd(zero[k] ? simd.andNot : simd.bitselect);
}

/** The state in the first lanes of the totals, and the identity in the others. */
export function enterState(code: Code, { types, identity, total, state }: RunLeaves): void {
  total.forEach((local, k) => {
    code.get(state[k + 1]!);
    emitSplat(code, types[k]!);
    code.get(identity[k]!);
    code.shuffle([0, 4, 5, 6]);
    code.set(local);
  });
}

/** Combines the lanes of the totals: all lanes have all of it. */
export function foldLanes(code: Code, leaves: RunLeaves): void {
  for (const choice of [
    [2, 3, 0, 1],
    [1, 0, 3, 2],
  ] as const) {
    leaves.total.forEach((local, k) => {
      const other = (): void => {
        code.get(local);
        code.get(local);
        code.shuffle(choice);
      };
      combine(code, leaves, k, () => code.get(local), other);
      code.set(local);
    });
  }
}

export function leaveState(code: Code, leaves: RunLeaves): void {
  foldLanes(code, leaves);
  leaves.total.forEach((local, k) => {
    code.get(local);
    emitExtract(code, leaves.types[k]!, 0);
    code.set(leaves.state[k + 1]!);
  });
}

export function pushHeads(code: Code, lanes: VectorCode, flag: Node): void {
  lanes.push(flag);
  code.simd(simd.i32x4Bitmask);
}
