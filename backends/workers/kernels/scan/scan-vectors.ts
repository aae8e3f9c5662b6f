import type { MonoidProgram } from '../../../../primitives/contract/backend.ts';
import { combinesInAnyOrder } from '../../../analyses/monoid-shapes.ts';
import type { Node } from '../../../analyses/straight-line.ts';
import { VectorCode } from '../../wasm/emit-simd.ts';
import type { VectorPart } from '../../wasm/index-loop.ts';
import { storedNodes } from '../../wasm/program-graph.ts';
import { extracted, splatOf } from '../../wasm/vector-operations.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import type { Lanes, Scalar, Vector } from '../../wasm/wasm-expressions.ts';
import { assign, type ScalarLocal, type VectorLocal } from '../../wasm/wasm-locals.ts';
import { unorderedFold } from '../reduce/reduce.ts';
import { UNROLLED_VALUES } from '../rows/for-each.ts';
import { copyAll, emitVectorIdentity, type VectorCombine, vectorCombine, vectorLocals } from '../shared/monoid-code.ts';
import { emitVectorStores, narrowToStores } from '../shared/stores.ts';
import { compactionOf, compactionPart } from './compaction.ts';
import { runsOf, runVectors } from './run-vectors.ts';
import { type ScanNodes, type ScanSources, type ScanVectors, scanNodes } from './scan-nodes.ts';

/** Vector code for both passes of a scan. Undefined if a program or the monoid is not straight-line code. */
export function vectorScan(code: Code, sources: ScanSources): ScanVectors | undefined {
  const nodes = scanNodes(sources.inputs.shape, sources.monoid);
  const combine = vectorCombine(code, sources.monoid);
  if (nodes === undefined || combine === undefined) return undefined;
  const { inputs, index, monoid, state, form } = sources;
  const runs = form?.kind === 'runs' ? runsOf(inputs.stores, nodes, form) : undefined;
  if (runs !== undefined) return runVectors(code, sources, nodes, runs);
  const folding = new VectorCode(code, { ...inputs, index });
  folding.prepare(nodes.elements);
  const fold = combinesInAnyOrder(monoid)
    ? unorderedFold(code, folding, nodes.graph.size, nodes.elements, monoid, combine, state)
    : orderedFold(code, folding, sources, nodes.elements, combine);

  const scanning = new VectorCode(code, { ...inputs, index });
  const compaction = form?.kind === 'compact' ? compactionOf(inputs.stores, nodes, form) : undefined;
  const needed = compaction === undefined ? nodes.elements : [compaction.flag];
  scanning.prepare([...needed, ...storedNodes(inputs.stores, nodes.results)]);
  const scan =
    compaction === undefined
      ? scanPart(code, scanning, sources, nodes, combine)
      : compactionPart(code, scanning, sources, nodes, compaction);
  return { fold, scan, needsEnd: compaction !== undefined };
}

/** Folds in the order of the elements: computes total ⊕ ((e0 ⊕ e1) ⊕ (e2 ⊕ e3)) for four adjacent elements. */
function orderedFold(
  code: Code,
  lanes: VectorCode,
  { monoid, state }: ScanSources,
  elements: readonly Node[],
  combine: VectorCombine,
): VectorPart {
  const total = vectorLocals(code, monoid);
  const left = vectorLocals(code, monoid);
  const right = vectorLocals(code, monoid);
  return {
    step: 4,
    narrow: (from, to) => lanes.narrow(from, to),
    enter: () => setSplats(monoid, total, state),
    round: () => {
      lanes.begin(0);
      const element = elements.map((node) => lanes.local(node));
      shuffle(left, element, element, [0, 2, 0, 2]);
      shuffle(right, element, element, [1, 3, 1, 3]);
      combine(left, left, right);
      shuffle(right, left, left, [1, 1, 1, 1]);
      combine(left, left, right);
      combine(total, total, left);
    },
    leave: () => setExtracted(monoid, state, total, 0),
  };
}

/**
 * Scans four elements in two steps (Hillis and Steele 1986), then prepends the prefix before the four elements to each
 * result.
 */
function scanPart(
  code: Code,
  lanes: VectorCode,
  { inputs, index, monoid, state }: ScanSources,
  { graph, elements, exclusive, inclusive, results }: ScanNodes,
  combine: VectorCombine,
): VectorPart {
  const identity = vectorLocals(code, monoid);
  const last = vectorLocals(code, monoid);
  const local = vectorLocals(code, monoid);
  const shifted = vectorLocals(code, monoid);
  const offsets = graph.size > UNROLLED_VALUES ? [0] : [0, 4];
  const putInFront = (before: readonly Vector[], choice: Lanes): void => {
    shuffle(shifted, before, local, choice);
    combine(local, shifted, local);
  };
  const scanFour = (offset: number): void => {
    lanes.begin(offset);
    const element = elements.map((node) => lanes.local(node));
    copyAll(local, element);
    putInFront(identity, [0, 4, 5, 6]);
    putInFront(identity, [0, 1, 4, 5]);
    shuffle(shifted, last, last, [3, 3, 3, 3]);
    combine(local, shifted, local);
    shuffle(shifted, last, local, [3, 4, 5, 6]);
    copyAll(last, local);
    for (const [leaf, node] of exclusive.entries()) lanes.bind(node, shifted[leaf]!);
    for (const [leaf, node] of inclusive.entries()) lanes.bind(node, local[leaf]!);
    emitVectorStores(code, lanes, inputs.stores, index, offset, results, graph.index());
  };
  return {
    step: 4 * offsets.length,
    narrow: (from, to) => {
      lanes.narrow(from, to);
      narrowToStores(code, inputs.stores, to);
    },
    enter: () => {
      emitVectorIdentity(monoid, identity);
      setSplats(monoid, last, state);
    },
    round: () => offsets.forEach(scanFour),
    leave: () => setExtracted(monoid, state, last, 3),
  };
}

function shuffle(into: readonly VectorLocal[], a: readonly Vector[], b: readonly Vector[], choice: Lanes): void {
  for (const [leaf, local] of into.entries()) local.set(a[leaf]!.shuffle(b[leaf]!, choice));
}

function setSplats({ types }: MonoidProgram, into: readonly VectorLocal[], from: readonly Scalar[]): void {
  for (const [leaf, type] of types.entries()) into[leaf]!.set(splatOf(type, from[leaf]!));
}

function setExtracted(
  { types }: MonoidProgram,
  into: readonly ScalarLocal[],
  from: readonly Vector[],
  lane: number,
): void {
  for (const [leaf, type] of types.entries()) assign(into[leaf]!, extracted(type, from[leaf]!, lane));
}
