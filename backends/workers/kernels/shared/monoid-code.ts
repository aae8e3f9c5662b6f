import type { MonoidProgram } from '../../../../primitives/contract/backend.ts';
import { moduleNumber } from '../../../../primitives/ir/ir.ts';
import { combineGraph } from '../../../analyses/monoid-shapes.ts';
import { loadScalar } from '../../commands/kernel-arguments.ts';
import { VectorCode } from '../../wasm/emit-simd.ts';
import { inlineEntry, literal, scalarLocal } from '../../wasm/emit-wasm.ts';
import { lanesOf } from '../../wasm/vector-operations.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { V128 } from '../../wasm/wasm-encoder.ts';
import { type Int32, type Value, v128 } from '../../wasm/wasm-expressions.ts';
import { assign, type Local, type ScalarLocal, type VectorLocal } from '../../wasm/wasm-locals.ts';
import { store } from '../../wasm/wasm-statements.ts';

/** Cache key of compiled code: monoids with equal keys can share the code. */
export function monoidKey({ module, identity, exact, commutative }: MonoidProgram): string {
  const neutral = identity.map((value) => (Object.is(value, -0) ? '-0' : `${value}`)).join(',');
  return `${moduleNumber(module)}~${neutral}~${exact}~${commutative}`;
}

/** New locals for one state of a monoid, one per leaf (scalar component). */
export function stateLocals(code: Code, { types }: MonoidProgram): ScalarLocal[] {
  return types.map((type) => scalarLocal(code, type));
}

export function emitIdentity({ types, identity }: MonoidProgram, into: readonly ScalarLocal[]): void {
  types.forEach((type, leaf) => {
    assign(into[leaf]!, literal(type, identity[leaf]!));
  });
}

/** Emits `into = left ⊕ right`; `into` may be one of the operands. */
export function emitCombine(
  code: Code,
  { module }: MonoidProgram,
  into: readonly ScalarLocal[],
  left: readonly ScalarLocal[],
  right: readonly ScalarLocal[],
): void {
  const results = inlineEntry(code, { module, arrays: new Map(), uniforms: new Map() }, [...left, ...right]);
  copyAll(into, results);
  releaseAll(code, results);
}

export function copyAll(into: readonly Local[], from: readonly Value[]): void {
  into.forEach((local, leaf) => {
    assign(local, from[leaf]!);
  });
}

export function releaseAll(code: Code, locals: readonly Local[]): void {
  for (const local of locals) code.release(local);
}

/** Stores a state as consecutive words, starting `offset` bytes after the address. */
export function storeState(code: Code, address: Int32, state: readonly ScalarLocal[], offset = 0): void {
  state.forEach((value, leaf) => {
    store(code, address, value, offset + 4 * leaf);
  });
}

export function loadState({ types }: MonoidProgram, address: Int32, state: readonly ScalarLocal[], offset = 0): void {
  types.forEach((type, leaf) => {
    assign(state[leaf]!, loadScalar(type, address, offset + 4 * leaf));
  });
}

/** Emits `into = left ⊕ right` for four states at a time, one state per lane. */
export type VectorCombine = (
  into: readonly VectorLocal[],
  left: readonly VectorLocal[],
  right: readonly VectorLocal[],
) => void;

/** Returns an emitter that combines four states at a time. Undefined if the monoid is not straight-line code. */
export function vectorCombine(code: Code, monoid: MonoidProgram): VectorCombine | undefined {
  const { left, right, results } = combineGraph(monoid);
  if (results === undefined) return undefined;
  const lanes = new VectorCode(code, { arrays: [], uniforms: [], index: undefined });
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
    copyAll(into, combined);
    releaseAll(code, combined);
  };
}

/** New vector locals for four states of a monoid, one per leaf (scalar component). */
export function vectorLocals(code: Code, { types }: MonoidProgram): VectorLocal[] {
  return types.map(() => code.local(V128));
}

export function emitVectorIdentity({ types, identity }: MonoidProgram, into: readonly VectorLocal[]): void {
  types.forEach((type, leaf) => {
    into[leaf]!.set(v128(lanesOf(type, identity[leaf]!)));
  });
}
