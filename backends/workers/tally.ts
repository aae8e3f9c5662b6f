import { entryOf } from '../../primitives/functors/ir.ts';
import { VectorCode } from './emit-simd.ts';
import { inlineEntry } from './emit-wasm.ts';
import { emitIndexLoop, type VectorPart } from './index-loop.ts';
import type { KernelInputs, KernelShape, Layout } from './kernel-arguments.ts';
import { releaseAll } from './monoid-code.ts';
import { slotsOf, straightLine } from './program-graph.ts';
import { Graph, type Node } from './straight-line.ts';
import type { Code } from './wasm-code.ts';
import { atomic, I32, op, simd } from './wasm-encoder.ts';

/** Locals that say where an element is counted. */
export interface Table {
  readonly address: number;
  readonly bins: number;
  /** Histograms in the table, where the program chooses one of them. */
  readonly runs: number | undefined;
  /** Whether other workers count into it too. */
  readonly shared: boolean;
}

/** Adds to the word whose address is on the stack. */
export function emitAdd(code: Code, atomically: boolean, value: () => void): void {
  if (atomically) {
    value();
    code.atomic(atomic.i32Add);
    code.op(op.drop);
    return;
  }
  const address = code.local(I32);
  code.tee(address);
  code.get(address);
  code.memory(op.i32Load);
  value();
  code.op(op.i32Add);
  code.memory(op.i32Store);
  code.release(address);
}

/** Counts a bin of a histogram, in locals; what lies outside is left out. */
function emitTally(code: Code, table: Table, bin: number, histogram: number | undefined): void {
  code.get(bin);
  code.get(table.bins);
  code.op(op.i32LtU);
  if (table.runs !== undefined) {
    code.get(histogram!);
    code.get(table.runs);
    code.op(op.i32LtU, op.i32And);
  }
  code.when(() => {
    code.get(table.address);
    code.get(bin);
    if (table.runs !== undefined) {
      code.get(histogram!);
      code.get(table.bins);
      code.op(op.i32Mul, op.i32Add);
    }
    code.i32(2);
    code.op(op.i32Shl, op.i32Add);
    emitAdd(code, table.shared, () => code.i32(1));
  });
}

/** Counts the elements of a range of indices. */
export function emitTallies(
  code: Code,
  shape: KernelShape,
  layout: Layout,
  inputs: KernelInputs,
  table: Table,
  from: number,
  to: number,
): void {
  const index = code.local(I32);
  const graph = new Graph();
  const bins = straightLine(graph, shape.programs[0]!.module, slotsOf(layout, 0), [graph.index()]);
  const lanes = new VectorCode(code, { ...inputs, index });
  emitIndexLoop(code, {
    from,
    to,
    index,
    scalar: () => {
      const results = inlineEntry(code, inputs.environments[0]!, [index]);
      emitTally(code, table, results[0]!, results[1]);
      releaseAll(code, results);
    },
    vector: bins && vectorTallies(code, table, lanes, bins),
  });
}

/** Bins are computed four at once; counting remains one by one. */
function vectorTallies(code: Code, table: Table, lanes: VectorCode, bins: readonly Node[]): VectorPart {
  lanes.prepare(bins);
  const chosen = bins.map(() => code.local(I32));
  return {
    step: 4,
    narrow: (from, to) => lanes.narrow(from, to),
    round: () => {
      lanes.begin(0);
      const vectors = bins.map((node) => lanes.local(node));
      for (const lane of [0, 1, 2, 3]) {
        vectors.forEach((vector, result) => {
          code.get(vector);
          code.simd(simd.i32x4Extract, lane);
          code.set(chosen[result]!);
        });
        emitTally(code, table, chosen[0]!, chosen[1]);
      }
    },
  };
}

/** Locals: the row, the range of its ranks, and what was computed for it. */
export interface Row {
  readonly index: number;
  readonly first: number;
  readonly ranks: number;
  readonly leaves: readonly number[];
}

/** Counts the ranks of one row. To the vectors, the rank is the index, and nothing of the row varies. */
export function emitRanks(
  code: Code,
  { programs }: KernelShape,
  layout: Layout,
  inputs: KernelInputs,
  table: Table,
  { index, first, ranks, leaves }: Row,
): void {
  const { module } = programs[0]!;
  const rank = code.local(I32);
  const graph = new Graph();
  const shared = entryOf(module).parameters.map(({ type }, i) => graph.invariant(type, `${i}`));
  const args = shared.map((node, i) => (i === 1 ? graph.index() : node));
  const bins = straightLine(graph, module, slotsOf(layout, 0), args);
  const lanes = new VectorCode(code, { ...inputs, index: rank });
  [index, rank, ...leaves].forEach((local, i) => {
    lanes.bindInvariant(shared[i]!, local);
  });
  emitIndexLoop(code, {
    from: first,
    to: ranks,
    index: rank,
    scalar: () => {
      const results = inlineEntry(code, inputs.environments[0]!, [index, rank, ...leaves]);
      emitTally(code, table, results[0]!, results[1]);
      releaseAll(code, results);
    },
    vector: bins && vectorTallies(code, table, lanes, bins),
  });
  code.release(rank);
}
