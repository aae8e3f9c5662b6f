import type { ScanForm } from '../../../../primitives/contract/backend.ts';
import { leafOperations } from '../../../analyses/monoid-shapes.ts';
import type { StoreTarget } from '../../commands/kernel-arguments.ts';
import { lanesOf } from '../../wasm/vector-operations.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { V128 } from '../../wasm/wasm-encoder.ts';
import { v128 } from '../../wasm/wasm-expressions.ts';
import type { VectorLocal } from '../../wasm/wasm-locals.ts';
import { foldPart } from './run-fold.ts';
import { enterState, type RunLeaves, type Runs } from './run-leaves.ts';
import { scanPart } from './run-scan.ts';
import { flagOf, type ScanNodes, type ScanSources, type ScanVectors } from './scan-nodes.ts';

type RunsForm = Extract<ScanForm, { readonly kind: 'runs' }>;

/** The nodes and operations of a scan of runs (segments). Undefined if vector code cannot scan the runs. */
export function runsOf(stores: readonly StoreTarget[], nodes: ScanNodes, { inner }: RunsForm): Runs | undefined {
  const operations = leafOperations(inner);
  const guard = stores[0]?.guard;
  // Scans of f32 values are excluded: the identity of an f32 minimum or maximum changes the result for NaN.
  if (operations === undefined || guard === undefined || inner.types.includes('f32')) return undefined;
  return { head: flagOf(nodes), operations, guard: nodes.results[guard]! };
}

export function runVectors(code: Code, sources: ScanSources, nodes: ScanNodes, runs: Runs): ScanVectors {
  const { monoid, state } = sources;
  const types = monoid.types.slice(1);
  const vectors = (): VectorLocal[] => types.map(() => code.local(V128));
  const leaves: RunLeaves = {
    types,
    operations: runs.operations,
    identity: vectors(),
    zero: types.map((_, k) => Number(monoid.identity[k + 1]) === 0),
    total: vectors(),
    state,
  };
  const enter = (): void => {
    for (const [k, local] of leaves.identity.entries()) local.set(v128(lanesOf(types[k]!, monoid.identity[k + 1]!)));
    enterState(leaves);
  };
  return {
    fold: foldPart(code, sources, nodes, runs, leaves, enter),
    scan: scanPart(code, sources, nodes, runs, leaves, enter),
    needsEnd: false,
  };
}
