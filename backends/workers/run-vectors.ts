import type { MonoidProgram } from '../../primitives/backend.ts';
import type { OperationName } from '../../primitives/functors/ir.ts';
import { combineGraph, leadsTo, leafOperation, restarting } from '../monoid-shapes.ts';
import { truthOf } from '../straight-line.ts';
import { foldPart } from './run-fold.ts';
import { enterState, type Leaves, type Runs } from './run-leaves.ts';
import { scanPart } from './run-scan.ts';
import type { ScanNodes, ScanSources, ScanVectors } from './scan-nodes.ts';
import { lanesOf } from './vector-operations.ts';
import type { Code } from './wasm-code.ts';
import { V128 } from './wasm-encoder.ts';

/** The scan as one of runs; undefined where it is something else. */
export function runsOf({ inputs: { stores }, monoid }: ScanSources, nodes: ScanNodes): Runs | undefined {
  const operations = restartingOperations(monoid);
  const head = truthOf(nodes.elements[0]!);
  const [first] = stores;
  if (operations === undefined || head === undefined || first?.guard === undefined) return undefined;
  // The identity of a minimum of f32 is not what it is combined with where that is NaN.
  if (monoid.types.includes('f32')) return undefined;
  const place = nodes.graph.operation('sub', 'u32', [nodes.inclusive[0]!, nodes.graph.literal('u32', 1)]);
  const alike = stores.every(
    ({ index, guard, combine }) =>
      index !== undefined && nodes.results[index] === place && guard === first.guard && combine === undefined,
  );
  const guard = nodes.results[first.guard]!;
  const values = stores.map(({ value }) => nodes.results[value]!);
  // What stands before an element, and the number itself, are not at hand.
  const missing = new Set([...nodes.exclusive, nodes.inclusive[0]!]);
  return alike && ![guard, ...values].some((node) => leadsTo(node, missing)) ? { head, operations, guard } : undefined;
}

/** The commutative operation on every leaf but the first, where a monoid restarts. */
function restartingOperations(monoid: MonoidProgram): readonly OperationName[] | undefined {
  const { left, right } = combineGraph(monoid);
  const names = restarting(monoid)?.map((node, k) => leafOperation(node, left[k + 1]!, right[k + 1]!));
  return names?.every((name) => name !== undefined) ? names : undefined;
}

export function runVectors(code: Code, sources: ScanSources, nodes: ScanNodes, runs: Runs): ScanVectors {
  const { monoid, state } = sources;
  const types = monoid.types.slice(1);
  const vectors = (): number[] => types.map(() => code.local(V128));
  const leaves: Leaves = {
    types,
    operations: runs.operations,
    identity: vectors(),
    zero: types.map((_, k) => Number(monoid.identity[k + 1]) === 0),
    total: vectors(),
    state,
  };
  const enter = (): void => {
    leaves.identity.forEach((local, k) => {
      code.v128(lanesOf(types[k]!, monoid.identity[k + 1]!));
      code.set(local);
    });
    enterState(code, leaves);
  };
  return {
    fold: foldPart(code, sources, nodes, runs, leaves, enter),
    scan: scanPart(code, sources, nodes, runs, leaves, enter),
    needsEnd: false,
  };
}
