import type { MonoidProgram } from '../../../../primitives/contract/backend.ts';
import { moduleNumber } from '../../../../primitives/ir/ir.ts';
import { combineGraph } from '../../../analyses/monoid-shapes.ts';
import { emitLoadScalar, emitStoreScalar } from '../../commands/kernel-arguments.ts';
import { VectorCode } from '../../wasm/emit-simd.ts';
import { inlineEntry, pushLiteral, scalarLocal } from '../../wasm/emit-wasm.ts';
import { lanesOf } from '../../wasm/vector-operations.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { V128 } from '../../wasm/wasm-encoder.ts';

/** Equal for monoids that can share compiled code. */
export function monoidKey({ module, identity, exact, commutative }: MonoidProgram): string {
  const neutral = identity.map((value) => (Object.is(value, -0) ? '-0' : `${value}`)).join(',');
  return `${moduleNumber(module)}~${neutral}~${exact}~${commutative}`;
}

/** Locals for one state of a monoid. */
export function stateLocals(code: Code, { types }: MonoidProgram): number[] {
  return types.map((type) => scalarLocal(code, type));
}

export function emitIdentity(code: Code, { types, identity }: MonoidProgram, into: readonly number[]): void {
  types.forEach((type, leaf) => {
    pushLiteral(code, type, identity[leaf]!);
    code.set(into[leaf]!);
  });
}

/** `into = left ⊕ right`; `into` may be one of the operands. */
export function emitCombine(
  code: Code,
  { module }: MonoidProgram,
  into: readonly number[],
  left: readonly number[],
  right: readonly number[],
): void {
  const results = inlineEntry(code, { module, arrays: new Map(), uniforms: new Map() }, [...left, ...right]);
  emitCopy(code, into, results);
  releaseAll(code, results);
}

export function emitCopy(code: Code, into: readonly number[], from: readonly number[]): void {
  into.forEach((local, leaf) => {
    code.get(from[leaf]!);
    code.set(local);
  });
}

export function releaseAll(code: Code, locals: readonly number[]): void {
  for (const local of locals) code.release(local);
}

/** Stores a state as consecutive words at the address that `address` pushes. */
export function emitStoreState(
  code: Code,
  { types }: MonoidProgram,
  address: () => void,
  state: readonly number[],
  offset = 0,
): void {
  types.forEach((type, leaf) => {
    address();
    emitStoreScalar(code, type, state[leaf]!, offset + 4 * leaf);
  });
}

export function emitLoadState(
  code: Code,
  { types }: MonoidProgram,
  address: () => void,
  state: readonly number[],
  offset = 0,
): void {
  types.forEach((type, leaf) => {
    address();
    emitLoadScalar(code, type, state[leaf]!, offset + 4 * leaf);
  });
}

/** `into = left ⊕ right` for four states at a time, in vector locals. */
export type VectorCombine = (into: readonly number[], left: readonly number[], right: readonly number[]) => void;

/** Code that combines four states at a time; undefined if the monoid is not straight-line code. */
export function vectorCombine(code: Code, monoid: MonoidProgram): VectorCombine | undefined {
  const { left, right, results } = combineGraph(monoid);
  if (results === undefined) return undefined;
  const lanes = new VectorCode(code, { arrays: [], uniforms: [], index: -1 });
  lanes.prepare(results);
  return (into, a, b) => {
    lanes.begin(0);
    left.forEach((node, leaf) => {
      lanes.bind(node, a[leaf]!);
    });
    right.forEach((node, leaf) => {
      lanes.bind(node, b[leaf]!);
    });
    const combined = results.map((node) => lanes.copy(node));
    emitCopy(code, into, combined);
    releaseAll(code, combined);
  };
}

/** Vector locals for four states of a monoid. */
export function vectorLocals(code: Code, { types }: MonoidProgram): number[] {
  return types.map(() => code.local(V128));
}

export function emitVectorIdentity(code: Code, { types, identity }: MonoidProgram, into: readonly number[]): void {
  types.forEach((type, leaf) => {
    code.v128(lanesOf(type, identity[leaf]!));
    code.set(into[leaf]!);
  });
}
